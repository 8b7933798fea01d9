//! The virtual machine of the experiments, and what comes to it.

use anyhow::Context;
use scheduling::policy::{Fcfs, Policy};
use scheduling::simulate::{Job, Outcome, Setup, Simulation, simulate};
use scheduling::{Class, Meta, TenantId};
use static_batching::percentile::percentile;
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};
use std::time::Duration;
use training::random::Random;

/// Requests at a time.
pub const PLACES: usize = 16;
/// Rows of a step, and of one prompt in it, where there is a budget.
pub const BUDGET: (usize, usize) = (256, 64);
/// A request is short up to these lengths of prompt and answer.
pub const SHORT: (usize, usize) = (64, 32);

/// A contender: its name, whether prompts are read in chunks, and its order of joining.
pub type Way = (&'static str, bool, fn() -> Box<dyn Policy>);

/// The machine: prompts whole, as in lesson 08, or in chunks.
pub fn machine(is_chunked: bool) -> Setup {
    let whole = Setup::new(PLACES, 1024);
    if is_chunked {
        return whole.with_budget(BUDGET.0, BUDGET.1);
    }
    whole
}

/// 60 % short prompt and answer, 30 % long answer, 10 % long prompt.
pub fn three_kinds() -> Lengths {
    Lengths::Mix {
        prompt: (64, 512),
        new: (32, 192),
    }
}

fn log_normal(mu: f64, sigma: f64, max: usize) -> Distribution {
    Distribution::LogNormal { mu, sigma, max }
}

/// The conversation trace of Azure 2023, all lengths divided by 16.
pub fn conversation() -> Lengths {
    Lengths::Independent {
        prompt: log_normal(6.63 - 16f64.ln(), 0.985, 800),
        new: log_normal(5.02 - 16f64.ln(), 0.86, 200),
    }
}

/// The code trace: the long prompts divided by 16, the short answers as they are.
pub fn code() -> Lengths {
    Lengths::Independent {
        prompt: log_normal(7.0 - 16f64.ln(), 1.36, 800),
        new: log_normal(2.79, 0.85, 200),
    }
}

/// One request of the first tenant.
pub fn job(at: Duration, class: u8, (prompt_tokens, new_tokens): (usize, usize)) -> Job {
    let class = Class(class);
    Job {
        at,
        meta: Meta {
            class,
            ..Meta::default()
        },
        prompt_tokens,
        new_tokens,
    }
}

/// Equal requests of one class that come at a mean rate, for a number of seconds.
pub fn stream(seed: u64, class: u8, lengths: (usize, usize), per_second: f64, seconds: f64) -> Vec<Job> {
    let count = (per_second * seconds) as usize;
    let equal = Lengths::equal(lengths.0, lengths.1);
    let arrivals = arrivals(seed, count, &equal, &Pace::Poisson { per_second });
    arrivals.iter().map(|arrival| job(arrival.at, class, lengths)).collect()
}

/// Requests of these lengths at a mean rate, in groups of `burst` at once. Tenant 0 sends 55 in a hundred, tenants 1 to
/// 3 send 15 each; prompts of more than a short one's length are less urgent.
pub fn jobs(seed: u64, count: usize, lengths: &Lengths, per_second: f64, burst: usize) -> Vec<Job> {
    let pace = Pace::Poisson {
        per_second: per_second / burst as f64,
    };
    let groups = arrivals(seed, count.div_ceil(burst), lengths, &pace);
    let one = |index: usize| {
        let of_it = lengths.at(seed, index as u64);
        let tenant = Random::at(&[seed, 11, index as u64]).unit();
        let mut job = job(groups[index / burst].at, u8::from(of_it.0 > SHORT.0), of_it);
        job.meta.tenant = TenantId(((tenant - 0.4).max(0.0) / 0.15) as u32);
        job
    };
    (0..count).map(one).collect()
}

/// Serves the jobs.
pub fn run(setup: &Setup, policy: Box<dyn Policy>, jobs: &[Job]) -> anyhow::Result<Simulation> {
    simulate(setup, policy, jobs).context("a job that the virtual machine can not hold")
}

/// Requests of these lengths that the chunked machine serves in a second when the queue is never empty.
pub fn capacity(seed: u64, lengths: &Lengths) -> anyhow::Result<f64> {
    let mut all = jobs(seed, 400, lengths, 1.0, 1);
    all.iter_mut().for_each(|job| job.at = Duration::ZERO);
    let done = run(&machine(true), Box::new(Fcfs), &all)?;
    Ok(all.len() as f64 / done.end.as_secs_f64())
}

/// Milliseconds.
pub fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A percentile of the times to the first token of some requests, in ms; 0 of none. A request that had no token by the
/// end has waited at least until then.
pub fn first_token_ms(done: &Simulation, jobs: &[Job], percent: f64, wanted: impl Fn(&Job) -> bool) -> f64 {
    let ttft = |outcome: &Outcome| outcome.ttft().unwrap_or(done.end.saturating_sub(outcome.arrived));
    let of_kind = done.outcomes.iter().zip(jobs).filter(|(_, job)| wanted(job));
    let times: Vec<Duration> = of_kind.map(|(outcome, _)| ttft(outcome)).collect();
    percentile(&times, percent).map_or(0.0, in_ms)
}
