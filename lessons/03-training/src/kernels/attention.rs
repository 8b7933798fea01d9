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
//! 2. Nothing of size `seq_len²` is kept. The forward pass keeps one number a query, the logarithm of its sum (`lse`);
//!    the backward pass makes p again from it (FlashAttention, Dao et al. 2022, arXiv:2205.14135, section 3.1).
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
    /// Number of sequences.
    pub batch_size: usize,
    /// Number of positions of each sequence.
    pub seq_len: usize,
    /// Number of query heads.
    pub num_heads: usize,
    /// Number of key heads, and of value heads.
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

    /// Number of rows of all sequences.
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
/// Shapes: `qkv` `[batch_size · seq_len, qkv_size]` (before the rotary turn), `starts` `[batch_size · seq_len]` with
/// the first visible position of each row, counted inside its sequence and never falling along it; `out`
/// `[batch_size · seq_len, out_size]`, `lse` `[batch_size, num_heads, seq_len]`. Cost: about 2 · head_dim · num_heads
/// multiply-adds for each visible pair. Source: grouped-query attention, Ainslie et al. 2023, arXiv:2305.13245.
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
    pool.run(shape.batch_size, &|index| {
        let mut task = tasks[index].lock().unwrap();
        let (out, lse) = &mut *task;
        let sequence = Sequence::new(&shape, rotary, starts, qkv, index);
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.fit(&shape);
            Isa::detect().run(Forward {
                scratch,
                sequence,
                out,
                lse,
            });
        });
    });
}

/// The gradient of [`attention_forward`] with respect to `qkv`.
///
/// Shapes as there; `out` and `lse` are what it wrote, `d_out` the gradient of `out`, `d_qkv` is overwritten. Cost:
/// five products of `head_dim` multiply-adds for each visible pair, against the forward pass's two.
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
    pool.run(shape.batch_size, &|index| {
        let mut d_qkv = tasks[index].lock().unwrap();
        let (out_rows, lse_rows) = (shape.seq_len * shape.out_size(), shape.seq_len * shape.num_heads);
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.fit(&shape);
            Isa::detect().run(Backward {
                scratch,
                sequence: Sequence::new(&shape, rotary, starts, qkv, index),
                out: &out[index * out_rows..][..out_rows],
                lse: &lse[index * lse_rows..][..lse_rows],
                d_out: &d_out[index * out_rows..][..out_rows],
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

/// What both passes read of one sequence.
#[derive(Clone, Copy)]
struct Sequence<'a> {
    shape: &'a AttentionShape,
    rotary: &'a RotaryTable,
    starts: &'a [u32],
    qkv: &'a [f32],
}

impl<'a> Sequence<'a> {
    /// Sequence `index` of a batch.
    fn new(
        shape: &'a AttentionShape,
        rotary: &'a RotaryTable,
        starts: &'a [u32],
        qkv: &'a [f32],
        index: usize,
    ) -> Self {
        let numbers = shape.seq_len * shape.qkv_size();
        Self {
            shape,
            rotary,
            starts: &starts[index * shape.seq_len..][..shape.seq_len],
            qkv: &qkv[index * numbers..][..numbers],
        }
    }

    /// Copies head `index` of all heads in a row of `qkv` to `[padded_len][padded_dim]`.
    #[inline(always)]
    fn pack(&self, index: usize, packed: &mut [f32]) {
        pack(self.shape, self.qkv, self.shape.qkv_size(), index, packed);
    }

    /// The same, turned by the position and scaled.
    #[inline(always)]
    fn pack_turned(&self, index: usize, scale: f32, packed: &mut [f32]) {
        let (shape, column) = (self.shape, index * self.shape.head_dim);
        let targets = packed.chunks_exact_mut(shape.padded_dim());
        for (position, (row, target)) in self.qkv.chunks_exact(shape.qkv_size()).zip(targets).enumerate() {
            let head = &row[column..column + shape.head_dim];
            self.rotary.turn(position, head, scale, &mut target[..shape.head_dim]);
        }
    }
}

/// The forward pass of one sequence.
struct Forward<'a> {
    scratch: &'a mut Scratch,
    sequence: Sequence<'a>,
    out: &'a mut [f32],
    lse: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Sequence { shape, starts, .. } = self.sequence;
        let (dim, padded_dim, padded_len) = (shape.head_dim, shape.padded_dim(), shape.padded_len());
        let scratch = self.scratch;
        for kv_head in 0..shape.num_kv_heads {
            self.sequence.pack_turned(shape.key(kv_head), 1.0, &mut scratch.keys);
            transpose(shape, &scratch.keys, &mut scratch.keys_transposed);
            self.sequence.pack(shape.value(kv_head), &mut scratch.values);
            let keys = Rows::new(&scratch.keys_transposed, padded_len);
            let values = Rows::new(&scratch.values, padded_dim);
            for head in shape.query_heads(kv_head) {
                self.sequence
                    .pack_turned(head, shape.score_scale(), &mut scratch.queries);
                for first in (0..shape.seq_len).step_by(QUERIES) {
                    let tile = Tile::new(shape, starts, first);
                    let queries = Rows::new(&scratch.queries, padded_dim);
                    tile.products(lanes, queries, keys, dim, &mut scratch.weights);
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
                        self.lse[head * shape.seq_len + position] = largest + sum.ln();
                    }
                    tile.mix(
                        lanes,
                        Rows::new(&scratch.weights, padded_len),
                        values,
                        &mut scratch.tile,
                    );
                    for row in 0..tile.rows {
                        let target = &mut self.out[(first + row) * shape.out_size() + head * dim..][..dim];
                        for (t, s) in target.iter_mut().zip(&scratch.tile[row * padded_dim..]) {
                            *t = s * inverse_sums[row];
                        }
                    }
                }
            }
        }
    }
}

/// The backward pass of one sequence. `out` and `lse` are what the forward pass wrote.
struct Backward<'a> {
    scratch: &'a mut Scratch,
    sequence: Sequence<'a>,
    out: &'a [f32],
    lse: &'a [f32],
    d_out: &'a [f32],
    d_qkv: &'a mut [f32],
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Sequence {
            shape, rotary, starts, ..
        } = self.sequence;
        let (dim, padded_dim, padded_len) = (shape.head_dim, shape.padded_dim(), shape.padded_len());
        let (qkv_size, out_size) = (shape.qkv_size(), shape.out_size());
        let scratch = self.scratch;
        for kv_head in 0..shape.num_kv_heads {
            self.sequence.pack_turned(shape.key(kv_head), 1.0, &mut scratch.keys);
            transpose(shape, &scratch.keys, &mut scratch.keys_transposed);
            self.sequence.pack(shape.value(kv_head), &mut scratch.values);
            transpose(shape, &scratch.values, &mut scratch.values_transposed);
            scratch.d_keys.fill(0.0);
            scratch.d_values.fill(0.0);
            let keys = Rows::new(&scratch.keys, padded_dim);
            let keys_transposed = Rows::new(&scratch.keys_transposed, padded_len);
            let values_transposed = Rows::new(&scratch.values_transposed, padded_len);
            for head in shape.query_heads(kv_head) {
                self.sequence
                    .pack_turned(head, shape.score_scale(), &mut scratch.queries);
                pack(shape, self.d_out, out_size, head, &mut scratch.d_out);
                let queries = Rows::new(&scratch.queries, padded_dim);
                let d_out = Rows::new(&scratch.d_out, padded_dim);
                for first in (0..shape.seq_len).step_by(QUERIES) {
                    let tile = Tile::new(shape, starts, first);
                    tile.products(lanes, queries, keys_transposed, dim, &mut scratch.weights);
                    tile.products(lanes, d_out, values_transposed, dim, &mut scratch.d_scores);
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
                        let own = position * out_size + head * dim..position * out_size + (head + 1) * dim;
                        let through_sum = row::dot(&self.d_out[own.clone()], &self.out[own]);
                        let log_sum = self.lse[head * shape.seq_len + position];
                        for (w, d) in weights[visible.clone()].iter_mut().zip(&mut d_scores[visible]) {
                            *w = exp(*w - log_sum);
                            *d = *w * (*d - through_sum);
                        }
                    }
                    let weights = Rows::new(&scratch.weights, padded_len);
                    let d_scores = Rows::new(&scratch.d_scores, padded_len);
                    tile.mix(lanes, d_scores, keys, &mut scratch.tile);
                    tile.spread(lanes, d_scores, queries, &mut scratch.d_keys);
                    tile.spread(lanes, weights, d_out, &mut scratch.d_values);
                    for row in 0..tile.rows {
                        let target = &mut self.d_qkv[(first + row) * qkv_size + head * dim..][..dim];
                        let turned = &scratch.tile[row * padded_dim..][..dim];
                        rotary.turn_back(first + row, turned, shape.score_scale(), target);
                    }
                }
            }
            for position in 0..shape.seq_len {
                let row = &mut self.d_qkv[position * qkv_size..][..qkv_size];
                let d_key = &scratch.d_keys[position * padded_dim..][..dim];
                rotary.turn_back(position, d_key, 1.0, &mut row[shape.key(kv_head) * dim..][..dim]);
                let d_value = &scratch.d_values[position * padded_dim..][..dim];
                row[shape.value(kv_head) * dim..][..dim].copy_from_slice(d_value);
            }
        }
    }
}

impl AttentionShape {
    fn score_scale(&self) -> f32 {
        1.0 / (self.head_dim as f32).sqrt()
    }

    /// The query heads that share a key head; they are also the first heads of a row of `qkv`.
    fn query_heads(&self, kv_head: usize) -> std::ops::Range<usize> {
        let group = self.num_heads / self.num_kv_heads;
        kv_head * group..(kv_head + 1) * group
    }

    /// Number of a key head among all heads in a row of `qkv`.
    fn key(&self, kv_head: usize) -> usize {
        self.num_heads + kv_head
    }

    /// Number of a value head among all heads in a row of `qkv`.
    fn value(&self, kv_head: usize) -> usize {
        self.num_heads + self.num_kv_heads + kv_head
    }
}

/// Copies head `index` of a row-major matrix with rows of `row_len` numbers to `[padded_len][padded_dim]`.
#[inline(always)]
fn pack(shape: &AttentionShape, source: &[f32], row_len: usize, index: usize, packed: &mut [f32]) {
    let (dim, targets) = (shape.head_dim, packed.chunks_exact_mut(shape.padded_dim()));
    for (row, target) in source.chunks_exact(row_len).zip(targets) {
        target[..dim].copy_from_slice(&row[index * dim..][..dim]);
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

    /// `out[row][low..high] = a[first + row] · b[.., low..high]` for the tile's queries: scores, or gradients of
    /// weights.
    #[inline(always)]
    fn products<L: Lanes>(&self, lanes: L, a: Rows, b: Rows, depth: usize, out: &mut [f32]) {
        for row in (0..QUERIES).step_by(ROWS) {
            for column in (self.low..self.high).step_by(COLUMNS) {
                let out = &mut out[row * b.stride + column..];
                product(lanes, a.from(self.first + row, 0), b.from(0, column), depth, out);
            }
        }
    }

    /// `out[row] = Σ_j weights[row][j] · values[j]` over the visited keys.
    #[inline(always)]
    fn mix<L: Lanes>(&self, lanes: L, weights: Rows, values: Rows, out: &mut [f32]) {
        let depth = self.first + self.rows - self.low;
        for row in (0..QUERIES).step_by(ROWS) {
            for column in (0..values.stride).step_by(COLUMNS) {
                let out = &mut out[row * values.stride + column..];
                product(
                    lanes,
                    weights.from(row, self.low),
                    values.from(self.low, column),
                    depth,
                    out,
                );
            }
        }
    }

    /// `sums[j] += Σ_row weights[row][j] · rows_of[first + row]` over the visited keys.
    #[inline(always)]
    fn spread<L: Lanes>(&self, lanes: L, weights: Rows, rows_of: Rows, sums: &mut [f32]) {
        for key in (self.low..self.first + self.rows).step_by(ROWS) {
            for column in (0..rows_of.stride).step_by(COLUMNS) {
                let sums = &mut sums[key * rows_of.stride + column..];
                product_transposed(lanes, weights.from(0, key), rows_of.from(self.first, column), sums);
            }
        }
    }
}

/// Rows of a packed buffer, `stride` numbers apart.
#[derive(Clone, Copy)]
struct Rows<'a> {
    data: &'a [f32],
    stride: usize,
}

impl<'a> Rows<'a> {
    #[inline(always)]
    fn new(data: &'a [f32], stride: usize) -> Self {
        Self { data, stride }
    }

    /// The rows without the first `row` ones and the first `column` columns.
    #[inline(always)]
    fn from(self, row: usize, column: usize) -> Self {
        Self::new(&self.data[row * self.stride + column..], self.stride)
    }
}

/// `c[8][32] = a[8][depth] · b[depth][32]`, two registers of columns at a time with their sums in registers, depth
/// ascending. Rows of `c` are as far apart as those of `b`.
#[inline(always)]
fn product<L: Lanes>(lanes: L, a: Rows, b: Rows, depth: usize, c: &mut [f32]) {
    let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &a.data[row * a.stride..][..depth]);
    for column in (0..COLUMNS).step_by(2 * L::N) {
        let mut sums = [[lanes.splat(0.0); 2]; ROWS];
        for (k, line) in b.data.chunks(b.stride).take(depth).enumerate() {
            let line = load_pair(lanes, &line[column..]);
            for row in 0..ROWS {
                let factor = lanes.splat(rows[row][k]);
                sums[row][0] = lanes.fma(factor, line[0], sums[row][0]);
                sums[row][1] = lanes.fma(factor, line[1], sums[row][1]);
            }
        }
        for row in 0..ROWS {
            store_pair(lanes, sums[row], &mut c[row * b.stride + column..]);
        }
    }
}

/// `c[8][32] += aᵀ[8][16] · b[16][32]` where `a` is `[16][8]`. Rows of `c` are as far apart as those of `b`.
#[inline(always)]
fn product_transposed<L: Lanes>(lanes: L, a: Rows, b: Rows, c: &mut [f32]) {
    for column in (0..COLUMNS).step_by(2 * L::N) {
        let mut sums = [[lanes.splat(0.0); 2]; ROWS];
        for row in 0..ROWS {
            sums[row] = load_pair(lanes, &c[row * b.stride + column..]);
        }
        for k in 0..QUERIES {
            let factors: &[f32; ROWS] = a.data[k * a.stride..][..ROWS].try_into().unwrap();
            let line = load_pair(lanes, &b.data[k * b.stride + column..]);
            for row in 0..ROWS {
                let factor = lanes.splat(factors[row]);
                sums[row][0] = lanes.fma(factor, line[0], sums[row][0]);
                sums[row][1] = lanes.fma(factor, line[1], sums[row][1]);
            }
        }
        for row in 0..ROWS {
            store_pair(lanes, sums[row], &mut c[row * b.stride + column..]);
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
