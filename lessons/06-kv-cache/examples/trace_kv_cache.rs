//! Records the trace of the book's interactive figure: one short text written three times. For each step it has the
//! rows that were computed, the keys that they read, and the bytes that the cache holds, all from the ledger's counts.
//!
//! ```text
//! cargo run -q -p lesson06 --example trace_kv_cache > target/kv-cache.json && mv target/kv-cache.json book/figures/kv-cache.json
//! ```
//!
//! The trace belongs to one checkpoint, named by the sha256 of its weights. After more training, run the command again
//! (`tests/suite/figure.rs` asks for it).

use anyhow::ensure;
use generation::generate::greedy;
use generation::work::Work;
use generation::{Model, State, terminal};
use kv_cache::cache::ContiguousCache;
use kv_cache::forward::forward;
use kv_cache::memory::kv_bytes;
use lab::ledger;
use layout::pool::Pool;
use serde::Serialize;
use serde_json::{Value, json};
use training::TokenId;

/// The beginning of the text.
const PROMPT: &str = "Once upon a time there was a fox";
/// Tokens of the answer.
const NEW_TOKENS: usize = 8;
/// Rows of a chunk, in the run that reads the prompt in pieces.
const CHUNK: usize = 3;

/// Which rows a step computes.
#[derive(Serialize, PartialEq, Eq, Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// All rows so far, as in lesson 05.
    Naive,
    /// The prompt at once, then one row a step.
    Cached,
    /// The prompt in pieces, then one row a step.
    Chunked,
}

/// One forward pass.
#[derive(Serialize)]
struct Step {
    /// First position that is computed.
    first: usize,
    /// Number of rows that are computed.
    rows: u64,
    /// Number of pairs of a row and a key that it reads, in one layer and head.
    keys: u64,
    /// Multiply-adds of the pass.
    multiply_adds: u64,
    /// Bytes of keys and values that the cache holds after the pass.
    kept_bytes: u64,
    /// Whether the logits of the last row choose a token. Those of a chunk before the end of the prompt do not.
    says_token: bool,
}

/// Records the trace.
///
/// # Errors
/// A model that can not be opened or run; runs that write different texts.
pub fn record() -> anyhow::Result<Value> {
    let model = Model::open("stories")?;
    let prompt = model.encode_prompt(PROMPT)?;
    let (steps, tokens) = run(&model, &prompt, Kind::Cached)?;
    let mut others = Vec::new();
    for kind in [Kind::Naive, Kind::Chunked] {
        let (steps, same) = run(&model, &prompt, kind)?;
        ensure!(same == tokens, "{kind:?} wrote another text");
        others.push(json!({"kind": kind, "steps": steps}));
    }
    Ok(json!({
        "schema": 1,
        "figure": "kv-cache",
        "source": "cargo run -q -p lesson06 --example trace_kv_cache",
        "checkpoint_sha256": fixtures::sha256_of_weights(&lab::paths::data_dir().join("stories"))?,
        "pieces": tokens.iter().map(|token| terminal::piece(&model, *token)).collect::<Vec<_>>(),
        "prompt_tokens": prompt.len(),
        "bytes_per_position": bytes_kept(&model, 1),
        "kind": Kind::Cached,
        "steps": steps,
        "others": others,
    }))
}

/// Writes the text in one way. Returns its steps, and prompt and answer.
fn run(model: &Model, prompt: &[TokenId], kind: Kind) -> anyhow::Result<(Vec<Step>, Vec<TokenId>)> {
    let (pool, longest) = (Pool::new(2), prompt.len() + NEW_TOKENS);
    let mut state = State::new(&model.config, longest);
    let mut cache = ContiguousCache::new(&model.config.llama, longest);
    let mut sequence = prompt.to_vec();
    let mut steps = Vec::new();
    while sequence.len() < longest {
        let (first, end) = match kind {
            Kind::Naive => (0, sequence.len()),
            Kind::Cached => (cache.len(), sequence.len()),
            Kind::Chunked => (cache.len(), sequence.len().min(cache.len() + CHUNK)),
        };
        let tokens = &sequence[first..end];
        let (next, counted) = ledger::measure(|| -> anyhow::Result<TokenId> {
            Ok(greedy(match kind {
                Kind::Naive => model.forward(&mut state, &pool, tokens)?,
                _ => forward(&model.config, &model.weights, &mut state, &mut cache, &pool, tokens)?,
            })?)
        });
        let (next, rows) = (next?, counted.get("positions"));
        // The rest of the multiply-adds is attention: two for each number of a query, in each layer, for each key.
        let attention = counted.multiply_adds - Work::of_shape(&model.config.llama, rows as usize).linear_multiply_adds;
        let llama = &model.config.llama;
        steps.push(Step {
            first,
            rows,
            keys: attention / (2 * llama.num_layers * llama.q_size()) as u64,
            multiply_adds: counted.multiply_adds,
            kept_bytes: bytes_kept(model, cache.len()),
            says_token: end == sequence.len(),
        });
        if end == sequence.len() {
            sequence.push(next);
        }
    }
    Ok((steps, sequence))
}

/// Bytes of the keys and values of `positions` positions, in f32.
fn bytes_kept(model: &Model, positions: usize) -> u64 {
    let config = &model.config.llama;
    kv_bytes(config.num_layers, config.num_kv_heads, config.head_dim, positions, 1, 4)
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    lab::outln!("{}", serde_json::to_string_pretty(&record()?)?);
    Ok(())
}
