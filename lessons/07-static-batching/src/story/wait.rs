//! The wait window: what company costs and what it brings.

use super::streams::{Costs, Met, NEW, PROMPT, serve_for_real, simulate, stream};
use super::{Scene, made_up_tokens};
use lab::chart::Chart;
use lab::number;
use lab::race::{Race, RaceResult};
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use static_batching::serve::Window;
use static_batching::{BatchState, Pad, generate_batch};
use std::cell::RefCell;
use std::time::Duration;
use training::TokenId;

/// Most requests of a batch.
const MOST: usize = 8;
/// The claim waits 20 ms where a request alone takes 50: the same share here.
const WAIT_SHARE: f64 = 20.0 / 50.0;
/// Requests of a virtual stream.
const VIRTUAL: usize = 4000;
/// Offered loads, as shares of what one at a time can serve.
const LOADS: [f64; 10] = [0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0];
/// Above this load one at a time falls behind for ever: what one waits there depends on how long one looks.
const STABLE: f64 = 0.9;

/// A policy and its name.
struct Policy {
    name: &'static str,
    window: Window,
}

/// B4.
pub fn wait(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Wait for company",
        "Requests come one by one. A server may wait a little, so that others come along: the window closes when the batch is full, or when its \
         oldest request has waited long enough.",
    );
    story.predict(Prediction {
        id: "window",
        question: "The machine is idle, one request comes, and no other. The window is 20 ms, a request alone takes 50 ms. When is the answer there?",
        options: &[
            Choice { text: "after less than 50 ms", answer_to_wrong: Some("That is the idea that batching cuts latency. Nobody computes this request faster because others might have come.") },
            Choice { text: "after 50 ms", answer_to_wrong: Some("The server can not know that nobody will come. It waits.") },
            Choice { text: "after 70 ms", answer_to_wrong: None },
        ],
        answer: 2,
        because: "The whole window is waited out for nobody, and then the request is computed alone.",
    });
    let race = price(story, scene)?;
    let costs = costs_of(&race);
    let (alone, eight) = (costs[0], costs[MOST - 1]);
    let waiting = Duration::from_secs_f64(alone * WAIT_SHARE);
    story.values("batch_seconds", &costs);
    story.values("wait_seconds", waiting.as_secs_f64());
    story.say(format!(
        "One request of {PROMPT} + {NEW} tokens takes {}, eight together {}. The claim's 20 ms of waiting for 50 ms of work are {} here.",
        number::seconds(alone),
        number::seconds(eight),
        number::seconds(waiting.as_secs_f64()),
    ));
    let policies = [
        Policy {
            name: "one at a time",
            window: Window::new(1, Duration::ZERO)?,
        },
        Policy {
            name: "up to 8, no wait",
            window: Window::new(MOST, Duration::ZERO)?,
        },
        Policy {
            name: "up to 8, with a wait",
            window: Window::new(MOST, waiting)?,
        },
    ];
    let seed = story.args().seed;
    simulated(story, &policies, &costs, seed);
    claim(story, &policies, &costs, seed);
    let measured = real(story, scene, &policies, &costs, seed)?;
    chart(story, &policies, &costs, seed, &measured)
}

/// What a batch of each size takes: a race of eight entries.
fn price(story: &mut Story, scene: &Scene) -> anyhow::Result<RaceResult> {
    let (model, pool) = (&scene.model, &scene.pool);
    let state = RefCell::new(BatchState::new(&model.config));
    let prompts: Vec<Vec<TokenId>> = (0..MOST).map(|salt| made_up_tokens(model, PROMPT, salt)).collect();
    let slices: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
    let mut race = Race::new("requests", "Requests in one batch").unit("ms").rounds(5);
    for size in 1..=MOST {
        let (state, prompts) = (&state, &slices[..size]);
        let name = if size == 1 { "alone" } else { "together" };
        race = race.entry(name, Some(size as f64), move || {
            let (state, max) = (&mut *state.borrow_mut(), [NEW; MOST]);
            let (max, rule) = (&max[..size], Pad::default());
            let run = generate_batch(model, state, pool, prompts, max, rule, &mut |_, _| {});
            run.expect("the prompts fit").steps
        });
    }
    story.race(race)
}

fn costs_of(race: &RaceResult) -> Costs {
    race.entries.iter().map(|entry| entry.median / 1e3).collect()
}

const HEADER: [&str; 6] = ["load", "policy", "requests/s", "P50 ms", "P99 ms", "rows a batch"];

fn row(table: &mut Table, load: f64, policy: &Policy, met: &Met) {
    table.row([
        format!("{load}"),
        policy.name.to_owned(),
        number::short(met.per_second),
        number::short(met.p50_ms),
        number::short(met.p99_ms),
        format!("{:.1}", met.mean_batch),
    ]);
}

/// Loads of the tables: quiet, and more than one at a time can serve.
const QUIET: f64 = 0.2;
const BUSY: f64 = 2.5;

/// Both loads and all policies on the virtual clock.
fn simulated(story: &mut Story, policies: &[Policy], costs: &Costs, seed: u64) {
    story.say(format!(
        "{VIRTUAL} requests on the virtual clock, which passes as the race above says. Load 1 is what one at a time can just serve."
    ));
    let mut table = Table::new(&HEADER);
    for load in [QUIET, BUSY] {
        let stream = stream(seed, VIRTUAL, load, costs[0]);
        for policy in policies {
            let met = Met::of(&simulate(&stream, &policy.window, costs));
            row(&mut table, load, policy, &met);
        }
    }
    story.table(&table);
}

/// The claim, decided on the virtual clock: costs from the race, all else is counted.
fn claim(story: &mut Story, policies: &[Policy], costs: &Costs, seed: u64) {
    let met = |load, policy: &Policy| {
        let stream = stream(seed, VIRTUAL, load, costs[0]);
        Met::of(&simulate(&stream, &policy.window, costs))
    };
    let [one, no_wait, with_wait] = policies else {
        return;
    };
    let wait_ms = with_wait.window.max_wait().as_secs_f64() * 1e3;
    let cost_ms = met(QUIET, with_wait).p50_ms - met(QUIET, no_wait).p50_ms;
    let (alone, filled, waited) = (met(BUSY, one), met(BUSY, no_wait), met(BUSY, with_wait));
    let times = waited.per_second / alone.per_second;
    let by_waiting = waited.per_second / filled.per_second;
    let costs_the_wait = (0.5 * wait_ms..=1.5 * wait_ms).contains(&cost_ms);
    let verdict = match (times >= 2.0, costs_the_wait, by_waiting >= 1.2) {
        (true, true, true) => Verdict::Holds,
        (true, ..) => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let whose = match by_waiting >= 1.2 {
        true => "The wait itself has a part in that.",
        false => {
            "The wait has no part in that: without any, a busy machine's queue fills the batches while it computes."
        }
    };
    story.claim(Claim {
        id: "B4",
        claimed: "Waiting 5 to 20 ms to fill a batch costs that much latency and multiplies throughput (50 ms alone; 60 ms for 8)",
        value: times,
        unit: "times the requests a second, under load",
        verdict,
        note: &format!(
            "Virtual clock, prices from the race: {} alone, {} for 8. Quiet (load {QUIET}), a wait of {wait_ms:.1} ms costs {cost_ms:.1} ms in the median. \
             Busy (load {BUSY}), batches of up to 8 serve {times:.1} times what one at a time serves, and {by_waiting:.2} times what they serve without a \
             wait. {whose}",
            number::seconds(costs[0]),
            number::seconds(costs[MOST - 1]),
        ),
    });
}

/// A load and the median latency that was met there, for each policy.
type Measured = Vec<Vec<(f64, f64)>>;

/// The same streams with the model and the machine's clock.
fn real(
    story: &mut Story,
    scene: &mut Scene,
    policies: &[Policy],
    costs: &Costs,
    seed: u64,
) -> anyhow::Result<Measured> {
    story.say("And for real: the same code on the machine's clock, with the model.");
    let mut table = Table::new(&HEADER);
    let mut measured: Measured = policies.iter().map(|_| Vec::new()).collect();
    for load in [QUIET, BUSY] {
        // About a second, a few requests at least.
        let count = (load.min(1.0) / costs[0]).clamp(12.0, 300.0) as usize;
        let stream = stream(seed, count, load, costs[0]);
        for (policy, measured) in policies.iter().zip(&mut measured) {
            let bar = story.progress(count as u64, policy.name);
            let served = serve_for_real(scene, &stream, &policy.window, &mut |done| bar.inc(done));
            bar.finish_and_clear();
            let met = Met::of(&served?);
            row(&mut table, load, policy, &met);
            measured.push((load, met.p50_ms));
        }
    }
    story.table(&table);
    Ok(measured)
}

/// Median latency over the load: lines from the virtual clock, points from the machine's.
fn chart(story: &mut Story, policies: &[Policy], costs: &Costs, seed: u64, measured: &Measured) -> anyhow::Result<()> {
    let mut chart = Chart::lines("wait", "What a wait costs, and when it brings nothing")
        .x_label("offered load; 1: what one at a time can serve")
        .y_label("median latency, ms")
        .note("dashes: virtual clock; points: the machine's clock; above load 1 one at a time falls behind for ever");
    let mut all: Vec<(f64, f64)> = Vec::new();
    for (policy, points) in policies.iter().zip(measured) {
        let is_stable = |load: f64| policy.window.max_batch() > 1 || load < STABLE;
        let line = LOADS.iter().filter(|load| is_stable(**load)).map(|load| {
            let stream = stream(seed, VIRTUAL, *load, costs[0]);
            let met = Met::of(&simulate(&stream, &policy.window, costs));
            (*load, met.p50_ms)
        });
        all.extend(points.iter().filter(|(load, _)| is_stable(*load)));
        chart = chart.dashed(policy.name, line.collect());
    }
    chart = chart.points("measured with the model", all);
    story.chart(&chart)?;
    story.say(
        "With a quiet machine the wait is pure latency. With a busy one the line of the wait lies on the line without: who waits for the machine \
         need not wait for company.",
    );
    Ok(())
}
