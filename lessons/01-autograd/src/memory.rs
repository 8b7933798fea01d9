//! How many values are alive on this thread: counted when they are made and when they are dropped.
//!
//! The tape keeps what its backward rules will read, so the difference between a forward pass with a tape and the same
//! pass under [`no_grad`](crate::no_grad) is the price of training. The counts are exact and repeatable, unlike the
//! process's resident memory: tensors never leave their thread, so plain cells suffice.

use std::cell::Cell;

/// Counts of what is alive on a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Live {
    /// Number of values (each tensor's storage, shared by its clones).
    pub values: usize,
    /// Bytes that the elements of these values take.
    pub value_bytes: usize,
    /// Largest `value_bytes` since the last [`reset_peak`].
    pub peak_bytes: usize,
    /// Number of operations on tapes that are alive, leaves included.
    pub nodes: usize,
}

thread_local! {
    static LIVE: Cell<Live> = const { Cell::new(Live { values: 0, value_bytes: 0, peak_bytes: 0, nodes: 0 }) };
}

/// The counts of this thread.
pub fn live() -> Live {
    LIVE.get()
}

/// What `work` leaves alive, and its peak, beyond what was there before.
///
/// # Errors
/// Those of `work`.
pub fn held<R, E>(work: impl FnOnce() -> Result<R, E>) -> Result<Live, E> {
    let before = live();
    reset_peak();
    let result = work()?;
    let after = live();
    drop(result);
    Ok(Live {
        values: after.values - before.values,
        value_bytes: after.value_bytes - before.value_bytes,
        peak_bytes: after.peak_bytes - before.value_bytes,
        nodes: after.nodes - before.nodes,
    })
}

/// Starts a new peak at the present count.
pub fn reset_peak() {
    change(|live| live.peak_bytes = live.value_bytes);
}

pub(crate) fn value_made(bytes: usize) {
    change(|live| {
        live.values += 1;
        live.value_bytes += bytes;
        live.peak_bytes = live.peak_bytes.max(live.value_bytes);
    });
}

pub(crate) fn value_dropped(bytes: usize) {
    change(|live| {
        live.values -= 1;
        live.value_bytes -= bytes;
    });
}

pub(crate) fn node_made() {
    change(|live| live.nodes += 1);
}

pub(crate) fn node_dropped() {
    change(|live| live.nodes -= 1);
}

fn change(edit: impl FnOnce(&mut Live)) {
    // A tensor may be dropped while its thread ends, after this cell: then the count is not read any more.
    let _ = LIVE.try_with(|cell| {
        let mut live = cell.get();
        edit(&mut live);
        cell.set(live);
    });
}
