//! Requests that come one by one: how long short ones take, and how long they wait for their first token.

use super::SLOTS;
use super::load::three_kinds;
use super::prices::{Prices, Prompts, Run, in_batches, in_engine};
use lab::chart::Chart;
use lab::number;
use lab::race::{Better, RaceEntry, RaceResult, median};
use lab::story::{Claim, Story, Verdict};
use static_batching::percentile::percentile;
use static_batching::serve::Window;
use static_batching::workload::{Arrival, Pace, arrivals};
use std::time::Duration;

/// Arrivals, as a share of the rate that the static batches can serve at most.
const LOAD: f64 = 0.6;
const LOADS: [f64; 4] = [0.3, LOAD, 0.9, 1.5];
/// Rounds, each with its own arrivals, the same for all ways to serve, and requests of a round.
const ROUNDS: u64 = 3;
const REQUESTS: usize = 4000;
/// Prompt and answer of a short request.
const SHORT: (usize, usize) = (16, 8);
/// Lesson 07's window: as much of a request alone as 10 ms are of 50.
const WAIT_SHARE: f64 = 10.0 / 50.0;
/// Batch sizes of the last table.
const SIZES: [usize; 6] = [1, 2, 4, 8, 16, 32];

const WAITING: &str = "static, with a wait";
const STATIC: &str = "static, no wait";
const ENGINE: &str = "continuous";
const ALONE: &str = "alone";
const WAYS: [&str; 3] = [WAITING, STATIC, ENGINE];

/// All that the streams have in common.
struct Bench<'a> {
    prices: &'a Prices,
    seed: u64,
    /// Requests a second that static batches of [`SLOTS`] serve, if the queue never ends.
    static_rate: f64,
    /// The wait of [`WAITING`].
    wait: Duration,
}

/// A stream served in each of [`WAYS`], and the indices of its short requests.
struct Round {
    runs: [Run; 3],
    short: Vec<usize>,
}

impl Bench<'_> {
    fn new(prices: &Prices, seed: u64) -> anyhow::Result<Bench<'_>> {
        let stream = arrivals(seed, REQUESTS, &three_kinds(), &Pace::AtOnce);
        let batches = in_batches(
            &prices.steps,
            &stream,
            &Window::new(SLOTS, Duration::ZERO)?,
            Prompts::Padded,
        );
        Ok(Bench {
            prices,
            seed,
            static_rate: REQUESTS as f64 / batches.seconds(),
            wait: prices.steps.batch(1, SHORT.0, SHORT.1).mul_f64(WAIT_SHARE),
        })
    }

    fn round(&self, load: f64, slots: usize, round: u64) -> anyhow::Result<Round> {
        let pace = Pace::Poisson {
            per_second: load * self.static_rate,
        };
        let stream = arrivals(self.seed.wrapping_add(round), REQUESTS, &three_kinds(), &pace);
        let steps = &self.prices.steps;
        let batches = |wait| anyhow::Ok(in_batches(steps, &stream, &Window::new(slots, wait)?, Prompts::Padded));
        let is_short = |arrival: &Arrival| (arrival.prompt_tokens, arrival.new_tokens) == SHORT;
        Ok(Round {
            runs: [
                batches(self.wait)?,
                batches(Duration::ZERO)?,
                in_engine(steps, &stream, slots)?,
            ],
            short: (0..stream.len()).filter(|index| is_short(&stream[*index])).collect(),
        })
    }
}

impl Round {
    /// A percentile over the short requests of one way to serve.
    fn at(&self, way: usize, percent: f64, of: &dyn Fn(&Run, usize) -> f64) -> f64 {
        let run = &self.runs[way];
        let values: Vec<f64> = self.short.iter().map(|index| of(run, *index)).collect();
        percentile(&values, percent).unwrap_or(f64::NAN)
    }
}

fn latency(run: &Run, request: usize) -> f64 {
    1e3 * run.times[request].latency().as_secs_f64()
}

fn ttft(run: &Run, request: usize) -> f64 {
    1e3 * run.times[request].ttft().as_secs_f64()
}

/// Steps between the arrival and a request's own first step.
fn steps_before(run: &Run, request: usize) -> f64 {
    run.steps_to_first(request).saturating_sub(1) as f64
}

/// P50 and P99 of each way as a race: a sample is one round. `alone` is a further entry.
fn race_of(id: &str, title: &str, rounds: &[Round], of: &dyn Fn(&Run, usize) -> f64, alone: Option<f64>) -> RaceResult {
    let mut entries = Vec::new();
    for percent in [50.0, 99.0] {
        for (way, name) in WAYS.into_iter().enumerate() {
            let samples = rounds.iter().map(|round| round.at(way, percent, of)).collect();
            entries.push(RaceEntry::from_samples(name, Some(percent), samples));
        }
        entries.extend(alone.map(|ms| RaceEntry::from_samples(ALONE, Some(percent), vec![ms])));
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

/// The race as bars, a group for each percentile.
fn chart_of(race: &RaceResult, title: &str, y_label: &str, note: &str) -> Chart {
    let chart = Chart::bars(&race.id, title).y_label(y_label).note(note);
    let chart = [50.0, 99.0].into_iter().fold(chart, |chart, percent| {
        let at = race.entries.iter().filter(|entry| entry.x == Some(percent));
        let parts: Vec<(&str, f64)> = at.map(|entry| (entry.name.as_str(), entry.median)).collect();
        chart.group(&format!("P{percent}"), &parts)
    });
    chart.less_is_better().baseline(STATIC)
}

/// C2 and C4 on the virtual clock, then other loads and other batch sizes.
pub fn one_by_one(story: &mut Story, prices: &Prices, seed: u64) -> anyhow::Result<()> {
    story.step(
        "Let them come one by one",
        "Requests come at random times, of three kinds; six in ten are short. How long do the short ones take beside \
         the long ones? On the virtual clock, with the step prices above:",
    );
    let bench = Bench::new(prices, seed)?;
    let (rate, percent) = (LOAD * bench.static_rate, 100.0 * LOAD);
    let text = format!("{rate:.1} a second, {percent:.0} % of what the static batches can serve");
    story.show_as("arrivals", rate, text);
    let wait_ms = 1e3 * bench.wait.as_secs_f64();
    let text = format!("{} ms, a fifth of a short request alone", number::short(wait_ms));
    story.show_as("wait of the static batches", wait_ms, text);
    let rounds: Vec<Round> = (0..ROUNDS)
        .map(|round| bench.round(LOAD, SLOTS, round))
        .collect::<Result<_, _>>()?;
    let race = race_of(
        "short-latency",
        "Latency of short requests, x: percentile",
        &rounds,
        &latency,
        None,
    );
    story.race_result(&race);
    claim_tail(story, &rounds, &race, prices);
    let note = format!(
        "virtual clock, step prices of {}; {rate:.1} requests a second, batch {SLOTS}",
        prices.model
    );
    let title = "Short requests stop waiting for long ones";
    story.chart(&chart_of(&race, title, "ms from arrival to answer", &note))?;
    first_token(story, &rounds, prices)?;
    other_settings(story, &bench)
}

fn claim_tail(story: &mut Story, rounds: &[Round], race: &RaceResult, prices: &Prices) {
    let ratio = |name| race.ratio_at(ENGINE, name, 99.0);
    let of_round = |round: &Round| round.at(1, 99.0, &latency) / round.at(2, 99.0, &latency);
    let least = rounds.iter().map(of_round).fold(f64::INFINITY, f64::min);
    let [waiting, batches, engine] = WAYS.map(|name| number::short(race.median_at(name, 99.0)));
    let short: usize = rounds.iter().map(|round| round.short.len()).sum();
    let note = format!(
        "P99 of {short} short requests, virtual clock, step prices of {}: {batches} ms in batches that start at once, \
         {waiting} ms in batches that wait, {engine} ms in the engine. The factor compares with batches that start at \
         once; with those that wait it is {:.1}. The least of {ROUNDS} rounds is {least:.1}.",
        prices.model,
        ratio(WAITING),
    );
    // A ratio from 2.25 to 4.5 counts as about threefold. Each single round has to show an effect too.
    let (times, holds) = (ratio(STATIC), (2.25..=4.5).contains(&ratio(STATIC)) && least >= 1.3);
    let claim = Claim {
        id: "C2",
        claimed: "It cuts the P99 of short requests about threefold (3.2 s to 1.1 s)",
        value: times,
        unit: "times shorter at P99",
        verdict: Verdict::of(holds, times >= 1.3),
        note: &note,
    };
    story.claim_if_quiet(claim, prices.disturbances());
}

/// C4: the steps until the first token, against the one step of a request alone.
fn first_token(story: &mut Story, rounds: &[Round], prices: &Prices) -> anyhow::Result<()> {
    story.step(
        "Wait for the first token",
        "A request that comes while others run waits for the end of the step in progress, and then shares its first \
         step with them. What does that add?",
    );
    let alone = 1e3 * prices.steps.step(SHORT.0).as_secs_f64();
    let race = race_of(
        "first-token",
        "First token of short requests, x: percentile",
        rounds,
        &ttft,
        Some(alone),
    );
    story.race_result(&race);
    let steps = |way, percent| {
        let samples: Vec<f64> = rounds
            .iter()
            .map(|round| round.at(way, percent, &steps_before))
            .collect();
        median(&samples)
    };
    let [usual, tail] = [50.0, 99.0].map(|percent| steps(2, percent));
    let [static_usual, static_tail] = [50.0, 99.0].map(|percent| steps(1, percent));
    story.rows(
        &["steps before its own first", "P50", "P99"],
        [
            ("static, no wait", static_usual, static_tail),
            ("continuous", usual, tail),
        ]
        .map(|(name, p50, p99)| [name.to_owned(), p50.to_string(), p99.to_string()]),
    );
    story.values("steps_before", [[static_usual, static_tail], [usual, tail]]);
    let note = format!(
        "Judged in steps, as milliseconds are the machine's: 20 ms are less than two steps of 14 ms, the claim's own \
         time of a token. A short request waits for {usual} step at P50 and {tail} at P99 before its own first step; \
         in static batches that start at once for {static_usual} and {static_tail}. With the step prices of {} it gets \
         its first token {} ms (P50) and {} ms (P99) later than alone, in batches {} and {} ms later.",
        prices.model,
        number::short(race.median_at(ENGINE, 50.0) - alone),
        number::short(race.median_at(ENGINE, 99.0) - alone),
        number::short(race.median_at(STATIC, 50.0) - alone),
        number::short(race.median_at(STATIC, 99.0) - alone),
    );
    story.claim(Claim {
        id: "C4",
        claimed: "It adds less than 20 ms to the time to first token",
        value: tail,
        unit: "steps at P99, before its own first",
        verdict: Verdict::of(usual <= 1.0 && tail <= 1.0, usual <= 1.0),
        note: &note,
    });
    let note = format!(
        "virtual clock, step prices of {}; prompt of {} tokens",
        prices.model, SHORT.0
    );
    let title = "The first token comes a step later than alone";
    story.chart(&chart_of(&race, title, "ms from arrival to first token", &note))?;
    Ok(())
}

/// Under which conditions the two results hold: other loads, and batches of a wrong size.
fn other_settings(story: &mut Story, bench: &Bench<'_>) -> anyhow::Result<()> {
    story.step(
        "Change the load and the batch",
        "P99 of short requests in milliseconds. First at other loads: at 1 the static batches can just keep up.",
    );
    let p99 = |round: &Round, way| round.at(way, 99.0, &latency);
    let mut rows = Vec::new();
    for load in LOADS {
        let round = bench.round(load, SLOTS, 0)?;
        let latencies = [0, 1, 2].map(|way| format!("{:.1}", p99(&round, way)));
        let steps = round.at(2, 99.0, &steps_before).to_string();
        rows.push([vec![load.to_string()], latencies.to_vec(), vec![steps]].concat());
    }
    let header = [
        "load",
        "static, wait",
        "static",
        "continuous",
        "steps before first token",
    ];
    story.rows(&header, rows);
    story.say("Then the same requests, at the load of the race, with other batch sizes:");
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for size in SIZES {
        let round = bench.round(LOAD, size, 0)?;
        let [batches, engine] = [1, 2].map(|way| p99(&round, way));
        rows.push([size.to_string(), format!("{batches:.1}"), format!("{engine:.1}")]);
        values.push((size, batches, engine));
    }
    story.rows(&["batch", "static P99 ms", "continuous P99 ms"], rows);
    story.values("p99_by_batch", values);
    story.say(
        "Where a number is far above the others, the batch is too small for the rate: the queue and every latency grow \
         as long as the stream lasts.",
    );
    Ok(())
}
