//! The counting allocator, alone in its process: its counts are those of the whole process.

use lab::{alloc, ledger};

#[global_allocator]
static ALLOCATOR: alloc::CountingAllocator = alloc::CountingAllocator::new();

/// More than the test harness itself could allocate meanwhile, so that bounds can be told from noise.
const MEBI: u64 = 1 << 20;

#[test]
fn allocations_are_counted_and_peaks_belong_to_their_scope() {
    let before = alloc::snapshot();
    let kept = vec![1u8; 8 << 20];
    let after = alloc::snapshot();
    assert!(after.allocations > before.allocations);
    assert!(after.allocated_bytes - before.allocated_bytes >= 8 * MEBI);
    assert!(after.live_bytes - before.live_bytes >= 8 * MEBI);

    // What was held before a scope is not its peak; what is released inside it is.
    let ((), outer) = ledger::measure(|| {
        drop(vec![1u8; 16 << 20]);
        let ((), inner) = ledger::measure(|| drop(vec![1u8; 2 << 20]));
        assert!((2 * MEBI..3 * MEBI).contains(&inner.peak_bytes), "{inner:?}");
    });
    assert!((16 * MEBI..17 * MEBI).contains(&outer.peak_bytes), "{outer:?}");
    assert!((18 * MEBI..19 * MEBI).contains(&outer.allocated_bytes), "{outer:?}");
    assert!(outer.allocations >= 2);

    // Growth in place counts what is asked for, and live bytes return to where they were.
    let mut growing: Vec<u8> = Vec::with_capacity(MEBI as usize);
    growing.reserve_exact(4 << 20);
    drop(growing);
    drop(kept);
    let end = alloc::snapshot();
    assert!(end.live_bytes < before.live_bytes + MEBI);
    assert!(
        end.peak_bytes >= before.live_bytes + 24 * MEBI,
        "an inner scope gives the outer peak back"
    );
}
