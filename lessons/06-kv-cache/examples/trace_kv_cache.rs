//! Records what the book's interactive figure shows: one short text written three times, and for each step which rows were computed,
//! how many keys they read, and what the cache holds.
//!
//! ```text
//! cargo run -q -p lesson06 --example trace_kv_cache > target/kv-cache.json && mv target/kv-cache.json book/figures/kv-cache.json
//! ```
//!
//! Nothing in it is computed on paper: rows and keys follow from what the ledger counted in each pass. The trace belongs to one
//! checkpoint, by the sha256 of its weights: after training on, run the command again (`tests/figure.rs` says so).

use anyhow::ensure;
use generation::candidates::visible;
use generation::generate::greedy;
use generation::work::Work;
use generation::{Model, State};
use kv_cache::cache::ContiguousCache;
use kv_cache::forward::forward;
use kv_cache::memory::kv_bytes;
use lab::ledger;
use layout::pool::Pool;
use serde::{Deserialize, Serialize};
use training::TokenId;

/// The beginning of the text.
const PROMPT: &str = "Once upon a time there was a fox";
/// Tokens of the answer.
const NEW_TOKENS: usize = 8;
/// Rows of a chunk, in the run that reads the prompt in pieces.
const CHUNK: usize = 3;

/// The file `book/figures/kv-cache.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// Of the weights that wrote the text.
    pub checkpoint_sha256: String,
    /// Tokens of prompt and answer, as they look.
    pieces: Vec<String>,
    prompt_tokens: usize,
    /// Bytes of keys and values of one position.
    bytes_per_position: u64,
    #[serde(flatten)]
    first: Run,
    /// The other ways to write the same text.
    others: Vec<Run>,
}

/// One way to write the text.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Run {
    kind: Kind,
    steps: Vec<Step>,
}

/// Which rows a step computes.
#[derive(Serialize, Deserialize, PartialEq, Eq, Clone, Copy, Debug)]
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
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Step {
    /// The sentence that is read aloud.
    text: String,
    /// First position that is computed.
    first: usize,
    /// Rows that are computed.
    rows: u64,
    /// Pairs of a row and a key that it reads, in one layer and head.
    keys: u64,
    /// Multiply-adds of the pass.
    multiply_adds: u64,
    /// Bytes of keys and values that are kept when it is over.
    kept_bytes: u64,
    /// Whether its last row's logits choose a token; a chunk before the last one's do not.
    says_token: bool,
}

/// Records the trace anew.
///
/// # Errors
/// A model that can not be opened or run; runs that write different texts.
pub fn record() -> anyhow::Result<Trace> {
    let model = Model::open("stories")?;
    let pool = Pool::new(2);
    let prompt = model.encode_prompt(PROMPT)?;
    let (first, tokens) = run(&model, &pool, &prompt, Kind::Cached)?;
    let mut others = Vec::new();
    for kind in [Kind::Naive, Kind::Chunked] {
        let (run, same) = run(&model, &pool, &prompt, kind)?;
        ensure!(same == tokens, "{kind:?} wrote another text");
        others.push(run);
    }
    let tokenizer = model.tokenizer()?;
    Ok(Trace {
        schema: 1,
        figure: "kv-cache".into(),
        source: "cargo run -q -p lesson06 --example trace_kv_cache".into(),
        checkpoint_sha256: fixtures::sha256_of_weights(&lab::paths::data_dir().join("stories"))?,
        pieces: tokens.iter().map(|t| visible(tokenizer, *t)).collect(),
        prompt_tokens: prompt.len(),
        bytes_per_position: bytes_kept(&model, 1),
        first,
        others,
    })
}

/// Writes the text in one way; returns its steps, and prompt and answer.
fn run(model: &Model, pool: &Pool, prompt: &[TokenId], kind: Kind) -> anyhow::Result<(Run, Vec<TokenId>)> {
    let longest = prompt.len() + NEW_TOKENS;
    let mut state = State::new(&model.config, longest);
    let mut cache = ContiguousCache::new(&model.config.llama, longest);
    let mut sequence = prompt.to_vec();
    let mut steps = Vec::new();
    while sequence.len() < longest {
        let first = if kind == Kind::Naive { 0 } else { cache.len() };
        let end = match kind {
            Kind::Chunked => sequence.len().min(first + CHUNK),
            Kind::Naive | Kind::Cached => sequence.len(),
        };
        let tokens = &sequence[first..end];
        let (next, counted) = ledger::measure(|| -> anyhow::Result<TokenId> {
            let logits = match kind {
                Kind::Naive => model.forward(&mut state, pool, tokens)?,
                Kind::Cached | Kind::Chunked => {
                    forward(&model.config, &model.weights, &mut state, &mut cache, pool, tokens)?
                }
            };
            Ok(greedy(logits)?)
        });
        let says_token = end == sequence.len();
        let mut step = Step {
            text: String::new(),
            first,
            rows: counted.get("positions"),
            keys: keys_read(model, &counted),
            multiply_adds: counted.multiply_adds,
            kept_bytes: bytes_kept(model, cache.len()),
            says_token,
        };
        step.text = sentence(&step, kind, prompt.len());
        if says_token {
            sequence.push(next?);
            let piece = visible(model.tokenizer()?, sequence[end]);
            step.text += &format!(" The next token: ‹{piece}›.");
        }
        steps.push(step);
    }
    Ok((Run { kind, steps }, sequence))
}

/// What is no matrix product is attention: two multiply-adds for each number of a query, in each layer, and for each key that is read.
fn keys_read(model: &Model, counted: &ledger::Ledger) -> u64 {
    let config = &model.config.llama;
    let rows = counted.get("positions") as usize;
    let products = Work::of_shape(config, rows).linear_multiply_adds;
    (counted.multiply_adds - products) / (2 * config.num_layers * config.q_size()) as u64
}

/// Bytes of the keys and values of some positions, in f32.
fn bytes_kept(model: &Model, positions: usize) -> u64 {
    let config = &model.config.llama;
    kv_bytes(config.num_layers, config.num_kv_heads, config.head_dim, positions, 1, 4)
}

/// What a step computes and what it finds, in words.
fn sentence(step: &Step, kind: Kind, prompt_tokens: usize) -> String {
    let Step { first, rows, .. } = *step;
    let positions = format!("positions {first} to {}", first as u64 + rows - 1);
    let kept = step.kept_bytes / 1024;
    match kind {
        Kind::Naive if rows == prompt_tokens as u64 => {
            format!("{rows} rows are computed, and nothing of them is kept.")
        }
        Kind::Naive => {
            let again = rows - 1;
            format!("{rows} rows are computed; {again} of them were computed in the step before.")
        }
        _ if first >= prompt_tokens => format!(
            "Decode: one row, position {first}. It reads {} keys, {first} kept and its own. The cache holds {kept} KiB.",
            step.keys
        ),
        Kind::Cached => {
            format!("Prefill: {rows} rows at once, {positions}. Their keys and values are kept, {kept} KiB.")
        }
        Kind::Chunked => {
            let before = match first {
                0 => "nothing is kept yet".to_owned(),
                _ => format!("each also reads the {first} kept ones"),
            };
            let end = if step.says_token { "" } else { " No token yet." };
            format!("Prefill: {rows} rows, {positions}; {before}. After it the cache holds {kept} KiB.{end}")
        }
    }
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    lab::outln!("{}", serde_json::to_string_pretty(&record()?)?);
    Ok(())
}
