//! Q1: which requests starve, and what helps.

use super::Scene;
use super::world::{self, Way, in_ms};
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use scheduling::Class;
use scheduling::policy::{Fcfs, PlacesPerClass, Priority, PriorityWithAgeing};
use scheduling::simulate::{Job, Simulation};
use static_batching::workload::Lengths;
use std::time::Duration;

/// Seconds in which more comes than can be served, the longest first.
const RUSHES: [u64; 3] = [40, 20, 10];
/// Shares of the capacity that the classes ask for.
const LOADS: [f64; 3] = [0.98, 0.06, 0.06];
/// Lengths of every request.
const LENGTHS: (usize, usize) = (32, 16);

const WAYS: [Way; 5] = [
    ("first come (08)", true, || Box::new(Fcfs)),
    ("priority", true, || Box::new(Priority)),
    ("ageing, 100 ms a class", true, || {
        let step = Duration::from_millis(100);
        Box::new(PriorityWithAgeing { step })
    }),
    ("ageing, 5 s a class", true, || {
        let step = Duration::from_secs(5);
        Box::new(PriorityWithAgeing { step })
    }),
    ("priority, a quota", true, || Box::new(PlacesPerClass { places: 1 })),
];

/// Three classes of equal requests, over a number of seconds.
fn rush(seed: u64, capacity: f64, seconds: u64) -> Vec<Job> {
    let class = |class: u8| {
        let per_second = LOADS[usize::from(class)] * capacity;
        world::stream(seed + u64::from(class), class, LENGTHS, per_second, seconds as f64)
    };
    let mut jobs: Vec<Job> = (0..3u8).flat_map(class).collect();
    jobs.sort_by_key(|job| job.at);
    jobs
}

/// The longest wait of a class in seconds.
fn worst(done: &Simulation, jobs: &[Job], class: u8) -> f64 {
    let of_class = done
        .outcomes
        .iter()
        .zip(jobs)
        .filter(|(_, job)| job.meta.class == Class(class));
    let waits = of_class.map(|(outcome, _)| outcome.waited(done.end));
    in_ms(waits.max().unwrap_or_default()) / 1e3
}

/// Waiting times by class, on the virtual clock.
pub fn by_class(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Let some go first",
        "Three classes, and a rush in which a tenth more comes than can be served, nearly all of it urgent. On the virtual clock, with a stated cost of a step.",
    );
    story.predict("priority");
    let capacity = world::capacity(scene.seed, &Lengths::equal(LENGTHS.0, LENGTHS.1))?;
    let coming = capacity * LOADS.iter().sum::<f64>();
    story.show_as(
        "requests a second",
        coming,
        format!("{coming:.0}, of which {capacity:.0} can be served"),
    );
    let mut rows = Vec::new();
    let mut chart = Chart::lines(
        "starvation",
        "By priority the last class waits as long as the rush lasts",
    )
    .x_label("seconds of rush")
    .y_label("longest wait of the last class, s")
    .note("virtual clock: 6 ms a step, 0.125 ms a row, 16 places");
    for (name, is_chunked, policy) in WAYS {
        // Worst waits of the three classes, by rush.
        let mut waits = Vec::new();
        for seconds in RUSHES {
            let jobs = rush(scene.seed, capacity, seconds);
            let done = world::run(&world::machine(is_chunked), policy(), &jobs)?;
            waits.push([0, 1, 2].map(|class| worst(&done, &jobs, class)));
        }
        let points: Vec<(f64, f64)> = RUSHES
            .iter()
            .zip(&waits)
            .rev()
            .map(|(rush, of)| (*rush as f64, of[2]))
            .collect();
        story.values(name, &points);
        chart = chart.dashed(name, points);
        rows.push((name, waits));
    }
    story.rows(
        &[
            "worst wait, s",
            "class 0",
            "class 1",
            "class 2",
            "rush of 20 s",
            "of 10 s",
        ],
        rows.iter().map(|(name, waits)| {
            let shown = waits[0]
                .into_iter()
                .chain([waits[1][2], waits[2][2]])
                .map(|wait| format!("{wait:.2}"));
            std::iter::once((*name).to_owned()).chain(shown)
        }),
    );
    story.say("The classes in a rush of 40 s, then class 2 in shorter ones. Under pure priority the last class waits as long as the rush lasts: there is no bound. Ageing has one, whatever comes.");
    claim(story, [0, 1, 2, 3, 4].map(|way: usize| rows[way].1[0]));
    story.chart(&chart)?;
    Ok(())
}

/// Worst waits in seconds by class, in the order of the contenders.
fn claim(story: &mut Story, [first_come, strict, quick, slow, quota]: [[f64; 3]; 5]) {
    // Half of the wait or less counts as helped.
    let helped = [quick, slow, quota].map(|remedy| strict[2] >= 2.0 * remedy[2]);
    let note = format!(
        "Worst wait of class 2 in a rush of {} s: {:.1} s under priority, {:.1} s with ageing of 100 ms a class, {:.1} s with 5 s a class, {:.1} s with a place kept for each class; \
         {:.1} s for all classes in the order of arrival. Class 0 pays: {:.2} s at worst under priority, {:.2}, {:.2} and {:.2} s with the remedies. A step of 100 ms is far below the wait of this rush, \
         so it gives first come, first served.",
        RUSHES[0], strict[2], quick[2], slow[2], quota[2], first_come[2], strict[0], quick[0], slow[0], quota[0]
    );
    story.claim(Claim {
        id: "Q1",
        claimed: "Ageing (one level per 100 ms, or a boost after 5 s) removes starvation under priority scheduling; a quota for low priority does too",
        value: strict[2] / quick[2].max(1e-3),
        unit: "times shorter worst wait",
        verdict: Verdict::of(helped == [true; 3], helped != [false; 3]),
        note: &note,
    });
}
