//! Is a story that a model wrote one of the grammar's? The check is strict: names, things and colours must stay what
//! they were, every sentence must be one that the plot has at that point, and the story must end.

use serde::Serialize;

use super::decode::decode;
use super::expand::Derivation;
use super::words::SLOTS;
use super::{Grammar, IM_END, IM_START};

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The text is a document of the grammar, made by these choices.
    Consistent(Box<Derivation>),
    /// It is not; `at` is the byte offset up to which it might have been.
    Faulty {
        /// Byte offset into the text.
        at: usize,
        /// What is wrong there.
        fault: Fault,
    },
}

/// What is wrong with a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "fault")]
pub enum Fault {
    /// The text stops before the story is over.
    Unfinished,
    /// A slot changed its word.
    Changed {
        /// The slot's name.
        slot: &'static str,
        /// The word that the story had given it, in the form needed here.
        expected: String,
        /// What stands there instead.
        found: String,
    },
    /// No plot goes on like this.
    Unknown {
        /// The words from there on.
        found: String,
    },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Unfinished => write!(f, "the story does not end"),
            Fault::Changed { slot, expected, found } => {
                write!(f, "the {slot} changed: expected \"{expected}\", found \"{found}\"")
            }
            Fault::Unknown { found } => write!(f, "no plot goes on with \"{found}\""),
        }
    }
}

impl Grammar {
    /// Checks a whole document: a plain story, or ChatML with every turn closed.
    pub fn check(&self, document: &str) -> Verdict {
        self.check_against(&self.root, document)
    }

    /// Checks a plain story.
    pub fn check_story(&self, story: &str) -> Verdict {
        self.check_against(&self.story, story)
    }

    /// Checks the assistant's `reply` to a user's `request` for a story (both without ChatML marks): it must be a
    /// story, and it must be about what was asked for. Offsets in the verdict are into `reply`.
    pub fn check_reply(&self, request: &str, reply: &str) -> Verdict {
        let before = format!("{IM_START}user\n{request}{IM_END}\n{IM_START}assistant\n");
        match self.check(&format!("{before}{reply}{IM_END}\n")) {
            Verdict::Faulty { at, fault } if at > before.len() + reply.len() => {
                // The reply itself ran out; what did not match was the mark after it.
                Verdict::Faulty { at: reply.len(), fault }
            }
            Verdict::Faulty { at, fault } => {
                let at = at.saturating_sub(before.len());
                let fault = if at == reply.len() { Fault::Unfinished } else { fault };
                Verdict::Faulty { at, fault }
            }
            consistent => consistent,
        }
    }

    fn check_against(&self, root: &super::Seq, text: &str) -> Verdict {
        let (mut found, dead_end) = decode(root, text, 1);
        if let Some(path) = found.pop() {
            return Verdict::Consistent(Box::new(path));
        }
        let next_words = |count: usize| {
            text[dead_end.at..]
                .split_whitespace()
                .take(count)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let fault = match dead_end.slot {
            _ if dead_end.at == text.len() => Fault::Unfinished,
            Some((slot, expected)) => Fault::Changed {
                slot: SLOTS[slot].0,
                found: next_words(expected.split(' ').count()),
                expected,
            },
            None => Fault::Unknown { found: next_words(6) },
        };
        Verdict::Faulty { at: dead_end.at, fault }
    }
}
