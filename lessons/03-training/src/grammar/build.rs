//! From `plots.txt` to the tree of all documents, and from `drills.txt` to that of all drills.

use std::collections::HashMap;
use std::sync::Arc;

use super::mark::{Kind, Mark, QuestionKind};
use super::template::{Node, Seq, compile};
use super::{Grammar, IM_END, IM_START};

const PLOTS: &str = include_str!("plots.txt");
const DRILLS: &str = include_str!("drills.txt");

/// How a user asks for a story.
const ASK: &str = "[[Tell me|Please tell me|Write|Make up] a [short |little |]story about <subject>.\
                   |Can you tell me a [short |little |]story about <subject>?\
                   |I would like to hear a [short |little |]story about <subject>.]";
const SUBJECT: &str = "[{animal.a}|{animal.a} [named|called] {hero}|{hero}|{hero} the {animal}|{hero} and {friend}\
                       |{animal.a} and {pal.a}|{colour.a} {thing}|{animal.a} and {colour.a} {thing}|{trait.a} {animal}\
                       |{hero} the {animal} and {colour.a} {thing}|{hero} and {colour.a} {thing}]";

/// A plot as read: its story and its questions.
struct Plot {
    name: String,
    story: String,
    questions: Vec<(QuestionKind, Seq, Seq)>,
}

/// Fragments and plots, read so far.
#[derive(Default)]
pub struct Builder {
    fragments: HashMap<String, Seq>,
    plots: Vec<Plot>,
}

impl Builder {
    /// Reads `plots.txt`. Panics when it is malformed, which is a fault of this crate.
    pub fn of_plots() -> Builder {
        let mut builder = Builder::default();
        builder.read(PLOTS);
        builder.define("subject", SUBJECT);
        builder.define("ask", ASK);
        builder
    }

    fn read(&mut self, source: &str) {
        let mut fragment: Option<(String, String)> = None;
        for line in source
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("# "))
        {
            if line.starts_with('=')
                && let Some((name, text)) = fragment.take()
            {
                self.define(&name, &text);
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
                join_line(&mut self.plots.last_mut().expect("a plot before its lines").story, line);
            }
        }
    }

    fn compile(&self, template: &str) -> Seq {
        compile(template, &self.fragments).unwrap_or_else(|error| panic!("plots.txt: {error} in `{template}`"))
    }

    fn define(&mut self, name: &str, template: &str) {
        let seq = self.compile(template);
        self.fragments.insert(name.to_string(), seq);
    }

    /// `kind: question => answer`
    fn question(&self, line: &str) -> (QuestionKind, Seq, Seq) {
        let (kind, rest) = line.split_once(": ").expect("a kind before the question");
        let (question, answer) = rest.split_once(" => ").expect("an answer after =>");
        let kind = QuestionKind::ALL.into_iter().find(|known| known.name() == kind);
        (
            kind.expect("a known kind of question"),
            self.compile(question),
            self.compile(answer),
        )
    }

    /// The tree of all documents.
    pub fn finish(self) -> Grammar {
        let stories: Vec<Seq> = self.plots.iter().map(|plot| self.compile(&plot.story)).collect();
        let ask = &self.fragments["ask"];
        let each = |document: &dyn Fn(&Plot, &Seq) -> Vec<Node>| {
            let plots = self
                .plots
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
            (probability, Seq::from(vec![Node::Mark(Mark::Kind(kind)), node.clone()]))
        };
        let root = Node::Choice(Arc::from(vec![
            of_kind(0.25, Kind::Plain, &plain),
            of_kind(0.3, Kind::Chat, &chat),
            of_kind(0.45, Kind::Questions, &questions),
        ]));
        let drill = drills();
        let plot_names = self.plots.iter().map(|plot| plot.name.clone()).collect();
        Grammar {
            root: vec![root].into(),
            story: vec![plain].into(),
            drill,
            plot_names,
        }
    }
}

/// The tree of all drills: a story's questions after a fact or two.
fn drills() -> Seq {
    let mut builder = Builder::default();
    builder.read(DRILLS);
    let drill = |plot: &Plot| Seq::from(questions(plot, Some(&builder.compile(&plot.story)), &[], 4));
    let any = Node::uniform(builder.plots.iter().map(drill).collect());
    vec![Node::Mark(Mark::Kind(Kind::Questions)), any].into()
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
/// cases of ten the end, else another question, while `left` and the plot's questions last.
fn questions(plot: &Plot, story: Option<&Seq>, asked: &[usize], left: usize) -> Vec<Node> {
    let open = (0..plot.questions.len()).filter(|index| !asked.contains(index));
    let alternatives = open.map(|index| {
        let (kind, question, answer) = &plot.questions[index];
        let mut nodes = vec![Node::Mark(Mark::Question(*kind))];
        nodes.extend_from_slice(question);
        let end = Node::Text(format!("{IM_END}\n"));
        nodes.push(end);
        nodes.extend(turn("assistant", answer));
        if left > 1 && asked.len() + 1 < plot.questions.len() {
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
