//! A stream of requests, served in batches.
//!
//! ```text
//! until all are served:
//!     who has come by now and was not served yet?
//!     decide:  start a batch | wait until its deadline, or the next arrival | wait for the next arrival
//! ```
//!
//! Arrivals are times set beforehand: requests do not come later because the machine is slow, and a wait counts from the moment at which
//! the request came. Who comes during a batch waits for its end.

use crate::clock::Clock;
use crate::error::BatchError;
use crate::window::decide;
use serde::Serialize;
use std::ops::Range;
use std::time::Duration;

/// How long to wait for company, and how much of it there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    max_batch: usize,
    max_wait: Duration,
}

impl Window {
    /// At most `max_batch` requests in a batch, and none of them waits longer than `max_wait` for others while the machine is idle.
    ///
    /// # Errors
    /// [`BatchError::NoRoom`] for a batch of none.
    pub fn new(max_batch: usize, max_wait: Duration) -> Result<Window, BatchError> {
        match max_batch {
            0 => Err(BatchError::NoRoom),
            _ => Ok(Window { max_batch, max_wait }),
        }
    }

    /// Most requests of a batch.
    pub fn max_batch(&self) -> usize {
        self.max_batch
    }

    /// Longest wait for others.
    pub fn max_wait(&self) -> Duration {
        self.max_wait
    }
}

// ANCHOR: decision
/// What an idle machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Computes a batch of so many of the oldest requests.
    Start(usize),
    /// Waits for company until this moment, or the next arrival.
    WaitUntil(Duration),
    /// Nobody is there.
    Idle,
}
// ANCHOR_END: decision

/// What became of one request. Times since the start of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Served {
    /// When it came.
    pub arrived: Duration,
    /// When its batch started.
    pub started: Duration,
    /// When its batch ended, and its answer with it.
    pub finished: Duration,
    /// Requests in its batch, itself included.
    pub batch_size: usize,
}

impl Served {
    /// From the arrival to the answer.
    pub fn latency(&self) -> Duration {
        self.finished.saturating_sub(self.arrived)
    }

    /// From the arrival to the start of its batch.
    pub fn waited(&self) -> Duration {
        self.started.saturating_sub(self.arrived)
    }
}

/// Serves all arrivals, first come first served; `run` computes a batch of the requests `ids`, and lets time pass on the clock: the real work
/// does so by itself, a virtual clock is advanced. Returns one entry for each request, in their order.
///
/// # Errors
/// The first one of `run`.
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
                assert!((1..=here).contains(&count), "a batch of those who wait");
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
                clock.wait_until(next_arrival.map_or(at, |next| at.min(next)));
            }
            Decision::Idle => {
                let next = next_arrival.expect("somebody waits, or somebody will come");
                clock.wait_until(next);
            }
        }
    }
    // ANCHOR_END: serve
    Ok(served)
}
