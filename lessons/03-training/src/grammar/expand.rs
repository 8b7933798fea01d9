//! Forwards through the tree: random numbers to text, with the probability of every choice on record.

use super::mark::Mark;
use super::template::Node;
use super::words::{NUM_SLOTS, SLOTS};
use crate::random::Random;

/// What the slots hold: an index into each slot's word list.
pub type Bindings = [Option<u8>; NUM_SLOTS];

/// One way through the tree. Two different derivations give two different texts (a test holds us to it), so
/// `nats` is exactly the surprise of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivation {
    /// The alternatives and words taken, in the order of the text.
    pub choices: Vec<u16>,
    /// The negative log-probability of all choices together, natural logarithm.
    pub nats: f64,
    /// What the slots hold at the end.
    pub bindings: Bindings,
    /// The marks passed.
    pub marks: Vec<Mark>,
}

/// A word that was drawn for an empty slot: where it stands, and what might have stood there as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draw {
    /// Byte offset of the word, in the form of this place, into the text.
    pub at: usize,
    /// All words that were free, in the form of this place; each was equally likely.
    pub forms: Vec<String>,
    /// The index of the drawn one in `forms`.
    pub taken: usize,
}

impl Derivation {
    /// A derivation that has made no choice yet.
    pub fn start() -> Derivation {
        Derivation {
            choices: Vec::new(),
            nats: 0.0,
            bindings: [None; NUM_SLOTS],
            marks: Vec::new(),
        }
    }
}

/// Whether word `index` is already held by another slot over the same list as `slot`.
pub fn is_taken(bindings: &Bindings, slot: usize, index: usize) -> bool {
    (0..NUM_SLOTS).any(|other| other != slot && SLOTS[other].1 == SLOTS[slot].1 && bindings[other] == Some(index as u8))
}

/// Walks `nodes` with random choices, appending to `text`, `path` and `draws`.
pub fn expand(nodes: &[Node], random: &mut Random, text: &mut String, path: &mut Derivation, draws: &mut Vec<Draw>) {
    for node in nodes {
        match node {
            Node::Text(fixed) => text.push_str(fixed),
            Node::Mark(mark) => path.marks.push(*mark),
            Node::Slot { slot, forms } => {
                let index = match path.bindings[*slot] {
                    Some(index) => usize::from(index),
                    None => {
                        let (index, draw) = bind(*slot, forms, random, path);
                        draws.push(Draw { at: text.len(), ..draw });
                        index
                    }
                };
                text.push_str(&forms[index]);
            }
            Node::Choice(alternatives) => {
                let mut left = random.unit();
                let taken = alternatives.iter().position(|(probability, _)| {
                    left -= probability;
                    left < 0.0
                });
                let taken = taken.unwrap_or(alternatives.len() - 1);
                path.choices.push(taken as u16);
                path.nats -= alternatives[taken].0.ln();
                expand(&alternatives[taken].1, random, text, path, draws);
            }
        }
    }
}

/// Fills `slot` with one of the words that no other slot holds. The caller knows where in the text the draw stands.
fn bind(slot: usize, forms: &[String], random: &mut Random, path: &mut Derivation) -> (usize, Draw) {
    let free: Vec<usize> = (0..forms.len())
        .filter(|&index| !is_taken(&path.bindings, slot, index))
        .collect();
    let taken = random.below(free.len());
    let index = free[taken];
    path.bindings[slot] = Some(index as u8);
    path.choices.push(index as u16);
    path.nats += (free.len() as f64).ln();
    let forms = free.into_iter().map(|index| forms[index].clone()).collect();
    (index, Draw { at: 0, forms, taken })
}
