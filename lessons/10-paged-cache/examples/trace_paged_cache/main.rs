//! Records what the book's interactive figure shows: the blocks, who holds them and in which order the free ones lie, after everything that happens.
//!
//! ```text
//! cargo run -q -p lesson10 --example trace_paged_cache > target/paged-cache.json && mv target/paged-cache.json book/figures/paged-cache.json
//! ```
//!
//! Lesson 08's engine runs over this lesson's cache; a watch around the cache writes down the state after each call. The oracle computes: it reads
//! every position back through the tables, and what it reads is compared. The texts are given, so that they can be read.

mod play;
mod scenarios;
mod sentences;
mod watch;

use anyhow::{Context, ensure};
use continuous_batching::oracle;
use serde::{Deserialize, Serialize};

/// Positions of a block.
const BLOCK_SIZE: usize = 4;
/// Room for the longest text.
const MAX_SEQ_LEN: usize = 24;

/// The file `book/figures/paged-cache.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// The sentences of the first scenario.
    steps: Vec<Step>,
    block_size: usize,
    /// By token id.
    words: Vec<String>,
    scenarios: Vec<Recorded>,
}

/// A sentence that is read aloud.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Step {
    text: String,
}

/// One scenario, played.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Recorded {
    name: String,
    about: String,
    /// Prompt of each request, in words.
    prompts: Vec<String>,
    frames: Vec<Frame>,
}

/// What there is after something has happened.
#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Frame {
    text: String,
    /// What happened, for the marks above the map.
    kinds: Vec<String>,
    /// Blocks that changed.
    marked: Vec<u32>,
    /// Each block: name of its content if it is published, positions that count, and the tokens that were written into it (-1: none yet).
    blocks: Vec<(Option<String>, usize, Vec<i64>)>,
    /// The free list, the next one to be handed out first.
    free: Vec<u32>,
    /// Free blocks that nobody was promised.
    unpromised: usize,
    /// Each request: where it stands, its blocks, positions that it keeps, blocks that it was promised.
    tables: Vec<(State, Vec<u32>, usize, usize)>,
}

/// Where a request stands.
#[derive(Serialize, Deserialize, PartialEq, Debug, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum State {
    Absent,
    Waiting,
    Running,
    Done,
    Cancelled,
}

/// Records the trace anew.
///
/// # Errors
/// A scenario that the engine refuses, or that leaves something held.
pub fn record() -> anyhow::Result<Trace> {
    let mut words = play::Words::default();
    let played = scenarios::scenarios()
        .into_iter()
        .map(|scenario| play::play(&scenario, &mut words).with_context(|| scenario.name));
    let scenarios = played.collect::<anyhow::Result<Vec<Recorded>>>()?;
    ensure!(words.0.len() < oracle::VOCAB_SIZE, "too many words");
    let sentences = scenarios[0].frames.iter().map(|frame| Step {
        text: frame.text.clone(),
    });
    Ok(Trace {
        schema: 1,
        figure: "paged-cache".into(),
        source: "cargo run -q -p lesson10 --example trace_paged_cache".into(),
        steps: sentences.collect(),
        block_size: BLOCK_SIZE,
        words: words.0,
        scenarios,
    })
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    // One frame a line: a change of one shows as a change of one.
    let text = serde_json::to_string(&record()?)?;
    let text = text
        .replace("{\"text\"", "\n{\"text\"")
        .replace("{\"name\"", "\n{\"name\"");
    lab::outln!("{text}");
    Ok(())
}
