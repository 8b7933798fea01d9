//! Counts allocations of the whole process, so this file holds one test only.

#[path = "suite/common.rs"]
mod common;

use common::{At, meta, ms};
use continuous_batching::{Delivery, Event};
use lab::alloc::{CountingAllocator, snapshot};
use scheduling::policy::PriorityWithAgeing;
use scheduling::simulate::{NumbersEngine, Setup, engine};
use training::TokenId;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const RUNNING: usize = 256;

fn submit(engine: &mut NumbersEngine, count: usize) {
    for i in 0..count {
        let meta = meta((i % 5) as u32, (i % 3) as u8);
        let prompt = vec![TokenId(0); 60];
        engine.submit_at(ms(0), meta, &prompt, 120).unwrap();
    }
}

/// With 256 requests that run and 64 that wait, a step in which no request joins allocates nothing, while prompts are
/// read in chunks and while all decode. (Requests of the same lengths were there before, as tables of blocks grow with
/// the longest.)
#[test]
fn a_step_with_256_running_requests_allocates_nothing() {
    let setup = Setup::new(RUNNING, 256).with_budget(512, 8);
    let mut engine = engine(&setup, Box::new(PriorityWithAgeing { step: ms(100) }));
    let mut on_event = |_: Event<'_>| Delivery::Taken;
    for _ in 0..2 {
        submit(&mut engine, RUNNING + 64);
        while !engine.is_idle() {
            engine.step(&mut on_event).unwrap();
        }
    }
    submit(&mut engine, RUNNING + 64);
    let (mut quiet, mut chunks) = (0, 0);
    while !engine.is_idle() {
        let (before, stats) = (snapshot().allocations, engine.scheduler.stats());
        engine.step(&mut on_event).unwrap();
        let allocated = snapshot().allocations - before;
        if engine.scheduler.joined().is_empty() && engine.queues.running.len() >= 64 {
            assert_eq!(allocated, 0, "step {}", stats.steps);
            quiet += 1;
            chunks += engine.scheduler.stats().chunks - stats.chunks;
        }
    }
    assert!(quiet > 20, "{quiet} steps without anybody joining");
    assert!(chunks > 100, "{chunks} chunks in them");
}
