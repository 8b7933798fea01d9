//! The innermost loops of every product in this workbook: a register tile of outputs, fed by one packed panel of
//! weights.
//!
//! In plain words: keep a small rectangle of outputs in registers, walk once over k, and at each k multiply a few
//! values of x (one per row, broadcast) with a few vectors of weights (consecutive outputs). The simple version is
//!
//! ```text
//! for row in rows { for j in columns { out[row][j] = start[row][j];
//!     for k in 0..k_len { out[row][j] = fma(x[row][k], w[k][j], out[row][j]) } } }
//! ```
//!
//! What the real code adds, and why the bits stay the same:
//! 1. Outputs that lie next to each other share a register. Lanes do not mix, so each output still has its own sum.
//! 2. Up to 14 rows and 2 vectors of outputs advance together, so that the 4 cycles which one multiply-add takes are
//!    filled with others (8 are needed on a core with two units), and each loaded weight is used for many rows.
//! 3. k is cut into blocks that fit the cache. A later block continues from the stored sums: storing an f32 and loading
//!    it again is exact.
//! 4. Tails of rows use a smaller tile; tails of columns are computed with zero weights in a small buffer, and what
//!    exists is copied out.
//!
//! So an output is always `fma(x[k_len-1], w[k_len-1], … fma(x[1], w[1], fma(x[0], w[0], 0)))`: one accumulator, k
//! ascending. It does not matter which rows stand beside it, how many threads share the work, or how wide the registers
//! are.

use crate::lanes::Lanes;
use crate::simd::{Isa, Kernel};
use half::bf16;

/// Outputs whose weights are stored together: a panel is `[k][PANEL]`, one or two cache lines of f32 per step and
/// vector. A panel is read from its first to its last byte, and one k block of it (24 KiB) stays in the first-level
/// cache while the rows change.
pub(crate) const PANEL: usize = 32;

/// One block of work: `rows` rows of x times neighbouring panels of weights, `k` steps.
pub(crate) struct Block<W> {
    /// Row r at step k is `x[r * x_row + k * x_k]`.
    pub x: *const f32,
    pub x_row: usize,
    pub x_k: usize,
    pub rows: usize,
    /// Rows that advance together, see [`tile_rows`].
    pub tile_rows: usize,
    /// Step k of panel p begins at `w[p * w_panel + k * PANEL]`; columns that do not exist are zeros.
    pub w: *const W,
    pub w_panel: usize,
    pub k: usize,
    /// Element (row, j) of the output is `out[row * out_row + j]`.
    pub out: *mut f32,
    pub out_row: usize,
    /// Columns of the output.
    pub columns: usize,
    /// Continue from the sums in `out` instead of from zero.
    pub resume: bool,
    pub order: Order,
    /// What to prefetch: tile t asks at step k for the lines at `w + ahead + t * ahead_tile + k * ahead_step` (all in
    /// bytes).
    pub ahead: usize,
    pub ahead_tile: usize,
    pub ahead_step: usize,
}

/// Which of the two loops over register tiles is the outer one. It decides what stays in the first-level cache; the
/// sums are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The panel stays, tiles of rows come by: for weights that come from memory and for rows that are expensive to
    /// read.
    PanelsOutside,
    /// The tile of rows stays, panels come by from the second-level cache: output rows are then written from left to
    /// right.
    RowsOutside,
}

/// Rows of the largest register tile of any instruction set.
pub(crate) const MOST_ROWS: usize = 14;

/// A weight as stored; the type says where in its panel each output lies.
pub(crate) trait Weight: Copy {
    /// Where in a step's line of `PANEL` weights output `column` lies.
    fn place(column: usize) -> usize;
    /// The first columns of the two vectors that [`Weight::load_pair`] loads from storage position `at`, where position
    /// 0 is the first weight of panel 0 and position `PANEL` the first one of panel 1.
    fn columns<L: Lanes>(at: usize) -> [usize; 2];
    /// Loads two vectors of weights.
    ///
    /// # Safety
    /// `2 L::N` weights are readable.
    unsafe fn load_pair<L: Lanes>(lanes: L, from: *const Self) -> [L::V; 2];
}

impl Weight for f32 {
    fn place(column: usize) -> usize {
        column
    }
    #[inline(always)]
    fn columns<L: Lanes>(at: usize) -> [usize; 2] {
        [at, at + L::N]
    }
    #[inline(always)]
    unsafe fn load_pair<L: Lanes>(lanes: L, from: *const f32) -> [L::V; 2] {
        // SAFETY: the caller's.
        unsafe { [lanes.load(from), lanes.load(from.add(L::N))] }
    }
}

/// In a panel the order is 0, 16, 1, 17, …: one 32-bit word holds output i in its low half and i + 16 in its high half.
/// A bf16 is the upper half of an f32, so a shift widens the first and a mask the second, for any register width.
impl Weight for bf16 {
    fn place(column: usize) -> usize {
        column % (PANEL / 2) * 2 + column / (PANEL / 2)
    }
    #[inline(always)]
    fn columns<L: Lanes>(at: usize) -> [usize; 2] {
        let first = at / PANEL * PANEL + at % PANEL / 2;
        [first, first + PANEL / 2]
    }
    #[inline(always)]
    unsafe fn load_pair<L: Lanes>(lanes: L, from: *const bf16) -> [L::V; 2] {
        // SAFETY: the caller's.
        let (first, second) = unsafe { lanes.load_bf16_pairs(from) };
        [first, second]
    }
}

/// Rows per register tile: as many as the registers hold, but about equal tiles (15 rows are 8 + 7, not 14 + 1).
pub(crate) fn tile_rows(isa: Isa, rows: usize) -> usize {
    struct MostRows;
    impl Kernel for MostRows {
        type Output = usize;
        #[inline(always)]
        fn run<L: Lanes>(self, _: L) -> usize {
            L::ROWS
        }
    }
    let most = isa.run(MostRows);
    rows.div_ceil(rows.div_ceil(most).max(1)).max(1)
}

/// Executes a block with the given instruction set.
///
/// # Safety
/// The pointers of the block are valid for the elements named beside them, and nothing else writes to the output
/// meanwhile.
///
/// # Panics
/// If the machine does not have the instruction set.
pub(crate) unsafe fn multiply<W: Weight>(isa: Isa, block: &Block<W>) {
    struct Checked<'a, W>(&'a Block<W>);
    impl<W: Weight> Kernel for Checked<'_, W> {
        type Output = ();
        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) {
            // SAFETY: the caller of `multiply` answers for the block.
            unsafe { panels_of(lanes, self.0) }
        }
    }
    isa.run(Checked(block));
}

/// Cuts the block into register tiles.
#[inline(always)]
unsafe fn panels_of<L: Lanes, W: Weight>(lanes: L, block: &Block<W>) {
    let pair = 2 * L::N;
    let end = block.columns.next_multiple_of(PANEL);
    let tiles = block.rows.div_ceil(block.tile_rows);
    // With few rows one pair of vectors has too few independent sums to fill the multiply-add units: take two pairs.
    let few_rows = block.tile_rows * 2 <= L::ROWS;
    let rows_outside = block.order == Order::RowsOutside && tiles > 1;
    for outer in 0..if rows_outside { tiles } else { 1 } {
        let mut at = 0;
        while at < end {
            let pairs = if few_rows && at + 2 * pair <= end { 2 } else { 1 };
            for tile in if rows_outside { outer..outer + 1 } else { 0..tiles } {
                // SAFETY: the tile's rows and the columns at `at` lie in the block.
                unsafe { tile_of(lanes, block, tile, at, pairs) };
            }
            at += pair * pairs;
        }
    }
}

/// Where a register tile finds its numbers. Of arrays of two, the second belongs to the second pair of vectors, if
/// there is one: it may lie in another panel, so there are two streams of weights.
struct Place<W> {
    x: *const f32,
    w: [*const W; 2],
    ahead: [*const u8; 2],
    out: *mut f32,
    out_row: usize,
    columns: [[usize; 2]; 2],
}

/// One register tile of the block: `pairs` pairs of vectors from storage position `at` on.
#[inline(always)]
unsafe fn tile_of<L: Lanes, W: Weight>(lanes: L, block: &Block<W>, tile: usize, at: usize, pairs: usize) {
    let row = tile * block.tile_rows;
    let rows = block.tile_rows.min(block.rows - row);
    let ats = [at, at + 2 * L::N];
    // SAFETY: the row and the first pair lie in the block; the pointers of a second pair are only computed where there
    // is none.
    let (x, out, w) = unsafe {
        let w = ats.map(|at| block.w.wrapping_add(at / PANEL * block.w_panel + at % PANEL));
        (block.x.add(row * block.x_row), block.out.add(row * block.out_row), w)
    };
    let ahead = w.map(|w| w.cast::<u8>().wrapping_add(block.ahead + tile * block.ahead_tile));
    let columns = ats.map(W::columns::<L>);
    let mut place = Place {
        x,
        w,
        ahead,
        out,
        out_row: block.out_row,
        columns,
    };
    // The last vector of a matrix may lack its partner: then half of the work is left out.
    let alone = pairs == 1 && rows == L::ROWS && columns[0][1] >= block.columns;
    let width = if alone { 1 } else { 2 * pairs };
    let last = if alone { columns[0][0] } else { columns[pairs - 1][1] };
    if last + L::N <= block.columns {
        // SAFETY: all its columns exist.
        return unsafe { choose(lanes, rows, width, block, &place) };
    }

    // Columns are missing: compute in a buffer that has all of them, and copy those that exist.
    let first = at / PANEL * PANEL;
    let real = block.columns.saturating_sub(first).min(2 * PANEL);
    let mut buffer = [0.0f32; MOST_ROWS * 2 * PANEL];
    place.out = buffer.as_mut_ptr().wrapping_sub(first);
    place.out_row = 2 * PANEL;
    for (m, line) in buffer.chunks_exact_mut(2 * PANEL).take(rows).enumerate() {
        // SAFETY: row m of the tile and `real` columns from `first` on exist in the output.
        let sums = unsafe { std::slice::from_raw_parts(out.add(m * block.out_row + first), real) };
        line[..real].copy_from_slice(sums);
    }
    // SAFETY: its columns begin at `first` and end before `first + 2 * PANEL`, which is what the buffer has.
    unsafe { choose(lanes, rows, width, block, &place) };
    for (m, line) in buffer.chunks_exact(2 * PANEL).take(rows).enumerate() {
        // SAFETY: as above.
        let sums = unsafe { std::slice::from_raw_parts_mut(out.add(m * block.out_row + first), real) };
        sums.copy_from_slice(&line[..real]);
    }
}

/// Chooses the tile for a number of rows and of vectors: constants in the machine code, so that all sums live in
/// registers.
///
/// Only the tiles that an instruction set can meet are compiled: each is a few kilobytes of machine code. The single
/// vector is only there for whole tiles; elsewhere it computes a pair.
///
/// # Safety
/// As for [`register_tile`].
#[inline(always)]
unsafe fn choose<L: Lanes, W: Weight>(lanes: L, rows: usize, width: usize, block: &Block<W>, place: &Place<W>) {
    macro_rules! tiles {
        (whole $($w:literal)*; few $($f:literal)*; rows $($m:literal)*) => {
            // SAFETY: the caller's.
            unsafe {
                match (width, rows) {
                    $( (1, $w) if const { $w == L::ROWS } => register_tile::<L, W, $w, 1, 1>(lanes, block, place), )*
                    $( (4, $f) if const { 2 * $f <= L::ROWS } => register_tile::<L, W, $f, 2, 2>(lanes, block, place), )*
                    $( (2, $m) if const { $m <= L::ROWS } => register_tile::<L, W, $m, 1, 2>(lanes, block, place), )*
                    _ => unreachable!("no tile of {rows} rows and {width} vectors"),
                }
            }
        };
    }
    tiles!(whole 4 6 12 14; few 1 2 3 4 5 6 7; rows 1 2 3 4 5 6 7 8 9 10 11 12 13 14);
}

/// `M` rows times `P` pairs of vectors of columns, of which the first `V` are needed; all of k.
///
/// # Safety
/// `place` names M rows of x, P pairs of weights and M rows of these columns of the output.
#[inline(always)]
unsafe fn register_tile<L: Lanes, W: Weight, const M: usize, const P: usize, const V: usize>(
    lanes: L,
    block: &Block<W>,
    place: &Place<W>,
) {
    let &Place {
        mut x,
        mut w,
        mut ahead,
        out,
        out_row,
        columns,
    } = place;
    // SAFETY: the caller's, for all loads and stores.
    unsafe {
        let mut sums = [[[lanes.splat(0.0); V]; P]; M];
        if block.resume {
            for m in 0..M {
                for p in 0..P {
                    for v in 0..V {
                        sums[m][p][v] = lanes.load(out.wrapping_add(m * out_row + columns[p][v]));
                    }
                }
            }
        }
        for _ in 0..block.k {
            for p in 0..P {
                for line in 0..size_of::<W>() * PANEL / 64 {
                    lanes.prefetch(ahead[p].wrapping_add(64 * line));
                }
                ahead[p] = ahead[p].wrapping_add(block.ahead_step);
            }
            let mut weights = [[lanes.splat(0.0); 2]; P];
            for p in 0..P {
                weights[p] = W::load_pair(lanes, w[p]);
                w[p] = w[p].wrapping_add(PANEL);
            }
            for m in 0..M {
                let value = lanes.splat(*x.wrapping_add(m * block.x_row));
                for p in 0..P {
                    for v in 0..V {
                        sums[m][p][v] = lanes.fma(value, weights[p][v], sums[m][p][v]);
                    }
                }
            }
            x = x.wrapping_add(block.x_k);
        }
        for m in 0..M {
            for p in 0..P {
                for v in 0..V {
                    lanes.store(out.wrapping_add(m * out_row + columns[p][v]), sums[m][p][v]);
                }
            }
        }
    }
}
