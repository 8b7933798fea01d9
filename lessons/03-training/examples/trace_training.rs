//! Records the trace of the book's interactive figure: three small texts whose vocabulary grows merge by merge, under
//! two rules for ties. The figure's script writes its sentences.
//!
//! ```text
//! cargo run -q -p lesson03 --example trace_training > target/training.json && mv target/training.json book/figures/training.json
//! ```

use serde::Serialize;
use training::TokenId;
use training::merges::Merges;

/// Pairs that are shown, of all that were counted.
const PAIRS: usize = 8;

/// A text: key, name, words with their counts, number of merges.
type Text = (&'static str, &'static str, &'static [(&'static str, u64)], usize);

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

/// A text under one rule for ties.
#[derive(Serialize)]
struct Run {
    text: &'static str,
    name: &'static str,
    /// `smaller` pair first, which is the lesson's rule, or `larger`.
    ties: &'static str,
    steps: Vec<Step>,
}

/// What stands on the page at one step. Steps alternate: pairs counted, one pair joined.
#[derive(Serialize, Default)]
struct Step {
    /// Each word: its pieces, and how often it occurs.
    words: Vec<(Vec<String>, u64)>,
    /// The most frequent pairs: left, right, count. The first is joined next. Empty after a join.
    pairs: Vec<(String, String, u64)>,
    /// Ids of the pair that is joined next.
    ids: Option<(TokenId, TokenId)>,
    /// Number of pairs that were counted.
    num_pairs: usize,
    /// Number of pairs with the highest count.
    num_first: usize,
    /// Place in `pairs` of the pair that is joined next.
    chosen: Option<usize>,
    /// Pieces made by merges so far: id and text.
    made: Vec<(u32, String)>,
    /// Tokens of the whole text.
    num_tokens: u64,
}

fn main() {
    lab::outln!("{}", trace());
}

/// The whole document.
pub fn trace() -> serde_json::Value {
    let runs = TEXTS.iter().flat_map(|&(text, name, words, num_merges)| {
        ["smaller", "larger"].map(|ties| Run {
            text,
            name,
            ties,
            steps: steps(words, num_merges, ties == "smaller"),
        })
    });
    let runs: Vec<Run> = runs.collect();
    serde_json::json!({
        "schema": 1,
        "figure": "training",
        "source": "cargo run -q -p lesson03 --example trace_training",
        "steps": runs[0].steps,
        "runs": runs,
    })
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
        let pair = counts[0].0;
        let shown_pairs = counts.iter().take(PAIRS);
        steps.push(Step {
            pairs: shown_pairs
                .map(|&((left, right), count)| (merges.spell(left), merges.spell(right), count))
                .collect(),
            ids: Some(pair),
            num_pairs: counts.len(),
            num_first,
            chosen: Some(0),
            ..shown(&merges)
        });
        merges.join(pair);
        steps.push(shown(&merges));
    }
    steps
}

/// The words and the vocabulary as they are now.
fn shown(merges: &Merges) -> Step {
    let spell = |&token: &TokenId| merges.spell(token);
    let words = merges.words.iter();
    Step {
        words: words
            .map(|(tokens, n)| (tokens.iter().map(spell).collect(), *n))
            .collect(),
        made: (256..merges.pieces.len() as u32)
            .map(|id| (id, merges.spell(TokenId(id))))
            .collect(),
        num_tokens: merges.num_tokens(),
        ..Step::default()
    }
}
