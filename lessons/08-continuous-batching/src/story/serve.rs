//! Requests that come one by one, served by the engine on any clock.
//!
//! Arrivals are times set beforehand. A latency counts from the arrival, not from the moment at which the engine looked
//! at it.

use continuous_batching::{Batch, Delivery, Engine, Event, Memory, Runner};
use static_batching::clock::Clock;
use std::time::Duration;
use training::TokenId;

/// What happened to a request, and when. Times since the start of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Time at which it came.
    pub arrived: Duration,
    /// Time of its first token.
    pub first: Duration,
    /// Time at which its answer was returned: at the end of its batch, where there are batches.
    pub returned: Duration,
}

impl Times {
    /// A request that has got nothing yet.
    pub fn of_arrival(arrived: Duration) -> Times {
        Times {
            arrived,
            ..Times::default()
        }
    }

    /// A token came.
    pub fn token(&mut self, now: Duration) {
        if self.first.is_zero() {
            self.first = now;
        }
    }

    /// From the arrival to the answer.
    pub fn latency(&self) -> Duration {
        self.returned.saturating_sub(self.arrived)
    }

    /// Time to first token, from the arrival.
    pub fn ttft(&self) -> Duration {
        self.first.saturating_sub(self.arrived)
    }
}

/// Serves all requests, each a prompt and a number of new tokens: before each step the engine gets those that have
/// arrived. `after_step` sees what the step computed, and lets time pass on a clock that does not move by itself. The engine is new: its first request
/// has number 0. Returns one entry for each request.
pub fn serve<'p, C: Clock, R: Runner, M: Memory>(
    engine: &mut Engine<R, M>,
    clock: &mut C,
    arrivals: &[Duration],
    request: impl Fn(usize) -> (&'p [TokenId], usize),
    after_step: &mut dyn FnMut(&mut C, &Batch),
) -> anyhow::Result<Vec<Times>> {
    let mut times: Vec<Times> = Vec::with_capacity(arrivals.len());
    let mut heard = Vec::new();
    loop {
        while let Some(arrived) = arrivals.get(times.len()).filter(|at| **at <= clock.now()) {
            let (prompt, new_tokens) = request(times.len());
            engine.submit(prompt, new_tokens)?;
            times.push(Times::of_arrival(*arrived));
        }
        if engine.is_idle() {
            match arrivals.get(times.len()) {
                Some(next) => clock.wait_until(*next),
                None => return Ok(times),
            }
            continue;
        }
        heard.clear();
        engine.step(&mut |event| {
            heard.push((event.id(), matches!(event, Event::Finished { .. })));
            Delivery::Taken
        })?;
        after_step(clock, &engine.batch);
        let now = clock.now();
        for (id, is_end) in &heard {
            let times = &mut times[id.0 as usize];
            match is_end {
                true => times.returned = now,
                false => times.token(now),
            }
        }
    }
}
