//! Rows of a matrix written by several threads, each row by one.

use layout::pool::Pool;
use std::marker::PhantomData;

/// A matrix `[rows, width]` that tasks on several threads write, each its own rows.
pub struct SharedRows<'a> {
    data: *mut f32,
    rows: usize,
    width: usize,
    borrow: PhantomData<&'a mut [f32]>,
}

// SAFETY: the only way to the data is `row`, whose caller promises that no row is used twice at a time.
unsafe impl Sync for SharedRows<'_> {}

impl<'a> SharedRows<'a> {
    /// Borrows a matrix. Shape: `data` `[rows, width]`.
    ///
    /// # Panics
    /// If `data` is no whole number of rows.
    pub fn new(data: &'a mut [f32], width: usize) -> SharedRows<'a> {
        assert!(data.len().is_multiple_of(width));
        SharedRows {
            data: data.as_mut_ptr(),
            rows: data.len() / width,
            width,
            borrow: PhantomData,
        }
    }

    /// A row, to be written.
    ///
    /// # Safety
    /// No other slice of this row is alive.
    ///
    /// # Panics
    /// If there is no such row.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn row(&self, row: usize) -> &mut [f32] {
        assert!(row < self.rows);
        // SAFETY: the row lies within the borrowed slice, and the caller promises to have it alone.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(row * self.width), self.width) }
    }
}

/// Rows that a task takes at least: below that, handing out a task costs more than it saves.
const MIN_ROWS: usize = 4;

/// Calls `work(row, row of matrix)` for each row of `matrix` `[rows, width]`, on all threads of the pool.
///
/// # Panics
/// If `matrix` is no whole number of rows.
pub fn for_each_row(pool: &Pool, matrix: &mut [f32], width: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
    let shared = SharedRows::new(matrix, width);
    let rows = shared.rows;
    let rows_per_task = rows.div_ceil(4 * pool.num_threads()).max(MIN_ROWS);
    pool.run(rows.div_ceil(rows_per_task), &|task| {
        for row in task * rows_per_task..((task + 1) * rows_per_task).min(rows) {
            // SAFETY: each row belongs to one task, and each task runs once.
            work(row, unsafe { shared.row(row) });
        }
    });
}
