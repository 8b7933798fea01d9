//! Exercise 02.3: the blocked loop.

use crate::grid::Grid;

/// c = a b, in blocks of b that stay in the first-level cache. Shapes: `a` `[m, k]`, `b` `[k, n]`, `c` `[m, n]`
/// row-major, overwritten.
///
/// The reordered loop (i, k, j) reads all of b once for each row of a. Here b is cut into blocks of `k_block` x
/// `j_block`, and each block is used for all rows before the next one is touched. A block of 8 x 1024 f32 is 32 KiB;
/// wide blocks keep the innermost loop long.
///
/// The blocks of the same columns come from top to bottom, so that each output still adds its products with k
/// ascending.
///
/// Cost: m·n·k multiply-adds; each element of b comes from a farther cache once instead of m times, and each row of c
/// k/`k_block` times. Source: Lam, Rothberg and Wolf, The cache performance and optimizations of blocked algorithms,
/// ASPLOS 1991.
///
/// # Panics
/// If the shapes do not fit together or a block is empty.
#[inline(always)]
pub fn matmul_blocked(a: &impl Grid, b: &impl Grid, c: &mut [f32], k_block: usize, j_block: usize) {
    let (m, k, n) = (a.rows(), a.cols(), b.cols());
    assert!(
        b.rows() == k && c.len() == m * n,
        "a is [{m}, {k}], b [{}, {n}], c {}",
        b.rows(),
        c.len()
    );
    // ANCHOR: ex_02_3
    c.fill(0.0);
    for k_begin in (0..k).step_by(k_block) {
        let k_end = (k_begin + k_block).min(k);
        for j_begin in (0..n).step_by(j_block) {
            let j_end = (j_begin + j_block).min(n);
            for i in 0..m {
                let sums = &mut c[i * n + j_begin..i * n + j_end];
                for kk in k_begin..k_end {
                    b.add_scaled_row(kk, j_begin, a.at(i, kk), sums);
                }
            }
        }
    }
    // ANCHOR_END: ex_02_3
}
