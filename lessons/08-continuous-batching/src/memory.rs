//! What the scheduler knows of memory: numbers, no floats.

use crate::request::{Request, SeqId};
use crate::slots::SlotId;

/// Whether a request may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It holds memory now.
    Admitted,
    /// Not now. It holds nothing.
    NoRoom,
}

// ANCHOR: memory
/// Memory for the keys and values of many sequences, as the one who decides sees it. [`crate::cache::KvCache`] is the other side, that of the
/// forward pass. A memory owns all that it needs.
pub trait Memory: 'static {
    /// Most tokens that one sequence may hold. A request that can not fit is refused when it is submitted.
    fn max_seq_len(&self) -> usize;

    /// Reserves what a request needs until its end, or nothing at all. Memory that holds the request's first tokens already says so by setting
    /// `num_computed`, at most to one less than there are, so that a row is left to compute; slots never do.
    ///
    /// # Panics
    /// If it holds memory already.
    fn admit(&mut self, request: &mut Request) -> Admission;

    /// Gives back all that a sequence holds. Returns whether it held anything: a second call and a number that nobody has change nothing.
    fn release(&mut self, id: SeqId) -> bool;

    /// Whether a sequence holds memory.
    fn holds(&self, id: SeqId) -> bool;

    /// Sequences that hold memory.
    fn num_holders(&self) -> usize;

    /// The slot that a sequence sits in, for traces; `None` where memory has no slots.
    fn slot_of(&self, _id: SeqId) -> Option<SlotId> {
        None
    }

    /// Checks what must hold between any two calls.
    ///
    /// # Panics
    /// When a rule is broken: our own bug.
    fn check_invariants(&self);
}
// ANCHOR_END: memory
