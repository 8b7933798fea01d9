//! Exercise 06.10: how many sequences a memory has room for.

/// The largest batch, computed: what is left of four fifths of the memory after weights and scratch, over the cache of
/// one sequence ([`crate::memory::kv_bytes`] at the longest length that is promised). A fifth stays free for the
/// system, the allocator and what was not foreseen. 0 where the weights leave no room.
///
/// # Panics
/// If a sequence takes no memory.
pub fn largest_batch(memory_bytes: u64, weight_bytes: u64, scratch_bytes: u64, sequence_kv_bytes: u64) -> u64 {
    assert!(sequence_kv_bytes > 0, "a sequence keeps at least one position");
    // ANCHOR: ex_06_10
    let usable = memory_bytes - memory_bytes / 5;
    // Saturating: weights that do not fit leave no room, and no room below zero.
    usable.saturating_sub(weight_bytes + scratch_bytes) / sequence_kv_bytes
    // ANCHOR_END: ex_06_10
}
