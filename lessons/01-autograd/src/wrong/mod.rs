//! Four backward passes that are wrong, each with a fault that real code has had, over the same tape as the right one.
//!
//! | walk | order | a second share | `b = a + a; c = b + b` | fault |
//! |---|---|---|---|---|
//! | [`Walk::Correct`] | reverse topological | `+=` | 4 | |
//! | [`Walk::Overwrite`] | reverse topological | `=` | 1 | the other share is lost |
//! | [`Walk::Resend`] | recursion | `+=` | 6 | sends the sum on at each visit, so early shares are sent again |
//! | [`Walk::PerPath`] | recursion | `+=` | 4 | right, but walks every path: 2ⁿ of them after n doublings |
//!
//! The fourth wrong thing is no walk: [`unchecked_mul`] and [`unchecked_matmul`] read their inputs again in the
//! backward pass without looking whether they changed in place.
//!
//! [`PLANTED`] are faults over the smallest tape ([`scalar`](crate::scalar)), for the exercise that has to catch them.
//!
//! None of them can be told from the right one on a network in which every value is used once.

mod in_place;
mod overwrite;
mod planted;
mod recursion;

use ndarray::ArrayD;

use crate::backward::{Keep, check_unused, order_from, root_of, run};
use crate::error::{AutogradError, Result};
use crate::real::Real;
use crate::tensor::Tensor;

pub use in_place::{unchecked_matmul, unchecked_mul};
pub use planted::PLANTED;

/// A way to walk the tape backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// Reverse topological order, shares added.
    Correct,
    /// Reverse topological order, but a share replaces the one before.
    Overwrite,
    /// Recursion that sends a node's accumulated gradient on at every visit.
    Resend,
    /// Recursion that sends only the share it was called with.
    PerPath,
}

impl Walk {
    /// All four, the correct one first.
    pub const ALL: [Walk; 4] = [Walk::Correct, Walk::Overwrite, Walk::Resend, Walk::PerPath];

    /// Name in charts and tables.
    pub fn name(self) -> &'static str {
        match self {
            Walk::Correct => "correct",
            Walk::Overwrite => "overwrite",
            Walk::Resend => "recursion, sum re-sent",
            Walk::PerPath => "recursion, per path",
        }
    }
}

/// What a walk did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visits {
    /// Number of nodes on the tape, leaves included.
    pub nodes: usize,
    /// Number of visits, over all nodes.
    pub visits: u64,
}

/// `backward` by one of the walks. The tape is kept, so that walks can be compared on it; gradients are left where the
/// walk put them (zero them in between).
///
/// # Errors
/// As [`Tensor::backward`].
pub fn backward_by<T: Real>(walk: Walk, output: &Tensor<T>) -> Result<Visits> {
    if output.len() != 1 {
        return Err(AutogradError::NotScalar { found: output.shape() });
    }
    let seed = ArrayD::from_elem(output.shape(), T::one());
    let root = root_of(output, &seed)?;
    let order = order_from(&root);
    check_unused(&order)?;
    let once = order.len() as u64;
    let visits = match walk {
        Walk::Correct => run(output, seed, Keep::Rules).map(|()| once),
        Walk::Overwrite => overwrite::walk(&order, seed).map(|()| once),
        Walk::Resend => recursion::resend(&root, seed),
        Walk::PerPath => recursion::per_path(&root, seed),
    };
    // Gradients of inner nodes belong to this walk only.
    order
        .iter()
        .filter(|node| !node.retain.get())
        .for_each(|node| drop(node.grad.take()));
    Ok(Visits {
        nodes: order.len(),
        visits: visits?,
    })
}

/// One step of a walk that keeps the tape: what this node sends to its inputs.
fn shares<T: Real>(node: &crate::node::Node<T>, upstream: ArrayD<T>) -> Result<Vec<crate::backward::Share<'_, T>>> {
    let mut rule = node.rule.borrow_mut();
    // Only leaves have no rule: `check_unused` ran before.
    let Some(rule) = rule.as_mut() else {
        return Ok(Vec::new());
    };
    let gradients = rule(upstream).map_err(|error| error.in_backward_of(node.name))?;
    crate::backward::pair_up(node, gradients)
}
