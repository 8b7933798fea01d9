//! Counts allocations of the whole process, so this file holds one test only.

use generation::{Model, State};
use lab::alloc::{CountingAllocator, snapshot};
use layout::pool::Pool;
use training::TokenId;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// State holds all scratch: once a sequence of some length has been computed, no shorter or equal one allocates. (With more threads the
/// same holds for each of them, but which thread meets a product of which size first is chance, and a test wants no chance.)
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
    // The naive loop allocates its sequence once, whatever the number of steps.
    let count = |state: &mut State, steps| {
        let before = snapshot().allocations;
        model.generate(state, &pool, &tokens[..4], steps, &mut |_| {}).unwrap();
        snapshot().allocations - before
    };
    let few = count(&mut state, 2);
    assert_eq!(count(&mut state, 30), few);
}
