//! The time of a scheduler: the machine's clock, or a clock that a test advances.
//!
//! The decisions of a scheduler depend on the time. With the machine's clock its tests would have to wait, and would
//! fail on a busy machine. So the scheduler gets a [`Clock`] as an argument. On the [`VirtualClock`] an hour of traffic
//! passes in a millisecond, and the same input gives the same times on every machine.

use std::time::{Duration, Instant};

// ANCHOR: clock
/// A clock that starts at zero and never goes back.
pub trait Clock {
    /// Time since the start.
    fn now(&self) -> Duration;

    /// Returns when [`Clock::now`] is at least `at`; at once if `at` has passed.
    fn wait_until(&mut self, at: Duration);
}
// ANCHOR_END: clock

/// A clock that moves only in its own functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtualClock {
    now: Duration,
}

impl VirtualClock {
    /// A clock at zero.
    pub fn new() -> VirtualClock {
        VirtualClock::default()
    }

    /// Lets `time` pass: the time that some work would have taken.
    pub fn advance(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
    }
}

// ANCHOR: virtual
impl Clock for VirtualClock {
    fn now(&self) -> Duration {
        self.now
    }

    fn wait_until(&mut self, at: Duration) {
        self.now = self.now.max(at);
    }
}
// ANCHOR_END: virtual

/// The machine's monotonic clock: work takes its own time, waiting sleeps.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    start: Instant,
}

impl WallClock {
    /// A clock that starts now.
    pub fn start() -> WallClock {
        WallClock { start: Instant::now() }
    }
}

/// A sleep may end this much late, so the last part of a wait is a loop that reads the clock.
const SPIN: Duration = Duration::from_micros(200);

impl Clock for WallClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn wait_until(&mut self, at: Duration) {
        loop {
            let left = at.saturating_sub(self.now());
            if left.is_zero() {
                return;
            }
            match left.checked_sub(SPIN) {
                Some(long) if !long.is_zero() => std::thread::sleep(long),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_clock_moves_only_in_its_functions_and_never_back() {
        let mut clock = VirtualClock::new();
        clock.advance(Duration::from_millis(5));
        clock.wait_until(Duration::from_millis(3));
        assert_eq!(clock.now(), Duration::from_millis(5));
        clock.wait_until(Duration::from_secs(3600));
        assert_eq!(clock.now(), Duration::from_secs(3600));
    }
}
