//! The trace of the book's figure: three small tapes, each walked back in every order, with `+=` and with `=`.
//!
//! `cargo run -q -p lesson01 --example trace_autograd > book/figures/autograd.json`; a test compares the two.

use autograd::scalar::{Arrival, Event, Line, Order, Walk, backward, values};
use serde::Serialize;

#[derive(Serialize)]
struct Document {
    schema: u32,
    figure: &'static str,
    source: &'static str,
    /// Those of the first run, for paper and for readers without scripts.
    steps: Vec<Step>,
    tapes: Vec<Tape>,
}

#[derive(Serialize)]
struct Tape {
    title: &'static str,
    lines: Vec<Drawn>,
    runs: Vec<Run>,
}

/// A line as it is drawn: at a column and a row.
#[derive(Serialize)]
struct Drawn {
    name: &'static str,
    text: String,
    inputs: Vec<usize>,
    column: usize,
    row: usize,
    /// The right gradient.
    right: f64,
}

#[derive(Serialize)]
struct Run {
    order: &'static str,
    adds: bool,
    is_right: bool,
    visits: usize,
    steps: Vec<Step>,
}

/// What is known after a step.
#[derive(Serialize, Clone)]
struct Step {
    text: String,
    values: Vec<Option<f64>>,
    gradients: Vec<Option<f64>>,
    /// The numbers of the visits to each line so far.
    visits: Vec<Vec<usize>>,
    /// The line that is looked at.
    at: Option<usize>,
    /// The share that is on its way.
    share: Option<Share>,
    is_last: bool,
}

#[derive(Serialize, Clone)]
struct Share {
    from: usize,
    to: usize,
    place: usize,
    amount: f64,
}

/// A tape to draw: its lines with a name, a column and a row.
struct Source {
    title: &'static str,
    lines: Vec<(&'static str, Line, usize, usize)>,
}

fn sources() -> Vec<Source> {
    use Line::{Add, Leaf, Mul};
    vec![
        Source {
            title: "b = a + a; c = b + b",
            lines: vec![("a", Leaf(3.0), 0, 0), ("b", Add(0, 0), 1, 0), ("c", Add(1, 1), 2, 0)],
        },
        Source {
            title: "a short and a long path to h",
            lines: vec![
                ("a", Leaf(3.0), 0, 0),
                ("h", Add(0, 0), 1, 0),
                ("k", Mul(1, 1), 2, 1),
                ("g", Add(1, 2), 3, 0),
            ],
        },
        Source {
            title: "every value used once",
            lines: vec![
                ("x", Leaf(3.0), 0, 0),
                ("w", Leaf(2.0), 0, 1),
                ("b", Leaf(1.0), 1, 1),
                ("p", Mul(0, 1), 1, 0),
                ("y", Add(3, 2), 2, 0),
            ],
        },
    ]
}

const ORDERS: [(&str, Order); 4] = [
    ("reverse topological", Order::Reverse),
    ("nearest to the result first", Order::BreadthFirst),
    ("recursion, sends its sum", Order::Resend),
    ("recursion, sends each share", Order::PerPath),
];

/// The whole document.
pub fn document() -> String {
    let tapes: Vec<Tape> = sources().iter().map(tape).collect();
    let document = Document {
        schema: 1,
        figure: "autograd",
        source: "cargo run -q -p lesson01 --example trace_autograd",
        steps: tapes[0].runs[0].steps.clone(),
        tapes,
    };
    serde_json::to_string(&document).expect("plain data") + "\n"
}

fn tape(source: &Source) -> Tape {
    let lines: Vec<Line> = source.lines.iter().map(|&(_, line, ..)| line).collect();
    let right = backward(&lines);
    let name = |i: usize| source.lines[i].0;
    let drawn = source.lines.iter().zip(&right);
    let drawn = drawn.map(|(&(line_name, line, column, row), &right)| Drawn {
        name: line_name,
        text: match line {
            Line::Leaf(_) => line_name.to_string(),
            Line::Add(i, j) => format!("{line_name} = {} + {}", name(i), name(j)),
            Line::Mul(i, j) => format!("{line_name} = {} · {}", name(i), name(j)),
        },
        inputs: inputs(line),
        column,
        row,
        right,
    });
    let runs = ORDERS.iter().flat_map(|&(order_name, order)| {
        [(true, Arrival::Add), (false, Arrival::Replace)].map(|(adds, arrival)| {
            let walk = Walk::new(&lines, order, arrival);
            Run {
                order: order_name,
                adds,
                is_right: walk.gradients == right,
                visits: visits(&walk),
                steps: Teller::new(source, &lines).tell(order, arrival, &walk, &right),
            }
        })
    });
    let runs = runs.collect();
    Tape {
        title: source.title,
        lines: drawn.collect(),
        runs,
    }
}

fn inputs(line: Line) -> Vec<usize> {
    match line {
        Line::Leaf(_) => vec![],
        Line::Add(i, j) | Line::Mul(i, j) => vec![i, j],
    }
}

fn visits(walk: &Walk<'_>) -> usize {
    let is_visit = |event: &&Event| matches!(event, Event::Visit { .. });
    walk.events.iter().filter(is_visit).count()
}

/// Turns a walk into steps with sentences.
struct Teller<'a> {
    source: &'a Source,
    lines: &'a [Line],
    now: Step,
    steps: Vec<Step>,
}

impl<'a> Teller<'a> {
    fn new(source: &'a Source, lines: &'a [Line]) -> Self {
        let now = Step {
            text: String::new(),
            values: vec![None; lines.len()],
            gradients: vec![None; lines.len()],
            visits: vec![vec![]; lines.len()],
            at: None,
            share: None,
            is_last: false,
        };
        Self {
            source,
            lines,
            now,
            steps: Vec::new(),
        }
    }

    fn name(&self, line: usize) -> &'static str {
        self.source.lines[line].0
    }

    fn step(&mut self, text: String) {
        self.now.text = text;
        self.steps.push(self.now.clone());
    }

    fn tell(mut self, order: Order, arrival: Arrival, walk: &Walk<'_>, right: &[f64]) -> Vec<Step> {
        self.forward();
        let root = self.lines.len() - 1;
        self.now.gradients[root] = Some(1.0);
        let result = self.name(root);
        self.step(format!(
            "Backward. {result} changes by 1 when {result} changes by 1: its gradient is 1."
        ));
        let mut visit = 0;
        for &event in &walk.events {
            match event {
                Event::Visit { line, sends } => {
                    visit += 1;
                    self.visit(visit, line, sends, order);
                }
                Event::Share {
                    from,
                    to,
                    place,
                    share,
                    gradient,
                } => {
                    let on_its_way = Share {
                        from,
                        to,
                        place,
                        amount: share,
                    };
                    self.share(on_its_way, gradient, arrival);
                }
            }
        }
        self.end(order, arrival, walk, right);
        self.steps
    }

    fn forward(&mut self) {
        let values = values(self.lines);
        for (i, &line) in self.lines.iter().enumerate() {
            self.now.values[i] = Some(values[i]);
            self.now.at = Some(i);
            let name = self.name(i);
            let operation = |sign: &str, j: usize, k: usize| {
                let (left, right) = (self.name(j), self.name(k));
                format!(
                    "Forward. {name} = {left} {sign} {right} = {} {sign} {} = {}. The tape notes the operation and its operands.",
                    values[j], values[k], values[i]
                )
            };
            let text = match line {
                Line::Leaf(x) => format!("Forward. {name} = {x} is given: a leaf."),
                Line::Add(j, k) => operation("+", j, k),
                Line::Mul(j, k) => operation("·", j, k),
            };
            self.step(text);
        }
    }

    fn visit(&mut self, number: usize, line: usize, sends: f64, order: Order) {
        self.now.visits[line].push(number);
        let name = self.name(line);
        // A leaf that is visited as its share arrives needs no step of its own: it sends nothing.
        if let (Line::Leaf(_), Some(step)) = (self.lines[line], self.steps.last_mut())
            && (step.share.as_ref()).is_some_and(|share| share.to == line)
        {
            step.visits.clone_from(&self.now.visits);
            step.text += &format!(" Visit {number} is {name}, a leaf.");
            return;
        }
        self.now.at = Some(line);
        self.now.share = None;
        let again = match self.now.visits[line].len() {
            1 => String::new(),
            2 => ", a second time".to_string(),
            3 => ", a third time".to_string(),
            times => format!(", time {times}"),
        };
        let what = match (self.lines[line], order) {
            (Line::Leaf(_), _) => "A leaf sends nothing on.".to_string(),
            (_, Order::PerPath) => format!("It sends on only what has just come, {sends}."),
            _ => format!("It sends on the gradient that it has now, {sends}."),
        };
        self.step(format!("Visit {number}: {name}{again}. {what}"));
    }

    fn share(&mut self, share: Share, gradient: f64, arrival: Arrival) {
        let (to, from, amount) = (self.name(share.to), self.name(share.from), share.amount);
        let factor = match self.lines[share.from] {
            Line::Mul(i, j) => {
                let other = self.name(if share.place == 0 { j } else { i });
                format!(", its gradient times {other},")
            }
            _ => String::new(),
        };
        let what = match (self.now.gradients[share.to], arrival) {
            (None, _) => "It is the first share.".to_string(),
            (Some(before), Arrival::Add) => format!("Added: {before} + {amount} = {gradient}."),
            (Some(before), Arrival::Replace) => format!("It replaces {before}."),
        };
        self.now.gradients[share.to] = Some(gradient);
        self.now.at = Some(share.to);
        self.now.share = Some(share);
        self.step(format!("{from} sends {amount}{factor} to {to}. {what}"));
    }

    fn end(&mut self, order: Order, arrival: Arrival, walk: &Walk<'_>, right: &[f64]) {
        self.now.at = None;
        self.now.share = None;
        self.now.is_last = true;
        let wrong: Vec<String> = (walk.gradients.iter().zip(right).enumerate())
            .filter(|(_, (found, right))| found != right)
            .map(|(i, (found, right))| format!("{} has {found} and should have {right}", self.name(i)))
            .collect();
        let is_used_once = (0..self.lines.len()).all(|line| {
            let uses = self.lines.iter().flat_map(|&user| inputs(user));
            uses.filter(|&input| input == line).count() <= 1
        });
        let why = match (wrong.is_empty(), order, arrival) {
            (true, Order::Reverse, Arrival::Add) => "each line had all its shares before it sent.",
            (true, ..) if is_used_once => "every value is used once, so this walk can not be told from the right one.",
            (true, Order::PerPath, _) => "one visit for each path to a line, so it is right and slow.",
            (true, ..) => "on this tape no line has both a short and a long path to it, so nearest first is in time.",
            (false, _, Arrival::Replace) => "a share was replaced that should have been added to.",
            (false, Order::BreadthFirst, _) => "a line sent before its last share had come.",
            (false, ..) => "what had been sent once was sent again with the next share.",
        };
        let visits = visits(walk);
        let verdict = match wrong.as_slice() {
            [] => "All gradients are right".to_string(),
            wrong => format!("Wrong: {}", wrong.join(", ")),
        };
        self.step(format!("Done after {visits} visits. {verdict}: {why}"));
    }
}

#[allow(dead_code, reason = "the test that compares the trace uses document() alone")]
fn main() {
    print!("{}", document());
}
