//! The ledger: counts of work, so that a claim can be tested without a clock.
//!
//! [`measure`] opens a scope on this thread, [`count`] adds to it. A kernel counts once, at its entry, from its
//! shapes; workers of a pool count nothing, so the numbers are the same for any number of threads. Without an
//! open scope, [`count`] is one relaxed load and its closure is not run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde::Serialize;

use crate::alloc;

/// Counts of the work inside a [`measure`] scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ledger {
    /// Multiplications followed by an addition (one fused multiply-add is one).
    pub multiply_adds: u64,
    /// Bytes that the algorithm reads from its operands, each time that it asks for them.
    pub bytes_read: u64,
    /// Bytes that the algorithm writes.
    pub bytes_written: u64,
    /// Rows (token positions) that went through a layer stack or a matrix.
    pub rows: u64,
    /// Steps of the lesson's loop: forward passes, optimizer steps.
    pub steps: u64,
    /// Allocations of the whole process, from [`crate::alloc`]; 0 without the counting allocator.
    pub allocations: u64,
    /// Bytes allocated by the whole process, from [`crate::alloc`].
    pub allocated_bytes: u64,
    /// Most bytes held at one time beyond those held when the scope opened, from [`crate::alloc`].
    pub peak_bytes: u64,
    /// Further counts of a lesson, by name.
    pub named: BTreeMap<&'static str, u64>,
}

impl Ledger {
    /// Adds `amount` under `name`.
    pub fn add(&mut self, name: &'static str, amount: u64) {
        *self.named.entry(name).or_default() += amount;
    }

    /// What was added under `name`; 0 if nothing was.
    pub fn get(&self, name: &str) -> u64 {
        self.named.get(name).copied().unwrap_or_default()
    }

    /// Adds these counts to a flat map of counts by name, as the document for machines has it. Zeros are left out.
    pub fn add_to(&self, flat: &mut BTreeMap<String, u64>) {
        let fields = [
            ("multiply_adds", self.multiply_adds),
            ("bytes_read", self.bytes_read),
            ("bytes_written", self.bytes_written),
            ("rows", self.rows),
            ("steps", self.steps),
            ("allocations", self.allocations),
            ("allocated_bytes", self.allocated_bytes),
        ];
        let named = self.named.iter().map(|(name, amount)| (*name, *amount));
        for (name, amount) in fields.into_iter().chain(named).filter(|(_, amount)| *amount > 0) {
            *flat.entry(name.into()).or_default() += amount;
        }
        if self.peak_bytes > 0 {
            let peak = flat.entry("peak_bytes".into()).or_default();
            *peak = self.peak_bytes.max(*peak);
        }
    }

    /// Adds the counts of [`count`], and leaves those of the allocator as they are.
    fn absorb(&mut self, other: &Ledger) {
        self.multiply_adds += other.multiply_adds;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.rows += other.rows;
        self.steps += other.steps;
        for (name, amount) in &other.named {
            self.add(name, *amount);
        }
    }
}

/// Scopes open on all threads. Zero is the common case, and the only thing that [`count`] looks at then.
static OPEN_SCOPES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The scopes open on this thread, outermost first.
    static SCOPES: RefCell<Vec<Ledger>> = const { RefCell::new(Vec::new()) };
}

/// Adds to the innermost scope of this thread, if there is one.
///
/// Cost without an open scope: one relaxed load. The closure must not call [`count`] or [`measure`] itself.
#[inline]
pub fn count(add: impl FnOnce(&mut Ledger)) {
    if OPEN_SCOPES.load(Relaxed) != 0 {
        count_in_scope(add);
    }
}

#[cold]
fn count_in_scope(add: impl FnOnce(&mut Ledger)) {
    SCOPES.with_borrow_mut(|scopes| {
        if let Some(innermost) = scopes.last_mut() {
            add(innermost);
        }
    });
}

/// Closes the scope when the work returns, and also when it panics.
struct Scope;

impl Scope {
    fn open() -> Self {
        OPEN_SCOPES.fetch_add(1, Relaxed);
        SCOPES.with_borrow_mut(|scopes| scopes.push(Ledger::default()));
        Scope
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        OPEN_SCOPES.fetch_sub(1, Relaxed);
        SCOPES.with_borrow_mut(|scopes| {
            let inner = scopes.pop();
            if let (Some(inner), Some(outer)) = (inner, scopes.last_mut()) {
                outer.absorb(&inner);
            }
        });
    }
}

/// Runs `work` and returns what it counted on this thread, nested scopes included.
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, Ledger) {
    // The scope's own memory is no part of the work: opened before the first snapshot, copied after the second.
    let scope = Scope::open();
    let before = alloc::snapshot();
    alloc::reset_peak();
    let result = work();
    let after = alloc::snapshot();
    let mut ledger = SCOPES.with_borrow(|scopes| scopes.last().cloned().unwrap_or_default());
    drop(scope);
    alloc::raise_peak(before.peak_bytes);
    ledger.allocations = after.allocations - before.allocations;
    ledger.allocated_bytes = after.allocated_bytes - before.allocated_bytes;
    ledger.peak_bytes = after.peak_bytes.saturating_sub(before.live_bytes);
    (result, ledger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_counted_outside_a_scope() {
        let mut ran = false;
        count(|ledger| {
            ran = true;
            ledger.rows += 1;
        });
        let ((), ledger) = measure(|| ());
        assert!(!ran);
        assert_eq!(ledger.rows, 0);
    }

    #[test]
    fn inner_counts_reach_the_outer_scope() {
        let (inner, outer) = measure(|| {
            count(|l| l.rows += 1);
            let ((), inner) = measure(|| {
                count(|l| {
                    l.rows += 10;
                    l.add("blocks", 3);
                })
            });
            count(|l| l.add("blocks", 4));
            inner
        });
        assert_eq!((inner.rows, inner.get("blocks")), (10, 3));
        assert_eq!((outer.rows, outer.get("blocks"), outer.get("unknown")), (11, 7, 0));
    }

    #[test]
    fn another_thread_does_not_reach_this_scope() {
        let ((), ledger) = measure(|| {
            std::thread::spawn(|| count(|l| l.steps += 1)).join().unwrap();
        });
        assert_eq!(ledger.steps, 0);
    }

    #[test]
    fn a_panic_closes_its_scope() {
        let ((), ledger) = measure(|| {
            let result = std::panic::catch_unwind(|| {
                measure(|| {
                    count(|l| l.rows += 5);
                    panic!("on purpose");
                })
            });
            assert!(result.is_err());
            count(|l| l.rows += 1);
        });
        assert_eq!(ledger.rows, 6);
        assert!(SCOPES.with_borrow(Vec::is_empty));
    }
}
