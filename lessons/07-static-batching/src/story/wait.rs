//! B4: the wait window: the cost and the use of waiting for more requests, and values to begin with.

use super::steps::Steps;
use super::{Scene, made_up_prompts, slices};
use anyhow::Context;
use lab::chart::Chart;
use lab::number;
use lab::race::Disturbance;
use lab::story::{Claim, Story, Verdict};
use static_batching::clock::{VirtualClock, WallClock};
use static_batching::percentile::percentile;
use static_batching::prices::StepPrices;
use static_batching::serve::{Served, Window, serve};
use static_batching::workload::{Lengths, Pace, arrivals};
use static_batching::{Pad, generate_batch};
use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;

/// Tokens of a prompt and of an answer. All requests have the same lengths, so that only the batches make a difference.
const PROMPT: usize = 8;
const NEW: usize = 16;
/// Most requests of a batch, except in the grid.
const MOST: usize = 8;
/// The claim waits 10 ms where a request computes for 50: the same share here.
const WAIT_SHARE: f64 = 10.0 / 50.0;
/// Requests of a virtual stream.
const STREAM: usize = 4000;
/// Loads, in times of the rate that one at a time can just serve.
const QUIET: f64 = 0.2;
const BUSY: f64 = 2.5;
const LOADS: [f64; 12] = [0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 3.5, 4.0];
/// Above this share of the rate that a policy can serve, its latency depends on the length of the stream.
const STABLE: f64 = 0.9;
/// The policies: name, most requests of a batch, whether it waits.
const POLICIES: [(&str, usize, bool); 3] = [
    ("one at a time", 1, false),
    ("up to 8, no wait", MOST, false),
    ("up to 8, with a wait", MOST, true),
];

/// What a stream met: latencies in times of a request alone.
struct Met {
    per_second: f64,
    p50: f64,
    p99: f64,
    mean_batch: f64,
}

/// The prices of a model's steps, and the streams that are served with them.
struct Server {
    prices: StepPrices,
    seed: u64,
    /// Seconds of a request alone.
    alone: f64,
}

impl Server {
    fn new(steps: &Steps, seed: u64) -> Server {
        let prices = StepPrices::new(steps.line(|rows, _| steps.ms(rows) / 1e3));
        let alone = prices.batch(1, PROMPT, NEW).as_secs_f64();
        Server { prices, seed, alone }
    }

    /// Requests a second in full batches of this size, in times of one at a time.
    fn full_rate(&self, size: usize) -> f64 {
        size as f64 * self.alone / self.prices.batch(size, PROMPT, NEW).as_secs_f64()
    }

    /// A window of this share of a request alone.
    fn window(&self, max_batch: usize, share: f64) -> Window {
        let wait = Duration::from_secs_f64(share * self.alone);
        Window::new(max_batch, wait).expect("a batch holds at least one")
    }

    fn stream(&self, count: usize, load: f64) -> Vec<Duration> {
        let per_second = load / self.alone;
        let (lengths, pace) = (Lengths::equal(PROMPT, NEW), Pace::Poisson { per_second });
        let stream = arrivals(self.seed, count, &lengths, &pace);
        stream.iter().map(|arrival| arrival.at).collect()
    }

    fn met(&self, served: &[Served]) -> Met {
        let latencies: Vec<f64> = served.iter().map(|s| s.latency().as_secs_f64() / self.alone).collect();
        let at = |percent| percentile(&latencies, percent).unwrap_or(f64::NAN);
        let end = served.iter().map(|s| s.finished).max().unwrap_or_default();
        let begin = served.first().map(|s| s.arrived).unwrap_or_default();
        // Each request is one part of its batch, so these parts add up to the number of batches.
        let batches: f64 = served.iter().map(|s| 1.0 / s.batch_size as f64).sum();
        Met {
            per_second: served.len() as f64 / (end - begin).as_secs_f64(),
            p50: at(50.0),
            p99: at(99.0),
            mean_batch: served.len() as f64 / batches,
        }
    }

    /// A stream on the virtual clock.
    fn simulate(&self, count: usize, load: f64, window: &Window) -> Met {
        let run = &mut |clock: &mut VirtualClock, ids: Range<usize>| {
            clock.advance(self.prices.batch(ids.len(), PROMPT, NEW));
            Ok::<(), Infallible>(())
        };
        let Ok(served) = serve(&mut VirtualClock::new(), &self.stream(count, load), window, run);
        self.met(&served)
    }

    fn policy(&self, policy: usize) -> Window {
        let (_, size, waits) = POLICIES[policy];
        self.window(size, if waits { WAIT_SHARE } else { 0.0 })
    }
}

/// The prediction, both clocks, the claim and the chart. `all` are the timed steps, the large model first.
pub fn wait(story: &mut Story, scene: &mut Scene, all: &[Steps]) -> anyhow::Result<()> {
    story.step(
        "Wait for more requests",
        "Requests come one by one. A server may wait a little for others: the window closes when the batch is full, or \
         when its oldest request has waited long enough.",
    );
    story.predict("window");
    let (large, seed) = (&all[0], story.args().seed);
    let server = Server::new(large, seed);
    let seconds = |share: f64| number::seconds(share * server.alone);
    story.say(format!(
        "{STREAM} requests of {PROMPT} + {NEW} tokens on the virtual clock; a batch takes what its steps took with {} \
         above: {} for one request, {} for eight. The claim waits 10 ms for 50 ms of computing: {} here. Load 1 is the \
         rate that one at a time can just serve.",
        large.name,
        seconds(1.0),
        seconds(MOST as f64 / server.full_rate(MOST)),
        seconds(WAIT_SHARE),
    ));
    story.values("alone_seconds", server.alone);
    let rows = [QUIET, BUSY].into_iter().flat_map(|load| {
        let server = &server;
        POLICIES.iter().enumerate().map(move |(policy, (name, ..))| {
            let met = server.simulate(STREAM, load, &server.policy(policy));
            let ms = |times: f64| number::short(1e3 * server.alone * times);
            let (rate, rows) = (number::short(met.per_second), format!("{:.1}", met.mean_batch));
            [
                load.to_string(),
                (*name).to_owned(),
                rate,
                ms(met.p50),
                ms(met.p99),
                rows,
            ]
        })
    });
    story.rows(
        &["load", "policy", "requests/s", "P50 ms", "P99 ms", "rows a batch"],
        rows,
    );
    claim(story, &server, large);
    let measured = with_the_model(story, scene, &Server::new(&all[all.len() - 1], seed))?;
    let mut chart = Chart::lines("wait", "A wait adds latency, and under load it changes nothing")
        .x_label("offered load; 1: the rate that one at a time can serve")
        .y_label("median latency, in times of a request alone")
        .note("lines: virtual clock; points: the model on the machine's clock; each line ends near its highest rate")
        .log_y();
    for (policy, (name, size, _)) in POLICIES.into_iter().enumerate() {
        let loads = LOADS.into_iter().filter(|load| *load < STABLE * server.full_rate(size));
        let point = |load| (load, server.simulate(STREAM, load, &server.policy(policy)).p50);
        chart = chart.series(name, loads.map(point).collect());
    }
    story.chart(&chart.points("measured with the model", measured))?;
    starting_values(story, &server)
}

/// Decided on the virtual clock: the prices are measured, all else is counted.
fn claim(story: &mut Story, server: &Server, steps: &Steps) {
    let at = |load, policy| server.simulate(STREAM, load, &server.policy(policy));
    let [one, no_wait, with_wait] = [0, 1, 2].map(|policy| at(BUSY, policy).per_second);
    let added = at(QUIET, 2).p50 - at(QUIET, 1).p50;
    let (times, by_waiting) = (with_wait / one, with_wait / no_wait);
    let costs_the_wait = (0.5 * WAIT_SHARE..=1.5 * WAIT_SHARE).contains(&added);
    let wait_pays = by_waiting >= 1.2;
    let cause = match wait_pays {
        true => "The wait itself is a part of that.",
        false => "The wait is no part of that: the queue of a busy machine fills the batches while it computes.",
    };
    let claim = Claim {
        id: "B4",
        claimed: "Waiting 5 to 20 ms to fill a batch costs that much latency and multiplies throughput (50 ms alone; \
                  60 ms for 8)",
        value: times,
        unit: "times the requests a second of one at a time, under load",
        verdict: Verdict::of(times >= 2.0 && costs_the_wait && wait_pays, times >= 2.0),
        note: &format!(
            "The claimed 60 ms are 10 ms of waiting and 50 ms of computing together, compared with one request at a \
             time; eight arrivals in 10 ms are 800 a second, which the claim does not say. Virtual clock, prices of \
             {}. Quiet (load {QUIET}): a wait of {:.2} times a request alone adds {added:.2} to the median. Busy (load \
             {BUSY}): batches of up to 8 serve {times:.1} times as many requests as one at a time, and {by_waiting:.2} \
             times as many as batches without a wait. {cause}",
            steps.name, WAIT_SHARE,
        ),
    };
    let sign = Disturbance::of_ratio("eight rows in times of one row", steps.times(8), 0.9..=f64::INFINITY);
    story.claim_if_quiet(claim, [sign, steps.disturbance()]);
}

/// Streams of the lesson's model on both clocks. Returns (load, median latency in times of a request alone).
fn with_the_model(story: &mut Story, scene: &mut Scene, server: &Server) -> anyhow::Result<Vec<(f64, f64)>> {
    story
        .say("The same code with the model, on the machine's clock, beside the virtual clock with the model's prices:");
    let (mut rows, mut measured) = (Vec::new(), Vec::new());
    for load in [QUIET, BUSY] {
        // About a second, a few requests at least.
        let count = (load.min(1.0) / server.alone).clamp(12.0, 300.0) as usize;
        let stream = server.stream(count, load);
        let prompts = made_up_prompts(&scene.model, vec![PROMPT; count]);
        let slices = slices(&prompts);
        for (policy, (name, ..)) in POLICIES.into_iter().enumerate() {
            let (model, pool, state) = (&scene.model, &scene.pool, &mut scene.state);
            let run = &mut |_: &mut WallClock, ids: Range<usize>| {
                let (prompts, max) = (&slices[ids.clone()], vec![NEW; ids.len()]);
                generate_batch(model, state, pool, prompts, &max, Pad::default(), &mut |_, _| {}).map(|_| ())
            };
            let served = serve(&mut WallClock::start(), &stream, &server.policy(policy), run);
            let met = server.met(&served.context("serving the stream")?);
            let by_prices = server.simulate(count, load, &server.policy(policy));
            let ms = |times: f64| number::short(1e3 * server.alone * times);
            rows.push([load.to_string(), name.to_owned(), ms(by_prices.p50), ms(met.p50)]);
            // One at a time can not hold the higher load: its latency depends on the length of the stream.
            measured.extend((policy > 0 || load < STABLE).then_some((load, met.p50)));
        }
    }
    story.rows(&["load", "policy", "P50 ms, by prices", "P50 ms, by the clock"], rows);
    Ok(measured)
}

/// Batch sizes and windows of the grid; a window is a share of a request alone: 0, 10, 20 and 100 ms for 50 ms.
const SIZES: [usize; 5] = [8, 16, 32, 64, 128];
const WINDOWS: [f64; 4] = [0.0, 0.2, 0.4, 2.0];
/// Load of the grid, as a share of the highest rate among its batch sizes.
const ONLINE: f64 = 0.6;

/// Values to begin with, by kind of traffic.
fn starting_values(story: &mut Story, server: &Server) -> anyhow::Result<()> {
    story.step(
        "Choose values to begin with",
        "Advice: online a batch of 32 to 64 and a window of 10 to 20 ms; offline at least 128 and at least 100 ms. The \
         same grid with the prices above, windows scaled: 10 ms for a request of 50 ms are a share of 0.2.",
    );
    let best = SIZES.map(|size| server.full_rate(size)).into_iter().fold(0.0, f64::max);
    let p99 = |size, load| WINDOWS.map(|share| server.simulate(STREAM, load, &server.window(size, share)).p99);
    let grid = SIZES.map(|size| p99(size, ONLINE * best));
    let quiet = p99(32, QUIET);
    let row = |name: String, rate: String, p99: &[f64; 4]| {
        [vec![name, rate], p99.iter().map(|p99| format!("{p99:.1}")).collect()].concat()
    };
    let busy = SIZES.iter().zip(&grid).map(|(size, p99)| {
        let rate = format!("{:.1}", server.full_rate(*size));
        row(size.to_string(), rate, p99)
    });
    let quiet_row = row("32, quiet".to_owned(), String::new(), &quiet);
    let header = [
        "batch up to",
        "offline rate",
        "P99, no wait",
        "wait 0.2",
        "wait 0.4",
        "wait 2",
    ];
    story.rows(&header, busy.chain([quiet_row]));
    story.values("offline_rate", SIZES.map(|size| server.full_rate(size)));
    story.values("p99", grid);
    story.values("p99_quiet", quiet);
    story.say(format!(
        "The rate of full batches is in times of one at a time, P99 in times of a request alone; the load is {ONLINE} \
         of the best rate ({QUIET} of one at a time in the last row). Begin online with the smallest batch that keeps \
         the rate, and without a wait. Offline the requests are all there, so a full batch never waits, and the rate \
         alone decides."
    ));
    Ok(())
}
