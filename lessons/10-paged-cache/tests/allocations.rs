//! Counts allocations of the whole process, so this file holds one test only.

#[path = "suite/common.rs"]
mod common;

use common::text;
use continuous_batching::{Delivery, Engine, EngineLimits, Event, ModelRunner, SeqId};
use generation::Model;
use lab::alloc::{CountingAllocator, snapshot};
use layout::pool::Pool;
use paged_cache::{BlockManager, PagedCache};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// After a warm-up a step allocates nothing: also where a row needs a new block, a block is published or evicted, and
/// where requests join, wait, end or are cancelled. (One thread, as in lesson 05's test.)
#[test]
fn a_step_allocates_nothing_after_warm_up() {
    let mut model = Model::open("stories").unwrap();
    model.config.eos_token_ids.clear();
    let pool = Pool::new(1);
    let cache = PagedCache::new(&model.config.llama, 20, 4);
    let runner = ModelRunner::new(&model, &pool, cache, 4, 64);
    let blocks = BlockManager::new(20, 4, 64);
    let mut engine = Engine::new(runner, blocks, EngineLimits::of_model(&model.config, 4));
    let submit = |engine: &mut Engine<ModelRunner<'_, PagedCache>, BlockManager>| -> Vec<SeqId> {
        [(9, 20), (4, 6), (9, 15), (1, 9), (6, 8), (9, 7), (3, 5)]
            .map(|(prompt, new)| engine.submit(&text(&model, prompt, 1), new).unwrap())
            .into()
    };
    let mut on_event = |_: Event<'_>| Delivery::Taken;
    // Tables are taken in any order, so it takes a few runs until each has held the longest text.
    for _ in 0..6 {
        submit(&mut engine);
        engine.run(&mut on_event).unwrap();
    }
    let ids = submit(&mut engine);
    let canceller = engine.canceller();
    for step in 0.. {
        if step == 3 {
            canceller.send(ids[1]).unwrap();
        }
        if step == 4 {
            engine.cancel(ids[6]);
        }
        let before = snapshot().allocations;
        engine.step(&mut on_event).unwrap();
        assert_eq!(snapshot().allocations - before, 0, "step {step}");
        if engine.is_idle() {
            assert!(step > 15, "{step} steps");
            break;
        }
    }
    let stats = engine.memory.stats();
    assert!(stats.evictions > 0 && stats.prefix_hits > 0, "{stats:?}");
}
