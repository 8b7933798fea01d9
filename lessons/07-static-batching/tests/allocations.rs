//! Counts allocations of the whole process, so this file holds one test only.

mod common;

use common::{fixture, prompt, slices};
use lab::alloc::{CountingAllocator, snapshot};
use layout::pool::Pool;
use static_batching::{BatchState, Pad, generate_batch};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// The first step makes all the room there is; what follows allocates nothing, also where rows are done and others are not. (One thread:
/// which thread meets a product of which size first is chance.)
#[test]
fn a_step_of_decoding_allocates_nothing() {
    let model = fixture("some-kv-tied-bf16");
    let (mut state, pool) = (BatchState::new(&model.config), Pool::new(1));
    let prompts = [prompt(5, 1), prompt(9, 2), prompt(1, 3)];
    let prompts = slices(&prompts);
    let mut counts = Vec::with_capacity(64);
    for _ in 0..2 {
        counts.clear();
        let on_token = &mut |row, _| {
            if row == 1 {
                counts.push(snapshot().allocations);
            }
        };
        let max = [3, 30, 12];
        let rule = Pad::default();
        generate_batch(&model, &mut state, &pool, &prompts, &max, rule, on_token).unwrap();
    }
    assert_eq!(counts.len(), 30);
    assert_eq!(counts[29] - counts[0], 0, "between the first and the last token");
}
