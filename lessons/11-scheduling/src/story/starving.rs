//! Q1: which requests starve, and what helps.

use super::Scene;
use super::world::{self, in_ms};
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use scheduling::policy::{Fcfs, PlacesPerClass, Policy, Priority, PriorityWithAgeing};
use scheduling::simulate::{Job, Simulation};
use scheduling::{Class, Meta, TenantId};
use static_batching::workload::{Lengths, Pace, arrivals};
use std::time::Duration;

/// Seconds in which more comes than can be served.
const RUSHES: [u64; 3] = [10, 20, 40];
/// Shares of the capacity that the classes ask for.
const LOADS: [f64; 3] = [0.98, 0.06, 0.06];

/// The contenders, lesson 08's order first.
fn policies() -> Vec<(&'static str, Box<dyn Policy>)> {
    let ageing = |step| Box::new(PriorityWithAgeing { step });
    vec![
        ("first come (08)", Box::new(Fcfs)),
        ("priority", Box::new(Priority)),
        ("ageing, 100 ms a class", ageing(Duration::from_millis(100))),
        ("ageing, 5 s a class", ageing(Duration::from_secs(5))),
        ("priority, a quota", Box::new(PlacesPerClass { places: 1 })),
    ]
}

/// Three classes of equal requests, over a number of seconds.
fn rush(seed: u64, capacity: f64, seconds: u64) -> Vec<Job> {
    let lengths = lengths();
    let mut jobs: Vec<Job> = (0..3u8)
        .flat_map(|class| {
            let per_second = LOADS[usize::from(class)] * capacity;
            let count = (per_second * seconds as f64) as usize;
            let pace = Pace::Poisson { per_second };
            let stream = arrivals(seed + u64::from(class), count, &lengths, &pace);
            stream.into_iter().map(move |arrival| Job {
                at: arrival.at,
                meta: Meta {
                    class: Class(class),
                    tenant: TenantId(0),
                    ..Meta::default()
                },
                prompt_tokens: arrival.prompt_tokens,
                new_tokens: arrival.new_tokens,
            })
        })
        .collect();
    jobs.sort_by_key(|job| job.at);
    jobs
}

fn lengths() -> Lengths {
    Lengths::equal(32, 16)
}

/// The longest wait of a class.
fn worst(done: &Simulation, jobs: &[Job], class: u8) -> f64 {
    let of_class = done.outcomes.iter().zip(jobs);
    let waits = of_class
        .filter(|(_, job)| job.meta.class == Class(class))
        .map(|(outcome, _)| outcome.waited(done.end));
    in_ms(waits.max().unwrap_or_default())
}

/// Waiting times by class, on the virtual clock.
pub fn by_class(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Let some go first",
        "Three classes, and a rush in which a tenth more comes than can be served, nearly all of it urgent. On the virtual clock, with a stated cost of a step.",
    );
    story.predict("priority");
    let capacity = world::capacity(scene.seed, &lengths())?;
    let mut table = Table::new(&[
        "worst wait, s",
        "class 0",
        "class 1",
        "class 2",
        "rush of 20 s",
        "of 10 s",
    ]);
    let mut low = Vec::new();
    let mut chart = Chart::lines("starvation", "Longest wait of the least urgent class")
        .x_label("seconds of rush")
        .y_label("seconds")
        .note("virtual clock: 6 ms a step, 0.125 ms a row, 16 places");
    for (index, (name, _)) in policies().iter().enumerate() {
        let mut row = vec![(*name).to_owned()];
        let mut points = Vec::new();
        for seconds in RUSHES {
            let jobs = rush(scene.seed, capacity, seconds);
            let policy = policies().swap_remove(index).1;
            let done = world::run(&world::chunked(), policy, &jobs)?;
            if seconds == RUSHES[2] {
                let classes = [0, 1, 2].map(|class| worst(&done, &jobs, class) / 1e3);
                row.extend(classes.map(|wait| format!("{wait:.2}")));
                low.push(classes);
            }
            points.push((seconds as f64, worst(&done, &jobs, 2) / 1e3));
        }
        row.extend([1, 0].map(|rush: usize| format!("{:.2}", points[rush].1)));
        table.row(row);
        story.values(name, &points);
        chart = chart.dashed(name, points);
    }
    story.show_as(
        "requests a second",
        capacity * LOADS.iter().sum::<f64>(),
        format!(
            "{:.0}, of which {capacity:.0} can be served",
            capacity * LOADS.iter().sum::<f64>()
        ),
    );
    story.table(&table);
    story.say("The classes in a rush of 40 s, then class 2 in shorter ones. Under pure priority the last class waits as long as the rush lasts. That is no bound at all; ageing has one, whatever comes.");
    claim(story, &low);
    story.chart(&chart)?;
    Ok(())
}

/// `low`: worst waits in seconds by class, in the order of the policies.
fn claim(story: &mut Story, low: &[[f64; 3]]) {
    let [first_come, strict, quick, slow, quota] = [0, 1, 2, 3, 4].map(|index| low[index]);
    let helps = |remedy: [f64; 3]| strict[2] >= 2.0 * remedy[2];
    let helped = [quick, slow, quota].map(helps);
    let verdict = match helped.iter().filter(|helps| **helps).count() {
        3 => Verdict::Holds,
        0 => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = format!(
        "Worst wait of class 2 in a rush of {} s: {:.1} s under priority, {:.1} s with ageing of 100 ms a class, {:.1} s with 5 s a class, {:.1} s with a place kept for each class; \
         {:.1} s for everybody in the order of arrival. Class 0 pays: {:.2} s at worst under priority, {:.2}, {:.2} and {:.2} s with the remedies.",
        RUSHES[2], strict[2], quick[2], slow[2], quota[2], first_come[2], strict[0], quick[0], slow[0], quota[0]
    );
    story.claim(Claim {
        id: "Q1",
        claimed: "Ageing (one level per 100 ms, or a boost after 5 s) removes starvation under priority scheduling; a quota for low priority does too",
        value: strict[2] / quick[2].max(1e-3),
        unit: "times shorter worst wait",
        verdict,
        note: &note,
    });
}
