//! The ladder: one product, c = a b, in five ways. Equal arithmetic, unequal time.
//!
//! Shapes: `a` `[m, k]` (rows of activations), `b` `[k, n]` (weights), `c` `[m, n]`. Every rung does the same m·n·k
//! fused multiply-adds, and adds the products of one output in the same order, k ascending: the results are equal bit
//! for bit, and the naive one is the oracle.
//!
//! | rung | loops | what changes |
//! |---|---|---|
//! | naive | i, j, k | b is read downwards: a line of memory for each number |
//! | reordered | i, k, j | b is read along its rows: every number of a line, vector instructions |
//! | blocked | blocks of k and j, then i, k, j | a block of b stays in the first-level cache for all rows |
//! | packed | panels and register tiles | sums stay in registers; b was put in reading order beforehand |
//! | threads | the same, outputs divided | all cores |
//!
//! The last two are [`PackedMatrix`]; this file has the first three.

use crate::dense::Dense;
use crate::exercises;
use crate::grid::Grid;
use crate::packed::PackedMatrix;
use crate::pool::Pool;
use crate::simd::with_fma;

/// Steps of k and columns of a block of the blocked rung: 32 KiB of f32.
pub const BLOCK: (usize, usize) = (8, 1024);

/// A rung of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Three loops as in the textbook.
    Naive,
    /// The two inner loops exchanged.
    Reordered,
    /// The reordered loops inside blocks.
    Blocked,
    /// Packed weights and register tiles, one thread.
    Packed,
    /// The same on all threads of the pool.
    Threads,
}

impl Rung {
    /// From the bottom up.
    pub const ALL: [Rung; 5] = [Rung::Naive, Rung::Reordered, Rung::Blocked, Rung::Packed, Rung::Threads];

    /// The name as printed in tables and charts.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Naive => "naive",
            Rung::Reordered => "reordered",
            Rung::Blocked => "blocked",
            Rung::Packed => "packed",
            Rung::Threads => "threads",
        }
    }
}

/// c = a b by three loops, the sum of one output in the innermost. The oracle of all others.
///
/// # Panics
/// If the shapes do not fit together.
pub fn naive(a: &impl Grid, b: &impl Grid, c: &mut [f32]) {
    count(a, b);
    with_fma(
        #[inline(always)]
        || naive_loops(a, b, c),
    );
}

#[inline(always)]
fn naive_loops(a: &impl Grid, b: &impl Grid, c: &mut [f32]) {
    let (m, k, n) = shape(a, b, c);
    for i in 0..m {
        for j in 0..n {
            let mut sum = 0.0f32;
            for kk in 0..k {
                sum = a.at(i, kk).mul_add(b.at(kk, j), sum);
            }
            c[i * n + j] = sum;
        }
    }
}

/// c = a b with the two inner loops exchanged: a row of sums advances together, and b is read along its rows.
///
/// # Panics
/// If the shapes do not fit together.
pub fn reordered(a: &impl Grid, b: &impl Grid, c: &mut [f32]) {
    count(a, b);
    with_fma(
        #[inline(always)]
        || reordered_loops(a, b, c),
    );
}

#[inline(always)]
fn reordered_loops(a: &impl Grid, b: &impl Grid, c: &mut [f32]) {
    let (m, k, n) = shape(a, b, c);
    c.fill(0.0);
    for i in 0..m {
        for kk in 0..k {
            b.add_scaled_row(kk, 0, a.at(i, kk), &mut c[i * n..(i + 1) * n]);
        }
    }
}

/// c = a b in blocks of [`BLOCK`] steps and columns ([`exercises::matmul_blocked`]).
///
/// # Panics
/// If the shapes do not fit together.
pub fn blocked(a: &impl Grid, b: &impl Grid, c: &mut [f32]) {
    count(a, b);
    with_fma(
        #[inline(always)]
        || exercises::matmul_blocked(a, b, c, BLOCK.0, BLOCK.1),
    );
}

/// The weights of one product as each rung wants them, prepared once: what is timed is the product alone.
pub struct Ladder<'a> {
    b: Dense<'a>,
    packed: PackedMatrix,
    one_thread: Pool,
    pool: &'a Pool,
}

impl<'a> Ladder<'a> {
    /// Prepares weights `b` `[k, n]` row-major for all rungs.
    ///
    /// # Panics
    /// If `b` has another length.
    pub fn new(b: &'a [f32], k: usize, n: usize, pool: &'a Pool) -> Ladder<'a> {
        let transposed = crate::view::View::row_major(b, &[k, n])
            .map(|b| b.transpose(0, 1))
            .to_contiguous();
        Ladder {
            b: Dense::new(b, k, n),
            packed: PackedMatrix::from_f32(&transposed, n, k),
            one_thread: Pool::new(1),
            pool,
        }
    }

    /// One product: `a` `[rows, k]` row-major, `c` `[rows, n]`, overwritten.
    ///
    /// # Panics
    /// If a slice has another length.
    pub fn run(&self, rung: Rung, a: &[f32], rows: usize, c: &mut [f32]) {
        let grid = Dense::new(a, rows, self.b.rows());
        match rung {
            Rung::Naive => naive(&grid, &self.b, c),
            Rung::Reordered => reordered(&grid, &self.b, c),
            Rung::Blocked => blocked(&grid, &self.b, c),
            Rung::Packed => self.packed.matmul(&self.one_thread, a, rows, c),
            Rung::Threads => self.packed.matmul(self.pool, a, rows, c),
        }
    }
}

fn shape(a: &impl Grid, b: &impl Grid, c: &[f32]) -> (usize, usize, usize) {
    let (m, k, n) = (a.rows(), a.cols(), b.cols());
    assert!(
        b.rows() == k && c.len() == m * n,
        "a is [{m}, {k}], b [{}, {n}], c {}",
        b.rows(),
        c.len()
    );
    (m, k, n)
}

fn count(a: &impl Grid, b: &impl Grid) {
    lab::ledger::count(|ledger| ledger.multiply_adds += (a.rows() * a.cols() * b.cols()) as u64);
}
