//! Memory for keys and values, asked for in one piece before the first request, with an error where the machine refuses.

use lab::number;
use std::collections::TryReserveError;

/// The machine has no room for the positions.
#[derive(Debug, thiserror::Error)]
#[error(
    "keys and values of {positions} positions: expected room for {}, and the allocation was refused; take fewer or \
     shorter slots, or blocks",
    number::bytes(*bytes)
)]
pub struct NoRoom {
    /// Number of positions that were asked for.
    pub positions: usize,
    /// Bytes that they take.
    pub bytes: u64,
    /// What the allocator said.
    pub source: TryReserveError,
}

/// Reserves memory for `positions` positions of `position_bytes` bytes each. Nothing is written, so the pages of the
/// memory are not touched.
///
/// # Errors
/// [`NoRoom`] if the allocator refuses.
pub fn reserve(positions: usize, position_bytes: u64) -> Result<Vec<u8>, NoRoom> {
    let bytes = (positions as u64).saturating_mul(position_bytes);
    let mut memory = Vec::new();
    match memory.try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX)) {
        // An allocation that is not used may be left out by the compiler, and could not be refused then.
        Ok(()) => Ok(std::hint::black_box(memory)),
        Err(source) => Err(NoRoom {
            positions,
            bytes,
            source,
        }),
    }
}
