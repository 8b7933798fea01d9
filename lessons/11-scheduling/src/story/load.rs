//! Q4: how far first come, first served carries.

use super::Scene;
use super::world::{self, in_ms};
use lab::chart::Chart;
use lab::story::{Answer, Claim, Story, Verdict};
use scheduling::TenantId;
use scheduling::policy::{FairQuota, Fcfs, Policy, ShortestPrompt};
use scheduling::simulate::{Job, Outcome, Setup, Simulation};
use static_batching::percentile::percentile;
use std::collections::BTreeMap;
use std::time::Duration;

/// Loads, as shares of what can be served.
const LOADS: [f64; 7] = [0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 2.0];
const LAST: usize = LOADS.len() - 1;
/// Requests of each run.
const COUNT: usize = 800;
/// A request is in time up to this multiple of the time that its kind needs when it is alone.
const OBJECTIVE: u32 = 5;
/// Differences in the share in time up to this size do not count.
const SAME: f64 = 0.05;

/// Time to the first token and to the end that each kind of request, its lengths, may take.
type Objectives = BTreeMap<(usize, usize), (Duration, Duration)>;

fn kind(job: &Job) -> (usize, usize) {
    (job.prompt_tokens, job.new_tokens)
}

fn objectives(scene: &Scene, capacity: f64) -> anyhow::Result<Objectives> {
    let jobs = world::jobs(scene.seed, 200, &world::three_kinds(), 0.02 * capacity, 1);
    let quiet = world::run(&world::machine(true), Box::new(Fcfs), &jobs)?;
    let mut times: BTreeMap<_, [Vec<Duration>; 2]> = BTreeMap::new();
    for (outcome, job) in quiet.outcomes.iter().zip(&jobs) {
        let [first, all] = times.entry(kind(job)).or_default();
        first.extend(outcome.ttft());
        all.extend(outcome.latency());
    }
    let allowed = |times: &[Duration]| OBJECTIVE * percentile(times, 50.0).unwrap_or_default();
    Ok(times
        .into_iter()
        .map(|(kind, [first, all])| (kind, (allowed(&first), allowed(&all))))
        .collect())
}

/// Share of some requests that were answered in time, of all of these that came.
fn in_time(done: &Simulation, jobs: &[Job], objectives: &Objectives, wanted: fn(&Job) -> bool) -> f64 {
    let is_in_time = |(outcome, job): (&Outcome, &Job)| {
        let (first, all) = objectives.get(&kind(job)).copied().unwrap_or_default();
        outcome.ttft().is_some_and(|ttft| ttft <= first) && outcome.latency().is_some_and(|latency| latency <= all)
    };
    let of_kind = done.outcomes.iter().zip(jobs).filter(|(_, job)| wanted(job));
    let each: Vec<bool> = of_kind.map(is_in_time).collect();
    each.iter().filter(|in_time| **in_time).count() as f64 / each.len().max(1) as f64
}

/// A contender: its name, its machine and its order.
type Way = (&'static str, Setup, fn() -> Box<dyn Policy>);
/// Which of the contenders is the simple one, and which the fair one.
const SIMPLE: usize = 2;
const FAIR: usize = 4;

fn ways(timeout: Duration) -> [Way; 5] {
    let (whole, chunked) = (world::machine(false), world::machine(true));
    let mut with_timeout = chunked.clone();
    with_timeout.limits.max_wait = Some(timeout);
    [
        ("first come (08)", whole, || Box::new(Fcfs)),
        ("first come, chunks", chunked, || Box::new(Fcfs)),
        ("first come, timeout", with_timeout.clone(), || Box::new(Fcfs)),
        ("short first, timeout", with_timeout.clone(), || {
            Box::new(ShortestPrompt)
        }),
        ("fair quota, timeout", with_timeout, || Box::new(FairQuota)),
    ]
}

/// Shares in time by load: of all requests, and of the three tenants that ask for less than a quarter of the machine up
/// to a load of 1.67.
type Shares = Vec<[f64; 2]>;

/// Share in time, by load and policy.
pub fn sweep(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Ask how far the simple order carries",
        "First come, first served has nothing to tune. Let the load grow, and count the requests that are served in time: within five times of what the request needs when it is alone.",
    );
    let capacity = world::capacity(scene.seed, &world::three_kinds())?;
    let objectives = objectives(scene, capacity)?;
    let timeout = objectives.values().map(|(first, _)| *first).min().unwrap_or_default();
    story.show_as("served at most", capacity, format!("{capacity:.1} requests a second"));
    let shown = format!(
        "{:.0} ms for a first row: later than that it can not be in time",
        in_ms(timeout)
    );
    story.show_as("timeout", in_ms(timeout), shown);
    let ways = ways(timeout);
    let mut shares: Vec<Shares> = vec![Shares::new(); ways.len()];
    for load in LOADS {
        let jobs = world::jobs(scene.seed, COUNT, &world::three_kinds(), load * capacity, 1);
        for ((_, setup, policy), shares) in ways.iter().zip(&mut shares) {
            let done = world::run(setup, policy(), &jobs)?;
            let wanted: [fn(&Job) -> bool; 2] = [|_| true, |job| job.meta.tenant != TenantId(0)];
            shares.push(wanted.map(|wanted| in_time(&done, &jobs, &objectives, wanted)));
        }
    }
    story.predict_measured("overload", Answer::Number((100.0 * shares[0][LAST][0]).round()), &[]);
    let line = |shares: &Shares, group: usize| {
        LOADS
            .iter()
            .zip(shares)
            .map(|(load, of)| (*load, of[group]))
            .collect::<Vec<_>>()
    };
    let header: Vec<String> = std::iter::once("in time, %, at load".to_owned())
        .chain(LOADS.map(|load| load.to_string()))
        .collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let groups = [
        "All requests:",
        "Those of three tenants that send 15 % each, while a fourth sends the rest:",
    ];
    for (group, (id, title)) in ["all", "modest"].into_iter().zip(groups).enumerate() {
        story.say(title);
        story.rows(
            &header,
            ways.iter().zip(&shares).map(|((name, ..), shares)| {
                let cells = shares.iter().map(|of| format!("{:.0}", 100.0 * of[group]));
                std::iter::once((*name).to_owned()).chain(cells)
            }),
        );
        for ((name, ..), shares) in ways.iter().zip(&shares) {
            story.values(&format!("{id}, {name}"), line(shares, group));
        }
    }
    claim(story, &shares);
    let percent = |way: usize, group: usize| {
        line(&shares[way], group)
            .into_iter()
            .map(|(load, share)| (load, 100.0 * share))
            .collect()
    };
    let chart = Chart::lines(
        "load",
        "A timeout keeps first come, first served useful beyond the capacity",
    )
    .x_label("load, as a share of what can be served")
    .y_label("% of those that come, answered in time")
    .y_range(0.0, 100.0)
    .note("virtual clock; 64 → 32 (60 %), 64 → 192 (30 %), 512 → 32 (10 %)")
    .dashed(ways[0].0, percent(0, 0))
    .dashed(ways[SIMPLE].0, percent(SIMPLE, 0))
    .dashed("small tenants, timeout", percent(SIMPLE, 1))
    .dashed("small tenants, fair quota", percent(FAIR, 1));
    story.chart(&chart)?;
    Ok(())
}

/// The first load from which on another order serves clearly more requests of a group in time.
fn beaten(shares: &[Shares], group: usize) -> Option<usize> {
    (0..=LAST).find(|load| {
        let others = shares[SIMPLE + 1..].iter().map(|other| other[*load][group]);
        others.fold(0.0, f64::max) > shares[SIMPLE][*load][group] + SAME
    })
}

fn claim(story: &mut Story, shares: &[Shares]) {
    let beaten = [0, 1].map(|group| beaten(shares, group));
    // Strong: up to the capacity nothing beats it, and the timeout is worth something beyond it.
    let full = LOADS.iter().position(|load| *load >= 1.0).unwrap_or(LAST);
    let is_strong = beaten[0].is_none_or(|load| load > full) && shares[SIMPLE][LAST][0] > 2.0 * shares[0][LAST][0];
    let ends = beaten.into_iter().flatten().min();
    let percent = |way: usize, load: usize, group: usize| 100.0 * shares[way][load][group];
    let from = |load: Option<usize>| load.map_or("no load".to_owned(), |load| format!("a load of {} on", LOADS[load]));
    let at = beaten[1].unwrap_or(LAST);
    let note = format!(
        "At twice the capacity {:.0} % are in time without a timeout and {:.0} % with it. Of all requests another order serves more from {}; of those of the three small tenants from {}, \
         where {:.0} % are in time, and {:.0} % with a fair quota: the flood of one tenant delays all of them.",
        percent(0, LAST, 0),
        percent(SIMPLE, LAST, 0),
        from(beaten[0]),
        from(beaten[1]),
        percent(SIMPLE, at, 1),
        percent(FAIR, at, 1),
    );
    story.claim(Claim {
        id: "Q4",
        claimed: "Simple first: FCFS with a timeout is a strong baseline; show where it stops being enough",
        value: LOADS[ends.unwrap_or(LAST)],
        unit: "of the capacity",
        verdict: Verdict::of(is_strong && ends.is_some(), is_strong || ends.is_some()),
        note: &note,
    });
}
