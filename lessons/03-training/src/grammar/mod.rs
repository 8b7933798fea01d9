//! The story grammar: an endless supply of clean English whose entropy is known exactly.
//!
//! ```text
//! document ::= story                                                                  25 %
//!            | <|im_start|>user ask<|im_end|> <|im_start|>assistant story<|im_end|>   30 %
//!            | the same with a story and a question, then up to three more questions  45 %
//! story    ::= one of 16 plots in `plots.txt`: choices between phrases, and slots for names, animals, things, …
//! ```
//!
//! - `words`: the slots and their words;
//! - `template`: the template language, compiled to a tree of choices;
//! - `expand`: tree and random numbers to text; `decode`: text back to choices;
//! - `check`: is a generated story one of ours?
//!
//! Because a text determines its choices, the probability of a document is known, and so is the loss that a perfect
//! model would have: the mean of [`Document::nats`] over the tokens. No model can get below it except by having seen
//! the test documents; held-out documents (see [`Grammar::document`]) rule that out by content, not only by seed.

pub mod check;
pub mod decode;
pub mod expand;
pub mod template;
pub mod words;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::random::Random;
use crate::split::{Split, split_of};
pub use check::{Fault, Verdict};
use expand::{Bindings, Derivation, expand};
pub use template::{Kind, QuestionKind};
use template::{Mark, Node, Seq, compile};
use words::{NUM_SLOTS, SLOTS};

/// Begins a ChatML turn; the role and a line break follow.
pub const IM_START: &str = "<|im_start|>";
/// Ends a ChatML turn.
pub const IM_END: &str = "<|im_end|>";

const PLOTS: &str = include_str!("plots.txt");

/// How a user asks for a story.
const ASK: &str = "[[Tell me|Please tell me|Write|Make up] a [short |little |]story about <subject>.\
                   |Can you tell me a [short |little |]story about <subject>?\
                   |I would like to hear a [short |little |]story about <subject>.]";
const SUBJECT: &str = "[{animal.a}|{animal.a} [named|called] {hero}|{hero}|{hero} the {animal}|{hero} and {friend}\
                       |{animal.a} and {pal.a}|{colour.a} {thing}|{animal.a} and {colour.a} {thing}|{trait.a} {animal}\
                       |{hero} the {animal} and {colour.a} {thing}|{hero} and {colour.a} {thing}]";

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
        let mut builder = Builder::default();
        builder.read(PLOTS);
        builder.finish()
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

    fn draw(&self, root: &Seq, seed: u64, split: Split, index: u64, purpose: u64) -> Document {
        for attempt in 0.. {
            let mut random = Random::at(&[seed, purpose, index, attempt]);
            let mut text = String::with_capacity(1024);
            let mut path = Derivation::start();
            expand(root, &mut random, &mut text, &mut path);
            if split_of(&content_key(&path.bindings)) == split {
                let kind = path.marks.iter().find_map(|mark| {
                    if let Mark::Kind(kind) = mark {
                        Some(*kind)
                    } else {
                        None
                    }
                });
                return Document {
                    text,
                    nats: path.nats,
                    kind: kind.unwrap_or(Kind::Plain),
                    path,
                };
            }
        }
        unreachable!("every split has content")
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

/// What the split is decided by. Documents that differ only in their wording have the same key.
pub fn content_key(bindings: &Bindings) -> String {
    let facts = facts(bindings);
    let word = |slot: &str| facts.get(slot).copied().unwrap_or("");
    format!("{} {} {}", word("animal"), word("thing"), word("place"))
}

/// The words that the slots hold, by slot name.
pub fn facts(bindings: &Bindings) -> BTreeMap<&'static str, &'static str> {
    (0..NUM_SLOTS)
        .filter_map(|slot| {
            bindings[slot].map(|index| {
                (
                    SLOTS[slot].0,
                    words::words(SLOTS[slot].1)[usize::from(index)],
                )
            })
        })
        .collect()
}

/// A plot as read: its story and its questions.
struct Plot {
    name: String,
    story: String,
    questions: Vec<(QuestionKind, Seq, Seq)>,
}

#[derive(Default)]
struct Builder {
    fragments: HashMap<String, Seq>,
    plots: Vec<Plot>,
}

impl Builder {
    fn read(&mut self, source: &str) {
        let mut fragment: Option<(String, String)> = None;
        for line in source
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("# "))
        {
            if line.starts_with('=') {
                if let Some((name, text)) = fragment.take() {
                    self.define(&name, &text);
                }
            }
            if let Some(name) = line.strip_prefix("== ") {
                self.plots.push(Plot {
                    name: name.to_string(),
                    story: String::new(),
                    questions: Vec::new(),
                });
            } else if let Some(name) = line.strip_prefix("= ") {
                fragment = Some((name.to_string(), String::new()));
            } else if let Some(question) = line.strip_prefix("? ") {
                let question = self.question(question);
                self.plots
                    .last_mut()
                    .expect("a plot before its questions")
                    .questions
                    .push(question);
            } else if let Some((_, text)) = &mut fragment {
                join_line(text, line);
            } else {
                join_line(
                    &mut self
                        .plots
                        .last_mut()
                        .expect("a plot before its lines")
                        .story,
                    line,
                );
            }
        }
        self.define("subject", SUBJECT);
        self.define("ask", ASK);
    }

    fn compile(&self, template: &str) -> Seq {
        compile(template, &self.fragments)
            .unwrap_or_else(|error| panic!("plots.txt: {error} in `{template}`"))
    }

    fn define(&mut self, name: &str, template: &str) {
        let seq = self.compile(template);
        self.fragments.insert(name.to_string(), seq);
    }

    /// `kind: question => answer`
    fn question(&self, line: &str) -> (QuestionKind, Seq, Seq) {
        let (kind, rest) = line.split_once(": ").expect("a kind before the question");
        let (question, answer) = rest.split_once(" => ").expect("an answer after =>");
        let kind = QuestionKind::ALL
            .into_iter()
            .find(|known| known.name() == kind);
        (
            kind.expect("a known kind of question"),
            self.compile(question),
            self.compile(answer),
        )
    }

    fn finish(self) -> Grammar {
        let stories: Vec<Seq> = self
            .plots
            .iter()
            .map(|plot| self.compile(&plot.story))
            .collect();
        let ask = &self.fragments["ask"];
        let each = |document: &dyn Fn(&Plot, &Seq) -> Vec<Node>| {
            let plots =
                self.plots
                    .iter()
                    .zip(&stories)
                    .enumerate()
                    .map(|(index, (plot, story))| {
                        let mut nodes = vec![Node::Mark(Mark::Plot(index as u8))];
                        nodes.extend(document(plot, story));
                        Seq::from(nodes)
                    });
            Node::uniform(plots.collect())
        };
        let plain = each(&|_, story| story.to_vec());
        let chat = each(&|_, story| [turn("user", ask), turn("assistant", story)].concat());
        let questions = each(&|plot, story| questions(plot, Some(story), &[], 4));
        let of_kind = |probability: f64, kind: Kind, node: &Node| {
            (
                probability,
                Seq::from(vec![Node::Mark(Mark::Kind(kind)), node.clone()]),
            )
        };
        let root = Node::Choice(Arc::from(vec![
            of_kind(0.25, Kind::Plain, &plain),
            of_kind(0.3, Kind::Chat, &chat),
            of_kind(0.45, Kind::Questions, &questions),
        ]));
        let plot_names = self.plots.iter().map(|plot| plot.name.clone()).collect();
        Grammar {
            root: vec![root].into(),
            story: vec![plain].into(),
            plot_names,
        }
    }
}

fn join_line(text: &mut String, line: &str) {
    // A line that begins with `|` goes on inside a choice, where a space would belong to the alternative before it.
    if !text.is_empty() && !line.starts_with('|') {
        text.push(' ');
    }
    text.push_str(line);
}

/// A ChatML turn around `content`.
fn turn(role: &str, content: &[Node]) -> Vec<Node> {
    let mut nodes = vec![Node::Text(format!("{IM_START}{role}\n"))];
    nodes.extend_from_slice(content);
    nodes.push(Node::Text(format!("{IM_END}\n")));
    nodes
}

/// One question that was not `asked` yet, with the story before it if it is the first, its answer, and then in three
/// cases of ten the end, else another question, while `left` lasts.
fn questions(plot: &Plot, story: Option<&Seq>, asked: &[usize], left: usize) -> Vec<Node> {
    let open = (0..plot.questions.len()).filter(|index| !asked.contains(index));
    let alternatives = open.map(|index| {
        let (kind, question, answer) = &plot.questions[index];
        let mut nodes = vec![Node::Mark(Mark::Question(*kind))];
        nodes.extend_from_slice(question);
        let end = Node::Text(format!("{IM_END}\n"));
        nodes.push(end);
        nodes.extend(turn("assistant", answer));
        if left > 1 {
            let more = questions(plot, None, &[asked, &[index]].concat(), left - 1);
            let stop_or_go = vec![(0.3, Seq::from(Vec::new())), (0.7, Seq::from(more))];
            nodes.push(Node::Choice(stop_or_go.into()));
        }
        Seq::from(nodes)
    });
    let choice = Node::uniform(alternatives.collect());
    let mut nodes = vec![Node::Text(format!("{IM_START}user\n"))];
    if let Some(story) = story {
        nodes.extend_from_slice(story);
        nodes.push(Node::Text("\n\n".to_string()));
    }
    nodes.push(choice);
    nodes
}
