//! Counts allocations of the whole process, so this file holds one test only.

mod common;

use common::{engine, stories, text};
use continuous_batching::Delivery;
use lab::alloc::{CountingAllocator, snapshot};
use layout::pool::Pool;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// After the prompts are computed, steps allocate nothing: not while all decode, not while requests end and leave, not for a cancel, and not when a
/// request that waited takes a place and its prompt is no longer than those before. (One thread, as in lesson 05's test.)
#[test]
fn a_step_allocates_nothing_after_warm_up() {
    let (model, pool) = (stories(), Pool::new(1));
    let mut engine = engine(&model, &pool, 4, 64);
    engine.limits.end_of_text.clear();
    let submit = |engine: &mut common::ModelEngine<'_>| -> Vec<_> {
        [(9, 20), (4, 6), (9, 15), (1, 9), (6, 8), (9, 7), (3, 5)]
            .map(|(prompt, new)| engine.submit(&text(prompt, 1), new).unwrap())
            .into()
    };
    let mut on_event = |_: continuous_batching::Event<'_>| Delivery::Taken;
    submit(&mut engine);
    engine.run(&mut on_event).unwrap();

    let ids = submit(&mut engine);
    let canceller = engine.canceller();
    for step in 0.. {
        let before = snapshot().allocations;
        if step == 3 {
            canceller.cancel(ids[3]);
        }
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
