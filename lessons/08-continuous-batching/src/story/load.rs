//! Requests of all experiments: mixes of lengths, and both ways to serve them.

use super::{SLOTS, Scene, SlotEngine};
use continuous_batching::{Delivery, Event, FinishReason, SeqId};
use static_batching::plan::{Plan, StepRequest, static_plan};
use static_batching::workload::{Arrival, Distribution, Lengths, Pace, arrivals};
use static_batching::{BatchState, Pad, generate_batch};
use std::collections::BTreeMap;
use training::TokenId;

/// One request.
#[derive(Clone, Debug)]
pub struct Job {
    /// Tokens of the prompt.
    pub prompt: Vec<TokenId>,
    /// Number of tokens of its answer.
    pub new_tokens: usize,
}

/// A kind of traffic.
pub struct Mix {
    /// Name in tables.
    pub name: &'static str,
    /// Name in ids of races and charts.
    pub id: &'static str,
    /// Lengths of prompts and answers.
    pub lengths: Lengths,
    /// The requests of a race, all there at the start.
    pub arrivals: Vec<Arrival>,
    /// The same requests with their prompts.
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
    let log_normal = |mu: f64, sigma, max| Distribution::LogNormal {
        mu: mu - 16f64.ln(),
        sigma,
        max,
    };
    // The conversation trace of Azure 2023, all lengths over 16.
    let conversation = Lengths::Independent {
        prompt: log_normal(6.63, 0.985, 192),
        new: log_normal(5.02, 0.86, 96),
    };
    let batches = if scene.model.is_large() { 4 } else { 12 };
    [
        ("equal, short", "equal", Lengths::equal(16, 8)),
        ("equal, long", "equal-long", Lengths::equal(16, 64)),
        ("mixed, short", "mixed-short", Lengths::exponential(16, 8.0, 64)),
        ("6 : 3 : 1", "mix", three_kinds()),
        ("exponential", "exponential", Lengths::exponential(16, 24.0, 192)),
        ("conversation", "conversation", conversation),
    ]
    .into_iter()
    .map(|(name, id, lengths)| {
        let arrivals = arrivals(scene.seed, batches * SLOTS, &lengths, &Pace::AtOnce);
        let jobs = jobs(scene, &arrivals);
        Mix {
            name,
            id,
            lengths,
            arrivals,
            jobs,
        }
    })
    .collect()
}

/// Requests of these lengths, with prompts that have no meaning.
pub fn jobs(scene: &Scene, arrivals: &[Arrival]) -> Vec<Job> {
    let job = |(index, arrival): (usize, &Arrival)| Job {
        prompt: scene.model.made_up_tokens(index, arrival.prompt_tokens),
        new_tokens: arrival.new_tokens,
    };
    arrivals.iter().enumerate().map(job).collect()
}

/// Number of tokens of the longest job, prompt and answer together.
pub fn longest(jobs: &[Job]) -> usize {
    let tokens = jobs.iter().map(|job| job.prompt.len() + job.new_tokens);
    tokens.max().unwrap_or(1)
}

/// Number of tokens of all answers.
pub fn new_tokens(jobs: &[Job]) -> usize {
    jobs.iter().map(|job| job.new_tokens).sum()
}

/// Lesson 07's plan for answers of these lengths, all there at the start, in batches of `batch_size`.
pub fn plan(new_tokens: impl Iterator<Item = usize>, batch_size: usize) -> Plan {
    let requests = new_tokens.map(|new_tokens| StepRequest {
        arrives: 0,
        prompt_tokens: 1,
        new_tokens,
    });
    static_plan(&requests.collect::<Vec<_>>(), batch_size)
}

/// Answers of all jobs in lesson 07's batches, and the number of steps.
pub fn in_batches(
    scene: &Scene,
    state: &mut BatchState,
    jobs: &[Job],
    batch_size: usize,
) -> anyhow::Result<(Vec<Vec<TokenId>>, u64)> {
    let (mut answers, mut steps) = (Vec::with_capacity(jobs.len()), 0);
    for batch in jobs.chunks(batch_size) {
        let prompts: Vec<&[TokenId]> = batch.iter().map(|job| job.prompt.as_slice()).collect();
        let lengths: Vec<usize> = batch.iter().map(|job| job.new_tokens).collect();
        let (model, pool) = (&scene.model, &scene.pool);
        let run = generate_batch(model, state, pool, &prompts, &lengths, Pad::default(), &mut |_, _| {})?;
        answers.extend(run.generations.into_iter().map(|generation| generation.tokens));
        steps += run.steps;
    }
    Ok((answers, steps))
}

/// Submits all jobs.
pub fn submit(engine: &mut SlotEngine<'_>, jobs: &[Job]) -> anyhow::Result<()> {
    for job in jobs {
        engine.submit(&job.prompt, job.new_tokens)?;
    }
    Ok(())
}

/// Runs an engine until all requests are over. Returns answers and reasons, in the order of submission.
pub fn run(engine: &mut SlotEngine<'_>) -> anyhow::Result<BTreeMap<SeqId, (Vec<TokenId>, FinishReason)>> {
    let mut ended = BTreeMap::new();
    engine.run(&mut |event| {
        if let Event::Finished { id, reason, output } = event {
            ended.insert(id, (output.to_vec(), reason));
        }
        Delivery::Taken
    })?;
    Ok(ended)
}
