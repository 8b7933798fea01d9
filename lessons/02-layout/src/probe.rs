//! This machine's two limits: how many multiply-adds it can do and how many bytes it can read, per second.
//!
//! Every fraction that the workbook prints is of a limit measured here, in the same run. Both loops are as simple as a
//! loop can be: sums that never leave the registers, and loads whose values are only added up. Other work on the
//! machine can only make a round slower, so the best of several short rounds is taken.

use crate::aligned::Aligned;
use crate::lanes::{LANES, Lanes};
use crate::pool::Pool;
use crate::simd::{Isa, Kernel};
use std::hint::black_box;
use std::time::Instant;

/// Whether large memory is asked for in pages of 2 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Ask for 2 MiB pages; the operating system may refuse.
    Huge,
    /// Take what comes, usually 4 KiB.
    Usual,
}

/// Floating-point operations per second of all threads of the pool together, f32, fastest instruction set; a
/// multiply-add counts as two. Takes about 0.1 s.
pub fn peak_flops(pool: &Pool) -> f64 {
    peak_flops_with(Isa::detect(), pool)
}

/// [`peak_flops`] of a chosen instruction set.
///
/// # Panics
/// If this machine does not have it.
pub fn peak_flops_with(isa: Isa, pool: &Pool) -> f64 {
    // About two milliseconds a round: long beside the start of a job, short beside a scheduler's time slice.
    let steps = if isa == Isa::Scalar { 20_000 } else { 500_000 };
    let work = (2 * SUMS * isa.lanes() * steps * pool.num_threads()) as f64;
    let best = best_seconds(40, || {
        pool.run(pool.num_threads(), &|_| {
            black_box(isa.run(MultiplyAdds {
                steps: black_box(steps),
            }));
        });
    });
    work / best
}

/// Bytes per second that the threads of the pool read together from a buffer of `bytes`, each its own part, first to
/// last. Small buffers are read often enough that they come from the cache that holds them. Takes about 0.2 s for 100
/// MB.
pub fn read_bandwidth(pool: &Pool, bytes: usize) -> f64 {
    read_bandwidth_with(pool, bytes, Pages::Huge)
}

/// [`read_bandwidth`] with a choice of pages.
pub fn read_bandwidth_with(pool: &Pool, bytes: usize, pages: Pages) -> f64 {
    let threads = pool.num_threads();
    // Whole steps of the reading loop per thread.
    let part = (bytes / size_of::<f32>() / threads).next_multiple_of(STEP).max(STEP);
    let mut numbers = match pages {
        Pages::Huge => Aligned::<f32>::zeros(part * threads),
        Pages::Usual => Aligned::zeros_on_small_pages(part * threads),
    };
    // The system may share equal pages or compress them in transit, so all pages are made different.
    for (i, page) in numbers.chunks_mut(1024).enumerate() {
        page[0] = i as f32;
    }
    let passes = (16 << 20) / (4 * part * threads).max(1);
    let passes = passes.clamp(1, 4096);
    let isa = Isa::detect();
    let best = best_seconds(9, || {
        pool.run(threads, &|thread| {
            let part = &numbers[thread * part..(thread + 1) * part];
            for _ in 0..passes {
                black_box(isa.run(Reads {
                    numbers: black_box(part),
                }));
            }
        });
    });
    (4 * part * threads * passes) as f64 / best
}

fn best_seconds(rounds: usize, mut work: impl FnMut()) -> f64 {
    (0..rounds)
        .map(|_| {
            let begin = Instant::now();
            work();
            begin.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Independent sums of the peak loop: more than latency (4 cycles) times units (2, on some cores 4), fewer than
/// registers.
const SUMS: usize = if cfg!(target_arch = "aarch64") { 20 } else { 12 };

/// The loop of the peak: sums that stay in registers.
struct MultiplyAdds {
    steps: usize,
}

impl Kernel for MultiplyAdds {
    type Output = f32;
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> f32 {
        let mut sums = [lanes.splat(black_box(1.0)); SUMS];
        let (factor, term) = (lanes.splat(black_box(0.999)), lanes.splat(black_box(0.001)));
        for _ in 0..self.steps {
            for sum in &mut sums {
                *sum = lanes.fma(*sum, factor, term);
            }
        }
        first_of_sum(lanes, &sums)
    }
}

/// Numbers per step of the reading loop.
const STEP: usize = 8 * 16;

/// The loop of the bandwidth: each number is loaded and added to a sum.
struct Reads<'a> {
    numbers: &'a [f32],
}

impl Kernel for Reads<'_> {
    type Output = f32;
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> f32 {
        let one = lanes.splat(1.0);
        let mut sums = [lanes.splat(0.0); 8];
        for chunk in self.numbers.chunks_exact(STEP) {
            for at in (0..STEP).step_by(8 * L::N) {
                for (i, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: the loads lie inside the chunk.
                    *sum = unsafe { lanes.fma(lanes.load(chunk.as_ptr().add(at + i * L::N)), one, *sum) };
                }
            }
        }
        first_of_sum(lanes, &sums)
    }
}

/// Adds the sums up, so that all of them are needed, and returns one lane.
#[inline(always)]
fn first_of_sum<L: Lanes>(lanes: L, sums: &[L::V]) -> f32 {
    let mut total = lanes.splat(0.0);
    for sum in sums {
        total = lanes.add(*sum, total);
    }
    let mut numbers = [0.0; LANES];
    // SAFETY: the array holds a register.
    unsafe { lanes.store(numbers.as_mut_ptr(), total) };
    numbers[0]
}
