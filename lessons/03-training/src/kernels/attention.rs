//! Causal attention with rotary positions, forward and backward, over packed documents.
//!
//! In plain words: each query looks at the keys of its own document up to its own position, turns the scaled products
//! into weights that sum to one, and takes that mix of the values. The simple version of one head:
//! ```text
//! for i in 0..seq_len:
//!     s[j] = q[i]·k[j] / sqrt(head_dim)            for j in starts[i]..=i
//!     p[j] = exp(s[j] - max s) / sum of the same
//!     out[i] = Σ_j p[j] v[j]
//! backward, with d_out given:
//!     d_v[j] += p[j] d_out[i];   d_p[j] = d_out[i]·v[j]
//!     d_s[j] = p[j] (d_p[j] - d_out[i]·out[i])
//!     d_q[i] += d_s[j] k[j];     d_k[j] += d_s[j] q[i]          (both over sqrt(head_dim))
//! ```
//! What the real code adds:
//! 1. Sixteen queries at a time ([`QUERIES`]): their scores against all keys are one small matrix product, their mix of
//!    values another, both in register tiles of 8 x 32, so a key or value is loaded once for eight queries.
//! 2. Nothing of size `seq_len²` is kept. The forward pass keeps one number a query, the logarithm of its sum
//!    (`lse`); the backward pass makes p again from it (FlashAttention, Dao et al. 2022, arXiv:2205.14135, section 3.1).
//! 3. The rotary turn happens while a head is copied to its packed form, and is undone while its gradient is copied
//!    back: no pass over memory of its own. A rotation's transpose is the rotation by the negative angle.
//! 4. Keys are packed transposed, `[head_dim][position]`, so that scores are computed along positions.
//! 5. Keys outside the documents of a tile are not visited at all.
//! 6. One task is one sequence, and the loops inside run in one order: bits do not depend on the number of threads.

use super::rotary::RotaryTable;
use layout::exp::exp_clamped as exp;
use layout::lanes::Lanes;
use layout::pool::Pool;
use layout::row;
use layout::simd::{Isa, Kernel};
use std::cell::RefCell;
use std::sync::Mutex;

/// Queries of one tile.
const QUERIES: usize = 16;
/// Columns of one register tile; packed rows are padded to a multiple of it.
const COLUMNS: usize = 32;
/// Rows of one register tile.
const ROWS: usize = 8;

/// The sizes of one call.
#[derive(Clone, Copy, Debug)]
pub struct AttentionShape {
    /// Sequences.
    pub batch_size: usize,
    /// Positions of each sequence.
    pub seq_len: usize,
    /// Query heads.
    pub num_heads: usize,
    /// Key and value heads.
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
}

impl AttentionShape {
    /// Width of a row of `qkv`: all query heads, then all key heads, then all value heads.
    pub fn qkv_size(&self) -> usize {
        (self.num_heads + 2 * self.num_kv_heads) * self.head_dim
    }

    /// Width of a row of the output.
    pub fn out_size(&self) -> usize {
        self.num_heads * self.head_dim
    }

    /// Rows of all sequences.
    pub fn num_rows(&self) -> usize {
        self.batch_size * self.seq_len
    }

    fn padded_dim(&self) -> usize {
        self.head_dim.next_multiple_of(COLUMNS)
    }

    fn padded_len(&self) -> usize {
        self.seq_len.next_multiple_of(COLUMNS)
    }
}

/// Packed copies of the heads that one task works on; one per thread, reused.
#[derive(Default)]
struct Scratch {
    keys: Vec<f32>,              // [padded_len][padded_dim], turned
    keys_transposed: Vec<f32>,   // [head_dim][padded_len], turned
    values: Vec<f32>,            // [padded_len][padded_dim]
    values_transposed: Vec<f32>, // [head_dim][padded_len]
    queries: Vec<f32>,           // [padded_len][padded_dim], turned and scaled
    d_out: Vec<f32>,             // [padded_len][padded_dim]
    weights: Vec<f32>,           // [QUERIES][padded_len]: scores, then weights
    d_scores: Vec<f32>,          // [QUERIES][padded_len]
    tile: Vec<f32>,              // [QUERIES][padded_dim]
    d_keys: Vec<f32>,            // [padded_len][padded_dim]
    d_values: Vec<f32>,          // [padded_len][padded_dim]
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Scratch {
    /// Makes every buffer the right size. What is beyond `seq_len` or `head_dim` must be zero and stays so.
    fn fit(&mut self, shape: &AttentionShape) {
        let row_buffers = [
            &mut self.keys,
            &mut self.values,
            &mut self.queries,
            &mut self.d_out,
            &mut self.d_keys,
            &mut self.d_values,
        ];
        let rows = shape.padded_len() * shape.padded_dim();
        for buffer in row_buffers {
            buffer.clear();
            buffer.resize(rows, 0.0);
        }
        for buffer in [&mut self.keys_transposed, &mut self.values_transposed] {
            buffer.clear();
            buffer.resize(shape.head_dim * shape.padded_len(), 0.0);
        }
        for buffer in [&mut self.weights, &mut self.d_scores] {
            buffer.clear();
            buffer.resize(QUERIES * shape.padded_len(), 0.0);
        }
        self.tile.clear();
        self.tile.resize(QUERIES * shape.padded_dim(), 0.0);
    }
}

/// Attends every position of every sequence to its own document.
///
/// Shapes: `qkv` `[batch_size · seq_len, qkv_size]` (before the rotary turn), `starts` `[batch_size · seq_len]` with the
/// first visible position of each row, counted inside its sequence and never falling along it; `out`
/// `[batch_size · seq_len, out_size]`, `lse` `[batch_size, num_heads, seq_len]`. Cost: about
/// 2 · head_dim · num_heads multiply-adds for each visible pair. Source: grouped-query attention, Ainslie et al. 2023,
/// arXiv:2305.13245.
pub fn attention_forward(
    pool: &Pool,
    shape: AttentionShape,
    rotary: &RotaryTable,
    starts: &[u32],
    qkv: &[f32],
    out: &mut [f32],
    lse: &mut [f32],
) {
    shape.check(rotary, starts, qkv);
    assert_eq!(out.len(), shape.num_rows() * shape.out_size(), "out");
    assert_eq!(lse.len(), shape.num_rows() * shape.num_heads, "lse");
    let tasks: Vec<_> = out
        .chunks_mut(shape.seq_len * shape.out_size())
        .zip(lse.chunks_mut(shape.seq_len * shape.num_heads))
        .map(Mutex::new)
        .collect();
    pool.run(shape.batch_size, &|sequence| {
        let mut task = tasks[sequence].lock().unwrap();
        let (out, lse) = &mut *task;
        let rows = shape.seq_len * shape.qkv_size();
        let qkv = &qkv[sequence * rows..][..rows];
        let starts = &starts[sequence * shape.seq_len..][..shape.seq_len];
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.fit(&shape);
            Isa::detect().run(Forward {
                scratch,
                shape: &shape,
                rotary,
                starts,
                qkv,
                out,
                lse,
            });
        });
    });
}

/// The gradient of [`attention_forward`] with respect to `qkv`.
///
/// Shapes as there; `out` and `lse` are what it wrote, `d_out` the gradient of `out`, `d_qkv` is overwritten. Cost: five
/// products of `head_dim` multiply-adds for each visible pair, against the forward pass's two.
pub fn attention_backward(
    pool: &Pool,
    shape: AttentionShape,
    rotary: &RotaryTable,
    starts: &[u32],
    qkv: &[f32],
    out: &[f32],
    lse: &[f32],
    d_out: &[f32],
    d_qkv: &mut [f32],
) {
    shape.check(rotary, starts, qkv);
    assert_eq!(out.len(), shape.num_rows() * shape.out_size(), "out");
    assert_eq!(d_out.len(), out.len(), "d_out");
    assert_eq!(lse.len(), shape.num_rows() * shape.num_heads, "lse");
    assert_eq!(d_qkv.len(), qkv.len(), "d_qkv");
    let tasks: Vec<_> = d_qkv
        .chunks_mut(shape.seq_len * shape.qkv_size())
        .map(Mutex::new)
        .collect();
    pool.run(shape.batch_size, &|sequence| {
        let mut d_qkv = tasks[sequence].lock().unwrap();
        let (rows, out_rows) = (shape.seq_len * shape.qkv_size(), shape.seq_len * shape.out_size());
        let lse_rows = shape.seq_len * shape.num_heads;
        let saved = Saved {
            qkv: &qkv[sequence * rows..][..rows],
            out: &out[sequence * out_rows..][..out_rows],
            lse: &lse[sequence * lse_rows..][..lse_rows],
        };
        let d_out = &d_out[sequence * out_rows..][..out_rows];
        let starts = &starts[sequence * shape.seq_len..][..shape.seq_len];
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.fit(&shape);
            Isa::detect().run(Backward {
                scratch,
                shape: &shape,
                rotary,
                starts,
                saved,
                d_out,
                d_qkv: &mut d_qkv,
            });
        });
    });
}

impl AttentionShape {
    #[track_caller]
    fn check(&self, rotary: &RotaryTable, starts: &[u32], qkv: &[f32]) {
        assert_eq!(qkv.len(), self.num_rows() * self.qkv_size(), "qkv");
        assert_eq!(starts.len(), self.num_rows(), "starts");
        assert_eq!(self.num_heads % self.num_kv_heads, 0, "groups");
        assert_eq!(rotary.head_dim(), self.head_dim, "rotary table");
        assert!(self.seq_len <= rotary.max_seq_len(), "rotary table is too short");
    }
}

/// What the forward pass of one sequence leaves for the backward pass.
struct Saved<'a> {
    qkv: &'a [f32],
    out: &'a [f32],
    lse: &'a [f32],
}

/// The forward pass of one sequence.
struct Forward<'a> {
    scratch: &'a mut Scratch,
    shape: &'a AttentionShape,
    rotary: &'a RotaryTable,
    starts: &'a [u32],
    qkv: &'a [f32],
    out: &'a mut [f32],
    lse: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Forward {
            scratch,
            shape,
            rotary,
            starts,
            qkv,
            out,
            lse,
        } = self;
        let (dim, padded_dim, padded_len) = (shape.head_dim, shape.padded_dim(), shape.padded_len());
        let group = shape.num_heads / shape.num_kv_heads;
        for kv_head in 0..shape.num_kv_heads {
            let k_column = (shape.num_heads + kv_head) * dim;
            let v_column = (shape.num_heads + shape.num_kv_heads + kv_head) * dim;
            pack_turned(shape, rotary, qkv, k_column, 1.0, &mut scratch.keys);
            transpose(shape, &scratch.keys, &mut scratch.keys_transposed);
            pack(shape, qkv, shape.qkv_size(), v_column, &mut scratch.values);
            for head in kv_head * group..(kv_head + 1) * group {
                pack_turned(
                    shape,
                    rotary,
                    qkv,
                    head * dim,
                    shape.score_scale(),
                    &mut scratch.queries,
                );
                for first in (0..shape.seq_len).step_by(QUERIES) {
                    let tile = Tile::new(shape, starts, first);
                    tile.products(
                        lanes,
                        &scratch.queries,
                        &scratch.keys_transposed,
                        dim,
                        padded_dim,
                        &mut scratch.weights,
                        padded_len,
                    );
                    let mut inverse_sums = [0.0_f32; QUERIES];
                    for row in 0..tile.rows {
                        let position = first + row;
                        let weights = &mut scratch.weights[row * padded_len..][..padded_len];
                        let visible = starts[position] as usize..position + 1;
                        weights[tile.low..visible.start].fill(0.0);
                        weights[visible.end..tile.high].fill(0.0);
                        let seen = &mut weights[visible];
                        let largest = row::max(seen);
                        let sum = row::exp_and_sum(seen, largest, exp);
                        inverse_sums[row] = 1.0 / sum;
                        lse[head * shape.seq_len + position] = largest + sum.ln();
                    }
                    tile.mix(
                        lanes,
                        &scratch.weights,
                        padded_len,
                        &scratch.values,
                        padded_dim,
                        &mut scratch.tile,
                    );
                    for row in 0..tile.rows {
                        let target = &mut out[(first + row) * shape.out_size() + head * dim..][..dim];
                        for (t, s) in target.iter_mut().zip(&scratch.tile[row * padded_dim..]) {
                            *t = s * inverse_sums[row];
                        }
                    }
                }
            }
        }
    }
}

/// The backward pass of one sequence.
struct Backward<'a> {
    scratch: &'a mut Scratch,
    shape: &'a AttentionShape,
    rotary: &'a RotaryTable,
    starts: &'a [u32],
    saved: Saved<'a>,
    d_out: &'a [f32],
    d_qkv: &'a mut [f32],
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Backward {
            scratch,
            shape,
            rotary,
            starts,
            saved,
            d_out,
            d_qkv,
        } = self;
        let (dim, padded_dim, padded_len) = (shape.head_dim, shape.padded_dim(), shape.padded_len());
        let (qkv_size, out_size) = (shape.qkv_size(), shape.out_size());
        let group = shape.num_heads / shape.num_kv_heads;
        let qkv = saved.qkv;
        for kv_head in 0..shape.num_kv_heads {
            let k_column = (shape.num_heads + kv_head) * dim;
            let v_column = (shape.num_heads + shape.num_kv_heads + kv_head) * dim;
            pack_turned(shape, rotary, qkv, k_column, 1.0, &mut scratch.keys);
            transpose(shape, &scratch.keys, &mut scratch.keys_transposed);
            pack(shape, qkv, qkv_size, v_column, &mut scratch.values);
            transpose(shape, &scratch.values, &mut scratch.values_transposed);
            scratch.d_keys.fill(0.0);
            scratch.d_values.fill(0.0);
            for head in kv_head * group..(kv_head + 1) * group {
                pack_turned(
                    shape,
                    rotary,
                    qkv,
                    head * dim,
                    shape.score_scale(),
                    &mut scratch.queries,
                );
                pack(shape, d_out, out_size, head * dim, &mut scratch.d_out);
                for first in (0..shape.seq_len).step_by(QUERIES) {
                    let tile = Tile::new(shape, starts, first);
                    tile.products(
                        lanes,
                        &scratch.queries,
                        &scratch.keys_transposed,
                        dim,
                        padded_dim,
                        &mut scratch.weights,
                        padded_len,
                    );
                    tile.products(
                        lanes,
                        &scratch.d_out,
                        &scratch.values_transposed,
                        dim,
                        padded_dim,
                        &mut scratch.d_scores,
                        padded_len,
                    );
                    for row in 0..QUERIES {
                        let weights = &mut scratch.weights[row * padded_len..][..padded_len];
                        let d_scores = &mut scratch.d_scores[row * padded_len..][..padded_len];
                        if row >= tile.rows {
                            // Rows past the end of the sequence add nothing to keys and values.
                            weights[tile.low..tile.high].fill(0.0);
                            d_scores[tile.low..tile.high].fill(0.0);
                            continue;
                        }
                        let position = first + row;
                        let visible = starts[position] as usize..position + 1;
                        for hidden in [tile.low..visible.start, visible.end..tile.high] {
                            weights[hidden.clone()].fill(0.0);
                            d_scores[hidden].fill(0.0);
                        }
                        let own = (position * out_size + head * dim)..(position * out_size + (head + 1) * dim);
                        let through_sum = row::dot(&d_out[own.clone()], &saved.out[own]);
                        let log_sum = saved.lse[head * shape.seq_len + position];
                        for (w, d) in weights[visible.clone()].iter_mut().zip(&mut d_scores[visible]) {
                            *w = exp(*w - log_sum);
                            *d = *w * (*d - through_sum);
                        }
                    }
                    tile.mix(
                        lanes,
                        &scratch.d_scores,
                        padded_len,
                        &scratch.keys,
                        padded_dim,
                        &mut scratch.tile,
                    );
                    tile.spread(
                        lanes,
                        &scratch.d_scores,
                        padded_len,
                        &scratch.queries,
                        padded_dim,
                        &mut scratch.d_keys,
                    );
                    tile.spread(
                        lanes,
                        &scratch.weights,
                        padded_len,
                        &scratch.d_out,
                        padded_dim,
                        &mut scratch.d_values,
                    );
                    for row in 0..tile.rows {
                        let target = &mut d_qkv[(first + row) * qkv_size + head * dim..][..dim];
                        let turned = &scratch.tile[row * padded_dim..][..dim];
                        rotary.turn_back(first + row, turned, shape.score_scale(), target);
                    }
                }
            }
            for position in 0..shape.seq_len {
                let row = &mut d_qkv[position * qkv_size..][..qkv_size];
                let d_key = &scratch.d_keys[position * padded_dim..][..dim];
                rotary.turn_back(position, d_key, 1.0, &mut row[k_column..k_column + dim]);
                row[v_column..v_column + dim].copy_from_slice(&scratch.d_values[position * padded_dim..][..dim]);
            }
        }
    }
}

impl AttentionShape {
    fn score_scale(&self) -> f32 {
        1.0 / (self.head_dim as f32).sqrt()
    }
}

/// Copies one head of a row-major matrix to `[padded_len][padded_dim]`.
#[inline(always)]
fn pack(shape: &AttentionShape, source: &[f32], row_len: usize, column: usize, packed: &mut [f32]) {
    let targets = packed.chunks_exact_mut(shape.padded_dim());
    for (row, target) in source.chunks_exact(row_len).zip(targets) {
        target[..shape.head_dim].copy_from_slice(&row[column..column + shape.head_dim]);
    }
}

/// Copies one head of `qkv` to `[padded_len][padded_dim]`, turned by its position and scaled.
#[inline(always)]
fn pack_turned(
    shape: &AttentionShape,
    rotary: &RotaryTable,
    qkv: &[f32],
    column: usize,
    scale: f32,
    packed: &mut [f32],
) {
    let targets = packed.chunks_exact_mut(shape.padded_dim());
    for (position, (row, target)) in qkv.chunks_exact(shape.qkv_size()).zip(targets).enumerate() {
        let head = &row[column..column + shape.head_dim];
        rotary.turn(position, head, scale, &mut target[..shape.head_dim]);
    }
}

/// `[padded_len][padded_dim]` to `[head_dim][padded_len]`.
#[inline(always)]
fn transpose(shape: &AttentionShape, packed: &[f32], transposed: &mut [f32]) {
    let (padded_dim, padded_len) = (shape.padded_dim(), shape.padded_len());
    // Sixteen positions at a time, so that a written line is filled while it is in the cache.
    for first in (0..padded_len).step_by(16) {
        for dim in 0..shape.head_dim {
            let line = &mut transposed[dim * padded_len + first..][..16];
            for (offset, value) in line.iter_mut().enumerate() {
                *value = packed[(first + offset) * padded_dim + dim];
            }
        }
    }
}

/// Up to sixteen queries and the keys that any of them sees.
///
/// ```text
/// position   0 ........ low ........ first ...... first+rows ..high...... seq_len
/// keys                  [ visited                              )
/// queries                            [            )
/// ```
/// `low` and `high` are multiples of [`COLUMNS`].
struct Tile {
    first: usize,
    rows: usize,
    low: usize,
    high: usize,
}

impl Tile {
    #[inline(always)]
    fn new(shape: &AttentionShape, starts: &[u32], first: usize) -> Self {
        let rows = QUERIES.min(shape.seq_len - first);
        Self {
            first,
            rows,
            low: starts[first] as usize / COLUMNS * COLUMNS,
            high: (first + rows).next_multiple_of(COLUMNS),
        }
    }

    /// `out[row][low..high] = a[first + row] · b[.., low..high]` for the tile's queries: scores, or gradients of weights.
    #[inline(always)]
    fn products<L: Lanes>(
        &self,
        lanes: L,
        a: &[f32],
        b: &[f32],
        depth: usize,
        a_stride: usize,
        out: &mut [f32],
        stride: usize,
    ) {
        for row in (0..QUERIES).step_by(ROWS) {
            let a = &a[(self.first + row) * a_stride..];
            for column in (self.low..self.high).step_by(COLUMNS) {
                product(
                    lanes,
                    a,
                    a_stride,
                    &b[column..],
                    stride,
                    depth,
                    &mut out[row * stride + column..],
                    stride,
                );
            }
        }
    }

    /// `out[row] = Σ_j weights[row][j] · values[j]` over the visited keys.
    #[inline(always)]
    fn mix<L: Lanes>(&self, lanes: L, weights: &[f32], stride: usize, values: &[f32], dim: usize, out: &mut [f32]) {
        let depth = self.first + self.rows - self.low;
        for row in (0..QUERIES).step_by(ROWS) {
            for column in (0..dim).step_by(COLUMNS) {
                let a = &weights[row * stride + self.low..];
                let b = &values[self.low * dim + column..];
                product(lanes, a, stride, b, dim, depth, &mut out[row * dim + column..], dim);
            }
        }
    }

    /// `sums[j] += Σ_row weights[row][j] · rows_of[first + row]` over the visited keys.
    #[inline(always)]
    fn spread<L: Lanes>(
        &self,
        lanes: L,
        weights: &[f32],
        stride: usize,
        rows_of: &[f32],
        dim: usize,
        sums: &mut [f32],
    ) {
        for key in (self.low..self.first + self.rows).step_by(ROWS) {
            for column in (0..dim).step_by(COLUMNS) {
                let b = &rows_of[self.first * dim + column..];
                let c = &mut sums[key * dim + column..];
                product_transposed(lanes, &weights[key..], stride, b, dim, c, dim);
            }
        }
    }
}

/// `c[8][32] = a[8][depth] · b[depth][32]`, two registers of columns at a time with their sums in registers, depth ascending.
#[inline(always)]
fn product<L: Lanes>(
    lanes: L,
    a: &[f32],
    a_stride: usize,
    b: &[f32],
    b_stride: usize,
    depth: usize,
    c: &mut [f32],
    c_stride: usize,
) {
    let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &a[row * a_stride..][..depth]);
    for column in (0..COLUMNS).step_by(2 * L::N) {
        let mut sums = [[lanes.splat(0.0); 2]; ROWS];
        for (k, line) in b.chunks(b_stride).take(depth).enumerate() {
            let line = load_pair(lanes, &line[column..]);
            for row in 0..ROWS {
                let factor = lanes.splat(rows[row][k]);
                sums[row][0] = lanes.fma(factor, line[0], sums[row][0]);
                sums[row][1] = lanes.fma(factor, line[1], sums[row][1]);
            }
        }
        for row in 0..ROWS {
            store_pair(lanes, sums[row], &mut c[row * c_stride + column..]);
        }
    }
}

/// `c[8][32] += aᵀ[8][16] · b[16][32]` where `a` is `[16][8]`.
#[inline(always)]
fn product_transposed<L: Lanes>(
    lanes: L,
    a: &[f32],
    a_stride: usize,
    b: &[f32],
    b_stride: usize,
    c: &mut [f32],
    c_stride: usize,
) {
    for column in (0..COLUMNS).step_by(2 * L::N) {
        let mut sums = [[lanes.splat(0.0); 2]; ROWS];
        for row in 0..ROWS {
            sums[row] = load_pair(lanes, &c[row * c_stride + column..]);
        }
        for k in 0..QUERIES {
            let factors: &[f32; ROWS] = a[k * a_stride..][..ROWS].try_into().unwrap();
            let line = load_pair(lanes, &b[k * b_stride + column..]);
            for row in 0..ROWS {
                let factor = lanes.splat(factors[row]);
                sums[row][0] = lanes.fma(factor, line[0], sums[row][0]);
                sums[row][1] = lanes.fma(factor, line[1], sums[row][1]);
            }
        }
        for row in 0..ROWS {
            store_pair(lanes, sums[row], &mut c[row * c_stride + column..]);
        }
    }
}

#[inline(always)]
fn load_pair<L: Lanes>(lanes: L, from: &[f32]) -> [L::V; 2] {
    let from = from[..2 * L::N].as_ptr();
    // SAFETY: two registers are readable, as checked.
    unsafe { [lanes.load(from), lanes.load(from.add(L::N))] }
}

#[inline(always)]
fn store_pair<L: Lanes>(lanes: L, pair: [L::V; 2], to: &mut [f32]) {
    let to = to[..2 * L::N].as_mut_ptr();
    // SAFETY: two registers are writable, as checked.
    unsafe {
        lanes.store(to, pair[0]);
        lanes.store(to.add(L::N), pair[1]);
    }
}
