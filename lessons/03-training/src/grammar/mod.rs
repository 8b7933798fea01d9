//! The story grammar: an endless supply of clean English whose entropy is known exactly.
//!
//! ```text
//! document ::= story                                                                  25 %
//!            | <|im_start|>user ask<|im_end|> <|im_start|>assistant story<|im_end|>   30 %
//!            | the same with a story and a question, then up to three more questions  45 %
//! story    ::= one of 16 plots in `plots.txt`: choices between phrases, and slots for names, animals, things, …
//! ```
//!
//! Beside the documents stand drills, a fact or two and a question on them (`drills.txt`).
//!
//! - `words`: the slots and their words;
//! - `template`: the template language, compiled to a tree of choices; `build`: `plots.txt` to the whole tree;
//! - `expand`: tree and random numbers to text; `decode`: text back to choices;
//! - `check`: is a generated story one of ours?
//!
//! Because a text determines its choices, the probability of a document is known, and so is the loss that a perfect
//! model would have: the mean of [`Document::nats`] over the tokens. No model can get below it except by having seen
//! the test documents; held-out documents (see [`Grammar::document`]) rule that out by content, not only by seed.

mod build;
pub mod check;
pub mod decode;
pub mod expand;
pub mod mark;
pub mod template;
pub mod words;

use std::collections::BTreeMap;

use crate::exercises::split_of;
use crate::random::Random;
use crate::split::Split;
pub use check::{Fault, Verdict};
pub use expand::Draw;
use expand::{Bindings, Derivation, expand};
use mark::Mark;
pub use mark::{Kind, QuestionKind};
use template::Seq;
use words::{NUM_SLOTS, SLOTS};

/// What an address of [`Random`] is for.
const DRILL: u64 = 22;

/// Begins a ChatML turn; the role and a line break follow.
pub const IM_START: &str = "<|im_start|>";
/// Ends a ChatML turn.
pub const IM_END: &str = "<|im_end|>";

/// One document with all that is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The text, without an end-of-text token.
    pub text: String,
    /// Its surprise under the whole grammar: the negative natural logarithm of its probability.
    pub nats: f64,
    /// Story, chat or questions.
    pub kind: Kind,
    /// The choices behind the text.
    pub path: Derivation,
    /// The words that were drawn, in the order of the text.
    pub draws: Vec<Draw>,
}

/// A held-out question: everything up to the answer, and the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskItem {
    /// What is asked for.
    pub kind: QuestionKind,
    /// A ChatML text that ends where the assistant begins to speak.
    pub prompt: String,
    /// The assistant's words, without [`IM_END`].
    pub answer: String,
}

/// The compiled grammar. Compiling takes a few milliseconds; share it.
#[derive(Debug, Clone)]
pub struct Grammar {
    root: Seq,
    story: Seq,
    drill: Seq,
    plot_names: Vec<String>,
}

impl Default for Grammar {
    fn default() -> Self {
        Self::new()
    }
}

impl Grammar {
    /// Compiles `plots.txt`. Panics when it is malformed, which is a fault of this crate.
    pub fn new() -> Grammar {
        build::Builder::of_plots().finish()
    }

    /// The plots' names, in the order of [`Mark::Plot`].
    pub fn plot_names(&self) -> &[String] {
        &self.plot_names
    }

    /// Document `index` of a split. The same arguments always give the same document.
    ///
    /// A document's *content* is the triple (hero's animal, thing, place). A twentieth of all triples belongs to
    /// [`Split::Test`], another to [`Split::Validation`], and no document of another split has them. Candidates are
    /// drawn until one falls into the split asked for: 1.1 tries for training, 20 for test.
    pub fn document(&self, seed: u64, split: Split, index: u64) -> Document {
        self.draw(&self.root, seed, split, index, 0)
    }

    /// A plain story, otherwise as [`Grammar::document`].
    pub fn story(&self, seed: u64, split: Split, index: u64) -> Document {
        self.draw(&self.story, seed, split, index, 1)
    }

    /// Drill `index`: a fact or two and a question on them, as a chat. It names no hero's animal, so it has no content
    /// that belongs to a split. Its `nats` are those among drills. The same arguments always give the same drill.
    pub fn drill(&self, seed: u64, index: u64) -> Document {
        told(&self.drill, &mut Random::at(&[seed, DRILL, index]))
    }

    fn draw(&self, root: &Seq, seed: u64, split: Split, index: u64, purpose: u64) -> Document {
        (0..)
            .map(|attempt| told(root, &mut Random::at(&[seed, purpose, index, attempt])))
            .find(|document| split_of(&content_key(&document.path.bindings)) == split)
            .expect("every split has content")
    }

    /// Question `index` of a split, for the task set: the first question of a document of [`Kind::Questions`].
    pub fn task_item(&self, seed: u64, split: Split, index: u64) -> TaskItem {
        let open = format!("{IM_START}assistant\n");
        for attempt in 0.. {
            let document = self.draw(&self.root, seed, split, index * 64 + attempt, 2);
            let first = document.path.marks.iter().find_map(|mark| {
                if let Mark::Question(kind) = mark {
                    Some(*kind)
                } else {
                    None
                }
            });
            if let Some(kind) = first {
                let start = document.text.find(&open).expect("an answer") + open.len();
                let end = start + document.text[start..].find(IM_END).expect("an end");
                return TaskItem {
                    kind,
                    prompt: document.text[..start].to_string(),
                    answer: document.text[start..end].to_string(),
                };
            }
        }
        unreachable!("almost half of the documents have questions")
    }

    /// All derivations of a document's text, at most `limit`. There is at most one (tested).
    pub fn derivations(&self, text: &str, limit: usize) -> Vec<Derivation> {
        decode::decode(&self.root, text, limit).0
    }
}

/// One way through a tree, with all that is known about it.
fn told(root: &Seq, random: &mut Random) -> Document {
    let mut text = String::with_capacity(1024);
    let (mut path, mut draws) = (Derivation::start(), Vec::new());
    expand(root, random, &mut text, &mut path, &mut draws);
    let kind = path
        .marks
        .iter()
        .find_map(|mark| if let Mark::Kind(kind) = mark { Some(*kind) } else { None });
    Document {
        text,
        nats: path.nats,
        kind: kind.unwrap_or(Kind::Plain),
        path,
        draws,
    }
}

/// What the split is decided by. Documents that differ only in their wording have the same key.
pub fn content_key(bindings: &Bindings) -> String {
    let facts = facts(bindings);
    let word = |slot: &str| facts.get(slot).copied().unwrap_or("");
    format!("{} {} {}", word("animal"), word("thing"), word("place"))
}

/// The words that the slots hold, by slot name.
pub fn facts(bindings: &Bindings) -> BTreeMap<&'static str, &'static str> {
    (0..NUM_SLOTS)
        .filter_map(|slot| bindings[slot].map(|index| (SLOTS[slot].0, words::words(SLOTS[slot].1)[usize::from(index)])))
        .collect()
}
