//! Matrix product of two strided matrices, packed on the fly: what training calls.

pub use crate::matrix::{MatMut, MatRef};

use crate::aligned::Aligned;
use crate::kernel::{self, Block, MOST_ROWS, Order, PANEL};
use crate::pack;
use crate::pool::Pool;
use crate::simd::Isa;
use std::cell::RefCell;

/// What happens to the old content of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// c = a b: the old content is ignored.
    Overwrite,
    /// c = c + a b: the accumulator of each output starts from the old value instead of zero.
    Accumulate,
}

/// Columns of b packed at a time: at most 2 MiB, each panel of it used for a whole block of rows.
const N_BLOCK: usize = 1024;
/// Rows of a per pass over the packed columns: at most 768 KiB, in the second-level cache.
const M_BLOCK: usize = 384;
/// Below this many multiply-adds a second thread costs more than it saves.
const PARALLEL_FROM: usize = 64 * 1024;

thread_local! {
    /// Rows of a (where they must be copied) and panels of b; grown by the first large call, then reused.
    static SCRATCH: RefCell<(Aligned<f32>, Aligned<f32>)> = RefCell::default();
}

/// c (+)= a b. Shapes: `a` `[m, k]`, `b` `[k, n]`, `c` `[m, n]`, any strides; element (i, j) of `c` must have a place
/// of its own. Cost: m·n·k multiply-adds; each thread keeps its scratch (at most 1.2 MiB), so only its first large call
/// allocates. Every output has the same bits whatever m, n, the threads and the instruction set (see
/// [`crate::kernel`]).
///
/// # Panics
/// If the shapes do not fit together or a matrix reaches past its storage.
pub fn gemm(pool: &Pool, a: MatRef, b: MatRef, c: &mut MatMut, mode: Write) {
    gemm_with(Isa::detect(), pool, a, b, c, mode);
}

/// [`gemm()`] with a chosen instruction set (tests and races).
pub fn gemm_with(isa: Isa, pool: &Pool, a: MatRef, b: MatRef, c: &mut MatMut, mode: Write) {
    assert!(isa.is_available(), "this machine has no {}", isa.name());
    assert!(
        a.cols == b.rows && a.rows == c.rows && b.cols == c.cols,
        "shapes do not fit: a [{}, {}], b [{}, {}], c [{}, {}]",
        a.rows,
        a.cols,
        b.rows,
        b.cols,
        c.rows,
        c.cols
    );
    a.check_reach("a");
    b.check_reach("b");
    c.check_reach("c");
    assert!(
        c.rows <= 1
            || c.cols <= 1
            || c.row_stride >= c.cols * c.col_stride && c.col_stride > 0
            || c.col_stride >= c.rows * c.row_stride && c.row_stride > 0,
        "two elements of c share a place: strides {} and {}",
        c.row_stride,
        c.col_stride
    );
    let (m, n, k) = (c.rows, c.cols, a.cols);
    lab::ledger::count(|ledger| {
        ledger.multiply_adds += (m * n * k) as u64;
        ledger.bytes_read += 4 * (m * k + k * n) as u64;
        ledger.bytes_written += 4 * (m * n) as u64;
    });
    let out = Out {
        data: c.data.as_mut_ptr(),
        row_stride: c.row_stride,
        col_stride: c.col_stride,
    };
    // A product is transposed by swapping its factors; `a * b + c` has the same bits as `b * a + c`.
    if c.col_stride == 1 || c.row_stride != 1 {
        in_parts(isa, pool, a, b, out, mode);
    } else {
        let out = Out {
            row_stride: out.col_stride,
            col_stride: out.row_stride,
            ..out
        };
        in_parts(isa, pool, b.t(), a.t(), out, mode);
    }
}

/// The output as tasks share it: each writes its own elements.
#[derive(Clone, Copy)]
struct Out {
    data: *mut f32,
    row_stride: usize,
    col_stride: usize,
}
// SAFETY: tasks write to disjoint rows or columns.
unsafe impl Sync for Out {}

impl Out {
    /// The output without its first rows and columns.
    fn from(self, row: usize, col: usize) -> Out {
        // SAFETY: (row, col) lies in the matrix.
        let data = unsafe { self.data.add(row * self.row_stride + col * self.col_stride) };
        Out { data, ..self }
    }
}

/// Cuts the product along its longer side and lets the pool multiply the parts.
/// Each part packs for itself: packing the shorter side again costs less than a barrier after a shared packing.
fn in_parts(isa: Isa, pool: &Pool, a: MatRef, b: MatRef, out: Out, mode: Write) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    if m == 0 || n == 0 {
        return;
    }
    if pool.num_threads() == 1 || m * n * k < PARALLEL_FROM {
        return part(isa, a, b, out, mode);
    }
    let by_rows = m >= n;
    let (length, grain) = if by_rows { (m, 8) } else { (n, PANEL) };
    // Two parts per thread even out a neighbour's disturbance, where a part stays long enough to repay its packing.
    let parts = if length >= 256 * pool.num_threads() {
        2 * pool.num_threads()
    } else {
        pool.num_threads()
    };
    let step = length.div_ceil(parts).next_multiple_of(grain);
    pool.run(length.div_ceil(step), &|i| {
        let begin = i * step;
        let size = step.min(length - begin);
        if by_rows {
            part(isa, a.block(begin, size, 0, k), b, out.from(begin, 0), mode);
        } else {
            part(isa, a, b.block(0, k, begin, size), out.from(0, begin), mode);
        }
    });
}

/// One thread's product.
fn part(isa: Isa, a: MatRef, b: MatRef, out: Out, mode: Write) {
    SCRATCH.with_borrow_mut(|(a_scratch, b_scratch)| {
        let (m, n, k) = (a.rows, b.cols, a.cols);
        // Steps of k per block. A tile of rows is read once per panel, so it should stay in the first-level cache: rows
        // of consecutive k take 28 KiB for 512 steps; where rows are neighbours instead (a transposed matrix), each
        // step needs a line or two.
        let by_columns = a.col_stride != 1 && a.row_stride == 1;
        let k_block = even_block(k, if by_columns { 256 } else { 512 });
        let m_block = even_block(m, M_BLOCK);
        // An empty sum still overwrites: one block of zero steps.
        for k_begin in (0..k.max(1)).step_by(k_block) {
            let k_size = k_block.min(k - k_begin);
            for n_begin in (0..n).step_by(N_BLOCK) {
                let n_size = N_BLOCK.min(n - n_begin);
                let panels = b_scratch.at_least(n_size.next_multiple_of(PANEL) * k_size);
                pack::panels(b.block(k_begin, k_size, n_begin, n_size), panels);
                for m_begin in (0..m).step_by(m_block) {
                    let m_size = m_block.min(m - m_begin);
                    let x = near(a.block(m_begin, m_size, k_begin, k_size), n_size, a_scratch);
                    let out = out.from(m_begin, n_begin);
                    let block = Block {
                        x: x.data.as_ptr(),
                        x_row: x.row_stride,
                        x_k: x.col_stride,
                        tile_rows: kernel::tile_rows(isa, m_size),
                        rows: m_size,
                        w: panels.as_ptr(),
                        w_panel: k_size * PANEL,
                        k: k_size,
                        out: out.data,
                        out_row: out.row_stride,
                        columns: n_size,
                        resume: k_begin > 0 || mode == Write::Accumulate,
                        order: if by_columns {
                            Order::PanelsOutside
                        } else {
                            Order::RowsOutside
                        },
                        ahead: 0,
                        ahead_tile: 0,
                        ahead_step: 0,
                    };
                    // SAFETY: the instruction set was checked; x, the panels and the output hold what the block says.
                    unsafe {
                        if out.col_stride == 1 {
                            kernel::multiply(isa, &block);
                        } else {
                            scattered(isa, &block, out);
                        }
                    }
                }
            }
        }
    });
}

/// The same rows where they can be read fast: usually where they lie (copying cost 4 % there). Rows that are a multiple
/// of 1 KiB apart fall into few sets of the first-level cache and push each other out, and a matrix strided both ways
/// wastes most of each line: these are copied, if they are used often enough (worth 5 %).
fn near<'a>(a: MatRef<'a>, uses: usize, scratch: &'a mut Aligned<f32>) -> MatRef<'a> {
    let crowded = a.col_stride == 1 && a.row_stride > a.cols && a.row_stride.is_multiple_of(256) && uses >= 128;
    let scattered = a.col_stride != 1 && a.row_stride != 1;
    if a.rows == 0 || a.cols == 0 || !(crowded || scattered) {
        return a;
    }
    let dense = scratch.at_least(a.rows * a.cols);
    pack::rows(a, dense);
    MatRef::row_major(dense, a.rows, a.cols)
}

/// The size of a block when `length` is cut into equal ones of at most `most`.
fn even_block(length: usize, most: usize) -> usize {
    length.div_ceil(length.div_ceil(most).max(1)).max(1)
}

/// An output whose columns are not neighbours: each tile is computed in a small dense buffer and copied out.
///
/// # Safety
/// As for [`kernel::multiply`], with `out` as the output.
unsafe fn scattered(isa: Isa, block: &Block<f32>, out: Out) {
    let mut dense = [0.0f32; MOST_ROWS * PANEL];
    for tile in 0..block.rows.div_ceil(block.tile_rows) {
        let rows = block.tile_rows.min(block.rows - tile * block.tile_rows);
        for column in (0..block.columns).step_by(PANEL) {
            let columns = PANEL.min(block.columns - column);
            let places = (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c)));
            // SAFETY: the tile and the columns lie in the block, and the dense buffer holds MOST_ROWS x PANEL outputs.
            unsafe {
                let out = out.from(tile * block.tile_rows, column);
                for (r, c) in places.clone() {
                    dense[r * PANEL + c] = *out.from(r, c).data;
                }
                let one = Block {
                    x: block.x.add(tile * block.tile_rows * block.x_row),
                    rows,
                    w: block.w.add(column / PANEL * block.w_panel),
                    out: dense.as_mut_ptr(),
                    out_row: PANEL,
                    columns,
                    ..*block
                };
                kernel::multiply(isa, &one);
                for (r, c) in places {
                    *out.from(r, c).data = dense[r * PANEL + c];
                }
            }
        }
    }
}
