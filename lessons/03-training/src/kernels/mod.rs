//! The kernels behind the fused operations: plain functions on slices, the caller owns the outputs.
//!
//! Work is split over rows or sequences, in pieces whose number does not depend on the number of threads, and every sum
//! over rows runs in one order: the same bits on one thread and on many.

pub mod attention;
pub mod rms_norm;
pub mod rotary;
pub mod swiglu;

use std::sync::Mutex;

/// Pieces that rows are split into, on any machine.
pub(crate) const NUM_PIECES: usize = 16;

/// Rows of one piece.
pub(crate) fn piece_rows(rows: usize) -> usize {
    rows.div_ceil(NUM_PIECES).max(1)
}

/// Cuts a buffer into pieces that tasks can take by their number.
pub(crate) fn pieces(data: &mut [f32], piece_len: usize) -> Vec<Mutex<&mut [f32]>> {
    data.chunks_mut(piece_len).map(Mutex::new).collect()
}
