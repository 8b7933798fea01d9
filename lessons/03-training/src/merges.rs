//! A vocabulary while it grows, one merge at a time, slowly and in the open: what the story and the book's figure show.
//!
//! The [`tokenizer`](crate::tokenizer) is trained by a library in a fraction of a second; a test holds the two
//! together.

use std::collections::BTreeMap;

use crate::config::TokenId;
use crate::exercises::{merge_pair, most_frequent_pair};

/// Two neighbours, and how often they stand side by side.
pub type Counted = ((TokenId, TokenId), u64);

/// Pieces so far, and the words of a text cut into them.
#[derive(Debug, Clone)]
pub struct Merges {
    /// Each different word, cut into pieces, and how often it occurs.
    pub words: Vec<(Vec<TokenId>, u64)>,
    /// The bytes of each piece. The first 256 are the bytes themselves; a merge adds one.
    pub pieces: Vec<Vec<u8>>,
}

impl Merges {
    /// Bytes only: nothing was joined yet.
    pub fn of(words: &[(&str, u64)]) -> Merges {
        let bytes = |word: &str| word.bytes().map(|byte| TokenId(u32::from(byte))).collect();
        Merges {
            words: words.iter().map(|&(word, n)| (bytes(word), n)).collect(),
            pieces: (0..=u8::MAX).map(|byte| vec![byte]).collect(),
        }
    }

    /// All pairs of neighbours, the most frequent first; among equals the smaller pair.
    pub fn counts(&self) -> Vec<Counted> {
        let mut counts: BTreeMap<(TokenId, TokenId), u64> = BTreeMap::new();
        for (tokens, frequency) in &self.words {
            for pair in tokens.windows(2) {
                *counts.entry((pair[0], pair[1])).or_default() += frequency;
            }
        }
        let mut counts: Vec<Counted> = counts.into_iter().collect();
        // A stable sort: pairs come out of the map in order, and equals keep it.
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        counts
    }

    /// The pair that is joined next; `None` when every word is one piece.
    pub fn next_pair(&self) -> Option<(TokenId, TokenId)> {
        most_frequent_pair(&self.words)
    }

    /// Joins a pair wherever it stands, and gives the new piece.
    pub fn join(&mut self, pair: (TokenId, TokenId)) -> TokenId {
        let merged = TokenId(self.pieces.len() as u32);
        let halves = [pair.0, pair.1].map(|half| self.pieces[half.index()].as_slice());
        self.pieces.push(halves.concat());
        for (tokens, _) in &mut self.words {
            *tokens = merge_pair(tokens, pair, merged);
        }
        merged
    }

    /// Tokens of the whole text: a word counts as often as it occurs.
    pub fn num_tokens(&self) -> u64 {
        let of_word = |(tokens, frequency): &(Vec<TokenId>, u64)| tokens.len() as u64 * frequency;
        self.words.iter().map(of_word).sum()
    }

    /// A piece as it is shown: its text, or its bytes in hexadecimal where they are only part of a character.
    pub fn spell(&self, token: TokenId) -> String {
        let bytes = &self.pieces[token.index()];
        match std::str::from_utf8(bytes) {
            Ok(text) => text.replace(' ', "␣"),
            Err(_) => {
                let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                hex.join(" ")
            }
        }
    }
}
