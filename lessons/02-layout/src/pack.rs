//! Rearranging strided matrices into the order in which the kernel reads them.

use crate::gemm::MatRef;
use crate::kernel::PANEL;

/// Numbers from one k step to the next in a packed tile of rows: at least the rows of any tile, and one cache line of f32.
pub(crate) const TILE: usize = 16;

/// Packs `b` `[k, n]` into panels: element (k, j) goes to `out[j / PANEL][k][j % PANEL]`; columns that do not exist become zeros.
/// Cost: each element read and written once.
pub(crate) fn panels(b: MatRef, out: &mut [f32]) {
    if b.rows == 0 {
        return;
    }
    for (p, panel) in out.chunks_exact_mut(b.rows * PANEL).enumerate() {
        let columns = PANEL.min(b.cols - p * PANEL);
        one_panel(b.block(0, b.rows, p * PANEL, columns), panel);
    }
}

/// Packs one panel, `[k, columns]` with at most `PANEL` columns, into `[k][PANEL]`.
fn one_panel(b: MatRef, panel: &mut [f32]) {
    if b.cols < PANEL {
        panel.fill(0.0);
    }
    if b.col_stride == 1 {
        for (k, line) in panel.chunks_exact_mut(PANEL).enumerate() {
            let from = &b.data[k * b.row_stride..];
            if b.cols == PANEL {
                line.copy_from_slice(&from[..PANEL]);
            } else {
                line[..b.cols].copy_from_slice(&from[..b.cols]);
            }
        }
    } else if b.row_stride == 1 {
        transposed(b, panel);
    } else {
        for (k, line) in panel.chunks_exact_mut(PANEL).enumerate() {
            for (j, to) in line[..b.cols].iter_mut().enumerate() {
                *to = b.data[k * b.row_stride + j * b.col_stride];
            }
        }
    }
}

/// [`one_panel`] where k is the contiguous direction (b is a transposed row-major matrix): squares of 4 x 4 are turned in registers,
/// so that both the reads and the writes are 16 bytes wide.
fn transposed(b: MatRef, panel: &mut [f32]) {
    let (whole_k, whole_columns) = (b.rows / 4 * 4, b.cols / 4 * 4);
    for j in (0..whole_columns).step_by(4) {
        let columns: [&[f32]; 4] =
            std::array::from_fn(|c| &b.data[(j + c) * b.col_stride..][..whole_k]);
        for (q, lines) in panel.chunks_exact_mut(4 * PANEL).enumerate() {
            let square: [[f32; 4]; 4] = std::array::from_fn(|c| {
                columns[c][4 * q..4 * q + 4]
                    .try_into()
                    .expect("four numbers")
            });
            for k in 0..4 {
                let line: [f32; 4] = std::array::from_fn(|c| square[c][k]);
                lines[k * PANEL + j..k * PANEL + j + 4].copy_from_slice(&line);
            }
        }
        for k in whole_k..b.rows {
            for c in j..j + 4 {
                panel[k * PANEL + c] = b.data[c * b.col_stride + k];
            }
        }
    }
    for c in whole_columns..b.cols {
        for k in 0..b.rows {
            panel[k * PANEL + c] = b.data[c * b.col_stride + k];
        }
    }
}

/// Packs `a` `[m, k]` into tiles of `tile_rows` rows: element (i, k) goes to `out[i / tile_rows][k][i % tile_rows]`, a line of
/// [`TILE`] numbers for each k (what lies behind the last row of a tile is never used).
pub(crate) fn tiles(a: MatRef, tile_rows: usize, out: &mut [f32]) {
    if a.cols == 0 {
        return;
    }
    for (t, tile) in out.chunks_exact_mut(a.cols * TILE).enumerate() {
        let rows = tile_rows.min(a.rows - t * tile_rows);
        let part = a.block(t * tile_rows, rows, 0, a.cols);
        if a.row_stride == 1 {
            for (k, line) in tile.chunks_exact_mut(TILE).enumerate() {
                let from = &part.data[k * a.col_stride..];
                // A whole line is one load and one store; it may hold numbers of the next tile.
                match from.first_chunk::<TILE>() {
                    Some(whole) => line.copy_from_slice(whole),
                    None => line[..rows].copy_from_slice(&from[..rows]),
                }
            }
        } else {
            for (k, line) in tile.chunks_exact_mut(TILE).enumerate() {
                for (i, to) in line[..rows].iter_mut().enumerate() {
                    *to = part.data[k * a.col_stride + i * a.row_stride];
                }
            }
        }
    }
}
