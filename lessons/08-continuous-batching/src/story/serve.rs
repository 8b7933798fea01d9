//! Requests that come one by one, served by the engine and by lesson 07's batches, on any clock.
//!
//! Arrivals are times set beforehand. A latency counts from the arrival, not from the moment at which the machine had time to look.

use super::load::Job;
use anyhow::Context;
use continuous_batching::{Delivery, Engine, Event, Memory, Runner};
use static_batching::clock::Clock;
use std::time::Duration;

/// What happened to a request, and when. Times since the start of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When it came.
    pub arrived: Duration,
    /// Its first token.
    pub first: Duration,
    /// Its own last token.
    pub last: Duration,
    /// When its answer was handed back: at the end of its batch, where there are batches.
    pub returned: Duration,
}

impl Times {
    /// From the arrival to the answer.
    pub fn latency(&self) -> Duration {
        self.returned.saturating_sub(self.arrived)
    }

    /// From the arrival to the last token.
    pub fn written(&self) -> Duration {
        self.last.saturating_sub(self.arrived)
    }

    /// Time to first token, from the arrival.
    pub fn ttft(&self) -> Duration {
        self.first.saturating_sub(self.arrived)
    }
}

/// Serves all jobs with the engine: whoever has come by now is submitted before each step. `after_step` lets time pass on a clock that does not
/// move by itself. Returns one entry for each job.
pub fn serve<C: Clock, R: Runner, M: Memory>(
    engine: &mut Engine<R, M>,
    clock: &mut C,
    arrivals: &[Duration],
    jobs: &[Job],
    after_step: &mut dyn FnMut(&mut C),
) -> anyhow::Result<Vec<Times>> {
    let mut times: Vec<Times> = Vec::with_capacity(jobs.len());
    let (mut first_id, mut heard) = (None, Vec::new());
    loop {
        while let Some(arrived) = arrivals.get(times.len()).filter(|at| **at <= clock.now()) {
            let job = &jobs[times.len()];
            let id = engine.submit(&job.prompt, job.new_tokens)?;
            first_id.get_or_insert(id.0);
            times.push(Times {
                arrived: *arrived,
                ..Times::default()
            });
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
        after_step(clock);
        let now = clock.now();
        for (id, is_end) in &heard {
            let index = id.0 - first_id.context("somebody was submitted")?;
            note(&mut times[index as usize], now, *is_end);
        }
    }
}

fn note(times: &mut Times, now: Duration, is_end: bool) {
    if is_end {
        times.returned = now;
        return;
    }
    if times.first.is_zero() {
        times.first = now;
    }
    times.last = now;
}

#[cfg(test)]
mod tests {
    use super::*;
    use continuous_batching::runner::NoModel;
    use continuous_batching::{EngineLimits, Slots};
    use static_batching::clock::VirtualClock;
    use static_batching::percentile::percentile;
    use static_batching::plan::{StepRequest, static_plan};
    use static_batching::workload::{Lengths, Pace, arrivals};
    use training::TokenId;

    const SLOTS: usize = 8;

    fn engine() -> Engine<NoModel, Slots> {
        let limits = EngineLimits {
            max_running: SLOTS,
            max_new_tokens: usize::MAX,
            max_seq_len: 1024,
            vocab_size: 1,
            end_of_text: Vec::new(),
        };
        Engine::new(NoModel::new(1), Slots::new(SLOTS, 1024), limits)
    }

    fn jobs_of(lengths: &[(usize, usize)]) -> Vec<Job> {
        let job = |(prompt_tokens, new_tokens): &(usize, usize)| Job {
            prompt: vec![TokenId(0); *prompt_tokens],
            new_tokens: *new_tokens,
        };
        lengths.iter().map(job).collect()
    }

    /// One step takes a millisecond.
    fn on_virtual_clock(at: &[Duration], jobs: &[Job]) -> Vec<Times> {
        let mut step = |clock: &mut VirtualClock| clock.advance(Duration::from_millis(1));
        serve(&mut engine(), &mut VirtualClock::new(), at, jobs, &mut step).unwrap()
    }

    #[test]
    fn who_comes_while_others_run_joins_at_the_next_step() {
        let ms = Duration::from_millis;
        let at = [ms(0), Duration::from_micros(2500), ms(50)];
        let times = on_virtual_clock(&at, &jobs_of(&[(4, 10), (4, 2), (4, 1)]));
        assert_eq!((times[0].first, times[0].returned), (ms(1), ms(10)));
        // The step that runs when it comes ends at 3 ms; its own first step after that.
        assert_eq!((times[1].first, times[1].returned), (ms(4), ms(5)));
        assert_eq!((times[2].arrived, times[2].returned), (ms(50), ms(51)));
    }

    /// C2 and C4 in steps, with equal time a step for both: a short request neither waits for the end of a batch that it came too late for, nor for the longest of its own.
    #[test]
    fn the_tail_of_short_requests_is_shorter_than_with_batches() {
        let lengths = Lengths::Mix {
            prompt: (16, 64),
            new: (8, 48),
        };
        let stream = arrivals(5, 4000, &lengths, &Pace::Poisson { per_second: 110.0 });
        let at: Vec<Duration> = stream.iter().map(|a| a.at).collect();
        let pairs: Vec<(usize, usize)> = stream.iter().map(|a| (a.prompt_tokens, a.new_tokens)).collect();
        let continuous = on_virtual_clock(&at, &jobs_of(&pairs));
        let requests: Vec<StepRequest> = stream
            .iter()
            .map(|a| StepRequest {
                arrives: a.at.as_millis() as u64,
                prompt_tokens: a.prompt_tokens,
                new_tokens: a.new_tokens,
            })
            .collect();
        let plan = static_plan(&requests, SLOTS);
        let is_short = |index: &usize| pairs[*index] == (16, 8);
        let short: Vec<usize> = (0..pairs.len()).filter(is_short).collect();
        let p99 = |latency: &dyn Fn(usize) -> u64| {
            percentile(&short.iter().map(|i| latency(*i)).collect::<Vec<u64>>(), 99.0).unwrap()
        };
        let in_batches = p99(&|i| plan.outcomes[i].returned - requests[i].arrives);
        let in_engine = p99(&|i| continuous[i].latency().as_millis() as u64);
        assert!(in_batches > 3 * in_engine, "P99 {in_batches} and {in_engine} steps");
        let waits = p99(&|i| continuous[i].ttft().as_millis() as u64);
        assert!(waits < 20, "P99 of the first token: {waits} steps");
    }
}
