//! Counts allocations of the whole process, so this program holds one test only.

use generation::{Model, State};
use kv_cache::experiments::concat::{self, GrowingCache, Growth};
use kv_cache::forward::forward;
use kv_cache::{ContiguousCache, session};
use lab::alloc::{CountingAllocator, snapshot};
use layout::pool::Pool;
use training::TokenId;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// After the first pass no step allocates: the cache, the angles and the scores have room for the whole text. One
/// thread, because with more threads chance decides which thread meets a product of which size first.
#[test]
fn a_decode_step_allocates_nothing() {
    let path = fixtures::model("some-kv-tied-bf16");
    let mut model = Model::open(path.to_str().unwrap()).unwrap();
    model.config.eos_token_ids.clear();
    let pool = Pool::new(1);
    let (config, weights) = (&model.config, &model.weights);
    let tokens: Vec<TokenId> = (0..200).map(TokenId).collect();
    let mut cache = ContiguousCache::new(&config.llama, 200);
    let mut state = State::new(config, 0);
    forward(config, weights, &mut state, &mut cache, &pool, &tokens[..5]).unwrap();
    forward(config, weights, &mut state, &mut cache, &pool, &tokens[5..6]).unwrap();
    let before = snapshot().allocations;
    for token in tokens[6..150].chunks(1) {
        forward(config, weights, &mut state, &mut cache, &pool, token).unwrap();
    }
    // Neither do further chunks of at most as many rows, after the cache was cut back.
    cache.truncate(20).unwrap();
    forward(config, weights, &mut state, &mut cache, &pool, &tokens[20..25]).unwrap();
    cache.clear();
    forward(config, weights, &mut state, &mut cache, &pool, &tokens[..5]).unwrap();
    assert_eq!(snapshot().allocations - before, 0);

    // The loop allocates its answer once, whatever the number of steps.
    let mut count = |steps| {
        let before = snapshot().allocations;
        session::generate(&model, &mut state, &mut cache, &pool, &tokens[..4], steps, &mut |_| {}).unwrap();
        snapshot().allocations - before
    };
    let few = count(2);
    assert_eq!(count(60), few);

    // A cache that grows allocates keys and values of each layer, at each token.
    let mut growing = GrowingCache::new(&config.llama, Growth::Exact);
    concat::forward(&model, &mut state, &mut growing, &pool, &tokens[..5]).unwrap();
    let before = snapshot().allocations;
    for token in tokens[5..25].chunks(1) {
        concat::forward(&model, &mut state, &mut growing, &pool, token).unwrap();
    }
    let a_token = 2 * config.llama.num_layers as u64;
    assert_eq!(snapshot().allocations - before, 20 * a_token);
}
