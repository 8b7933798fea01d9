//! An allocator that counts, installed by each lesson's binary.
//!
//! It forwards to the system allocator and keeps four process-wide numbers. Cost: six relaxed atomic
//! operations for each allocation, two for each release; nothing on the paths that do not allocate, which is
//! where the kernels live. The counts cover every thread, so a test that asserts exact counts must be alone in
//! its process (one test in one file of `tests/`).

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static ALLOCATED_BYTES: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);
static PEAK_BYTES: AtomicU64 = AtomicU64::new(0);
/// Most bytes that may be held at one time; [`with_budget`] sets it.
static BUDGET_BYTES: AtomicU64 = AtomicU64::new(u64::MAX);

/// The system allocator, counted. Install it in a binary with `#[global_allocator]`.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();
///
/// let before = lab::alloc::snapshot();
/// let kept = vec![0u8; 4096];
/// assert!(lab::alloc::snapshot().allocated_bytes >= before.allocated_bytes + kept.len() as u64);
/// ```
#[derive(Debug, Default)]
pub struct CountingAllocator(());

impl CountingAllocator {
    /// The allocator, as a constant, for a `static`.
    pub const fn new() -> Self {
        Self(())
    }
}

/// Process-wide counts since the start, as [`snapshot`] reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocStats {
    /// Number of allocations so far (a growth in place counts as one).
    pub allocations: u64,
    /// Bytes asked for so far, whether released since or not.
    pub allocated_bytes: u64,
    /// Bytes held now.
    pub live_bytes: u64,
    /// Most bytes held at one time since the start or the last [`reset_peak`].
    pub peak_bytes: u64,
}

/// Reads the counts. All zero when no [`CountingAllocator`] is installed.
pub fn snapshot() -> AllocStats {
    AllocStats {
        allocations: ALLOCATIONS.load(Relaxed),
        allocated_bytes: ALLOCATED_BYTES.load(Relaxed),
        live_bytes: LIVE_BYTES.load(Relaxed),
        peak_bytes: PEAK_BYTES.load(Relaxed),
    }
}

/// Number of allocations in the whole process while `work` runs, and its result. Open no ledger meanwhile: it
/// allocates.
pub fn count<R>(work: impl FnOnce() -> R) -> (R, u64) {
    let before = snapshot().allocations;
    let result = work();
    (result, snapshot().allocations - before)
}

/// Sets the peak back to what is live now, so that the next [`snapshot`] tells the peak of one phase.
pub fn reset_peak() {
    PEAK_BYTES.store(LIVE_BYTES.load(Relaxed), Relaxed);
}

/// Runs `work` in a process that may hold `bytes` more than now: an allocation beyond that is refused in every thread,
/// as by a machine without memory. Calls such as `Vec::try_reserve` give an error then; any other allocation that is
/// refused ends the process. Without a [`CountingAllocator`] nothing is refused.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();
///
/// let reserve = |bytes| {
///     let mut memory = Vec::<u8>::new();
///     let given = memory.try_reserve_exact(bytes);
///     // An allocation that is not used may be left out by the compiler, and could not be refused then.
///     std::hint::black_box(&memory);
///     given
/// };
/// lab::alloc::with_budget(1 << 20, || {
///     assert!(reserve(1 << 19).is_ok() && reserve(1 << 21).is_err());
/// });
/// assert!(reserve(1 << 21).is_ok());
/// ```
pub fn with_budget<R>(bytes: u64, work: impl FnOnce() -> R) -> R {
    /// Takes the budget back at the end, also where `work` panics.
    struct Budget(u64);
    impl Drop for Budget {
        fn drop(&mut self) {
            BUDGET_BYTES.store(self.0, Relaxed);
        }
    }
    let most = LIVE_BYTES.load(Relaxed).saturating_add(bytes);
    let _budget = Budget(BUDGET_BYTES.swap(most, Relaxed));
    work()
}

/// Whether the budget has room for this many bytes more.
fn fits(bytes: usize) -> bool {
    LIVE_BYTES.load(Relaxed).saturating_add(bytes as u64) <= BUDGET_BYTES.load(Relaxed)
}

/// Raises the peak to at least `bytes`: an inner scope that reset the peak gives the outer one's back.
pub(crate) fn raise_peak(bytes: u64) {
    PEAK_BYTES.fetch_max(bytes, Relaxed);
}

fn record_growth(bytes: usize) {
    let bytes = bytes as u64;
    ALLOCATIONS.fetch_add(1, Relaxed);
    ALLOCATED_BYTES.fetch_add(bytes, Relaxed);
    let live = LIVE_BYTES.fetch_add(bytes, Relaxed) + bytes;
    // A plain read first: the peak rarely moves, and a read does not take the cache line from other threads.
    if live > PEAK_BYTES.load(Relaxed) {
        PEAK_BYTES.fetch_max(live, Relaxed);
    }
}

fn record_release(bytes: usize) {
    LIVE_BYTES.fetch_sub(bytes as u64, Relaxed);
}

// SAFETY: every method forwards to `System` with the caller's own arguments, or returns null, which says that there is
// no memory; counting touches only atomics, never allocates and never panics.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !fits(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            record_growth(layout.size());
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !fits(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as in `alloc`. Forwarded by itself so that fresh pages stay untouched by a second clearing.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if !pointer.is_null() {
            record_growth(layout.size());
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        record_release(layout.size());
        // SAFETY: the caller's promise about `pointer` and `layout` is the one that `System` asks for.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !fits(new_size.saturating_sub(layout.size())) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise about the three arguments is the one that `System` asks for.
        let moved = unsafe { System.realloc(pointer, layout, new_size) };
        if !moved.is_null() {
            record_release(layout.size());
            record_growth(new_size);
        }
        moved
    }
}
