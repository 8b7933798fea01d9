//! Requests that come one by one: how long short ones take.

use super::load::{Job, jobs, longest, three_kinds};
use super::serve::{Times, serve};
use super::{SLOTS, Scene};
use anyhow::Context;
use lab::chart::Chart;
use lab::race::{Better, RaceEntry, RaceResult};
use lab::story::{Claim, Story, Verdict};
use static_batching::clock::{Clock, WallClock};
use static_batching::percentile::percentile;
use static_batching::serve::Window;
use static_batching::workload::{Arrival, Pace, arrivals};
use static_batching::{BatchState, Pad, generate_batch};
use std::time::Duration;
use training::TokenId;

/// Share of what the static batches can serve at most.
const LOAD: f64 = 0.6;
/// Rounds, each with arrivals of its own, the same for both.
const ROUNDS: u64 = 3;
/// How long requests keep coming in a round, in seconds.
const SECONDS: f64 = 1.2;
/// Prompt and answer of a short request.
pub const SHORT: (usize, usize) = (16, 8);
/// Lesson 07's wait window.
const MAX_WAIT: Duration = Duration::from_millis(5);
/// Lesson 07.
pub const STATIC: &str = "static batches";
/// This lesson.
pub const CONTINUOUS: &str = "continuous";
/// Lesson 06, with nobody else there.
pub const ALONE: &str = "alone";

/// One round: the short requests.
pub struct Round {
    /// In lesson 07's batches.
    pub batches: Vec<Times>,
    /// In the engine.
    pub engine: Vec<Times>,
    /// One after the other, nobody else there: only their first tokens.
    pub alone: Vec<Times>,
}

/// A percentile of some times, in milliseconds.
pub fn ms(times: &[Times], percent: f64, part: fn(&Times) -> Duration) -> f64 {
    let parts: Vec<Duration> = times.iter().map(part).collect();
    percentile(&parts, percent).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

/// P50 and P99 of the contenders as a race: a sample is one round.
pub fn race_of(
    (id, title): (&str, &str),
    names: &[&str],
    rounds: &[Round],
    part: fn(&Times) -> Duration,
) -> RaceResult {
    let mut entries = Vec::new();
    for percent in [50.0, 99.0] {
        for name in names {
            let sample = |round: &Round| {
                let times = match *name {
                    STATIC => &round.batches,
                    ALONE => &round.alone,
                    _ => &round.engine,
                };
                ms(times, percent, part)
            };
            let samples = rounds.iter().map(sample).collect();
            entries.push(RaceEntry::from_samples(name, Some(percent), samples));
        }
    }
    RaceResult {
        id: id.into(),
        title: title.into(),
        unit: "ms".into(),
        better: Better::Lower,
        baseline: STATIC.into(),
        entries,
    }
}

/// C2: P50 and P99 of short requests at one rate of arrivals.
pub fn short_ones(story: &mut Story, scene: &Scene, static_rate: f64) -> anyhow::Result<Vec<Round>> {
    let rate = LOAD * static_rate;
    let count = ((rate * SECONDS) as usize).clamp(40, 600);
    story.step(
        "Let them come one by one",
        "Requests come when they come, of three kinds. The short ones are six in ten: how long do they take beside the long ones?",
    );
    story.show_as(
        "arrivals",
        rate,
        format!(
            "{rate:.0} a second, {:.0} % of what the static batches served",
            100.0 * LOAD
        ),
    );
    story.show("requests in a round", count);
    let bar = story.progress(ROUNDS + 1, "rounds");
    let mut rounds = Vec::new();
    for round in 0..=ROUNDS {
        // Round 0 is the warm-up: shorter, and not kept.
        let count = if round == 0 { count / 4 } else { count };
        let pace = Pace::Poisson { per_second: rate };
        let stream = arrivals(scene.seed.wrapping_add(round), count, &three_kinds(), &pace);
        let done = one_round(scene, &stream)?;
        if round > 0 {
            rounds.push(done);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let title = "Short requests, x: percentile of their latency";
    let names = [STATIC, CONTINUOUS];
    let race = race_of(("short-latency", title), &names, &rounds, Times::latency);
    story.race_result(&race);
    let samples: usize = rounds.iter().map(|round| round.engine.len()).sum();
    story.values("short_requests", samples);
    claim(story, &rounds, &race, samples)?;
    let median = |name: &str, percent: f64| race.entry_at(name, percent).map_or(f64::NAN, |entry| entry.median);
    let chart = [50.0, 99.0].into_iter().fold(
        Chart::bars("short-latency", "Short requests beside long ones")
            .y_label("ms from arrival to answer")
            .note(&format!(
                "{rate:.0} requests a second, batch {SLOTS}, model {}",
                scene.model.name
            )),
        |chart, percent| {
            let parts = [
                ("static batches (07)", median(STATIC, percent)),
                ("continuous (08)", median(CONTINUOUS, percent)),
            ];
            chart.group(&format!("P{percent}"), &parts)
        },
    );
    story.chart(&chart.less_is_better().baseline("static batches (07)"))?;
    Ok(rounds)
}

fn claim(story: &mut Story, rounds: &[Round], race: &RaceResult, samples: usize) -> anyhow::Result<()> {
    let ratio = race.ratio_at(CONTINUOUS, STATIC, 99.0);
    let entry = |name: &str| race.entry_at(name, 99.0).context("a race at P99");
    let (batches, engine) = (entry(STATIC)?.median, entry(CONTINUOUS)?.median);
    let written: Vec<f64> = rounds
        .iter()
        .map(|round| ms(&round.batches, 99.0, Times::written))
        .collect();
    let written = lab::race::quartiles(&written).median;
    let of_round = |round: &Round| {
        let p99 = |times: &[Times]| ms(times, 99.0, Times::latency);
        p99(&round.batches) / p99(&round.engine)
    };
    let least = rounds.iter().map(of_round).fold(f64::INFINITY, f64::min);
    // Half as much again is still about threefold; beyond that it is another size of effect. And every round has to show it.
    let verdict = match (ratio, least) {
        (ratio, least) if (2.25..=4.5).contains(&ratio) && least >= 1.3 => Verdict::Holds,
        (ratio, _) if ratio >= 1.3 => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let few = match samples < 100 * rounds.len() {
        true => " With fewer than a hundred in a round P99 is the longest of them.",
        false => "",
    };
    let note = format!(
        "P99 of short requests {batches:.0} ms in batches, {engine:.0} ms in the engine, median of {ROUNDS} rounds, {samples} short requests in all. Until \
         its own last token a short one in a batch needs {written:.0} ms; the rest it waits for the longest of its batch. What \
         remains is the wait for the batch before. The least of the rounds: {least:.1} times.{few}"
    );
    story.claim(Claim {
        id: "C2",
        claimed: "It cuts the P99 of short requests about threefold (3.2 s to 1.1 s)",
        value: ratio,
        unit: "times shorter at P99",
        verdict,
        note: &note,
    });
    Ok(())
}

/// The same arrivals through both, and their kind alone.
fn one_round(scene: &Scene, stream: &[Arrival]) -> anyhow::Result<Round> {
    let at: Vec<Duration> = stream.iter().map(|arrival| arrival.at).collect();
    let jobs = jobs(scene, stream);
    let short = |times: Vec<Times>| -> Vec<Times> {
        let is_short = |job: &Job| (job.prompt.len(), job.new_tokens) == SHORT;
        let pairs = times.into_iter().zip(&jobs);
        let short = pairs.filter(|(_, job)| is_short(job));
        short.map(|(times, _)| times).collect()
    };
    let batches = short(in_batches(scene, &at, &jobs)?);
    let mut engine = scene.engine(SLOTS, longest(&jobs));
    let mut clock = WallClock::start();
    let served = serve(&mut engine, &mut clock, &at, &jobs, &mut |_| {})?;
    Ok(Round {
        batches,
        engine: short(served),
        alone: super::first_token::alone(scene)?,
    })
}

/// All jobs in lesson 07's batches, with its wait window.
fn in_batches(scene: &Scene, at: &[Duration], jobs: &[Job]) -> anyhow::Result<Vec<Times>> {
    let window = Window::new(SLOTS, MAX_WAIT)?;
    let mut state = BatchState::new(&scene.model.config);
    let arrived = |at: &Duration| Times {
        arrived: *at,
        ..Times::default()
    };
    let mut times: Vec<Times> = at.iter().map(arrived).collect();
    let mut clock = WallClock::start();
    let served = static_batching::serve::serve(&mut clock, at, &window, &mut |clock: &mut WallClock, ids| {
        let prompts: Vec<&[TokenId]> = jobs[ids.clone()].iter().map(|job| job.prompt.as_slice()).collect();
        let lengths: Vec<usize> = jobs[ids.clone()].iter().map(|job| job.new_tokens).collect();
        let (model, pool) = (&scene.model, &scene.pool);
        let times = &mut times[ids];
        generate_batch(
            model,
            &mut state,
            pool,
            &prompts,
            &lengths,
            Pad::default(),
            &mut |row, _| {
                let now = clock.now();
                if times[row].first.is_zero() {
                    times[row].first = now;
                }
                times[row].last = now;
            },
        )
        .map(|_| ())
    })?;
    for (times, served) in times.iter_mut().zip(served) {
        times.returned = served.finished;
    }
    Ok(times)
}
