//! Whether a model copies: its surprise at the words that fill the slots of a story.

use std::collections::BTreeMap;
use training::corpus::EvalDocument;
use training::corpus::evaluation::EVAL_SEED;
use training::eval::Subject;
use training::grammar::{Grammar, facts};
use training::metrics::perplexity::surprise;
use training::split::Split;

/// Surprise of a model at the words that fill a slot of stories: where a word first stands, and where it is said again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SlotSurprise {
    /// Mean surprise of the first mention, in nats: the word can not be known before.
    pub(super) first: f64,
    /// Mean surprise of later mentions, in nats: a model that copies knows the word.
    pub(super) again: f64,
    /// Number of later mentions.
    pub(super) num_again: usize,
}

/// The surprise at each slot of held-out stories, by the slot's name: does the model copy?
pub(super) fn slot_surprise(
    subject: &Subject,
    grammar: &Grammar,
    num_documents: u64,
) -> BTreeMap<&'static str, SlotSurprise> {
    let mut firsts: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    let mut laters = firsts.clone();
    let vocab_size = subject.model.config.vocab_size;
    for index in 0..num_documents {
        let document = grammar.document(EVAL_SEED, Split::Test, index);
        let words = facts(&document.path.bindings);
        let scored = EvalDocument::new(&document.text, None, &subject.tokenizer);
        let targets = &scored.tokens[1..scored.tokens.len() - 1];
        let logits = subject.model.logits(&scored.tokens[..targets.len()]);
        let rows = logits.as_slice().expect("row-major").chunks_exact(vocab_size);
        let mut seen: Vec<&str> = Vec::new();
        let mut at = 0;
        for (row, &token) in rows.zip(targets) {
            let piece = subject.tokenizer.decode(&[token]);
            let rest = document.text.get(at..).unwrap_or("").trim_start_matches(' ');
            at += piece.len();
            let word_len = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            let Some((&slot, word)) = words.iter().find(|(_, word)| **word == &rest[..word_len]) else {
                continue;
            };
            if word.is_empty() || !piece.trim_start().starts_with(&word[..1]) {
                continue;
            }
            let sums = if seen.contains(word) { &mut laters } else { &mut firsts };
            let sum = sums.entry(slot).or_default();
            sum.0 += surprise(row, token);
            sum.1 += 1;
            seen.push(word);
        }
    }
    let mean = |sums: &BTreeMap<&str, (f64, usize)>, slot: &str| {
        sums.get(slot).map_or(0.0, |(nats, count)| nats / *count as f64)
    };
    let slots = laters.iter().map(|(&slot, &(_, num_again))| {
        let (first, again) = (mean(&firsts, slot), mean(&laters, slot));
        (
            slot,
            SlotSurprise {
                first,
                again,
                num_again,
            },
        )
    });
    slots.collect()
}
