//! The smallest tape: a list of single numbers, sums and products, walked backwards in several ways that can be
//! watched.
//!
//! It is what the figure of this lesson plays and what the exercise on catching faults tests. It uses nothing of the
//! other tape. A line names only earlier lines, so the list read from its end is a reverse topological order.
//!
//! | line | written | value | sends to its first | sends to its second |
//! |---|---|---|---|---|
//! | `Leaf(x)` | a number | `x` | | |
//! | `Add(i, j)` | `i + j` | sum | `g` | `g` |
//! | `Mul(i, j)` | `i · j` | product | `g · value of j` | `g · value of i` |

use std::collections::VecDeque;

/// One line of the tape. Operands are numbers of earlier lines.
// ANCHOR: line
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Line {
    /// A number that is given.
    Leaf(f64),
    /// The sum of two earlier lines.
    Add(usize, usize),
    /// The product of two earlier lines.
    Mul(usize, usize),
}
// ANCHOR_END: line

/// In which order a walk comes to the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the last line to the first, each once: reverse topological.
    Reverse,
    /// Nearest to the result first, each once.
    BreadthFirst,
    /// A recursion that sends on all that has accumulated, at each visit.
    Resend,
    /// A recursion that sends on only the share that it was called with.
    PerPath,
}

/// What a share does to the gradient that it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// `+=`
    Add,
    /// `=`
    Replace,
}

/// One thing that a walk did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// It came to a line and sends this gradient on.
    Visit {
        /// Number of the line on the tape.
        line: usize,
        /// The gradient that the line's rule starts from.
        sends: f64,
    },
    /// A share reached an operand.
    Share {
        /// Number of the line that sent it.
        from: usize,
        /// Number of the line that received it: an operand of `from`.
        to: usize,
        /// Whether it is the sender's first operand (0) or its second (1).
        place: usize,
        /// The amount that was sent.
        share: f64,
        /// The operand's gradient afterwards.
        gradient: f64,
    },
}

/// The value of each line.
///
/// # Panics
/// When a line names one that does not come before it.
pub fn values(tape: &[Line]) -> Vec<f64> {
    let mut values = Vec::with_capacity(tape.len());
    for line in tape {
        values.push(match *line {
            Line::Leaf(x) => x,
            Line::Add(i, j) => values[i] + values[j],
            Line::Mul(i, j) => values[i] * values[j],
        });
    }
    values
}

/// What one line sends to its operands when `gradient` has reached it.
pub fn shares(line: Line, values: &[f64], gradient: f64) -> Vec<(usize, f64)> {
    match line {
        Line::Leaf(_) => vec![],
        Line::Add(i, j) => vec![(i, gradient), (j, gradient)],
        Line::Mul(i, j) => vec![(i, gradient * values[j]), (j, gradient * values[i])],
    }
}

/// A walk over one tape.
pub struct Walk<'a> {
    tape: &'a [Line],
    values: Vec<f64>,
    arrival: Arrival,
    /// How the last line changes with each line, if the walk is a right one.
    pub gradients: Vec<f64>,
    /// Everything it did, in order.
    pub events: Vec<Event>,
}

impl<'a> Walk<'a> {
    /// Walks back from the last line.
    pub fn new(tape: &'a [Line], order: Order, arrival: Arrival) -> Self {
        let mut walk = Self {
            tape,
            values: values(tape),
            arrival,
            gradients: vec![0.0; tape.len()],
            events: Vec::new(),
        };
        let Some(root) = tape.len().checked_sub(1) else {
            return walk;
        };
        walk.gradients[root] = 1.0;
        match order {
            Order::Reverse => (0..=root).rev().for_each(|line| walk.visit_once(line)),
            Order::BreadthFirst => {
                let (mut queue, mut seen) = (VecDeque::from([root]), vec![root]);
                while let Some(line) = queue.pop_front() {
                    walk.visit_once(line);
                    for (to, _) in shares(tape[line], &walk.values, 0.0) {
                        if !seen.contains(&to) {
                            seen.push(to);
                            queue.push_back(to);
                        }
                    }
                }
            }
            Order::Resend => walk.recurse(root, 1.0, true),
            Order::PerPath => walk.recurse(root, 1.0, false),
        }
        walk
    }

    /// Sends on what has reached the line by now.
    fn visit_once(&mut self, line: usize) {
        for (place, (to, share)) in self.leave(line, self.gradients[line]).into_iter().enumerate() {
            self.arrive(line, to, place, share);
        }
    }

    /// Goes on into each operand at once, before the next share of this line is sent.
    fn recurse(&mut self, line: usize, share: f64, resend: bool) {
        let sends = if resend { self.gradients[line] } else { share };
        for (place, (to, share)) in self.leave(line, sends).into_iter().enumerate() {
            self.arrive(line, to, place, share);
            self.recurse(to, share, resend);
        }
    }

    fn leave(&mut self, line: usize, sends: f64) -> Vec<(usize, f64)> {
        self.events.push(Event::Visit { line, sends });
        shares(self.tape[line], &self.values, sends)
    }

    fn arrive(&mut self, from: usize, to: usize, place: usize, share: f64) {
        match self.arrival {
            Arrival::Add => self.gradients[to] += share,
            Arrival::Replace => self.gradients[to] = share,
        }
        let gradient = self.gradients[to];
        self.events.push(Event::Share {
            from,
            to,
            place,
            share,
            gradient,
        });
    }
}

/// The gradient of the last line with respect to every line: each line once from the last to the first, shares added.
pub fn backward(tape: &[Line]) -> Vec<f64> {
    Walk::new(tape, Order::Reverse, Arrival::Add).gradients
}
