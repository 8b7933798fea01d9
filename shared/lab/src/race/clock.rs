//! The clock of a race: the machine's, or a test's.

use std::time::{Duration, Instant};

/// Measures one call. Tests bring their own, so that no test depends on the real time.
pub trait Clock {
    /// Time since any fixed moment; never goes back.
    fn now(&mut self) -> Duration;
}

/// The machine's monotonic clock.
#[derive(Debug)]
pub struct WallClock(Instant);

impl Default for WallClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for WallClock {
    fn now(&mut self) -> Duration {
        self.0.elapsed()
    }
}
