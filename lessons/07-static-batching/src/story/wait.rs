//! B4: the wait window: the cost and the use of waiting for more requests.

use super::{Scene, made_up_prompts, slices};
use anyhow::Context;
use lab::chart::Chart;
use lab::number;
use lab::race::Race;
use lab::story::{Claim, Story, Verdict};
use static_batching::clock::{VirtualClock, WallClock};
use static_batching::percentile::percentile;
use static_batching::serve::{Served, Window, serve};
use static_batching::workload::{Lengths, Pace, arrivals};
use static_batching::{BatchState, Pad, generate_batch};
use std::cell::RefCell;
use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;

/// Tokens of a prompt. All requests have the same lengths, so that only the batches make a difference.
const PROMPT: usize = 8;
/// Tokens of an answer.
const NEW: usize = 16;
/// Most requests of a batch.
const MOST: usize = 8;
/// The claim waits 20 ms where a request alone takes 50: the same share here.
const WAIT_SHARE: f64 = 20.0 / 50.0;
/// Requests of a virtual stream.
const VIRTUAL: usize = 4000;
/// Loads of the tables: quiet, and more than one at a time can serve.
const QUIET: f64 = 0.2;
const BUSY: f64 = 2.5;
/// Loads of the chart, as shares of the rate that one at a time can serve.
const LOADS: [f64; 10] = [0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0];
/// Above this load the queue of one at a time grows without end, and its latency depends on the length of the stream.
const STABLE: f64 = 0.9;

/// The names of the policies: one at a time, batches without a wait, batches with a wait.
const POLICIES: [&str; 3] = ["one at a time", "up to 8, no wait", "up to 8, with a wait"];

/// The latencies and rates of a served stream.
struct Met {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    mean_batch: f64,
}

impl Met {
    fn of(served: &[Served]) -> Met {
        let ms: Vec<f64> = served.iter().map(|s| s.latency().as_secs_f64() * 1e3).collect();
        let at = |percent| percentile(&ms, percent).unwrap_or(f64::NAN);
        let end = served.iter().map(|s| s.finished).max().unwrap_or_default();
        let begin = served.first().map(|s| s.arrived).unwrap_or_default();
        // Each request is one part of its batch, so these parts add up to the number of batches.
        let batches: f64 = served.iter().map(|s| 1.0 / s.batch_size as f64).sum();
        Met {
            per_second: served.len() as f64 / (end - begin).as_secs_f64(),
            p50_ms: at(50.0),
            p99_ms: at(99.0),
            mean_batch: served.len() as f64 / batches,
        }
    }

    fn row(&self, load: f64, policy: &str) -> [String; 6] {
        [
            format!("{load}"),
            policy.to_owned(),
            number::short(self.per_second),
            number::short(self.p50_ms),
            number::short(self.p99_ms),
            format!("{:.1}", self.mean_batch),
        ]
    }
}

const HEADER: [&str; 6] = ["load", "policy", "requests/s", "P50 ms", "P99 ms", "rows a batch"];

/// The policies, the measured times of batches, and the streams that both clocks serve.
struct Server {
    seed: u64,
    /// Seconds of a batch of each size, size 1 first.
    costs: Vec<f64>,
    windows: [Window; 3],
}

impl Server {
    /// The arrivals at `load` times the rate that one at a time can serve.
    fn stream(&self, count: usize, load: f64) -> Vec<Duration> {
        let per_second = load / self.costs[0];
        let stream = arrivals(
            self.seed,
            count,
            &Lengths::equal(PROMPT, NEW),
            &Pace::Poisson { per_second },
        );
        stream.iter().map(|arrival| arrival.at).collect()
    }

    /// The stream of a load on the virtual clock, under one of [`POLICIES`].
    fn simulate(&self, load: f64, policy: usize) -> Met {
        let run = &mut |clock: &mut VirtualClock, ids: Range<usize>| {
            clock.advance(Duration::from_secs_f64(self.costs[ids.len() - 1]));
            Ok::<(), Infallible>(())
        };
        let stream = self.stream(VIRTUAL, load);
        let Ok(served) = serve(&mut VirtualClock::new(), &stream, &self.windows[policy], run);
        Met::of(&served)
    }
}

/// The prediction, the times of batches, both clocks, the claim and the chart.
pub fn wait(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Wait for more requests",
        "Requests come one by one. A server may wait a little for others: the window closes when the batch is full, or \
         when its oldest request has waited long enough.",
    );
    story.predict("window");
    let costs = costs(story, scene)?;
    let (alone, eight) = (costs[0], costs[MOST - 1]);
    let waiting = Duration::from_secs_f64(alone * WAIT_SHARE);
    story.values("batch_seconds", &costs);
    story.values("wait_seconds", waiting.as_secs_f64());
    story.say(format!(
        "One request of {PROMPT} + {NEW} tokens takes {}, eight together {}. The claim's 20 ms of waiting for 50 ms of \
         work are {} here.",
        number::seconds(alone),
        number::seconds(eight),
        number::seconds(waiting.as_secs_f64()),
    ));
    let window = |max_batch, max_wait| Window::new(max_batch, max_wait);
    let server = Server {
        seed: story.args().seed,
        costs,
        windows: [
            window(1, Duration::ZERO)?,
            window(MOST, Duration::ZERO)?,
            window(MOST, waiting)?,
        ],
    };
    story.say(format!(
        "{VIRTUAL} requests on the virtual clock, with the batch times of the race above. Load 1 is the rate that one \
         at a time can just serve."
    ));
    let policies = || POLICIES.into_iter().enumerate();
    let at = |load| policies().map(move |(policy, name)| (load, policy, name));
    let simulated = at(QUIET).chain(at(BUSY));
    story.rows(
        &HEADER,
        simulated.map(|(load, policy, name)| server.simulate(load, policy).row(load, name)),
    );
    claim(story, &server);
    let measured = with_the_model(story, scene, &server)?;
    let mut chart = Chart::lines("wait", "The cost of a wait, and when it brings nothing")
        .x_label("offered load; 1: the rate that one at a time can serve")
        .y_label("median latency, ms")
        .note(
            "dashes: virtual clock; points: the machine's clock; above load 1 the queue of one at a time grows \
               without end",
        );
    let is_stable = |load: f64, policy: usize| policy > 0 || load < STABLE;
    for (policy, name) in policies() {
        let loads = LOADS.into_iter().filter(|load| is_stable(*load, policy));
        chart = chart.dashed(
            name,
            loads.map(|load| (load, server.simulate(load, policy).p50_ms)).collect(),
        );
    }
    let points = measured
        .into_iter()
        .filter(|(load, policy, _)| is_stable(*load, *policy));
    let chart = chart.points(
        "measured with the model",
        points.map(|(load, _, ms)| (load, ms)).collect(),
    );
    story.chart(&chart)?;
    story.say(
        "On a quiet machine the wait only adds latency. On a busy one the line with a wait lies on the line without: a \
         request that waits for the machine need not wait for others.",
    );
    Ok(())
}

/// Seconds of a batch of each size: a race of eight entries.
fn costs(story: &mut Story, scene: &Scene) -> anyhow::Result<Vec<f64>> {
    let (model, pool) = (&scene.model, &scene.pool);
    let state = RefCell::new(BatchState::new(&model.config));
    let prompts = made_up_prompts(model, [PROMPT; MOST]);
    let slices = slices(&prompts);
    let mut race = Race::new("requests", "Requests in one batch").unit("ms").rounds(5);
    for size in 1..=MOST {
        let (state, prompts) = (&state, &slices[..size]);
        let name = if size == 1 { "alone" } else { "together" };
        race = race.entry(name, Some(size as f64), move || {
            let (state, max) = (&mut *state.borrow_mut(), &[NEW; MOST][..size]);
            let run = generate_batch(model, state, pool, prompts, max, Pad::default(), &mut |_, _| {});
            run.expect("the prompts fit").steps
        });
    }
    let result = story.race(race)?;
    Ok(result.entries.iter().map(|entry| entry.median / 1e3).collect())
}

/// Decided on the virtual clock: the batch times are measured, all else is counted.
fn claim(story: &mut Story, server: &Server) {
    let [one, no_wait, with_wait] = [0, 1, 2].map(|policy| server.simulate(BUSY, policy).per_second);
    let wait_ms = server.windows[2].max_wait().as_secs_f64() * 1e3;
    let cost_ms = server.simulate(QUIET, 2).p50_ms - server.simulate(QUIET, 1).p50_ms;
    let (times, by_waiting) = (with_wait / one, with_wait / no_wait);
    let costs_the_wait = (0.5 * wait_ms..=1.5 * wait_ms).contains(&cost_ms);
    let wait_pays = by_waiting >= 1.2;
    let cause = match wait_pays {
        true => "The wait itself is a part of that.",
        false => {
            "The wait is no part of that: without it, the queue of a busy machine fills the batches while it computes."
        }
    };
    story.claim(Claim {
        id: "B4",
        claimed: "Waiting 5 to 20 ms to fill a batch costs that much latency and multiplies throughput (50 ms alone; \
                  60 ms for 8)",
        value: times,
        unit: "times the requests a second, under load",
        verdict: Verdict::of(times >= 2.0 && costs_the_wait && wait_pays, times >= 2.0),
        note: &format!(
            "Virtual clock, batch times from the race: {} alone, {} for 8. Quiet (load {QUIET}), a wait of \
             {wait_ms:.1} ms costs {cost_ms:.1} ms in the median. Busy (load {BUSY}), batches of up to 8 serve \
             {times:.1} times as many requests as one at a time, and {by_waiting:.2} times as many as batches without \
             a wait. {cause}",
            number::seconds(server.costs[0]),
            number::seconds(server.costs[MOST - 1]),
        ),
    });
}

/// The same streams with the model and the machine's clock. Returns (load, policy, median latency in ms).
fn with_the_model(story: &mut Story, scene: &mut Scene, server: &Server) -> anyhow::Result<Vec<(f64, usize, f64)>> {
    story.say("The same code with the model, on the machine's clock:");
    let (mut rows, mut measured) = (Vec::new(), Vec::new());
    for load in [QUIET, BUSY] {
        // About a second, a few requests at least.
        let count = (load.min(1.0) / server.costs[0]).clamp(12.0, 300.0) as usize;
        let stream = server.stream(count, load);
        let prompts = made_up_prompts(&scene.model, vec![PROMPT; count]);
        let slices = slices(&prompts);
        for (policy, name) in POLICIES.into_iter().enumerate() {
            let bar = story.progress(count as u64, name);
            let (model, pool, state) = (&scene.model, &scene.pool, &mut scene.state);
            let run = &mut |_: &mut WallClock, ids: Range<usize>| {
                bar.inc(ids.len() as u64);
                let (prompts, max) = (&slices[ids.clone()], vec![NEW; ids.len()]);
                generate_batch(model, state, pool, prompts, &max, Pad::default(), &mut |_, _| {}).map(|_| ())
            };
            let served = serve(&mut WallClock::start(), &stream, &server.windows[policy], run);
            bar.finish_and_clear();
            let met = Met::of(&served.context("serving the stream")?);
            rows.push(met.row(load, name));
            measured.push((load, policy, met.p50_ms));
        }
    }
    story.rows(&HEADER, rows);
    Ok(measured)
}
