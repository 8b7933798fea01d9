//! Rearranging strided matrices into the order in which the kernel reads them.

use crate::kernel::PANEL;
use crate::matrix::MatRef;

/// Steps of k that are packed for all panels before the next ones: their rows stay within few pages and cache lines.
const STEPS: usize = 32;

/// Packs `b` `[k, n]` into panels: element (k, j) goes to `out[j / PANEL][k][j % PANEL]`; columns that do not exist
/// become zeros. Cost: each element read and written once.
pub(crate) fn panels(b: MatRef, out: &mut [f32]) {
    let k = b.rows;
    for begin in (0..k).step_by(STEPS) {
        let steps = STEPS.min(k - begin);
        for (p, panel) in out.chunks_exact_mut(k * PANEL).enumerate() {
            let columns = PANEL.min(b.cols - p * PANEL);
            let part = b.block(begin, steps, p * PANEL, columns);
            one_panel(part, &mut panel[begin * PANEL..(begin + steps) * PANEL]);
        }
    }
}

/// Packs a part of one panel, `[steps, columns]` with at most `PANEL` columns, into `[steps][PANEL]`.
fn one_panel(b: MatRef, panel: &mut [f32]) {
    if b.cols < PANEL {
        panel.fill(0.0);
    }
    if b.col_stride == 1 {
        for (k, line) in panel.chunks_exact_mut(PANEL).enumerate() {
            let from = &b.data[k * b.row_stride..];
            match from.first_chunk::<PANEL>() {
                Some(whole) if b.cols == PANEL => line.copy_from_slice(whole),
                _ => line[..b.cols].copy_from_slice(&from[..b.cols]),
            }
        }
    } else {
        // Whole squares of 4 x 4 where k is the contiguous direction (a transposed row-major matrix), the rest one by
        // one.
        let (squared_k, squared_cols) = if b.row_stride == 1 {
            (b.rows / 4 * 4, b.cols / 4 * 4)
        } else {
            (0, 0)
        };
        for j in (0..squared_cols).step_by(4) {
            let columns: [&[f32]; 4] = std::array::from_fn(|c| &b.data[(j + c) * b.col_stride..]);
            for k in (0..squared_k).step_by(4) {
                transpose_4x4(columns.map(|column| &column[k..]), &mut panel[k * PANEL + j..]);
            }
        }
        for j in 0..b.cols {
            let begin = if j < squared_cols { squared_k } else { 0 };
            for k in begin..b.rows {
                panel[k * PANEL + j] = b.data[k * b.row_stride + j * b.col_stride];
            }
        }
    }
}

/// Turns four runs of four numbers into four lines of a panel: reads and writes are 16 bytes wide.
#[inline(always)]
fn transpose_4x4(columns: [&[f32]; 4], lines: &mut [f32]) {
    assert!(columns.iter().all(|c| c.len() >= 4) && lines.len() >= 3 * PANEL + 4);
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;
        // SAFETY: four numbers are readable in each column and writable in each line (checked above); SSE is part of
        // every x86-64.
        unsafe {
            let [a, b, c, d] = columns.map(|column| _mm_loadu_ps(column.as_ptr()));
            let (ab_low, ab_high) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
            let (cd_low, cd_high) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
            let to = lines.as_mut_ptr();
            _mm_storeu_ps(to, _mm_movelh_ps(ab_low, cd_low));
            _mm_storeu_ps(to.add(PANEL), _mm_movehl_ps(cd_low, ab_low));
            _mm_storeu_ps(to.add(2 * PANEL), _mm_movelh_ps(ab_high, cd_high));
            _mm_storeu_ps(to.add(3 * PANEL), _mm_movehl_ps(cd_high, ab_high));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    for k in 0..4 {
        for c in 0..4 {
            lines[k * PANEL + c] = columns[c][k];
        }
    }
}

/// Copies `a` `[m, k]` to dense rows.
pub(crate) fn rows(a: MatRef, out: &mut [f32]) {
    for (i, row) in out.chunks_exact_mut(a.cols).enumerate() {
        let from = &a.data[i * a.row_stride..];
        if a.col_stride == 1 {
            row.copy_from_slice(&from[..a.cols]);
        } else {
            for (k, to) in row.iter_mut().enumerate() {
                *to = from[k * a.col_stride];
            }
        }
    }
}
