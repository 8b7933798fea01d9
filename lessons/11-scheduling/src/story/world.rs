//! The virtual machine of the experiments, and what comes to it.

use anyhow::Context;
use scheduling::policy::Policy;
use scheduling::simulate::{Job, Outcome, Setup, Simulation, simulate};
use scheduling::{Class, Meta, TenantId};
use static_batching::percentile::percentile;
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};
use std::time::Duration;
use training::random::Random;

/// Requests at a time.
pub const PLACES: usize = 16;
/// Tokens of one request at most.
pub const CONTEXT: usize = 1024;
/// Rows of a step, where there is a budget.
pub const BUDGET: usize = 256;
/// Rows of one prompt in it.
pub const CHUNK: usize = 64;
/// A request is short up to these lengths of prompt and answer.
pub const SHORT: (usize, usize) = (64, 32);

/// Lesson 08's steps: prompts whole.
pub fn whole() -> Setup {
    Setup::new(PLACES, CONTEXT)
}

/// Steps with a budget, prompts in chunks.
pub fn chunked() -> Setup {
    whole().with_budget(BUDGET, CHUNK)
}

/// 60 % short prompt and answer, 30 % long answer, 10 % long prompt.
pub fn three_kinds() -> Lengths {
    Lengths::Mix {
        prompt: (64, 512),
        new: (32, 192),
    }
}

/// The conversation trace of Azure 2023, all lengths divided by 16.
pub fn conversation() -> Lengths {
    Lengths::Independent {
        prompt: Distribution::LogNormal {
            mu: 6.63 - 16f64.ln(),
            sigma: 0.985,
            max: 800,
        },
        new: Distribution::LogNormal {
            mu: 5.02 - 16f64.ln(),
            sigma: 0.86,
            max: 200,
        },
    }
}

/// The code trace: the long prompts divided by 16, the short answers as they are.
pub fn code() -> Lengths {
    Lengths::Independent {
        prompt: Distribution::LogNormal {
            mu: 7.0 - 16f64.ln(),
            sigma: 1.36,
            max: 800,
        },
        new: Distribution::LogNormal {
            mu: 2.79,
            sigma: 0.85,
            max: 200,
        },
    }
}

/// Requests of these lengths at a mean rate, in groups of `burst` at once. Tenant 0 sends 55 in a hundred, tenants 1 to
/// 3 send 15 each; prompts of more than a short one's length are less urgent.
pub fn jobs(seed: u64, count: usize, lengths: &Lengths, per_second: f64, burst: usize) -> Vec<Job> {
    let pace = Pace::Poisson {
        per_second: per_second / burst as f64,
    };
    let groups = arrivals(seed, count.div_ceil(burst), lengths, &pace);
    (0..count)
        .map(|index| {
            let (prompt_tokens, new_tokens) = lengths.at(seed, index as u64);
            let tenant = Random::at(&[seed, 11, index as u64]).unit();
            Job {
                at: groups[index / burst].at,
                meta: Meta {
                    tenant: TenantId(((tenant - 0.4).max(0.0) / 0.15) as u32),
                    class: Class(u8::from(prompt_tokens > SHORT.0)),
                    ..Meta::default()
                },
                prompt_tokens,
                new_tokens,
            }
        })
        .collect()
}

/// Whether a request is a short one.
pub fn is_short(job: &Job) -> bool {
    job.prompt_tokens <= SHORT.0 && job.new_tokens <= SHORT.1
}

/// Serves the jobs.
pub fn run(setup: &Setup, policy: Box<dyn Policy>, jobs: &[Job]) -> anyhow::Result<Simulation> {
    simulate(setup, policy, jobs).context("a job that the virtual machine can not hold")
}

/// Requests of these lengths that the chunked machine serves in a second when the queue is never empty.
pub fn capacity(seed: u64, lengths: &Lengths) -> anyhow::Result<f64> {
    let mut all = jobs(seed, 400, lengths, 1.0, 1);
    for job in &mut all {
        job.at = Duration::ZERO;
    }
    let done = run(&chunked(), Box::new(scheduling::policy::Fcfs), &all)?;
    Ok(all.len() as f64 / done.end.as_secs_f64())
}

/// Milliseconds.
pub fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A percentile in milliseconds; 0 of nothing.
pub fn percentile_ms(times: &[Duration], percent: f64) -> f64 {
    percentile(times, percent).map_or(0.0, in_ms)
}

/// Times to the first token of some of the requests. A request that had none by the end has waited at least until then.
pub fn first_tokens<'a>(done: &'a Simulation, jobs: &'a [Job], wanted: impl Fn(&Job) -> bool + 'a) -> Vec<Duration> {
    let of_kind = done.outcomes.iter().zip(jobs);
    let ttft = |outcome: &Outcome| {
        let so_far = done.end.saturating_sub(outcome.arrived);
        outcome.ttft().unwrap_or(so_far)
    };
    of_kind
        .filter(|(_, job)| wanted(job))
        .map(|(outcome, _)| ttft(outcome))
        .collect()
}
