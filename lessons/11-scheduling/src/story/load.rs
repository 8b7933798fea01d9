//! Q4: how far first come, first served carries.

use super::Scene;
use super::world::{self, in_ms};
use lab::chart::Chart;
use lab::story::{Answer, Claim, Story, Verdict};
use lab::table::Table;
use scheduling::TenantId;
use scheduling::policy::{FairQuota, Fcfs, Policy, ShortestPrompt};
use scheduling::simulate::{Job, Outcome, Setup, Simulation};
use static_batching::percentile::percentile;
use std::collections::BTreeMap;
use std::time::Duration;

/// Loads, as shares of what can be served.
const LOADS: [f64; 7] = [0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 2.0];
/// Requests of each run.
const COUNT: usize = 800;
/// A request is in time up to this multiple of the time that its kind needs when it is alone.
const OBJECTIVE: u32 = 5;
/// Differences in the share in time up to this size do not count.
const SAME: f64 = 0.05;

/// A request's kind: its lengths.
type Kind = (usize, usize);

fn kind(job: &Job) -> Kind {
    (job.prompt_tokens, job.new_tokens)
}

/// Time to the first token and to the end that each kind may take.
type Objectives = BTreeMap<Kind, (Duration, Duration)>;

fn objectives(scene: &Scene, capacity: f64) -> anyhow::Result<Objectives> {
    let jobs = world::jobs(scene.seed, 200, &world::three_kinds(), 0.02 * capacity, 1);
    let quiet = world::run(&world::chunked(), Box::new(Fcfs), &jobs)?;
    let mut times: BTreeMap<Kind, (Vec<Duration>, Vec<Duration>)> = BTreeMap::new();
    for (outcome, job) in quiet.outcomes.iter().zip(&jobs) {
        let (first, all) = times.entry(kind(job)).or_default();
        first.extend(outcome.ttft());
        all.extend(outcome.latency());
    }
    let allowed = |times: &[Duration]| OBJECTIVE * percentile(times, 50.0).unwrap_or_default();
    let objective = |(kind, (first, all)): (Kind, (Vec<_>, Vec<_>))| (kind, (allowed(&first), allowed(&all)));
    Ok(times.into_iter().map(objective).collect())
}

/// Share of some requests that were answered in time, of all of these that came.
fn in_time(done: &Simulation, jobs: &[Job], objectives: &Objectives, wanted: fn(&Job) -> bool) -> f64 {
    let is_in_time = |outcome: &Outcome, job: &Job| {
        let Some((first, all)) = objectives.get(&kind(job)) else {
            return false;
        };
        outcome.ttft().is_some_and(|ttft| ttft <= *first) && outcome.latency().is_some_and(|latency| latency <= *all)
    };
    let pairs = done.outcomes.iter().zip(jobs);
    let of_kind: Vec<bool> = pairs
        .filter(|(_, job)| wanted(job))
        .map(|(outcome, job)| is_in_time(outcome, job))
        .collect();
    of_kind.iter().filter(|in_time| **in_time).count() as f64 / of_kind.len().max(1) as f64
}

/// Whether a request is of one of the three tenants that ask for less than a quarter of the machine up to a load of
/// 1.67.
fn is_modest(job: &Job) -> bool {
    job.meta.tenant != TenantId(0)
}

/// A contender: machine and order.
type Way = (&'static str, Setup, fn() -> Box<dyn Policy>);

/// Which of the contenders is the simple one.
const SIMPLE: usize = 2;

fn ways(timeout: Duration) -> Vec<Way> {
    let mut with_timeout = world::chunked();
    with_timeout.limits.max_wait = Some(timeout);
    vec![
        ("first come (08)", world::whole(), || Box::new(Fcfs)),
        ("first come, chunks", world::chunked(), || Box::new(Fcfs)),
        ("first come, timeout", with_timeout.clone(), || Box::new(Fcfs)),
        ("short first, timeout", with_timeout.clone(), || {
            Box::new(ShortestPrompt)
        }),
        ("fair quota, timeout", with_timeout, || Box::new(FairQuota)),
    ]
}

/// Share in time, by load and policy.
pub fn sweep(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Ask how far the simple order carries",
        "First come, first served needs no thought. Let the load grow, and count the requests that are served in time: within five times of what the request needs when it is alone.",
    );
    let capacity = world::capacity(scene.seed, &world::three_kinds())?;
    let objectives = objectives(scene, capacity)?;
    let timeout = objectives.values().map(|(first, _)| *first).min().unwrap_or_default();
    story.show_as("served at most", capacity, format!("{capacity:.1} requests a second"));
    story.show_as(
        "timeout",
        in_ms(timeout),
        format!(
            "{:.0} ms for a first row: later than that it can not be in time",
            in_ms(timeout)
        ),
    );
    let ways = ways(timeout);
    let names: Vec<&str> = ways.iter().map(|(name, ..)| *name).collect();
    let (mut all, mut modest) = (vec![Shares::new(); ways.len()], vec![Shares::new(); ways.len()]);
    for load in LOADS {
        let rate = load * capacity;
        let jobs = world::jobs(scene.seed, COUNT, &world::three_kinds(), rate, 1);
        for (index, (_, setup, policy)) in ways.iter().enumerate() {
            let done = world::run(setup, policy(), &jobs)?;
            all[index].push((load, in_time(&done, &jobs, &objectives, |_| true)));
            modest[index].push((load, in_time(&done, &jobs, &objectives, is_modest)));
        }
    }
    let at_double = all[0][LOADS.len() - 1].1;
    story.predict_measured("overload", Answer::Number((100.0 * at_double).round()), &[]);
    story.say("All requests:");
    table(story, "all", &names, &all);
    story.say("Those of three tenants that send 15 % each, while a fourth sends the rest:");
    table(story, "modest", &names, &modest);
    claim(story, &all, &modest);
    drawn(story, &names, &all, &modest)
}

/// The points of a line: load, and share of requests in time.
type Shares = Vec<(f64, f64)>;

fn table(story: &mut Story, id: &str, names: &[&str], shares: &[Shares]) {
    let mut header = vec!["in time, %, at load"];
    let loads = LOADS.map(|load| load.to_string());
    header.extend(loads.iter().map(String::as_str));
    let mut table = Table::new(&header);
    for (name, shares) in names.iter().zip(shares) {
        let cells = shares.iter().map(|(_, share)| format!("{:.0}", 100.0 * share));
        table.row(std::iter::once((*name).to_owned()).chain(cells));
        story.values(&format!("{id}, {name}"), shares);
    }
    story.table(&table);
}

fn drawn(story: &mut Story, names: &[&str], all: &[Shares], modest: &[Shares]) -> anyhow::Result<()> {
    let percent = |shares: &Shares| shares.iter().map(|(x, y)| (*x, 100.0 * y)).collect::<Vec<_>>();
    let mut chart = Chart::lines("load", "Requests that are answered in time")
        .x_label("load, as a share of what can be served")
        .y_label("% of those that come")
        .y_range(0.0, 105.0)
        .note("virtual clock; 64 → 32 (60 %), 64 → 192 (30 %), 512 → 32 (10 %)");
    for index in [0, SIMPLE] {
        chart = chart.dashed(names[index], percent(&all[index]));
    }
    for (index, name) in [(SIMPLE, "small tenants, timeout"), (4, "small tenants, fair quota")] {
        chart = chart.dashed(name, percent(&modest[index]));
    }
    story.chart(&chart)?;
    Ok(())
}

/// The first load from which on another order serves clearly more requests in time; `None` if there is none.
fn beaten(shares: &[Shares]) -> Option<usize> {
    (0..LOADS.len()).find(|load| {
        let best = shares[SIMPLE + 1..].iter().map(|other| other[*load].1);
        best.fold(0.0, f64::max) > shares[SIMPLE][*load].1 + SAME
    })
}

fn claim(story: &mut Story, all: &[Shares], modest: &[Shares]) {
    let last = LOADS.len() - 1;
    let (for_all, for_modest) = (beaten(all), beaten(modest));
    // Strong: up to the capacity nothing beats it, and the timeout is worth something beyond it.
    let full = LOADS.iter().position(|load| *load >= 1.0).unwrap_or(last);
    let is_strong = for_all.is_none_or(|load| load > full) && all[SIMPLE][last].1 > 2.0 * all[0][last].1;
    let ends = match (for_all, for_modest) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let verdict = match (is_strong, ends) {
        (true, Some(_)) => Verdict::Holds,
        (false, None) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let percent = |shares: &Shares, load: usize| 100.0 * shares[load].1;
    let of_all = match for_all {
        Some(load) => format!(
            "of all requests another order serves more from a load of {} on",
            LOADS[load]
        ),
        None => format!(
            "no order serves more of all requests in time, up to a load of {}",
            LOADS[last]
        ),
    };
    let of_modest = match for_modest {
        Some(load) => format!(
            "it stops being enough at a load of {} for the three small tenants: {:.0} % of theirs are in time, {:.0} % with a fair quota",
            LOADS[load],
            percent(&modest[SIMPLE], load),
            percent(&modest[4], load)
        ),
        None => "nor of those of small tenants".to_owned(),
    };
    let note = format!(
        "At twice the capacity {:.0} % are in time without a timeout and {:.0} % with it; {of_all}. But what is one tenant's flood is everybody's: {of_modest}.",
        percent(&all[0], last),
        percent(&all[SIMPLE], last),
    );
    story.claim(Claim {
        id: "Q4",
        claimed: "Simple first: FCFS with a timeout is a strong baseline; show where it stops being enough",
        value: LOADS[ends.unwrap_or(last)],
        unit: "of the capacity",
        verdict,
        note: &note,
    });
}
