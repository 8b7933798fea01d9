//! Q4: how far first come, first served carries.

use super::Scene;
use super::world::{self, in_ms};
use lab::chart::Chart;
use lab::story::{Claim, NumberPrediction, Story, Verdict};
use lab::table::Table;
use scheduling::policy::{Fcfs, Policy, PriorityWithAgeing, ShortestPrompt};
use scheduling::simulate::{Job, Outcome, Setup, Simulation};
use static_batching::percentile::percentile;
use std::collections::BTreeMap;
use std::time::Duration;

/// Loads, as shares of what can be served.
const LOADS: [f64; 7] = [0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 2.0];
/// Requests of each run.
const COUNT: usize = 800;
/// A request is in time up to so many times of what its kind needs when nobody else is there.
const OBJECTIVE: u32 = 5;
/// So much less in time is no difference.
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
    let objective =
        |(kind, (first, all)): (Kind, (Vec<_>, Vec<_>))| (kind, (allowed(&first), allowed(&all)));
    Ok(times.into_iter().map(objective).collect())
}

/// Share of the requests that were answered in time, of all that came.
fn in_time(done: &Simulation, jobs: &[Job], objectives: &Objectives) -> f64 {
    let is_in_time = |(outcome, job): &(&Outcome, &Job)| {
        let Some((first, all)) = objectives.get(&kind(job)) else {
            return false;
        };
        outcome.ttft().is_some_and(|ttft| ttft <= *first)
            && outcome.latency().is_some_and(|latency| latency <= *all)
    };
    let pairs = done.outcomes.iter().zip(jobs);
    pairs.filter(is_in_time).count() as f64 / jobs.len() as f64
}

/// A contender: machine and order.
type Way = (&'static str, Setup, fn() -> Box<dyn Policy>);

fn ways(timeout: Duration) -> Vec<Way> {
    let with_timeout = |mut setup: Setup| {
        setup.limits.max_wait = Some(timeout);
        setup
    };
    vec![
        ("first come (08)", world::whole(), || Box::new(Fcfs)),
        ("first come, chunks", world::chunked(), || Box::new(Fcfs)),
        (
            "first come, chunks, timeout",
            with_timeout(world::chunked()),
            || Box::new(Fcfs),
        ),
        (
            "short first, chunks, timeout",
            with_timeout(world::chunked()),
            || Box::new(ShortestPrompt),
        ),
        (
            "ageing, chunks, timeout",
            with_timeout(world::chunked()),
            || {
                Box::new(PriorityWithAgeing {
                    step: Duration::from_millis(100),
                })
            },
        ),
    ]
}

/// Share in time, by load and policy.
pub fn sweep(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Ask how far the simple order carries",
        "First come, first served needs no thought. Let the load grow, and count who is served in time: within five times of what the request needs when it is alone.",
    );
    let capacity = world::capacity(scene.seed, &world::three_kinds())?;
    let objectives = objectives(scene, capacity)?;
    let timeout = objectives
        .values()
        .map(|(first, _)| *first)
        .min()
        .unwrap_or_default();
    story.show_as(
        "served at most",
        capacity,
        format!("{capacity:.1} requests a second"),
    );
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
    let mut shares: Vec<Vec<(f64, f64)>> = vec![Vec::new(); ways.len()];
    for load in LOADS {
        let rate = load * capacity;
        let jobs = world::jobs(scene.seed, COUNT, &world::three_kinds(), rate, 1);
        for (shares, (_, setup, policy)) in shares.iter_mut().zip(&ways) {
            let done = world::run(setup, policy(), &jobs)?;
            shares.push((load, in_time(&done, &jobs, &objectives)));
        }
    }
    let at_double = shares[0][LOADS.len() - 1].1;
    story.predict_number(NumberPrediction {
        id: "overload",
        question: "Twice as much comes as can be served, first come, first served, no timeout. Half of it could be served in time at best. How many of a hundred requests are?",
        answer: (100.0 * at_double).round(),
        unit: "of a hundred",
        within: 2.0,
        because: "The queue grows all the time, so everybody who is served was late long before its turn. The machine is busy with work that nobody wants any more.",
    });
    let mut header = vec!["in time, %, at load"];
    let loads = LOADS.map(|load| load.to_string());
    header.extend(loads.iter().map(String::as_str));
    let mut table = Table::new(&header);
    for (name, shares) in names.iter().zip(&shares) {
        let cells = shares
            .iter()
            .map(|(_, share)| format!("{:.0}", 100.0 * share));
        table.row(std::iter::once((*name).to_owned()).chain(cells));
        story.values(name, shares);
    }
    story.table(&table);
    claim(story, &names, &shares);
    let chart = names.iter().zip(&shares).fold(
        Chart::lines("load", "Requests that are answered in time")
            .x_label("load, as a share of what can be served")
            .y_label("% of all that come")
            .y_range(0.0, 105.0)
            .note("virtual clock; 64 → 32 (60 %), 64 → 192 (30 %), 512 → 32 (10 %)"),
        |chart, (name, shares)| {
            let points = shares.iter().map(|(load, share)| (*load, 100.0 * share));
            chart.dashed(name, points.collect())
        },
    );
    story.chart(&chart)?;
    Ok(())
}

fn claim(story: &mut Story, names: &[&str], shares: &[Vec<(f64, f64)>]) {
    let (simple, others) = (&shares[2], &shares[3..]);
    let best = |index: usize| {
        others
            .iter()
            .map(|other| other[index].1)
            .fold(0.0, f64::max)
    };
    let is_enough = |index: &usize| simple[*index].1 + SAME >= best(*index);
    let (below, above): (Vec<usize>, Vec<usize>) =
        (0..LOADS.len()).partition(|index| LOADS[*index] <= 0.75);
    let strong = below.iter().all(is_enough);
    let ends = above.iter().find(|index| !is_enough(index));
    let verdict = match (strong, ends) {
        (true, Some(_)) => Verdict::Holds,
        (true, None) | (false, _) if shares[2] > shares[0] => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let at = ends.copied().unwrap_or(LOADS.len() - 1);
    let by: Vec<String> = (names.iter().zip(shares))
        .map(|(name, shares)| format!("{name} {:.0} %", 100.0 * shares[at].1))
        .collect();
    let until = match ends {
        Some(_) => format!("It stops being enough at a load of {}", LOADS[at]),
        None => format!(
            "No other order beats it by more than {:.0} points up to a load of {}",
            100.0 * SAME,
            LOADS[at]
        ),
    };
    let note = format!("{until}. In time there: {}.", by.join(", "));
    story.claim(Claim {
        id: "Q4",
        claimed: "Simple first: FCFS with a timeout is a strong baseline; show where it stops being enough",
        value: LOADS[at],
        unit: "of the capacity",
        verdict,
        note: &note,
    });
}
