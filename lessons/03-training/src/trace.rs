//! The recorded trace of the book's figure: three small texts whose vocabulary grows merge by merge, under two rules for ties.
//!
//! ```text
//! cargo run -q -p lesson03 --example trace_training > target/training.json && mv target/training.json book/figures/training.json
//! ```

use serde::Serialize;

use crate::config::TokenId;
use crate::merges::{Counted, Merges};

/// Pairs that are shown, of all that were counted.
const PAIRS: usize = 8;

/// A text: key, name, words with their counts, merges.
type Text = (&'static str, &'static str, &'static [(&'static str, u64)], usize);

/// The texts.
const TEXTS: [Text; 3] = [
    (
        "words",
        "four words",
        &[("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)],
        10,
    ),
    (
        "spaces",
        "a line with spaces",
        &[
            ("she", 1),
            (" sells", 1),
            (" sea", 2),
            (" shells", 1),
            (" by", 1),
            (" the", 1),
            (" shore", 1),
        ],
        6,
    ),
    (
        "bytes",
        "你好, byte by byte",
        &[("你好", 3), ("你们", 2), ("好的", 1)],
        7,
    ),
];

/// The file `book/figures/training.json`.
#[derive(Serialize)]
pub struct Trace {
    schema: u32,
    figure: &'static str,
    source: &'static str,
    /// The run that is shown first, for pages without scripts.
    steps: Vec<Step>,
    runs: Vec<Run>,
}

/// A text under one rule for ties.
#[derive(Serialize, Clone)]
struct Run {
    text: &'static str,
    name: &'static str,
    /// `smaller` pair first, which is the lesson's rule, or `larger`.
    ties: &'static str,
    steps: Vec<Step>,
}

/// What stands on the page at one step. Steps alternate: pairs counted, one pair joined.
#[derive(Serialize, Clone)]
struct Step {
    text: String,
    /// Each word: its pieces, and how often it occurs.
    words: Vec<(Vec<String>, u64)>,
    /// Pairs by frequency, the first few: left, right, count. Empty after a join.
    pairs: Vec<(String, String, u64)>,
    /// How many pairs were counted, and how many share the first place.
    num_pairs: usize,
    num_first: usize,
    /// Place in `pairs` of the pair that is joined next.
    chosen: Option<usize>,
    /// Pieces made by merges so far: id and text.
    made: Vec<(u32, String)>,
    /// Tokens of the whole text.
    num_tokens: u64,
}

/// Records the trace anew.
pub fn record() -> Trace {
    let mut runs = Vec::new();
    for (text, name, words, num_merges) in TEXTS {
        for ties in ["smaller", "larger"] {
            let steps = steps(words, num_merges, ties == "smaller");
            runs.push(Run {
                text,
                name,
                ties,
                steps,
            });
        }
    }
    Trace {
        schema: 1,
        figure: "training",
        source: "cargo run -q -p lesson03 --example trace_training",
        steps: runs[0].steps.clone(),
        runs,
    }
}

fn steps(words: &[(&str, u64)], num_merges: usize, smaller_first: bool) -> Vec<Step> {
    let mut merges = Merges::of(words);
    let mut steps = Vec::new();
    for _ in 0..num_merges {
        let mut counts = merges.counts();
        let Some(&(_, most)) = counts.first() else {
            break;
        };
        let num_first = counts.iter().filter(|&&(_, count)| count == most).count();
        if smaller_first {
            assert_eq!(merges.next_pair(), Some(counts[0].0), "one rule in two places");
        } else {
            counts[..num_first].reverse();
        }
        steps.push(counted(&merges, &counts, num_first, smaller_first));
        let pair = counts[0].0;
        let before = merges.num_tokens();
        let merged = merges.join(pair);
        steps.push(joined(&merges, pair, merged, before));
    }
    steps
}

fn counted(merges: &Merges, counts: &[Counted], num_first: usize, smaller_first: bool) -> Step {
    let which = if smaller_first { "smaller" } else { "larger" };
    let ((left, right), count) = counts[0];
    let pair = |(left, right): (TokenId, TokenId)| format!("{} + {}", merges.spell(left), merges.spell(right));
    let first = pair((left, right));
    let text = match num_first {
        1 => format!(
            "Count: {first} stands in the text {}, more often than any other pair.",
            times(count)
        ),
        _ => format!(
            "Count: a tie, {num_first} pairs stand in the text {} each. Of equals the {which} pair of ids wins: {first}, \
             ids {} and {}.",
            times(count),
            left.0,
            right.0
        ),
    };
    Step {
        text,
        pairs: counts
            .iter()
            .take(PAIRS)
            .map(|&((left, right), count)| (merges.spell(left), merges.spell(right), count))
            .collect(),
        num_pairs: counts.len(),
        num_first,
        chosen: Some(0),
        ..shown(merges)
    }
}

fn joined(merges: &Merges, pair: (TokenId, TokenId), merged: TokenId, before: u64) -> Step {
    let [left, right, piece] = [pair.0, pair.1, merged].map(|token| merges.spell(token));
    let text = format!(
        "Join: {left} + {right} becomes the piece {piece}, id {}. The text has {} tokens instead of {before}.",
        merged.0,
        merges.num_tokens()
    );
    Step { text, ..shown(merges) }
}

/// The words and the vocabulary as they are now.
fn shown(merges: &Merges) -> Step {
    let spell = |&token: &TokenId| merges.spell(token);
    let words = merges.words.iter();
    Step {
        text: String::new(),
        words: words
            .map(|(tokens, n)| (tokens.iter().map(spell).collect(), *n))
            .collect(),
        pairs: Vec::new(),
        num_pairs: 0,
        num_first: 0,
        chosen: None,
        made: (256..merges.pieces.len() as u32)
            .map(|id| (id, merges.spell(TokenId(id))))
            .collect(),
        num_tokens: merges.num_tokens(),
    }
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}
