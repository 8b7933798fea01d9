//! The data layer: one merge of byte pair encoding, the pair to merge next, the split, and the windows of perplexity.

use std::collections::HashMap;
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::config::TokenId;
use crate::split::Split;
use crate::windows::ScoringWindow;

/// Replaces every occurrence of `pair` in `tokens` by `merged`, from left to right, without overlap: with the pair (a,
/// a), `a a a` becomes `aa a`.
pub fn merge_pair(tokens: &[TokenId], pair: (TokenId, TokenId), merged: TokenId) -> Vec<TokenId> {
    // ANCHOR: ex_03_1
    let mut out = Vec::with_capacity(tokens.len());
    let mut position = 0;
    while position < tokens.len() {
        if tokens[position..].starts_with(&[pair.0, pair.1]) {
            out.push(merged);
            position += 2;
        } else {
            out.push(tokens[position]);
            position += 1;
        }
    }
    out
    // ANCHOR_END: ex_03_1
}

/// The split of a document with this content: 18 parts in 20 are for training, one each for validation and test.
///
/// The first eight bytes of the content's SHA-256, read as a little-endian number, are divided by 20: a remainder of 0
/// tests, 1 validates, every other one trains.
///
/// A hash decides, and nothing but the content goes into it: no seed, no position, no running random number. So two
/// documents with one content are on one side, however the corpus is shuffled, extended or made again.
pub fn split_of(content: &str) -> Split {
    // ANCHOR: ex_03_3
    let digest = Sha256::digest(content.as_bytes());
    let first = u64::from_le_bytes(digest[..8].try_into().expect("a digest has 32 bytes"));
    match first % 20 {
        0 => Split::Test,
        1 => Split::Validation,
        _ => Split::Train,
    }
    // ANCHOR_END: ex_03_3
}

/// Cuts a text of `num_tokens` tokens into windows of at most `window` inputs, so that every token but the first is
/// scored exactly once.
///
/// Position `p` reads token `p` and predicts token `p + 1`, so the positions are `0..num_tokens - 1`. Each window goes
/// on `stride` positions further than the one before it and scores only those; the positions before them are context:
/// ```text
/// window 4, stride 2    positions  0 1 2 3 4 5 6
/// first                            S S S S            S scored, c context only
/// second                               c c S S
/// third                                  c c c S      ends at the last position, so it keeps more context
/// ```
/// A larger overlap gives each token more context and costs more. With `window >= num_tokens - 1` there is one window
/// and the sum is the direct one. Panics unless `1 <= stride <= window`.
pub fn scoring_windows(num_tokens: usize, window: usize, stride: usize) -> Vec<ScoringWindow> {
    assert!(
        (1..=window).contains(&stride),
        "stride {stride} must be in 1..={window}"
    );
    // ANCHOR: ex_03_4
    let num_positions = num_tokens.saturating_sub(1);
    let mut windows = Vec::new();
    let mut scored = 0;
    while scored < num_positions {
        let step = if scored == 0 { window } else { stride };
        let end = (scored + step).min(num_positions);
        let inputs: Range<usize> = end.saturating_sub(window)..end;
        windows.push(ScoringWindow {
            inputs,
            scored: scored..end,
        });
        scored = end;
    }
    windows
    // ANCHOR_END: ex_03_4
}

/// The pair of neighbours that occurs most often in a text of weighted words, or `None` when no word has two tokens.
///
/// `words` are (tokens, how often the word occurs). Pairs do not cross words. Among equals the smaller pair wins, so
/// that training gives one vocabulary and not a different one each time. Cost: one look at each token.
pub fn most_frequent_pair(words: &[(Vec<TokenId>, u64)]) -> Option<(TokenId, TokenId)> {
    // ANCHOR: ex_03_8
    let mut counts: HashMap<(TokenId, TokenId), u64> = HashMap::new();
    for (tokens, frequency) in words {
        for pair in tokens.windows(2) {
            *counts.entry((pair[0], pair[1])).or_default() += frequency;
        }
    }
    counts
        .into_iter()
        .max_by(|(pair, count), (other, other_count)| count.cmp(other_count).then(other.cmp(pair)))
        .map(|(pair, _)| pair)
    // ANCHOR_END: ex_03_8
}
