//! Weights packed once, in the order in which the product reads them: what inference calls.
//!
//! Inference multiplies few rows (one per token) by the same large weights again and again. Each weight is then used
//! only once or a few times per call, so memory bandwidth and the layout of the weights decide. The simple version:
//!
//! ```text
//! for row, j:  out[row][j] = sum over k, ascending, of x[row][k] * w[j][k]
//! ```
//!
//! What the real code adds:
//! 1. Panels of 32 outputs, stored `[k][32]`: one layout serves one row (32 neighbouring outputs per broadcast value,
//!    read from first to last byte at the memory's speed) and many rows (the register tiles of [`crate::kernel`]).
//! 2. Huge pages ([`crate::aligned`]) and a prefetch that runs [`AHEAD`] bytes before the reader: the processor's own
//!    prefetcher stops at each 4 KiB. Measured with eight rows, one thread: 66 GFLOP/s without, 88 with (both slowed by
//!    neighbours); with one row the prefetch is worth nothing.
//! 3. More rows than one tile holds: k in blocks of [`K_BLOCK`], so that a panel's block is fetched from memory once
//!    and from a near cache for the other tiles; and the rows' block is copied to dense memory, so that tiles are read
//!    in sequence too.
//! 4. While the tiles of one panel are computed, the next panel's block is prefetched, a share per tile: memory and
//!    arithmetic overlap (32 rows, one thread: 208 GFLOP/s instead of 145).
//! 5. Threads divide the outputs, never k.
//!
//! The sum of one output runs over k in one order in all of these, so its bits do not depend on the number of rows or
//! threads.

use crate::aligned::Aligned;
use crate::exercises;
use crate::kernel::{self, Block, Order, PANEL, Weight};
use crate::pool::Pool;
use crate::simd::Isa;
use bytemuck::Pod;
use half::bf16;
use std::cell::RefCell;
use std::ops::Range;

/// Steps of k per block when there are several tiles of rows: 64 KiB of f32 weights. 192 steps (which fit the
/// first-level cache) were 6 % slower: sums are stored and loaded again at each block's border.
const K_BLOCK: usize = 512;
/// Rows per pass over the weights; their block of k (384 KiB) stays in the second-level cache.
const M_BLOCK: usize = 192;
/// Bytes between the reader and its prefetch. 2, 4, 8 and 16 KiB gave 127, 141, 146 and 146 GFLOP/s with eight rows.
const AHEAD: usize = 8192;
/// Below this many multiply-adds waking a second thread costs more than it saves.
const PARALLEL_FROM: usize = 32 * 1024;

thread_local! {
    /// The dense copy of a block of rows; grown by the first call that needs it, then reused.
    static ROWS: RefCell<Aligned<f32>> = RefCell::default();
}

/// How the weights are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightType {
    /// Four bytes a weight.
    F32,
    /// Two bytes a weight, widened to f32 in a register; sums are f32.
    Bf16,
}

/// A weight matrix `[out_features, in_features]`, packed for y = x Wᵀ.
pub struct PackedMatrix {
    out_features: usize,
    in_features: usize,
    data: Data,
}

enum Data {
    F32(Aligned<f32>),
    Bf16(Aligned<bf16>),
}

impl PackedMatrix {
    /// Packs row-major f32 weights `[out_features, in_features]`.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn from_f32(weights: &[f32], out_features: usize, in_features: usize) -> PackedMatrix {
        let data = Data::F32(pack(weights, out_features, in_features));
        PackedMatrix {
            out_features,
            in_features,
            data,
        }
    }

    /// Packs row-major bf16 weights `[out_features, in_features]`; they stay bf16.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn from_bf16(weights: &[bf16], out_features: usize, in_features: usize) -> PackedMatrix {
        let data = Data::Bf16(pack(weights, out_features, in_features));
        PackedMatrix {
            out_features,
            in_features,
            data,
        }
    }

    /// Rows of W, columns of y.
    pub fn out_features(&self) -> usize {
        self.out_features
    }

    /// Columns of W and of x.
    pub fn in_features(&self) -> usize {
        self.in_features
    }

    /// How the weights are kept.
    pub fn dtype(&self) -> WeightType {
        match self.data {
            Data::F32(_) => WeightType::F32,
            Data::Bf16(_) => WeightType::Bf16,
        }
    }

    /// Bytes that one product reads: all weights, once, padding included.
    pub fn bytes(&self) -> usize {
        match &self.data {
            Data::F32(w) => size_of_val(&w[..]),
            Data::Bf16(w) => size_of_val(&w[..]),
        }
    }

    /// The same weights as f32, in memory of their own. Exact. Cost: one allocation; 4 bytes written per weight.
    pub fn widened(&self) -> PackedMatrix {
        let mut wide = Aligned::<f32>::zeros(self.out_features.next_multiple_of(PANEL) * self.in_features);
        match &self.data {
            Data::F32(w) => wide.copy_from_slice(w),
            Data::Bf16(w) => {
                for (to, from) in wide.chunks_exact_mut(PANEL).zip(w.chunks_exact(PANEL)) {
                    for (column, to) in to.iter_mut().enumerate() {
                        *to = from[bf16::place(column)].to_f32();
                    }
                }
            }
        }
        PackedMatrix {
            data: Data::F32(wide),
            ..*self
        }
    }

    /// Unpacks row `i` of W: the embedding of token `i` where the embedding and the head share their weights.
    ///
    /// # Panics
    /// If there is no such row or `out` is not `[in_features]`.
    pub fn row(&self, i: usize, out: &mut [f32]) {
        assert!(i < self.out_features && out.len() == self.in_features);
        let panel = i / PANEL * PANEL * self.in_features;
        match &self.data {
            Data::F32(w) => {
                for (line, out) in w[panel..].chunks_exact(PANEL).zip(out) {
                    *out = line[f32::place(i % PANEL)];
                }
            }
            Data::Bf16(w) => {
                for (line, out) in w[panel..].chunks_exact(PANEL).zip(out) {
                    *out = line[bf16::place(i % PANEL)].to_f32();
                }
            }
        }
    }

    /// y = x Wᵀ for any number of rows. Shapes: `x` `[rows, in_features]`, `out` `[rows, out_features]`, overwritten.
    /// Each row's result has the same bits whatever the other rows, the threads and the instruction set.
    ///
    /// # Panics
    /// If a slice has another length.
    pub fn matmul(&self, pool: &Pool, x: &[f32], rows: usize, out: &mut [f32]) {
        self.matmul_with(Isa::detect(), pool, x, rows, out);
    }

    /// [`PackedMatrix::matmul`] with a chosen instruction set (tests and races).
    pub fn matmul_with(&self, isa: Isa, pool: &Pool, x: &[f32], rows: usize, out: &mut [f32]) {
        assert!(isa.is_available(), "this machine has no {}", isa.name());
        assert_eq!(x.len(), rows * self.in_features, "x is [{rows}, {}]", self.in_features);
        assert_eq!(
            out.len(),
            rows * self.out_features,
            "out is [{rows}, {}]",
            self.out_features
        );
        lab::ledger::count(|ledger| {
            ledger.multiply_adds += (rows * self.out_features * self.in_features) as u64;
            ledger.bytes_read += (self.bytes() + size_of_val(x)) as u64;
            ledger.bytes_written += size_of_val(&*out) as u64;
        });
        match &self.data {
            Data::F32(w) => self.in_parts(isa, pool, w, x, rows, out),
            Data::Bf16(w) => self.in_parts(isa, pool, w, x, rows, out),
        }
    }

    fn in_parts<W: Weight + Sync>(&self, isa: Isa, pool: &Pool, w: &[W], x: &[f32], rows: usize, out: &mut [f32]) {
        let panels = self.out_features.div_ceil(PANEL);
        if rows == 0 || panels == 0 {
            return;
        }
        let task = Task {
            isa,
            w,
            k: self.in_features,
            x,
            out: out.as_mut_ptr(),
            out_features: self.out_features,
        };
        let work = rows * self.out_features * self.in_features;
        if pool.num_threads() == 1 || work < PARALLEL_FROM {
            // SAFETY: x and out have `rows` rows, w has these panels, and we hold the only reference to out.
            return unsafe { task.multiply(0..rows, 0..panels) };
        }
        // A few parts per thread even out a neighbour's disturbance; each must be long enough to repay its copy of the
        // rows.
        let threads = pool.num_threads();
        let panel_parts = panels.min(threads * (panels / threads / 16).clamp(1, 4));
        let row_parts = if panel_parts < threads {
            threads.div_ceil(panel_parts).min(rows.div_ceil(8))
        } else {
            1
        };
        pool.run(panel_parts * row_parts, &|part| {
            let panels = share(panels, panel_parts, part % panel_parts);
            let rows = share(rows, row_parts, part / panel_parts);
            // SAFETY: as above; parts write different rows or columns.
            unsafe { task.multiply(rows, panels) };
        });
    }
}

/// Part `i` of `parts` about equal ones.
fn share(length: usize, parts: usize, i: usize) -> Range<usize> {
    i * length / parts..(i + 1) * length / parts
}

/// One product as its threads see it.
struct Task<'a, W> {
    isa: Isa,
    w: &'a [W],
    k: usize,
    x: &'a [f32],
    out: *mut f32,
    out_features: usize,
}
// SAFETY: each thread writes its own rows and columns of `out`; the rest is only read.
unsafe impl<W: Sync> Sync for Task<'_, W> {}

impl<W: Weight> Task<'_, W> {
    /// Computes these rows of the outputs of these panels.
    ///
    /// # Safety
    /// The rows and panels exist, and nothing else accesses these outputs meanwhile.
    unsafe fn multiply(&self, rows: Range<usize>, panels: Range<usize>) {
        let tile_rows = kernel::tile_rows(self.isa, rows.len());
        if tile_rows == rows.len() {
            let block = Block {
                x: self.x[rows.start * self.k..].as_ptr(),
                x_row: self.k,
                ahead: AHEAD,
                ahead_step: size_of::<W>() * PANEL,
                ..self.block(rows, panels, 0..self.k)
            };
            // SAFETY: the caller's; the block describes parts of x, w and out.
            return unsafe { kernel::multiply(self.isa, &block) };
        }
        for row in rows.clone().step_by(M_BLOCK) {
            let rows = row..(row + M_BLOCK).min(rows.end);
            // An empty sum still overwrites: one block of zero steps.
            for k in (0..self.k.max(1)).step_by(K_BLOCK) {
                // SAFETY: the caller's.
                unsafe { self.multiply_block(rows.clone(), panels.clone(), k..(k + K_BLOCK).min(self.k)) };
            }
        }
    }

    /// Several tiles of rows, one block of k.
    ///
    /// # Safety
    /// As for [`Task::multiply`].
    unsafe fn multiply_block(&self, rows: Range<usize>, panels: Range<usize>, k: Range<usize>) {
        ROWS.with_borrow_mut(|scratch| {
            let dense = scratch.at_least(rows.len() * k.len());
            if !k.is_empty() {
                for (to, row) in dense.chunks_exact_mut(k.len()).zip(rows.clone()) {
                    to.copy_from_slice(&self.x[row * self.k..][k.clone()]);
                }
            }
            for panel in panels {
                let block = self.block(rows.clone(), panel..panel + 1, k.clone());
                let tiles = rows.len().div_ceil(block.tile_rows);
                // The next panel's block, a share of whole cache lines per tile.
                let share = (size_of::<W>() * PANEL * k.len()).div_ceil(tiles).next_multiple_of(64);
                let block = Block {
                    x: dense.as_ptr(),
                    x_row: k.len(),
                    ahead: size_of::<W>() * block.w_panel,
                    ahead_tile: share,
                    ahead_step: share.div_ceil(k.len().max(1)),
                    ..block
                };
                // SAFETY: the caller's; the block describes parts of the dense rows, w and out.
                unsafe { kernel::multiply(self.isa, &block) };
            }
        });
    }

    /// The block of these rows, panels and steps, without x and without a prefetch.
    fn block(&self, rows: Range<usize>, panels: Range<usize>, k: Range<usize>) -> Block<W> {
        let column = panels.start * PANEL;
        Block {
            x: std::ptr::null(),
            x_row: 0,
            x_k: 1,
            tile_rows: kernel::tile_rows(self.isa, rows.len()),
            rows: rows.len(),
            w: self.w[column * self.k + k.start * PANEL..].as_ptr(),
            w_panel: PANEL * self.k,
            k: k.len(),
            // SAFETY: row and column lie in the output.
            out: unsafe { self.out.add(rows.start * self.out_features + column) },
            out_row: self.out_features,
            columns: (panels.end * PANEL).min(self.out_features) - column,
            resume: k.start > 0,
            order: Order::PanelsOutside,
            ahead: 0,
            ahead_tile: 0,
            ahead_step: 0,
        }
    }
}

/// Row-major `[out_features, in_features]` to panels ([`exercises::pack_panel`]).
fn pack<W: Weight + Pod>(weights: &[W], out_features: usize, in_features: usize) -> Aligned<W> {
    assert_eq!(
        weights.len(),
        out_features * in_features,
        "weights are [{out_features}, {in_features}]"
    );
    let mut packed = Aligned::zeros(out_features.next_multiple_of(PANEL) * in_features);
    let mut order = [0; PANEL];
    for column in 0..PANEL {
        order[W::place(column)] = column;
    }
    for (p, panel) in packed.chunks_exact_mut((in_features * PANEL).max(1)).enumerate() {
        exercises::pack_panel(weights, in_features, p * PANEL, &order, W::zeroed(), panel);
    }
    packed
}
