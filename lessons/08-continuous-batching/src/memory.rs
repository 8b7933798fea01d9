//! Memory as the scheduler sees it: integers (which slot or block), no floats.

use crate::batch::Batch;
use crate::request::{Request, SeqId};

/// Whether a request may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The request holds memory now.
    Admitted,
    /// There is no room now. The request holds nothing.
    NoRoom,
}

// ANCHOR: memory
/// Room for the keys and values of many sequences, as the scheduler sees it. The floats themselves are in a
/// [`crate::cache::KvCache`], which the forward pass writes and reads. Everything that may run out is taken here,
/// before a pass, so the pass itself can not fail for want of memory.
///
/// The life of a sequence: [`Memory::admit`], then before each pass [`Memory::grow`] and after it
/// [`Memory::note_computed`], at its end [`Memory::free`].
pub trait Memory<X = ()> {
    /// Largest number of tokens that one sequence may have. A request that can not fit is refused when it is submitted.
    fn max_seq_len(&self) -> usize;

    /// Gives a request memory, or changes nothing. If memory already holds the keys and values of the request's first
    /// tokens, it sets `num_computed` to their number, but at most to the number of the request's tokens less one, so
    /// that at least one row is computed.
    ///
    /// # Panics
    /// If the request holds memory already.
    fn admit(&mut self, request: &mut Request<X>) -> Admission;

    /// Makes room for the first `num_tokens` tokens of an admitted sequence. Returns false, and changes nothing, if
    /// there is none.
    fn grow(&mut self, id: SeqId, num_tokens: usize) -> bool;

    /// Called after a pass: keys and values of the request's first `num_computed` tokens are written now.
    fn note_computed(&mut self, _request: &Request<X>) {}

    /// Takes back all memory of a sequence. Returns whether it held any: a second call, or an unknown number, changes
    /// nothing.
    fn free(&mut self, id: SeqId) -> bool;

    /// Whether a sequence holds memory.
    fn holds(&self, id: SeqId) -> bool;

    /// Number of sequences that hold memory.
    fn num_holders(&self) -> usize;

    /// Appends the numbers of the pieces of memory that a sequence holds, in the order of its positions.
    ///
    /// # Panics
    /// If the sequence holds nothing.
    fn write_table(&self, id: SeqId, table: &mut Vec<u32>);

    /// Moves the copies that the next pass has to make first, as (from, to), to the end of `copies`.
    fn take_copies(&mut self, _copies: &mut Vec<(u32, u32)>) {}

    /// Checks what must hold between any two calls.
    ///
    /// # Panics
    /// When a rule is broken: a bug of the workbook.
    fn check_invariants(&self);

    /// Writes into a scheduled batch where its sequences lie and what has to be copied first.
    fn complete(&mut self, batch: &mut Batch) {
        // By index, because `add_table` borrows the whole batch.
        for index in 0..batch.sequences.len() {
            let id = batch.sequences[index].id;
            batch.add_table(|table| self.write_table(id, table));
        }
        // Copies were noted while memory was taken; the pass makes them before its first row.
        self.take_copies(&mut batch.copies);
    }
}
// ANCHOR_END: memory
