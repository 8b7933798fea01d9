//! All policies beside each other, on three kinds of traffic.

use super::Scene;
use super::world::{self, Way, first_token_ms};
use lab::chart::Chart;
use lab::story::Story;
use scheduling::TenantId;
use scheduling::fairness::jain;
use scheduling::policy::{FairQuota, Fcfs, LengthCap, PlacesPerClass, Priority, PriorityWithAgeing, ShortestPrompt};
use scheduling::simulate::Setup;
use static_batching::workload::Lengths;
use std::time::Duration;

/// Load: twice what can be served, so that even the smallest tenant asks for more than a quarter of the machine.
const LOAD: f64 = 2.0;
/// Requests of a run.
const COUNT: usize = 600;

const WAYS: [Way; 8] = [
    ("first come (08)", false, || Box::new(Fcfs)),
    ("first come", true, || Box::new(Fcfs)),
    ("short first", true, || Box::new(ShortestPrompt)),
    ("length cap", true, || {
        Box::new(LengthCap {
            prompt_tokens: world::SHORT.0,
            patience: Duration::from_secs(5),
            inner: Fcfs,
        })
    }),
    ("priority", true, || Box::new(Priority)),
    ("ageing", true, || {
        let step = Duration::from_secs(5);
        Box::new(PriorityWithAgeing { step })
    }),
    ("place a class", true, || Box::new(PlacesPerClass { places: 2 })),
    ("fair quota", true, || Box::new(FairQuota)),
];

/// Columns of the tables. The last: seconds until all are served, when nothing more comes.
const COLUMNS: [&str; 5] = ["P50 short, ms", "P99 short, ms", "tokens/s", "fairness", "done, s"];

/// What one policy achieves on one kind of traffic, by column.
fn came(scene: &Scene, lengths: &Lengths, burst: usize, (_, is_chunked, policy): &Way) -> anyhow::Result<[f64; 5]> {
    let rate = LOAD * world::capacity(scene.seed, lengths)?;
    let jobs = world::jobs(scene.seed, COUNT, lengths, rate, burst);
    let machine = world::machine(*is_chunked);
    let all_served = world::run(&machine, policy(), &jobs)?.end.as_secs_f64();
    let horizon = jobs.last().map_or(Duration::ZERO, |job| job.at);
    let done = world::run(&Setup { horizon, ..machine }, policy(), &jobs)?;
    let [p50, p99] = [50.0, 99.0].map(|percent| {
        first_token_ms(&done, &jobs, percent, |job| {
            job.prompt_tokens <= world::SHORT.0 && job.new_tokens <= world::SHORT.1
        })
    });
    let rows = [0, 1, 2, 3].map(|tenant| done.served.get(&TenantId(tenant)).copied().unwrap_or(0) as f64);
    Ok([p50, p99, done.tokens_per_second(), jain(&rows), all_served])
}

/// The comparison, as tables and charts.
pub fn compared(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "All of them beside each other",
        "Twice as much comes as can be served, 55 % of it from one of four tenants. Short requests are judged by their first token, the machine by tokens a second, \
         fairness by Jain's index of the rows that tenants were given.",
    );
    let traffic = [
        ("6 : 3 : 1", world::three_kinds(), 1),
        ("conversation", world::conversation(), 1),
        ("code, in bursts", world::code(), 20),
    ];
    // By traffic, then by policy.
    let mut all: Vec<Vec<[f64; 5]>> = Vec::new();
    for (name, lengths, burst) in &traffic {
        let came = WAYS.iter().map(|way| came(scene, lengths, *burst, way));
        let came = came.collect::<anyhow::Result<Vec<_>>>()?;
        let header: Vec<&str> = std::iter::once(*name).chain(COLUMNS).collect();
        story.rows(
            &header,
            WAYS.iter().zip(&came).map(|((way, ..), of)| {
                let decimals = [0, 0, 0, 2, 1];
                let cells = of
                    .iter()
                    .zip(decimals)
                    .map(|(value, decimals)| format!("{value:.decimals$}"));
                std::iter::once((*way).to_owned()).chain(cells)
            }),
        );
        for ((way, ..), of) in WAYS.iter().zip(&came) {
            story.values(&format!("{name}, {way}"), of);
        }
        all.push(came);
    }
    let spread = |came: &Vec<[f64; 5]>| {
        let ends = || came.iter().map(|of| of[4]);
        ends().fold(0.0, f64::max) / ends().fold(f64::MAX, f64::min)
    };
    let spread = all.iter().map(spread).fold(1.0, f64::max);
    let shown = format!("{spread:.2} times as long until all are served");
    story.show_as("slowest order over the fastest", spread, shown);
    story.say(
        "An order that gives more tokens a second while requests keep coming has chosen the cheap ones; the dear ones still wait. Let the queue run dry, and all orders take nearly \
         the same time. An order moves the waiting from some requests to others, and the gain of one is paid with the time of another.",
    );
    drawn(story, &traffic.map(|(name, ..)| name), &all)
}

/// A chart for each of the three questions; `all[traffic][way]`.
fn drawn(story: &mut Story, names: &[&str], all: &[Vec<[f64; 5]>]) -> anyhow::Result<()> {
    let chart = |id: &str, title: &str, label: &str| {
        let note = "virtual clock, twice as much comes as can be served";
        Chart::bars(id, title).y_label(label).note(note)
    };
    let waits = chart(
        "policies",
        "Orders that favour short requests cut their wait, at both ends",
        "ms until the first token of short ones, conversation",
    );
    let waits = WAYS.iter().zip(&all[1]).fold(waits.log_y(), |chart, (way, of)| {
        chart.group(way.0, &[("P50", of[0]), ("P99", of[1])])
    });
    story.chart(&waits.less_is_better().baseline(WAYS[0].0))?;
    let of_each = |chart: Chart, column: usize| {
        (0..WAYS.len()).fold(chart, |chart, way| {
            let parts: Vec<(&str, f64)> = names
                .iter()
                .copied()
                .zip(all.iter().map(|came| came[way][column]))
                .collect();
            chart.group(WAYS[way].0, &parts)
        })
    };
    // One of four tenants with everything has an index of a quarter; equal shares have 1.
    let fairness = chart(
        "fairness",
        "Only the fair quota serves four tenants evenly",
        "Jain's index, from a quarter to 1",
    );
    story.chart(&of_each(fairness.y_range(0.25, 1.0), 3).baseline(WAYS[0].0))?;
    let tokens = chart(
        "throughput",
        "An order that leaves dear requests waiting gives more tokens a second",
        "tokens/s while requests keep coming",
    );
    story.chart(&of_each(tokens, 2).baseline(WAYS[0].0))?;
    Ok(())
}
