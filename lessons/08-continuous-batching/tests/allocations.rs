//! Counts allocations of the whole process, so this program holds one test only.

#[path = "suite/common.rs"]
mod common;

use common::{ModelEngine, engine, stories, text};
use continuous_batching::{Delivery, Event, SeqId};
use lab::alloc::{CountingAllocator, snapshot};
use layout::pool::Pool;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// After a first run, steps allocate nothing: not while all requests decode, not while requests end and leave, not for
/// a cancel, and not when a waiting request joins whose prompt is no longer than those before. (One thread, as in
/// lesson 05's test.)
#[test]
fn a_step_allocates_nothing_after_warm_up() {
    let (model, pool) = (stories(), Pool::new(1));
    let mut engine = engine(&model, &pool, 4, 64);
    engine.limits.end_of_text.clear();
    let submit = |engine: &mut ModelEngine<'_>| -> [SeqId; 7] {
        [(9, 20), (4, 6), (9, 15), (1, 9), (6, 8), (9, 7), (3, 5)]
            .map(|(prompt, new)| engine.submit(&text(prompt, 1), new).unwrap())
    };
    let mut on_event = |_: Event<'_>| Delivery::Taken;
    submit(&mut engine);
    engine.run(&mut on_event).unwrap();

    let ids = submit(&mut engine);
    let canceller = engine.canceller();
    for step in 0.. {
        if step == 3 {
            // Outside of the count: a channel allocates at the sender's side.
            canceller.send(ids[3]).unwrap();
        }
        let before = snapshot().allocations;
        if step == 4 {
            engine.cancel(ids[6]);
        }
        engine.step(&mut on_event).unwrap();
        assert_eq!(snapshot().allocations - before, 0, "step {step}");
        if engine.is_idle() {
            assert!(step > 15, "{step} steps");
            break;
        }
    }
}
