//! The backward pass: from one number back to every parameter it came from.
//!
//! The simple version, in pseudo-code:
//!
//! ```text
//! gradient[output] = 1
//! for node in reverse topological order:         # every consumer of a node comes before the node
//!     for input, share in node.rule(gradient[node]):
//!         gradient[input] += share               # a value used twice gets both shares
//! ```
//! What the real one adds:
//! 1. It looks for used-up rules before it touches any gradient, so that a second call changes nothing.
//! 2. A gradient of an inner node is moved into its rule, and the rule is dropped after it ran, so memory shrinks as
//!    the pass goes back.
//! 3. The first share of a gradient is moved into place, later ones are added.
//! 4. After an error no inner gradient is left behind to be added to by a later pass.
//!
//! Source: reverse-mode differentiation over a recorded tape, Baydin et al. 2018, arXiv:1502.05767, section 3.2.

use std::rc::Rc;

use ndarray::ArrayD;

use crate::error::{AutogradError, Result};
use crate::exercises::{accumulate, topological_order};
use crate::node::{Gradients, Node};
use crate::real::Real;
use crate::storage::row_major;
use crate::tensor::Tensor;

/// What happens to the rules after they ran.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Dropped, with everything they saved.
    Nothing,
    /// Kept, so that the same tape can be walked again.
    Rules,
}

impl<T: Real> Tensor<T> {
    /// Adds the gradient of this number with respect to every parameter it was computed from to that parameter's
    /// [`grad`](Tensor::grad). Uses up the tape. Iterative: the depth of the tape is limited by memory only.
    ///
    /// # Errors
    /// [`AutogradError::NotScalar`], [`NoTape`](AutogradError::NoTape), [`TapeUsed`](AutogradError::TapeUsed),
    /// [`ChangedInPlace`](AutogradError::ChangedInPlace) or [`Rule`](AutogradError::Rule). After the last two the
    /// parameters may hold a part of their gradients: zero them.
    pub fn backward(&self) -> Result<()> {
        if self.len() != 1 {
            return Err(AutogradError::NotScalar { found: self.shape() });
        }
        self.backward_with(ArrayD::from_elem(self.shape(), T::one()))
    }

    /// [`backward`](Tensor::backward) from a tensor of any shape, with the gradient `seed` of some later number with
    /// respect to this tensor.
    ///
    /// # Errors
    /// As `backward`; [`AutogradError::Shape`] when `seed` is not shaped like the tensor.
    pub fn backward_with(&self, seed: ArrayD<T>) -> Result<()> {
        run(self, seed, Keep::Nothing)
    }
}

/// The correct backward pass. See the module's documentation.
// ANCHOR: run
pub(crate) fn run<T: Real>(output: &Tensor<T>, seed: ArrayD<T>, keep: Keep) -> Result<()> {
    let root = root_of(output, &seed)?;
    let order = order_from(&root);
    check_unused(&order)?;
    accumulate(&mut root.grad.borrow_mut(), row_major(seed));
    for (done, node) in order.iter().rev().enumerate() {
        if node.is_leaf() {
            continue;
        }
        if let Err(error) = step(node, keep) {
            order[..order.len() - done]
                .iter()
                .filter(|node| !node.is_leaf())
                .for_each(|node| drop(node.grad.take()));
            return Err(error);
        }
    }
    Ok(())
}
// ANCHOR_END: run

/// The node to start from, after checking that it can be started from.
pub(crate) fn root_of<T: Real>(output: &Tensor<T>, seed: &ArrayD<T>) -> Result<Rc<Node<T>>> {
    let root = output.node.clone().ok_or(AutogradError::NoTape)?;
    if seed.shape() != root.shape {
        return Err(AutogradError::Shape {
            operation: "backward_with",
            expected: format!("a seed of shape {:?}", root.shape),
            found: format!("{:?}", seed.shape()),
            advice: "a gradient is shaped like its tensor",
        });
    }
    Ok(root)
}

/// All nodes that lead to `root`, inputs before consumers, `root` last.
pub(crate) fn order_from<T: Real>(root: &Rc<Node<T>>) -> Vec<Rc<Node<T>>> {
    topological_order(
        Rc::clone(root),
        |node| Rc::as_ptr(node) as usize,
        |node| node.inputs.iter().flatten().cloned().collect(),
    )
}

/// Fails when an operation among `nodes` has lost its rule to an earlier pass.
pub(crate) fn check_unused<T: Real>(nodes: &[Rc<Node<T>>]) -> Result<()> {
    match nodes
        .iter()
        .rev()
        .find(|node| !node.is_leaf() && node.rule.borrow().is_none())
    {
        Some(node) => Err(AutogradError::TapeUsed { operation: node.name }),
        None => Ok(()),
    }
}

/// Sends one node's gradient to its inputs.
// ANCHOR: step
fn step<T: Real>(node: &Rc<Node<T>>, keep: Keep) -> Result<()> {
    // Every consumer has run, so the gradient is complete. None at all: no consumer sent one.
    let upstream = if node.retain.get() {
        node.grad.borrow().clone()
    } else {
        node.grad.take()
    };
    let rule = node.rule.take();
    let (Some(upstream), Some(mut rule)) = (upstream, rule) else {
        return Ok(());
    };
    let gradients = rule(upstream).map_err(|error| error.in_backward_of(node.name));
    if keep == Keep::Rules {
        *node.rule.borrow_mut() = Some(rule);
    }
    for (input, gradient) in pair_up(node, gradients?)? {
        accumulate(&mut input.grad.borrow_mut(), gradient);
    }
    Ok(())
}
// ANCHOR_END: step

/// An input, and what one operation adds to its gradient.
pub(crate) type Share<'a, T> = (&'a Rc<Node<T>>, ArrayD<T>);

/// Matches a rule's gradients with the inputs that want one, and checks their shapes: a gradient is shaped like its
/// input, always, so a rule that forgot to sum over a broadcast axis is caught here.
pub(crate) fn pair_up<T: Real>(node: &Node<T>, gradients: Gradients<T>) -> Result<Vec<Share<'_, T>>> {
    let wrong = |expected: String, found: String| AutogradError::Rule {
        operation: node.name,
        expected,
        found,
    };
    if gradients.len() != node.inputs.len() {
        return Err(wrong(
            format!("{} gradients", node.inputs.len()),
            format!("{}", gradients.len()),
        ));
    }
    let mut pairs = Vec::with_capacity(gradients.len());
    for (place, (input, gradient)) in node.inputs.iter().zip(gradients).enumerate() {
        let (Some(input), Some(gradient)) = (input, gradient) else {
            continue;
        };
        if gradient.shape() != input.shape {
            let expected = format!("shape {:?} for input {place}", input.shape);
            return Err(wrong(expected, format!("{:?}", gradient.shape())));
        }
        pairs.push((input, row_major(gradient)));
    }
    Ok(pairs)
}
