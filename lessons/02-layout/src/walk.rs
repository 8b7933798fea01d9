//! Walks over a large array that differ only in their steps.
//!
//! The sums are of integers: they may be added in any order, so the compiler may use vector instructions, and memory
//! alone decides.

/// Adds up every `stride`-th number. Cost: one line of 64 bytes per number as soon as the stride is 16 or more.
///
/// # Panics
/// If the stride is zero.
pub fn sum_strided(numbers: &[u32], stride: usize) -> u32 {
    if stride == 1 {
        return sum(numbers);
    }
    numbers.iter().step_by(stride).fold(0, |sum, &x| sum.wrapping_add(x))
}

/// Adds up runs of `run` neighbours that begin every `period` numbers: `run` = `period` reads everything, in order.
///
/// # Panics
/// If the period is zero or the run longer than it.
pub fn sum_runs(numbers: &[u32], run: usize, period: usize) -> u32 {
    assert!(run <= period, "a run of {run} does not fit into a period of {period}");
    numbers
        .chunks_exact(period)
        .fold(0, |total, chunk| total.wrapping_add(sum(&chunk[..run])))
}

/// Adds up runs of `run` neighbours at the given places, in that order.
///
/// # Panics
/// If a run reaches past the numbers.
pub fn sum_runs_at(numbers: &[u32], run: usize, places: &[u32]) -> u32 {
    places.iter().fold(0, |total, &place| {
        let place = place as usize;
        total.wrapping_add(sum(&numbers[place..place + run]))
    })
}

/// The places of all `count` runs of `run` neighbours, in an order that no prefetcher guesses (the same one each time).
pub fn shuffled_places(count: usize, run: usize) -> Vec<u32> {
    let mut places: Vec<u32> = (0..count)
        .map(|i| u32::try_from(i * run).expect("an array of less than 16 GiB"))
        .collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for i in (1..count).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        places.swap(i, ((state >> 33) as usize) % (i + 1));
    }
    places
}

#[inline]
fn sum(numbers: &[u32]) -> u32 {
    numbers.iter().fold(0, |sum, &x| sum.wrapping_add(x))
}
