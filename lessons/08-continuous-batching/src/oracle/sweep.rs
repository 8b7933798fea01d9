//! What the sweeps of generated plans share: how many cases, on how many threads, and what a failed one says.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Number of cases of a sweep: that of the variable `ORACLE_CASES` if it is set, else the usual number.
pub fn num_cases(usual: u32) -> u32 {
    let wanted = std::env::var("ORACLE_CASES").ok();
    let wanted = wanted.and_then(|cases| cases.parse().ok());
    wanted.unwrap_or(usual)
}

/// Plays a case. A panic is returned as its message, so that a smaller case that fails can be searched for.
///
/// # Errors
/// What the panic said.
pub fn caught<T>(play: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(play)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        text.unwrap_or_else(|| "a panic without words".to_owned())
    })
}

/// Runs four quarters of a sweep, numbered 1 to 4, each on its own thread. Returns the sums of their counts.
///
/// # Panics
/// If one of them does.
pub fn in_quarters<const N: usize>(quarter: impl Fn(u8) -> [u64; N] + Sync) -> [u64; N] {
    std::thread::scope(|scope| {
        let quarter = &quarter;
        let running: Vec<_> = (1..=4).map(|number| scope.spawn(move || quarter(number))).collect();
        let mut totals = [0; N];
        for one in running {
            let counts = one.join().unwrap_or_else(|panic| resume_unwind(panic));
            // The quarters count on their own; their sums are those of the sweep.
            for (total, count) in totals.iter_mut().zip(counts) {
                *total += count;
            }
        }
        totals
    })
}
