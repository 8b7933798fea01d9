//! The right order, and `=` where `+=` belongs.
//!
//! Seen in micrograd and in many of its copies (micrograd#2): it works until a value is used twice.

use std::rc::Rc;

use ndarray::ArrayD;

use crate::error::Result;
use crate::node::Node;
use crate::real::Real;

/// Every node once, consumers first; of several shares only the last one stays.
pub(super) fn walk<T: Real>(order: &[Rc<Node<T>>], seed: ArrayD<T>) -> Result<()> {
    let Some(root) = order.last() else {
        return Ok(());
    };
    *root.grad.borrow_mut() = Some(seed);
    for node in order.iter().rev() {
        let Some(upstream) = node.grad.borrow().clone() else {
            continue;
        };
        for (input, share) in super::shares(node, upstream)? {
            *input.grad.borrow_mut() = Some(share); // the fault
        }
    }
    Ok(())
}
