//! Requests that come one by one: how long short ones take, and what company adds to their first token.

use super::load::{Job, jobs, longest, three_kinds};
use super::serve::{Times, serve};
use super::{SLOTS, Scene};
use generation::State;
use kv_cache::session::{cache_for, generate};
use lab::chart::Chart;
use lab::race::{Better, RaceEntry, RaceResult, median};
use lab::story::{Claim, Story, Verdict};
use static_batching::clock::{Clock, WallClock};
use static_batching::percentile::percentile;
use static_batching::serve::Window;
use static_batching::workload::{Arrival, Pace, arrivals};
use static_batching::{BatchState, Pad, generate_batch};
use std::time::Duration;
use training::TokenId;

/// Arrivals, as a share of the rate that the static batches can serve at most.
const LOAD: f64 = 0.6;
/// Rounds, each with its own arrivals, the same for both ways to serve.
const ROUNDS: u64 = 3;
/// Prompt and answer of a short request.
const SHORT: (usize, usize) = (16, 8);
/// Requests of a round that run alone, in lesson 06's loop.
const ALONE: usize = 15;

/// Times of the short requests of a round: in static batches, in the engine, alone. For those alone only the first
/// token is measured.
pub type Round = [(&'static str, Vec<Times>); 3];

/// A percentile of some times, in milliseconds.
fn ms(times: &[Times], percent: f64, part: fn(&Times) -> Duration) -> f64 {
    let parts: Vec<Duration> = times.iter().map(part).collect();
    percentile(&parts, percent).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

/// P50 and P99 of the first `count` ways to serve as a race: a sample is one round.
fn race_of(id: &str, title: &str, rounds: &[Round], count: usize, part: fn(&Times) -> Duration) -> RaceResult {
    let entry = |percent, way: usize| {
        let samples = rounds.iter().map(|round| ms(&round[way].1, percent, part)).collect();
        RaceEntry::from_samples(rounds[0][way].0, Some(percent), samples)
    };
    let of_percent = |percent| (0..count).map(move |way| (percent, way));
    RaceResult {
        id: id.into(),
        title: title.into(),
        unit: "ms".into(),
        better: Better::Lower,
        baseline: "static batches".into(),
        entries: [50.0, 99.0]
            .into_iter()
            .flat_map(of_percent)
            .map(|(percent, way)| entry(percent, way))
            .collect(),
    }
}

/// The race as bars, a group for each percentile.
fn chart_of(race: &RaceResult, title: &str, y_label: &str, note: &str) -> Chart {
    let names = [
        ("static batches", "static batches (07)"),
        ("continuous", "continuous (08)"),
        ("alone", "alone (06)"),
    ];
    let chart = Chart::bars(&race.id, title).y_label(y_label).note(note);
    let chart = [50.0, 99.0].into_iter().fold(chart, |chart, percent| {
        let known = names.iter().filter(|(name, _)| race.entry_at(name, percent).is_some());
        let parts: Vec<(&str, f64)> = known
            .map(|(name, shown)| (*shown, race.median_at(name, percent)))
            .collect();
        chart.group(&format!("P{percent}"), &parts)
    });
    chart.less_is_better().baseline("static batches (07)")
}

/// C2: P50 and P99 of short requests at one rate of arrivals.
pub fn short_ones(story: &mut Story, scene: &Scene, static_rate: f64) -> anyhow::Result<Vec<Round>> {
    let rate = LOAD * static_rate;
    // Requests keep coming for 1.2 seconds.
    let count = ((rate * 1.2) as usize).clamp(40, 600);
    story.step(
        "Let them come one by one",
        "Requests come at random times, of three kinds. The short ones are six in ten: how long do they take beside the long ones?",
    );
    let percent = 100.0 * LOAD;
    let text = format!("{rate:.0} a second, {percent:.0} % of what the static batches served");
    story.show_as("arrivals", rate, text);
    story.show("requests in a round", count);
    let bar = story.progress(ROUNDS + 1, "rounds");
    let mut rounds = Vec::new();
    for round in 0..=ROUNDS {
        // Round 0 is the warm-up: shorter, and not kept.
        let count = if round == 0 { count / 4 } else { count };
        let pace = Pace::Poisson { per_second: rate };
        let stream = arrivals(scene.seed.wrapping_add(round), count, &three_kinds(), &pace);
        let done = one_round(scene, &stream)?;
        rounds.extend((round > 0).then_some(done));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let title = "Short requests, x: percentile of their latency";
    let race = race_of("short-latency", title, &rounds, 2, Times::latency);
    story.race_result(&race);
    let samples: usize = rounds.iter().map(|round| round[1].1.len()).sum();
    story.values("short_requests", samples);
    claim_tail(story, &rounds, &race, samples);
    let note = format!("{rate:.0} requests a second, batch {SLOTS}, model {}", scene.model.name);
    story.chart(&chart_of(
        &race,
        "Short requests beside long ones",
        "ms from arrival to answer",
        &note,
    ))?;
    Ok(rounds)
}

fn claim_tail(story: &mut Story, rounds: &[Round], race: &RaceResult, samples: usize) {
    let ratio = race.ratio_at("continuous", "static batches", 99.0);
    let [batches, engine] = ["static batches", "continuous"].map(|name| race.median_at(name, 99.0));
    let written: Vec<f64> = rounds
        .iter()
        .map(|round| ms(&round[0].1, 99.0, Times::written))
        .collect();
    let of_round = |round: &Round| {
        let [batches, engine] = [0, 1].map(|way: usize| ms(&round[way].1, 99.0, Times::latency));
        batches / engine
    };
    let least = rounds.iter().map(of_round).fold(f64::INFINITY, f64::min);
    let few = match samples < 100 * rounds.len() {
        true => " With fewer than a hundred in a round P99 is the longest of them.",
        false => "",
    };
    let note = format!(
        "P99 of short requests {batches:.0} ms in batches, {engine:.0} ms in the engine, median of {ROUNDS} rounds, {samples} short requests in all. Until \
         its own last token a short one in a batch needs {:.0} ms; the rest it waits for the longest of its batch. What \
         remains is the wait for the batch before. The least of the rounds: {least:.1} times.{few}",
        median(&written)
    );
    // A ratio from 2.25 to 4.5 counts as about threefold. Each single round has to show an effect too.
    let holds = (2.25..=4.5).contains(&ratio) && least >= 1.3;
    story.claim(Claim {
        id: "C2",
        claimed: "It cuts the P99 of short requests about threefold (3.2 s to 1.1 s)",
        value: ratio,
        unit: "times shorter at P99",
        verdict: Verdict::of(holds, ratio >= 1.3),
        note: &note,
    });
}

/// C4: the time to first token of short requests in the engine, against that of a short request alone.
pub fn first_token(story: &mut Story, scene: &Scene, rounds: &[Round]) -> anyhow::Result<()> {
    story.step(
        "Wait for the first token",
        "A request that comes while others run waits for the end of the step in progress, and then shares its first step with them. What does that add?",
    );
    let title = "First token of short requests, x: percentile";
    let race = race_of("first-token", title, rounds, 3, Times::ttft);
    story.race_result(&race);
    let alone = race.median_at("alone", 50.0);
    let [usual, tail] = [50.0, 99.0].map(|percent| race.median_at("continuous", percent) - alone);
    let note = format!(
        "P50 {usual:.1} ms, P99 {tail:.1} ms more than the {alone:.1} ms of a request that is alone. In steps: at most one until it joins, as long as a slot is \
         free. The static batches add {:.0} ms at P50: there it waits for a batch that runs.",
        race.median_at("static batches", 50.0) - alone
    );
    story.claim(Claim {
        id: "C4",
        claimed: "It adds less than 20 ms to the time to first token",
        value: tail,
        unit: "ms at P99",
        verdict: Verdict::of(usual < 20.0 && tail < 20.0, usual < 20.0),
        note: &note,
    });
    let note = format!("prompt of {} tokens, model {}", SHORT.0, scene.model.name);
    let title = "The first token of short requests";
    story.chart(&chart_of(&race, title, "ms from arrival to first token", &note))?;
    Ok(())
}

/// The same arrivals through both, and first tokens of requests alone.
fn one_round(scene: &Scene, stream: &[Arrival]) -> anyhow::Result<Round> {
    let at: Vec<Duration> = stream.iter().map(|arrival| arrival.at).collect();
    let jobs = jobs(scene, stream);
    let short = |times: Vec<Times>| -> Vec<Times> {
        let pairs = times.into_iter().zip(&jobs);
        let short = pairs.filter(|(_, job)| (job.prompt.len(), job.new_tokens) == SHORT);
        short.map(|(times, _)| times).collect()
    };
    let in_batches = short(in_batches(scene, &at, &jobs)?);
    let mut engine = scene.engine(SLOTS, longest(&jobs));
    let request = |index: usize| (jobs[index].prompt.as_slice(), jobs[index].new_tokens);
    let in_engine = serve(&mut engine, &mut WallClock::start(), &at, request, &mut |_| {})?;
    Ok([
        ("static batches", in_batches),
        ("continuous", short(in_engine)),
        ("alone", alone(scene)?),
    ])
}

/// All jobs in lesson 07's batches, with its wait window of 5 ms.
fn in_batches(scene: &Scene, at: &[Duration], jobs: &[Job]) -> anyhow::Result<Vec<Times>> {
    let window = Window::new(SLOTS, Duration::from_millis(5))?;
    let mut state = BatchState::new(&scene.model.config);
    let mut times: Vec<Times> = at.iter().map(|at| Times::of_arrival(*at)).collect();
    let mut clock = WallClock::start();
    let mut run = |clock: &mut WallClock, ids: std::ops::Range<usize>| {
        let prompts: Vec<&[TokenId]> = jobs[ids.clone()].iter().map(|job| job.prompt.as_slice()).collect();
        let lengths: Vec<usize> = jobs[ids.clone()].iter().map(|job| job.new_tokens).collect();
        let (model, pool, times) = (&scene.model, &scene.pool, &mut times[ids]);
        let mut on_token = |row: usize, _: TokenId| times[row].token(clock.now());
        let run = generate_batch(
            model,
            &mut state,
            pool,
            &prompts,
            &lengths,
            Pad::default(),
            &mut on_token,
        );
        run.map(|_| ())
    };
    let served = static_batching::serve::serve(&mut clock, at, &window, &mut run)?;
    for (times, served) in times.iter_mut().zip(served) {
        times.returned = served.finished;
    }
    Ok(times)
}

/// First tokens in lesson 06's loop, one request after the other.
fn alone(scene: &Scene) -> anyhow::Result<Vec<Times>> {
    let prompt_tokens = SHORT.0;
    let mut cache = cache_for(&scene.model, prompt_tokens, 1);
    let mut state = State::new(&scene.model.config, prompt_tokens);
    let mut times = Vec::with_capacity(ALONE);
    for index in 0..ALONE {
        let prompt = scene.model.made_up_tokens(index, prompt_tokens);
        let (model, pool) = (&scene.model, &scene.pool);
        let timed = generate(model, &mut state, &mut cache, pool, &prompt, 1, &mut |_| {})?;
        times.push(Times {
            first: timed.timings.ttft.unwrap_or_default(),
            ..Times::default()
        });
    }
    Ok(times)
}
