//! Lesson 02: why does equal arithmetic take unequal time?
//!
//! Five ways to multiply two matrices do the same multiply-adds and differ in speed by a factor of several hundred.
//! What differs is where the numbers lie and in which order they are read. The lesson first separates *what* a tensor
//! is (shape) from *where* its elements lie (strides, offset), shows that views are free and reading pays, and then
//! climbs a ladder of matrix products, each rung bit for bit equal to the naive one.
//!
//! **New here**, in reading order:
//!
//! | module | what |
//! |---|---|
//! | [`exercises`] | the functions that a learner writes; everything below calls them |
//! | [`layout`], [`view`], [`matrix`] | shape, strides, offset; transpose, permute, slice, broadcast, reshape |
//! | [`lines`], [`walk`] | a model of a cache that counts lines; walks with steps and gaps (claim T2) |
//! | [`grid`], [`dense`], [`ladder`] | matrices that the simple loops can read; naive, reordered, blocked (claim T1) |
//! | [`simd`], [`lanes`] | vector instructions by run-time detection: the one layer that all kernels of the workbook use |
//! | `kernel`, [`row`], [`exp`](mod@exp) | the register tile; sums over a row; the exponential function |
//! | [`aligned`], [`packed`] | memory on huge pages; weights in panels: the brick of inference |
//! | `pack`, [`gemm`] | panels made on the fly: the brick of training |
//! | [`pool`] | the threads that all later lessons use |
//! | [`convert`] | bf16 widened in and out of the loop (claim T3) |
//! | [`probe`], [`company`] | the machine's measured limits; other libraries to race with |
//! | [`costs`] | what one call of each exercise costs, counted |
//!
//! **Imported:** nothing but the standard library; `ndarray` and the `gemm` crate only race for company.
//!
//! **Cost:** a product of `[m, k]` and `[k, n]` is m·n·k multiply-adds. With weights in memory it also reads all k·n of
//! them, once for all rows: with one row that bounds the time, with many rows arithmetic does, and in between rows ride
//! almost free.
//!
//! **Promise to later lessons** (rule 5): an output's bits depend on its row of x and its row of W only, never on the
//! number of rows, the threads or the instruction set. One accumulator per output, k ascending, fused multiply-add
//! everywhere.

pub mod exercises;
pub mod layout;
pub mod matrix;
pub mod view;

pub mod lines;
pub mod walk;

pub mod dense;
pub mod grid;
pub mod ladder;

pub mod exp;
mod kernel;
pub mod lanes;
pub mod row;
pub mod simd;

pub mod aligned;
pub mod packed;

pub mod gemm;
mod pack;

pub mod pool;

pub mod company;
pub mod convert;
pub mod probe;

pub mod costs;
