//! Backwards through the tree: a text in hand, find the choices that made it.
//!
//! The simple version is "try every alternative": at a choice, each alternative in turn is matched against the text,
//! and what follows the choice after it. Text that does not match ends a branch at once, so the search is short. The
//! rest of the sentence is carried along as a linked list on the stack ([`Rest`]), because an alternative has to be
//! judged together with everything that comes after it.
//!
//! The place where the best branch died is kept: it is where a faulty story goes wrong.

use super::expand::{Derivation, is_taken};
use super::template::Node;

/// What is still to be matched after the nodes in hand.
struct Rest<'a> {
    nodes: &'a [Node],
    then: Option<&'a Rest<'a>>,
}

/// Where no branch could go on, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadEnd {
    /// Byte offset into the text, up to which some branch matched.
    pub at: usize,
    /// The slot whose word was repeated wrongly, with the word that the story had given it.
    pub slot: Option<(usize, String)>,
}

struct Search<'t> {
    text: &'t str,
    path: Derivation,
    found: Vec<Derivation>,
    limit: usize,
    dead_end: DeadEnd,
}

/// All derivations of `text` from `nodes`, at most `limit`, and the furthest dead end.
pub fn decode(nodes: &[Node], text: &str, limit: usize) -> (Vec<Derivation>, DeadEnd) {
    let dead_end = DeadEnd { at: 0, slot: None };
    let mut search = Search {
        text,
        path: Derivation::start(),
        found: Vec::new(),
        limit,
        dead_end,
    };
    search.step(0, nodes, None);
    (search.found, search.dead_end)
}

impl Search<'_> {
    fn step(&mut self, at: usize, nodes: &[Node], then: Option<&Rest>) {
        if self.found.len() >= self.limit {
            return;
        }
        let Some((node, tail)) = nodes.split_first() else {
            return match then {
                Some(rest) => self.step(at, rest.nodes, rest.then),
                None if at == self.text.len() => self.found.push(self.path.clone()),
                None => self.stuck(at, None),
            };
        };
        match node {
            Node::Text(fixed) => {
                if let Some(next) = self.matched(at, fixed, None) {
                    self.step(next, tail, then);
                }
            }
            Node::Mark(mark) => {
                self.path.marks.push(*mark);
                self.step(at, tail, then);
                self.path.marks.pop();
            }
            Node::Slot { slot, forms } => match self.path.bindings[*slot] {
                Some(index) => {
                    if let Some(next) = self.matched(at, &forms[usize::from(index)], Some(*slot)) {
                        self.step(next, tail, then);
                    }
                }
                None => self.bind(at, *slot, forms, tail, then),
            },
            Node::Choice(alternatives) => {
                let rest = Rest { nodes: tail, then };
                for (index, (probability, nodes)) in alternatives.iter().enumerate() {
                    let nats = self.path.nats;
                    self.path.choices.push(index as u16);
                    self.path.nats -= probability.ln();
                    self.step(at, nodes, Some(&rest));
                    self.path.choices.pop();
                    self.path.nats = nats;
                }
            }
        }
    }

    /// Tries each free word of an empty slot.
    fn bind(&mut self, at: usize, slot: usize, forms: &[String], tail: &[Node], then: Option<&Rest>) {
        let free: Vec<usize> = (0..forms.len())
            .filter(|&index| !is_taken(&self.path.bindings, slot, index))
            .collect();
        let nats = self.path.nats;
        for &index in &free {
            if let Some(next) = self.matched(at, &forms[index], None) {
                self.path.bindings[slot] = Some(index as u8);
                self.path.choices.push(index as u16);
                self.path.nats = nats + (free.len() as f64).ln();
                self.step(next, tail, then);
                self.path.choices.pop();
                self.path.bindings[slot] = None;
            }
        }
        self.path.nats = nats;
    }

    /// The offset after `expected`, if the text has it at `at`; else notes a dead end.
    fn matched(&mut self, at: usize, expected: &str, slot: Option<usize>) -> Option<usize> {
        let here = &self.text[at..];
        if here.starts_with(expected) {
            return Some(at + expected.len());
        }
        // In whole characters, so that the offset can be used to slice.
        let common: usize = here
            .chars()
            .zip(expected.chars())
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a.len_utf8())
            .sum();
        // A wrong word is reported from its beginning, unless the text just ends in the middle of the right one.
        let stop = if slot.is_some() && common < here.len() {
            at
        } else {
            at + common
        };
        self.stuck(stop, slot.map(|slot| (slot, expected.to_string())));
        None
    }

    fn stuck(&mut self, at: usize, slot: Option<(usize, String)>) {
        let better =
            at > self.dead_end.at || (at == self.dead_end.at && self.dead_end.slot.is_none() && slot.is_some());
        if better {
            self.dead_end = DeadEnd { at, slot };
        }
    }
}
