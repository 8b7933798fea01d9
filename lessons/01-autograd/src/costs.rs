//! What the exercises cost: one fixed piece of work for each function, counted for the reader's function and for this
//! one.
//!
//! Allocations are counted by the allocator; calls of a closure that the function was given are counted in the ledger.

use std::hint::black_box;

use lab::cost::Task;
use lab::ledger;
use ndarray::{Array2, ArrayD, IxDyn};

use crate::exercises::{
    accumulate, gradients_are_right, matmul_backward, numeric_gradient, sum_to_shape, topological_order,
};
use crate::scalar::{Line, backward};

/// One task for each exercise that is a function.
pub fn tasks() -> Vec<Task> {
    vec![differences(), product(), broadcast(), shares(), order(), catch()]
}

fn differences() -> Task {
    let at = ArrayD::from_shape_fn(IxDyn(&[4, 8]), |index| (index[0] + index[1]) as f64);
    Task::new("01.1", "32 elements", move || {
        let squares = |x: &ArrayD<f64>| {
            ledger::count(|ledger| ledger.add("calls of the function", 1));
            x.iter().map(|x| x * x).sum()
        };
        black_box(numeric_gradient(squares, &at, 1e-5));
    })
}

fn product() -> Task {
    let ramp = |rows, columns| Array2::from_shape_fn((rows, columns), |(i, j)| (i + j) as f32);
    let (a, b, upstream) = (ramp(24, 32), ramp(32, 16), ramp(24, 16));
    Task::new("01.2", "[24, 32] times [32, 16]", move || {
        black_box(matmul_backward(a.view(), b.view(), upstream.view()));
    })
}

fn broadcast() -> Task {
    Task::new("01.3", "[8, 24, 32] to [24, 1]", || {
        let gradient = ArrayD::<f32>::ones(IxDyn(&[8, 24, 32]));
        black_box(sum_to_shape(gradient, &[24, 1]));
    })
}

fn shares() -> Task {
    Task::new("01.5", "3 shares of 1024 elements", || {
        let mut slot = None;
        for _ in 0..3 {
            accumulate(&mut slot, ArrayD::<f32>::ones(IxDyn(&[1024])));
        }
        black_box(slot);
    })
}

fn order() -> Task {
    Task::new("01.4", "64 doublings, 65 nodes", || {
        let inputs = |&node: &usize| {
            ledger::count(|ledger| ledger.add("looks at a node's inputs", 1));
            if node == 0 { vec![] } else { vec![node - 1, node - 1] }
        };
        black_box(topological_order(64, |&node| node, inputs));
    })
}

fn catch() -> Task {
    Task::new("01.8", "the test on the right walk", || {
        let counted = |tape: &[Line]| {
            ledger::count(|ledger| {
                ledger.add("tapes tried", 1);
                ledger.add("lines on them", tape.len() as u64);
            });
            backward(tape)
        };
        black_box(gradients_are_right(&counted));
    })
}
