//! Counts allocations of the whole process, so this program holds one test only.

use generation::Model;
use lab::alloc::{CountingAllocator, snapshot};
use layout::pool::Pool;
use static_batching::{BatchState, Pad, generate_batch};
use training::TokenId;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// After the first step no step allocates, also when some rows are done. One thread, because with more threads chance
/// decides which thread meets a product of which size first.
#[test]
fn a_step_of_decoding_allocates_nothing() {
    let path = fixtures::model("some-kv-tied-bf16");
    let mut model = Model::open(path.to_str().unwrap()).unwrap();
    model.config.eos_token_ids.clear();
    let (mut state, pool) = (BatchState::new(&model.config), Pool::new(1));
    let tokens: Vec<TokenId> = (1..10).map(TokenId).collect();
    let prompts = [&tokens[..5], &tokens, &tokens[..1]];
    let mut counts = Vec::with_capacity(64);
    for _ in 0..2 {
        counts.clear();
        let on_token = &mut |row, _| {
            if row == 1 {
                counts.push(snapshot().allocations);
            }
        };
        generate_batch(
            &model,
            &mut state,
            &pool,
            &prompts,
            &[3, 30, 12],
            Pad::default(),
            on_token,
        )
        .unwrap();
    }
    assert_eq!(counts.len(), 30);
    assert_eq!(counts[29] - counts[0], 0, "between the first and the last token");
}
