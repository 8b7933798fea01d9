//! A node of the tape: one operation that was carried out, and how a gradient goes back through it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ndarray::ArrayD;

use crate::error::Result;
use crate::memory;
use crate::real::Real;

/// One gradient per input, or `None` where none is needed.
pub(crate) type Gradients<T> = Vec<Option<ArrayD<T>>>;

/// Turns the gradient of an operation's output into those of its inputs.
///
/// Owned upstream: an operation that only passes it on (an addition, a reshape) moves it instead of copying it.
/// `FnMut`, because the wrong variants of [`wrong`](crate::wrong) walk the same tape many times; a
/// [`custom_op`](crate::custom_op) may still be an `FnOnce`.
pub(crate) type Rule<T> = Box<dyn FnMut(ArrayD<T>) -> Result<Gradients<T>>>;

/// One operation on the tape, or a leaf.
// ANCHOR: node
pub(crate) struct Node<T: Real> {
    pub(crate) name: &'static str,
    pub(crate) shape: Vec<usize>,
    /// In the order of the operation's arguments; `None` for constants.
    pub(crate) inputs: Vec<Option<Rc<Node<T>>>>,
    /// `None` for leaves, and after a backward pass used it up.
    pub(crate) rule: RefCell<Option<Rule<T>>>,
    /// Written by the backward pass. Leaves keep it, other nodes lose it as soon as their rule has run.
    pub(crate) grad: RefCell<Option<ArrayD<T>>>,
    pub(crate) retain: Cell<bool>,
}
// ANCHOR_END: node

impl<T: Real> Node<T> {
    pub(crate) fn leaf(shape: Vec<usize>) -> Rc<Self> {
        memory::node_made();
        Rc::new(Self {
            name: "leaf",
            shape,
            inputs: Vec::new(),
            rule: RefCell::new(None),
            grad: RefCell::new(None),
            retain: Cell::new(true),
        })
    }

    pub(crate) fn operation(
        name: &'static str,
        shape: Vec<usize>,
        inputs: Vec<Option<Rc<Node<T>>>>,
        rule: Rule<T>,
    ) -> Rc<Self> {
        memory::node_made();
        Rc::new(Self {
            name,
            shape,
            inputs,
            rule: RefCell::new(Some(rule)),
            grad: RefCell::new(None),
            retain: Cell::new(false),
        })
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.inputs.is_empty()
    }
}

impl<T: Real> Drop for Node<T> {
    /// A chain of 200 000 nodes, dropped field by field, would call this function 200 000 levels deep. So a node hands
    /// its parts to a list, and whichever drop came first on this thread empties the list in a loop.
    fn drop(&mut self) {
        memory::node_dropped();
        if !self.inputs.is_empty() {
            bury((std::mem::take(&mut self.inputs), self.rule.take()));
        }
    }
}

thread_local! {
    static BURIED: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
    static EMPTYING: Cell<bool> = const { Cell::new(false) };
}

/// Drops `parts` now, or leaves them to the drop that is already under way further up the stack. This also covers the
/// nodes that a custom rule captured in its closure, which no walk along `inputs` would find.
fn bury(parts: impl Any) {
    // While the thread ends its cells may be gone; then the parts drop right here.
    let pushed = BURIED.try_with(|list| list.borrow_mut().push(Box::new(parts)));
    if pushed.is_err() || EMPTYING.replace(true) {
        return;
    }
    while let Some(parts) = BURIED.with(|list| list.borrow_mut().pop()) {
        drop(parts);
    }
    EMPTYING.set(false);
}
