//! A stream of requests, served in batches.
//!
//! ```text
//! until all are served:
//!     collect the requests that have arrived and are not served
//!     decide:  start a batch | wait until its deadline, or the next arrival | wait for the next arrival
//! ```
//!
//! Arrivals are times set beforehand: a slow machine does not delay them, and a wait counts from the arrival. A request
//! that arrives during a batch waits for its end.

use crate::clock::Clock;
pub use crate::parts::{Decision, Window};
use crate::window::decide;
use serde::Serialize;
use std::ops::Range;
use std::time::Duration;

/// The times of one served request, since the start of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Time of its arrival.
    pub arrived: Duration,
    /// Time at which its batch started.
    pub started: Duration,
    /// Time at which its batch ended and its answer was handed back.
    pub finished: Duration,
    /// Number of requests in its batch, itself included.
    pub batch_size: usize,
}

impl Served {
    /// Time from the arrival to the answer.
    pub fn latency(&self) -> Duration {
        self.finished.saturating_sub(self.arrived)
    }

    /// Time from the arrival to the start of its batch.
    pub fn waited(&self) -> Duration {
        self.started.saturating_sub(self.arrived)
    }
}

/// Serves all arrivals, first come first served. `run` computes a batch of the requests `ids` and lets time pass on the
/// clock: on the machine's clock the work does so by itself, a virtual clock is advanced. Returns one entry for each
/// request, in their order.
///
/// # Errors
/// The first error of `run`.
///
/// # Panics
/// If `arrivals` are not in order.
pub fn serve<C: Clock, E>(
    clock: &mut C,
    arrivals: &[Duration],
    window: &Window,
    run: &mut impl FnMut(&mut C, Range<usize>) -> Result<(), E>,
) -> Result<Vec<Served>, E> {
    assert!(arrivals.is_sorted());
    let mut served = Vec::with_capacity(arrivals.len());
    // ANCHOR: serve
    while served.len() < arrivals.len() {
        let (now, first) = (clock.now(), served.len());
        let here = arrivals[first..].partition_point(|at| *at <= now);
        let next_arrival = arrivals.get(first + here).copied();
        match decide(now, &arrivals[first..first + here], window) {
            Decision::Start(count) => {
                assert!((1..=here).contains(&count), "a batch of waiting requests");
                run(clock, first..first + count)?;
                let finished = clock.now();
                served.extend(arrivals[first..first + count].iter().map(|arrived| Served {
                    arrived: *arrived,
                    started: now,
                    finished,
                    batch_size: count,
                }));
            }
            Decision::WaitUntil(at) => {
                assert!(at > now, "a wait ends in the future");
                // An arrival may fill the batch before the deadline.
                clock.wait_until(next_arrival.map_or(at, |next| at.min(next)));
            }
            Decision::Idle => {
                let next = next_arrival.expect("without waiting requests there is a next arrival");
                clock.wait_until(next);
            }
        }
    }
    // ANCHOR_END: serve
    Ok(served)
}
