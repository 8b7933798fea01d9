//! This machine's two limits: how many multiply-adds it can do and how many bytes it can read, per second.
//!
//! Every fraction that the workbook prints is of a limit measured here, in the same run. Both loops are as simple as a loop can
//! be: sums that never leave the registers, and loads whose values are only added up. A neighbour on the machine can only make a round
//! slower, so the best of several short rounds is taken.

use crate::aligned::Aligned;
use crate::lanes::{Lanes, ScalarLanes};
use crate::pool::Pool;
use crate::simd::Isa;
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

/// Floating-point operations per second of all threads of the pool together, f32, fastest instruction set; a multiply-add counts
/// as two. Takes about 0.1 s.
pub fn peak_flops(pool: &Pool) -> f64 {
    peak_flops_with(Isa::detect(), pool)
}

/// [`peak_flops`] of a chosen instruction set.
///
/// # Panics
/// If this machine does not have it.
pub fn peak_flops_with(isa: Isa, pool: &Pool) -> f64 {
    assert!(isa.is_available(), "this machine has no {}", isa.name());
    // About two milliseconds a round: long beside the start of a job, short beside a scheduler's time slice.
    let steps = if isa == Isa::Scalar { 20_000 } else { 500_000 };
    let work = (2 * SUMS * isa.lanes() * steps * pool.num_threads()) as f64;
    let best = best_seconds(40, || {
        pool.run(pool.num_threads(), &|_| {
            // SAFETY: availability was checked.
            black_box(unsafe { multiply_add(isa, black_box(steps)) });
        });
    });
    work / best
}

/// Bytes per second that the threads of the pool read together from a buffer of `bytes`, each its own part, first to last.
/// Small buffers are read often enough that they come from the cache that holds them. Takes about 0.2 s for 100 MB.
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
    // Equal pages may be shared by the system or compressed in transit: let no two be equal.
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
                // SAFETY: `detect` names what the machine has.
                black_box(unsafe { read(isa, black_box(part)) });
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

/// Independent sums of the peak loop: more than latency (4 cycles) times units (2, on some cores 4), fewer than registers.
const SUMS: usize = if cfg!(target_arch = "aarch64") { 20 } else { 12 };

#[inline(always)]
unsafe fn multiply_add_loop<L: Lanes>(steps: usize) -> f32 {
    // SAFETY: the caller has the instruction set; the array holds a register.
    unsafe {
        let mut sums = [L::splat(black_box(1.0)); SUMS];
        let (factor, term) = (L::splat(black_box(0.999)), L::splat(black_box(0.001)));
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = L::fma(*sum, factor, term);
            }
        }
        first_of_sum::<L>(sums)
    }
}

/// Numbers per step of the reading loop.
const STEP: usize = 8 * 16;

#[inline(always)]
unsafe fn read_loop<L: Lanes>(numbers: &[f32]) -> f32 {
    // SAFETY: the caller has the instruction set; loads lie inside the chunk.
    unsafe {
        let one = L::splat(1.0);
        let mut sums = [L::zero(); 8];
        for chunk in numbers.chunks_exact(STEP) {
            for at in (0..STEP).step_by(8 * L::N) {
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum = L::fma(L::load(chunk.as_ptr().add(at + i * L::N)), one, *sum);
                }
            }
        }
        first_of_sum::<L>(sums)
    }
}

#[inline(always)]
unsafe fn first_of_sum<L: Lanes>(sums: impl IntoIterator<Item = L::V>) -> f32 {
    // SAFETY: the caller has the instruction set; a register holds at most 16 numbers.
    unsafe {
        let one = L::splat(1.0);
        let total = sums.into_iter().fold(L::zero(), |total, sum| L::fma(sum, one, total));
        let mut numbers = [0.0; 16];
        L::store(numbers.as_mut_ptr(), total);
        numbers[0]
    }
}

/// # Safety
/// The machine has the instruction set.
unsafe fn multiply_add(isa: Isa, steps: usize) -> f32 {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512(steps: usize) -> f32 {
        // SAFETY: this function has the instruction set.
        unsafe { multiply_add_loop::<crate::lanes::Avx512Lanes>(steps) }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2(steps: usize) -> f32 {
        // SAFETY: this function has the instruction set.
        unsafe { multiply_add_loop::<crate::lanes::Avx2Lanes>(steps) }
    }
    // SAFETY: the caller's.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512(steps),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2(steps),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => multiply_add_loop::<crate::lanes::NeonLanes>(steps),
            _ => multiply_add_loop::<ScalarLanes>(steps),
        }
    }
}

/// # Safety
/// The machine has the instruction set.
unsafe fn read(isa: Isa, numbers: &[f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512(numbers: &[f32]) -> f32 {
        // SAFETY: this function has the instruction set.
        unsafe { read_loop::<crate::lanes::Avx512Lanes>(numbers) }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2(numbers: &[f32]) -> f32 {
        // SAFETY: this function has the instruction set.
        unsafe { read_loop::<crate::lanes::Avx2Lanes>(numbers) }
    }
    // SAFETY: the caller's.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512(numbers),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2(numbers),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => read_loop::<crate::lanes::NeonLanes>(numbers),
            _ => read_loop::<ScalarLanes>(numbers),
        }
    }
}
