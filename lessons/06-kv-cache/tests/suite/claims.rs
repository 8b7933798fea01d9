//! The lesson's claims, as counts.

use crate::common::{all_fixtures, answer, pass, small, state, tokens};
use generation::work::Work;
use generation::{Model, State};
use kv_cache::experiments::concat::{self, GrowingCache, Growth};
use kv_cache::experiments::masked;
use kv_cache::experiments::views::{self, Showing};
use kv_cache::memory::kv_bytes;
use kv_cache::shapes::known_models;
use kv_cache::work::{lines_and_runs, of_chunk, rows_of_cached_loop, visible_pairs};
use kv_cache::{CacheError, CacheOrder, ContiguousCache};
use lab::ledger::{self, Ledger};
use layout::pool::Pool;
use training::TokenId;

/// The counts of each chunk of a text, one ledger a chunk.
fn counted<'a>(
    model: &Model,
    chunks: impl IntoIterator<Item = &'a [TokenId]>,
    mut pass: impl FnMut(&mut State, &[TokenId]) -> Result<(), CacheError>,
) -> Vec<Ledger> {
    let mut state = state(model);
    let count = |chunk| {
        let (result, counted) = ledger::measure(|| pass(&mut state, chunk));
        result.unwrap();
        counted
    };
    chunks.into_iter().map(count).collect()
}

/// The same for passes of the lesson.
fn counted_passes<'a>(
    model: &Model,
    cache: &mut ContiguousCache,
    chunks: impl IntoIterator<Item = &'a [TokenId]>,
) -> Vec<Ledger> {
    let pool = Pool::new(2);
    counted(model, chunks, |_, chunk| pass(model, &pool, cache, chunk).map(|_| ()))
}

/// Bytes of keys and values of `positions` positions in f32.
fn kept_bytes(model: &Model, positions: usize) -> u64 {
    let llama = &model.config.llama;
    kv_bytes(llama.num_layers, llama.num_kv_heads, llama.head_dim, positions, 1, 4)
}

/// Multiply-adds of attention of one row over `positions` positions.
fn attention(model: &Model, positions: usize) -> u64 {
    2 * (model.config.llama.num_layers * model.config.llama.q_size() * positions) as u64
}

/// G2: the formula gives 1 GiB for Llama-7B, and a cache allocates what the formula says.
#[test]
fn the_formula_is_what_a_cache_takes() {
    assert_eq!(kv_bytes(32, 32, 128, 2048, 1, 2), 1 << 30);
    assert_eq!(known_models()[0].kv_bytes(2048, 2), 1 << 30);
    for model in all_fixtures() {
        for order in CacheOrder::ALL {
            let cache = ContiguousCache::with_order(&model.config.llama, 37, order);
            let layers = (0..model.config.llama.num_layers).flat_map(|layer| cache.layer(layer));
            let numbers: usize = layers.map(<[f32]>::len).sum();
            assert_eq!(cache.bytes(), 4 * numbers as u64, "{}", model.name);
            assert_eq!(cache.bytes(), kept_bytes(&model, 37), "{}", model.name);
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
    let (timed, cached) = ledger::measure(|| answer(&model, &mut cache, &prompt, 128, &mut |_| {}).unwrap());
    assert_eq!(timed.generation.tokens.len(), 128);
    assert_eq!((cached.get("positions"), cached.steps), (143, 128));
    assert_eq!(rows_of_cached_loop(16, 128), 143);
    let mut naive_state = state(&model);
    let (_, naive) = ledger::measure(|| {
        let answer = model.generate(&mut naive_state, &pool, &prompt, 128, &mut |_| {});
        answer.unwrap()
    });
    assert_eq!(naive.get("positions"), 10_176);
    assert!(naive.multiply_adds > 30 * cached.multiply_adds);
}

/// The projections of a decoded token are constant, whatever came before; attention grows by the same amount with each
/// position.
#[test]
fn projections_of_a_decoded_token_do_not_grow() {
    let model = small();
    let text = tokens(&model, 60);
    let mut cache = ContiguousCache::new(&model.config.llama, 60);
    let projections = of_chunk(&model.config.llama, 0, 1).linear_multiply_adds;
    for (position, step) in counted_passes(&model, &mut cache, text.chunks(1)).iter().enumerate() {
        let linear = step.multiply_adds - attention(&model, position + 1);
        assert_eq!(linear, projections, "position {position}");
        assert_eq!(
            step.get("kv_bytes_written"),
            kept_bytes(&model, 1),
            "position {position}"
        );
    }
}

/// The formula of a chunk's work equals the ledger's count, for every fixture, prefix and chunk. Without a prefix it is
/// lesson 05's.
#[test]
fn counted_multiply_adds_equal_the_formula() {
    for model in all_fixtures() {
        let llama = &model.config.llama;
        let text = tokens(&model, 48);
        let mut cache = ContiguousCache::new(llama, 48);
        for (num_cached, rows) in [(0, 1), (1, 1), (0, 48), (5, 7), (40, 8), (47, 1)] {
            cache.clear();
            let chunks = [&text[..num_cached], &text[num_cached..num_cached + rows]];
            let chunks = chunks.into_iter().filter(|chunk| !chunk.is_empty());
            let step = counted_passes(&model, &mut cache, chunks).pop().unwrap();
            let expected = of_chunk(llama, num_cached, rows).multiply_adds();
            assert_eq!(
                step.multiply_adds, expected,
                "{}: {rows} after {num_cached}",
                model.name
            );
        }
        assert_eq!(of_chunk(llama, 0, 48), Work::of_shape(llama, 48));
    }
    let pairs = [visible_pairs(0, 3), visible_pairs(3, 2), visible_pairs(0, 5)];
    assert_eq!(
        pairs,
        [6, 9, 15],
        "two chunks have together the pairs of the whole text"
    );
}

/// G4: a cache that grows by concatenation copies all positions at each token; a preallocated one copies nothing;
/// doubling is in between.
#[test]
fn only_growing_caches_copy_what_they_hold() {
    const PROMPT: usize = 10;
    const NEW: usize = 30;
    let (model, pool) = (small(), Pool::new(1));
    let llama = &model.config.llama;
    let text = tokens(&model, PROMPT + NEW);
    let copied = |growth| {
        let mut cache = GrowingCache::new(llama, growth);
        let chunks = std::iter::once(&text[..PROMPT]).chain(text[PROMPT..].chunks(1));
        let steps = counted(&model, chunks, |state, chunk| {
            concat::forward(&model, state, &mut cache, &pool, chunk).map(|_| ())
        });
        let sum = |name| steps.iter().map(|step| step.get(name)).sum::<u64>();
        assert_eq!(sum("kv_bytes_written"), kept_bytes(&model, PROMPT + NEW));
        sum("kv_bytes_copied")
    };
    // Token i finds PROMPT + i positions and copies them all.
    let positions: usize = (0..NEW).map(|i| PROMPT + i).sum();
    assert_eq!(copied(Growth::Exact), kept_bytes(&model, positions));
    // Room for 10, then 20, then 40 positions: the old positions are copied twice.
    assert_eq!(copied(Growth::Doubling), kept_bytes(&model, 10 + 20));
    let mut cache = ContiguousCache::new(llama, PROMPT + NEW);
    for step in counted_passes(&model, &mut cache, text.chunks(10)) {
        assert_eq!(step.get("kv_bytes_copied"), 0);
    }
}

/// G5, the part that can be counted: only dense copies move keys and values; view objects and the index do not.
#[test]
fn a_view_copies_nothing() {
    let (model, pool) = (small(), Pool::new(1));
    let text = tokens(&model, 12);
    for (showing, copied_positions) in [(Showing::Index, 0), (Showing::Objects, 0), (Showing::Copies, 12)] {
        let mut cache = ContiguousCache::new(&model.config.llama, 20);
        let steps = counted(&model, [&text[..11], &text[11..]], |state, chunk| {
            views::forward(&model, state, &mut cache, &pool, chunk, showing).map(|_| ())
        });
        let expected = kept_bytes(&model, copied_positions);
        assert_eq!(steps[1].get("kv_bytes_copied"), expected, "{showing:?}");
    }
}

/// G6, the part that can be counted: both orders read the same lines of one head; [heads, positions, head_dim] reads
/// them in one run.
#[test]
fn the_second_order_reads_a_head_in_sequence() {
    for (positions, heads, head_dim) in [(64usize, 4, 32), (512, 4, 32), (512, 3, 64), (100, 8, 16)] {
        let lines = (positions * head_dim * 4).div_ceil(64) as u64;
        for head in 0..heads {
            let [by_position, by_head] =
                CacheOrder::ALL.map(|order| lines_and_runs(order, positions, heads, head_dim, head));
            assert_eq!(by_position, (lines, positions as u64), "{heads} heads of {head_dim}");
            assert_eq!(by_head, (lines, 1), "{heads} heads of {head_dim}");
        }
    }
}

/// A mask over the whole preallocated length does the work of a full cache at every token.
#[test]
fn a_mask_pays_for_the_whole_capacity() {
    let (model, pool) = (small(), Pool::new(1));
    let text = tokens(&model, 8);
    let step = of_chunk(&model.config.llama, 7, 1);
    for capacity in [8, 100, 400] {
        let mut cache = ContiguousCache::new(&model.config.llama, capacity);
        let steps = counted(&model, [&text[..7], &text[7..]], |state, chunk| {
            masked::forward(&model, state, &mut cache, &pool, chunk).map(|_| ())
        });
        let expected = step.linear_multiply_adds + attention(&model, capacity);
        assert_eq!(steps[1].multiply_adds, expected, "capacity {capacity}");
    }
    assert_eq!(step.attention_multiply_adds, attention(&model, 8));
}
