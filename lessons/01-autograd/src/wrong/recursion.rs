//! Two recursions that look right: "take a gradient, pass it on to my inputs".
//!
//! Both are depth first and visit a node once for each path that leads to it, so both overflow the stack on a deep tape
//! and take exponential time on a tape that keeps joining. They differ in what they pass on.

use std::rc::Rc;

use ndarray::ArrayD;

use crate::error::Result;
use crate::exercises::accumulate;
use crate::node::Node;
use crate::real::Real;

/// Adds the share to the node, then sends on *all that has accumulated*: at the second visit the first share goes out
/// again. Wrong as soon as a node that is not a leaf is used twice. Returns the number of visits.
// ANCHOR: resend
pub(super) fn resend<T: Real>(node: &Rc<Node<T>>, share: ArrayD<T>) -> Result<u64> {
    accumulate(&mut node.grad.borrow_mut(), share);
    let accumulated = node.grad.borrow().clone().expect("a share was just added");
    let mut visits = 1;
    for (input, share) in super::shares(node, accumulated)? {
        visits += resend(input, share)?;
    }
    Ok(visits)
}
// ANCHOR_END: resend

/// Adds the share to the node, then sends on *this share only*. The sum over all paths is the right gradient (that is
/// what the chain rule says), and there may be exponentially many paths. Returns the number of visits.
pub(super) fn per_path<T: Real>(node: &Rc<Node<T>>, share: ArrayD<T>) -> Result<u64> {
    accumulate(&mut node.grad.borrow_mut(), share.clone());
    let mut visits = 1;
    for (input, share) in super::shares(node, share)? {
        visits += per_path(input, share)?;
    }
    Ok(visits)
}
