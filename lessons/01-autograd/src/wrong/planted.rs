//! Backward passes over the smallest tape, each with one fault that real code has had.

use crate::scalar::{Arrival, Line, Order, Walk, values};

/// A backward pass: the gradient of the last line with respect to every line.
type Backward = fn(&[Line]) -> Vec<f64>;

/// What each planted fault does, and the backward pass that has it.
pub const PLANTED: [(&str, Backward); 4] = [
    ("overwrites the share that came before", overwrite),
    ("recurses and sends its sum on again at each visit", |tape| {
        Walk::new(tape, Order::Resend, Arrival::Add).gradients
    }),
    ("visits each line once, nearest to the result first", |tape| {
        Walk::new(tape, Order::BreadthFirst, Arrival::Add).gradients
    }),
    ("multiplies by the operand's own value in a product", own_factor),
];

fn overwrite(tape: &[Line]) -> Vec<f64> {
    Walk::new(tape, Order::Reverse, Arrival::Replace).gradients
}

/// d(x y)/dx is y. Here it is x, which makes no difference as long as x equals y.
fn own_factor(tape: &[Line]) -> Vec<f64> {
    let values = values(tape);
    let mut gradients = vec![0.0; tape.len()];
    if let Some(last) = gradients.last_mut() {
        *last = 1.0;
    }
    for (line, &operation) in tape.iter().enumerate().rev() {
        let g = gradients[line];
        match operation {
            Line::Leaf(_) => {}
            Line::Add(i, j) => {
                gradients[i] += g;
                gradients[j] += g;
            }
            Line::Mul(i, j) => {
                gradients[i] += g * values[i]; // the fault
                gradients[j] += g * values[j]; // the fault
            }
        }
    }
    gradients
}
