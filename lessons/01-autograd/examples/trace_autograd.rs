//! The trace of the book's figure: three small tapes, each walked back in every order, with `+=` and with `=`.
//!
//! `cargo run -q -p lesson01 --example trace_autograd > book/figures/autograd.json`; a test compares the two. The
//! sentences are made by the figure's script from what happened; `steps` is the first walk as text, for readers without
//! scripts.

use autograd::scalar::{Arrival, Event, Line, Order, Walk, backward, values};
use serde::Serialize;

#[derive(Serialize)]
struct Document {
    schema: u32,
    figure: &'static str,
    source: &'static str,
    steps: Vec<Text>,
    tapes: Vec<Tape>,
}

#[derive(Serialize)]
struct Text {
    text: String,
}

#[derive(Serialize)]
struct Tape {
    title: &'static str,
    lines: Vec<Drawn>,
    walks: Vec<Walked>,
}

/// A line as it is drawn.
#[derive(Serialize)]
struct Drawn {
    name: &'static str,
    /// "leaf", "+" or "·".
    operation: &'static str,
    inputs: Vec<usize>,
    column: usize,
    row: usize,
    value: f64,
    /// The right gradient.
    right: f64,
}

#[derive(Serialize)]
struct Walked {
    order: &'static str,
    adds: bool,
    events: Vec<Happened>,
}

/// [`Event`], for JSON.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Happened {
    Visit {
        line: usize,
        sends: f64,
    },
    Share {
        from: usize,
        to: usize,
        place: usize,
        share: f64,
        gradient: f64,
    },
}

/// A line with its name, column and row.
type Source = (&'static str, Line, usize, usize);

const ORDERS: [(&str, Order); 4] = [
    ("reverse topological", Order::Reverse),
    ("nearest to the result first", Order::BreadthFirst),
    ("recursion, sends its sum", Order::Resend),
    ("recursion, sends each share", Order::PerPath),
];

/// The whole document.
pub fn document() -> String {
    use Line::{Add, Leaf, Mul};
    let twice = [("a", Leaf(3.0), 0, 0), ("b", Add(0, 0), 1, 0), ("c", Add(1, 1), 2, 0)];
    let paths = [
        ("a", Leaf(3.0), 0, 0),
        ("h", Add(0, 0), 1, 0),
        ("k", Mul(1, 1), 2, 1),
        ("g", Add(1, 2), 3, 0),
    ];
    let once = [
        ("x", Leaf(3.0), 0, 0),
        ("w", Leaf(2.0), 0, 1),
        ("b", Leaf(1.0), 1, 1),
        ("p", Mul(0, 1), 1, 0),
        ("y", Add(3, 2), 2, 0),
    ];
    let tapes = vec![
        tape("b = a + a; c = b + b", &twice),
        tape("a short and a long path to h", &paths),
        tape("every value used once", &once),
    ];
    let document = Document {
        schema: 1,
        figure: "autograd",
        source: "cargo run -q -p lesson01 --example trace_autograd",
        steps: tapes[0].walks[0]
            .events
            .iter()
            .map(|event| text(&tapes[0], event))
            .collect(),
        tapes,
    };
    serde_json::to_string(&document).expect("plain data") + "\n"
}

fn tape(title: &'static str, source: &[Source]) -> Tape {
    let lines: Vec<Line> = source.iter().map(|&(_, line, ..)| line).collect();
    let computed = values(&lines).into_iter().zip(backward(&lines));
    let drawn = source
        .iter()
        .zip(computed)
        .map(|(&(name, line, column, row), (value, right))| {
            let (operation, inputs) = match line {
                Line::Leaf(_) => ("leaf", vec![]),
                Line::Add(i, j) => ("+", vec![i, j]),
                Line::Mul(i, j) => ("·", vec![i, j]),
            };
            Drawn {
                name,
                operation,
                inputs,
                column,
                row,
                value,
                right,
            }
        });
    let walks = ORDERS.iter().flat_map(|&(order, by)| {
        [(true, Arrival::Add), (false, Arrival::Replace)].map(|(adds, arrival)| {
            let events = Walk::new(&lines, by, arrival)
                .events
                .into_iter()
                .map(happened)
                .collect();
            Walked { order, adds, events }
        })
    });
    Tape {
        title,
        lines: drawn.collect(),
        walks: walks.collect(),
    }
}

fn happened(event: Event) -> Happened {
    match event {
        Event::Visit { line, sends } => Happened::Visit { line, sends },
        Event::Share {
            from,
            to,
            place,
            share,
            gradient,
        } => Happened::Share {
            from,
            to,
            place,
            share,
            gradient,
        },
    }
}

/// An event in short.
fn text(tape: &Tape, event: &Happened) -> Text {
    let name = |line: &usize| tape.lines[*line].name;
    let text = match event {
        Happened::Visit { line, sends } => format!("visit {}, gradient {sends}", name(line)),
        Happened::Share {
            from,
            to,
            share,
            gradient,
            ..
        } => {
            format!(
                "{} sends {share} to {}, whose gradient is now {gradient}",
                name(from),
                name(to)
            )
        }
    };
    Text { text }
}

#[allow(dead_code, reason = "the test that compares the trace uses document() alone")]
fn main() {
    lab::term::print(&document());
}
