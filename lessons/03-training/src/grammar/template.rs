//! The template language of the stories, compiled to a tree of choices.
//!
//! ```text
//! plain text            written as it stands
//! {slot}  {slot.form}   the word of a slot; the first mention draws it, every later one repeats it
//! [one|two|]            one of the alternatives, each equally likely; an empty one is allowed; they nest
//! <name>                a shared fragment
//! ```
//!
//! `expand` walks the tree forwards with random numbers; `decode` walks it along a given text and finds the choices
//! again. So the probability of a text is the product of the probabilities of the choices met, and nothing else about a
//! story is random.

use std::collections::HashMap;
use std::sync::Arc;

use super::mark::Mark;
use super::words::{self, Domain, SLOTS};

/// A sequence of nodes, shared where templates share fragments.
pub type Seq = Arc<[Node]>;

/// One step of a template.
#[derive(Debug, Clone)]
pub enum Node {
    /// Fixed text.
    Text(String),
    /// The word of a slot, in one form; `forms[i]` is the text for word `i` of the slot's list.
    Slot {
        /// Index into [`SLOTS`].
        slot: usize,
        /// The rendered form of each word.
        forms: Arc<[String]>,
    },
    /// No text: a note on what follows, kept in the derivation.
    Mark(Mark),
    /// One of several continuations, with its probability; they sum to 1.
    Choice(Arc<[(f64, Seq)]>),
}

impl Node {
    /// A choice between equally likely alternatives.
    pub fn uniform(alternatives: Vec<Seq>) -> Node {
        let probability = 1.0 / alternatives.len() as f64;
        Node::Choice(alternatives.into_iter().map(|seq| (probability, seq)).collect())
    }
}

/// Compiles `template`. Fragments must have been compiled before. The error is a sentence about the template: templates
/// are part of this crate, so a caller may well `expect` it.
pub fn compile(template: &str, fragments: &HashMap<String, Seq>) -> Result<Seq, String> {
    let mut reader = Reader {
        rest: template,
        fragments,
    };
    let nodes = reader.sequence()?;
    if reader.rest.is_empty() {
        Ok(nodes.into())
    } else {
        Err(format!("unmatched bracket before `{}`", reader.rest))
    }
}

struct Reader<'a> {
    rest: &'a str,
    fragments: &'a HashMap<String, Seq>,
}

impl<'a> Reader<'a> {
    /// Reads up to `|`, `]` or the end.
    fn sequence(&mut self) -> Result<Vec<Node>, String> {
        let mut nodes: Vec<Node> = Vec::new();
        loop {
            let text_len = self.rest.find(['[', ']', '|', '{', '<']).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(text_len);
            if !text.is_empty() {
                nodes.push(Node::Text(text.to_string()));
            }
            self.rest = rest;
            match rest.chars().next() {
                None | Some('|' | ']') => return Ok(nodes),
                Some('[') => nodes.push(self.choice()?),
                Some('{') => {
                    let inside = self.bracketed('}')?;
                    nodes.push(slot(inside)?);
                }
                Some(_) => {
                    let inside = self.bracketed('>')?;
                    let fragment = self
                        .fragments
                        .get(inside)
                        .ok_or_else(|| format!("no fragment `{inside}`"))?;
                    nodes.extend(fragment.iter().cloned());
                }
            }
        }
    }

    fn choice(&mut self) -> Result<Node, String> {
        let mut alternatives = Vec::new();
        loop {
            self.rest = &self.rest[1..]; // the `[` or `|` before this alternative
            alternatives.push(Seq::from(self.sequence()?));
            match self.rest.chars().next() {
                Some('|') => {}
                Some(']') => break,
                _ => return Err("a `[` is never closed".to_string()),
            }
        }
        self.rest = &self.rest[1..];
        Ok(Node::uniform(alternatives))
    }

    fn bracketed(&mut self, close: char) -> Result<&'a str, String> {
        let end = self
            .rest
            .find(close)
            .ok_or_else(|| format!("no `{close}` after `{}`", self.rest))?;
        let inside = &self.rest[1..end];
        self.rest = &self.rest[end + 1..];
        Ok(inside)
    }
}

/// `{slot.form}` to a node.
fn slot(inside: &str) -> Result<Node, String> {
    let (name, form) = inside.split_once('.').unwrap_or((inside, ""));
    let slot = words::slot_id(name).ok_or_else(|| format!("no slot `{name}`"))?;
    let domain: Domain = SLOTS[slot].1;
    let forms: Option<Vec<String>> = (0..words::words(domain).len())
        .map(|index| words::render(domain, index, form))
        .collect();
    let forms = forms.ok_or_else(|| format!("slot `{name}` has no form `{form}`"))?;
    Ok(Node::Slot {
        slot,
        forms: forms.into(),
    })
}
