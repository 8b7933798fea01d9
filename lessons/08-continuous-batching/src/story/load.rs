//! What is to be done: mixes of lengths, and requests with prompts.

use super::{SLOTS, Scene};
use static_batching::plan::{Plan, StepRequest, static_plan};
use static_batching::workload::{Arrival, Distribution, Lengths, Pace, arrivals};
use training::TokenId;

/// Batches of one mix, and those for a large model.
const BATCHES: (usize, usize) = (12, 4);

/// One request.
#[derive(Clone, Debug)]
pub struct Job {
    /// What it begins with.
    pub prompt: Vec<TokenId>,
    /// Tokens of its answer, exactly.
    pub new_tokens: usize,
}

/// A kind of traffic.
pub struct Mix {
    /// In tables.
    pub name: &'static str,
    /// In names of races and charts.
    pub id: &'static str,
    /// How long prompts and answers are.
    pub lengths: Lengths,
    /// The requests, all there at the start.
    pub jobs: Vec<Job>,
}

/// 60 % short prompt and answer, 30 % long answer, 10 % long prompt.
pub fn three_kinds() -> Lengths {
    Lengths::Mix {
        prompt: (16, 64),
        new: (8, 48),
    }
}

/// The mixes, the equal one first.
pub fn mixes(scene: &Scene) -> Vec<Mix> {
    let conversation = Lengths::Independent {
        // The conversation trace of Azure 2023, all lengths over 16.
        prompt: Distribution::LogNormal {
            mu: 6.63 - 16f64.ln(),
            sigma: 0.985,
            max: 192,
        },
        new: Distribution::LogNormal {
            mu: 5.02 - 16f64.ln(),
            sigma: 0.86,
            max: 96,
        },
    };
    let batches = if scene.model.is_large() { BATCHES.1 } else { BATCHES.0 };
    let count = batches * SLOTS;
    [
        ("equal, short", "equal", Lengths::equal(16, 8)),
        ("6 : 3 : 1", "mix", three_kinds()),
        ("exponential", "exponential", Lengths::exponential(16, 24.0, 192)),
        ("conversation", "conversation", conversation),
    ]
    .into_iter()
    .map(|(name, id, lengths)| Mix {
        name,
        id,
        jobs: jobs(scene, &arrivals(scene.seed, count, &lengths, &Pace::AtOnce)),
        lengths,
    })
    .collect()
}

/// Requests of these lengths, with prompts that mean nothing.
pub fn jobs(scene: &Scene, arrivals: &[Arrival]) -> Vec<Job> {
    let job = |(index, arrival): (usize, &Arrival)| Job {
        prompt: scene.model.made_up_tokens(index, arrival.prompt_tokens),
        new_tokens: arrival.new_tokens,
    };
    arrivals.iter().enumerate().map(job).collect()
}

/// Most tokens of one of them.
pub fn longest(jobs: &[Job]) -> usize {
    let tokens = jobs.iter().map(|job| job.prompt.len() + job.new_tokens);
    tokens.max().unwrap_or(1)
}

/// Tokens of all answers.
pub fn new_tokens(jobs: &[Job]) -> usize {
    jobs.iter().map(|job| job.new_tokens).sum()
}

/// What lesson 07 does with these lengths, all there at the start, in batches of `batch_size`.
pub fn static_steps(lengths: impl Iterator<Item = (usize, usize)>, batch_size: usize) -> Plan {
    let requests: Vec<StepRequest> = lengths
        .map(|(prompt_tokens, new_tokens)| StepRequest {
            arrives: 0,
            prompt_tokens,
            new_tokens,
        })
        .collect();
    static_plan(&requests, batch_size)
}
