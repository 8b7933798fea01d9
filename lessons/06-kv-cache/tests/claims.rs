//! The lesson's claims, as counts.

mod common;

use common::{all_fixtures, small, tokens};
use generation::work::Work;
use generation::{Model, State};
use kv_cache::concat::{GrowingCache, Growth};
use kv_cache::memory::kv_bytes;
use kv_cache::shapes::known_models;
use kv_cache::views::Showing;
use kv_cache::work::{of_chunk, rows_of_cached_loop, visible_pairs};
use kv_cache::{CacheOrder, ContiguousCache, concat, forward, masked, session, views};
use lab::ledger::{self, Ledger};
use layout::lines::Cache;
use layout::pool::Pool;
use training::TokenId;

fn state(model: &Model) -> State {
    State::new(&model.config, 0)
}

/// What each chunk of a text counts, one ledger a chunk.
fn counted(model: &Model, cache: &mut ContiguousCache, chunks: &[&[TokenId]]) -> Vec<Ledger> {
    let (mut state, pool) = (state(model), Pool::new(2));
    let count = |chunk: &&[TokenId]| {
        let (config, weights) = (&model.config, &model.weights);
        let pass = || forward::forward(config, weights, &mut state, cache, &pool, chunk).map(|_| ());
        let (result, counted) = ledger::measure(pass);
        result.unwrap();
        counted
    };
    chunks.iter().map(count).collect()
}

/// G2: the formula gives 1 GiB for Llama-7B, and it is what a cache really allocates.
#[test]
fn the_formula_is_what_a_cache_takes() {
    assert_eq!(kv_bytes(32, 32, 128, 2048, 1, 2), 1 << 30);
    assert_eq!(known_models()[0].kv_bytes(2048, 2), 1 << 30);
    for model in all_fixtures() {
        let llama = &model.config.llama;
        for order in CacheOrder::ALL {
            let cache = ContiguousCache::with_order(llama, 37, order);
            let numbers: usize = (0..llama.num_layers)
                .flat_map(|layer| cache.layer(layer))
                .map(<[f32]>::len)
                .sum();
            assert_eq!(cache.bytes(), 4 * numbers as u64, "{}", model.name);
            let (heads, width) = (llama.num_kv_heads, llama.head_dim);
            let formula = kv_bytes(llama.num_layers, heads, width, 37, 1, 4);
            assert_eq!(cache.bytes(), formula, "{}", model.name);
        }
    }
}

/// G3, the part that can be counted: 128 tokens after a prompt of 16 are 143 rows instead of 10 176.
#[test]
fn each_row_is_computed_once() {
    let (model, pool) = (small(), Pool::new(1));
    let prompt = tokens(&model, 16);
    let mut cache = kv_cache::cache_for(&model, 16, 128);
    assert_eq!(cache.capacity(), 143);
    let mut cached_state = state(&model);
    let (timed, cached) = ledger::measure(|| {
        let (state, cache) = (&mut cached_state, &mut cache);
        session::generate(&model, state, cache, &pool, &prompt, 128, &mut |_| {}).unwrap()
    });
    assert_eq!(timed.generation.tokens.len(), 128);
    assert_eq!((cached.get("positions"), cached.steps), (143, 128));
    assert_eq!(rows_of_cached_loop(16, 128), 143);
    let mut naive_state = state(&model);
    let (_, naive) = ledger::measure(|| {
        model
            .generate(&mut naive_state, &pool, &prompt, 128, &mut |_| {})
            .unwrap()
    });
    assert_eq!(naive.get("positions"), 10_176);
    assert!(naive.multiply_adds > 30 * cached.multiply_adds);
}

/// Projections per decoded token are constant, whatever came before; attention grows by the same amount with each position.
#[test]
fn projections_of_a_decoded_token_do_not_grow() {
    let model = small();
    let llama = &model.config.llama;
    let text = tokens(&model, 60);
    let mut cache = ContiguousCache::new(llama, 60);
    let chunks: Vec<&[TokenId]> = text.chunks(1).collect();
    let steps = counted(&model, &mut cache, &chunks);
    let attention = |context_len: usize| 2 * (llama.num_layers * llama.q_size() * context_len) as u64;
    let projections = of_chunk(llama, 0, 1).linear_multiply_adds;
    let kept = kv_bytes(llama.num_layers, llama.num_kv_heads, llama.head_dim, 1, 1, 4);
    for (position, step) in steps.iter().enumerate() {
        let linear = step.multiply_adds - attention(position + 1);
        assert_eq!(linear, projections, "position {position}");
        assert_eq!(step.get("kv_bytes_written"), kept, "position {position}");
    }
}

/// The formula of a chunk's work equals what the ledger counts, for every fixture, prefix and chunk; and without a prefix it is lesson 05's.
#[test]
fn counted_multiply_adds_equal_the_formula() {
    for model in all_fixtures() {
        let llama = &model.config.llama;
        let text = tokens(&model, 48);
        let mut cache = ContiguousCache::new(llama, 48);
        for (num_cached, rows) in [(0, 1), (1, 1), (0, 48), (5, 7), (40, 8), (47, 1)] {
            cache.clear();
            let chunks = [&text[..num_cached], &text[num_cached..num_cached + rows]];
            let chunks = if num_cached == 0 { &chunks[1..] } else { &chunks };
            let step = counted(&model, &mut cache, chunks).pop().unwrap();
            let work = of_chunk(llama, num_cached, rows);
            assert_eq!(
                step.multiply_adds,
                work.multiply_adds(),
                "{}: {rows} after {num_cached}",
                model.name
            );
        }
        assert_eq!(of_chunk(llama, 0, 48), Work::of_shape(llama, 48));
    }
}

#[test]
fn chunks_of_a_text_share_its_pairs_out() {
    assert_eq!(
        (visible_pairs(0, 3), visible_pairs(3, 2), visible_pairs(0, 5)),
        (6, 9, 15)
    );
}

/// G4: a cache that grows by concatenation copies all it holds at each token; a preallocated one copies nothing and allocates nothing;
/// doubling is in between.
#[test]
fn only_growing_caches_copy_what_they_hold() {
    const PROMPT: usize = 10;
    const NEW: usize = 30;
    let (model, pool) = (small(), Pool::new(1));
    let llama = &model.config.llama;
    let text = tokens(&model, PROMPT + NEW);
    let position = kv_bytes(llama.num_layers, llama.num_kv_heads, llama.head_dim, 1, 1, 4);
    let copied = |growth| {
        let mut cache = GrowingCache::new(llama, growth);
        let mut state = state(&model);
        let (_, counted) = ledger::measure(|| {
            let (config, weights) = (&model.config, &model.weights);
            let prompt = &text[..PROMPT];
            concat::forward(config, weights, &mut state, &mut cache, &pool, prompt).unwrap();
            for token in text[PROMPT..].chunks(1) {
                concat::forward(config, weights, &mut state, &mut cache, &pool, token).unwrap();
            }
        });
        assert_eq!(counted.get("kv_bytes_written"), (PROMPT + NEW) as u64 * position);
        counted.get("kv_bytes_copied")
    };
    // Token i finds PROMPT + i positions and copies them all.
    let all: u64 = (0..NEW as u64).map(|i| PROMPT as u64 + i).sum();
    assert_eq!(copied(Growth::Exact), all * position);
    // 10 to 20 to 40: what is there moves twice.
    assert_eq!(copied(Growth::Doubling), (10 + 20) * position);
    let mut cache = ContiguousCache::new(llama, PROMPT + NEW);
    let chunks: Vec<&[TokenId]> = text.chunks(10).collect();
    for step in counted(&model, &mut cache, &chunks) {
        assert_eq!(step.get("kv_bytes_copied"), 0);
    }
}

/// G5, the part that can be counted: only copies move keys and values; view objects and the index do not.
#[test]
fn a_view_copies_nothing() {
    let (model, pool) = (small(), Pool::new(1));
    let llama = &model.config.llama;
    let text = tokens(&model, 12);
    for (showing, copied_positions) in [(Showing::Index, 0), (Showing::Objects, 0), (Showing::Copies, 12)] {
        let mut cache = ContiguousCache::new(llama, 20);
        let mut state = state(&model);
        let (config, weights) = (&model.config, &model.weights);
        views::forward(config, weights, &mut state, &mut cache, &pool, &text[..11], showing).unwrap();
        let (_, counted) = ledger::measure(|| {
            let (state, cache) = (&mut state, &mut cache);
            views::forward(config, weights, state, cache, &pool, &text[11..], showing)
                .map(|_| ())
                .unwrap();
        });
        let (heads, width) = (llama.num_kv_heads, llama.head_dim);
        let bytes = kv_bytes(llama.num_layers, heads, width, copied_positions, 1, 4);
        assert_eq!(counted.get("kv_bytes_copied"), bytes, "{showing:?}");
    }
}

/// G6, the part that can be counted: both orders read the same lines of one head; [heads, positions, head_dim] reads them in one run.
#[test]
fn the_second_order_reads_a_head_in_sequence() {
    for (positions, heads, head_dim) in [(64, 4, 32), (512, 4, 32), (512, 3, 64), (100, 8, 16)] {
        let read = |order: CacheOrder, head: usize| {
            let strides = order.strides(positions, heads, head_dim);
            let mut cache = Cache::default();
            for position in 0..positions {
                for number in 0..head_dim {
                    cache.read(4 * (position * strides.position + head * strides.head + number));
                }
            }
            (cache.lines_fetched(), cache.runs_fetched())
        };
        let lines = (positions * head_dim * 4).div_ceil(64) as u64;
        for head in 0..heads {
            assert_eq!(read(CacheOrder::HeadMajor, head), (lines, 1));
            let (found, runs) = read(CacheOrder::PositionMajor, head);
            assert_eq!((found, runs), (lines, positions as u64), "{heads} heads of {head_dim}");
        }
    }
}

/// A mask over the whole preallocated length does the work of a full cache at every token; a length that is cut off does not.
#[test]
fn a_mask_pays_for_the_whole_capacity() {
    let (model, pool) = (small(), Pool::new(1));
    let llama = &model.config.llama;
    let text = tokens(&model, 8);
    let attention = |positions: usize| 2 * (llama.num_layers * llama.q_size() * positions) as u64;
    let linear = of_chunk(llama, 0, 1).linear_multiply_adds;
    for capacity in [8, 100, 400] {
        let mut cache = ContiguousCache::new(llama, capacity);
        let mut state = state(&model);
        let (config, weights) = (&model.config, &model.weights);
        let mut step = |tokens: &[TokenId]| {
            let pass = || masked::forward(config, weights, &mut state, &mut cache, &pool, tokens).map(|_| ());
            let (result, counted) = ledger::measure(pass);
            result.unwrap();
            counted.multiply_adds
        };
        step(&text[..7]);
        assert_eq!(step(&text[7..]), linear + attention(capacity), "capacity {capacity}");
    }
    assert_eq!(of_chunk(llama, 7, 1).multiply_adds(), linear + attention(8));
}
