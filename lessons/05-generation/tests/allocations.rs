//! Counts allocations of the whole process, so this file holds one test only.

use generation::{Model, State};
use lab::alloc::{CountingAllocator, snapshot};
use layout::pool::Pool;
use training::TokenId;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// The state holds all scratch memory: after a sequence of some length no shorter or equal one allocates. (With one
/// thread, because with more it is chance which thread computes a product of which size first.)
#[test]
fn the_forward_pass_allocates_nothing() {
    let path = fixtures::model("some-kv-tied-bf16");
    let model = Model::open(path.to_str().unwrap()).unwrap();
    let pool = Pool::new(1);
    let mut state = State::new(&model.config, 40);
    let tokens: Vec<TokenId> = (0..40).map(TokenId).collect();
    model.forward(&mut state, &pool, &tokens).unwrap();
    let before = snapshot().allocations;
    for len in [1, 2, 39, 40] {
        model.forward(&mut state, &pool, &tokens[..len]).unwrap();
    }
    assert_eq!(snapshot().allocations - before, 0);
    // The naive loop allocates its sequence once, so the number of steps does not change the count.
    let count = |state: &mut State, steps| {
        let before = snapshot().allocations;
        model.generate(state, &pool, &tokens[..4], steps, &mut |_| {}).unwrap();
        snapshot().allocations - before
    };
    let few = count(&mut state, 2);
    assert_eq!(count(&mut state, 30), few);
}
