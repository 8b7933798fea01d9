//! All policies beside each other, on three kinds of traffic.

use super::Scene;
use super::world::{self, percentile_ms};
use lab::chart::Chart;
use lab::story::Story;
use lab::table::Table;
use scheduling::TenantId;
use scheduling::fairness::jain;
use scheduling::policy::{
    FairQuota, Fcfs, LengthCap, PlacesPerClass, Policy, Priority, PriorityWithAgeing, ShortestPrompt,
};
use scheduling::simulate::Setup;
use static_batching::workload::Lengths;
use std::time::Duration;

/// Load: twice what can be served, so that even the smallest tenant asks for more than a quarter of the machine.
const LOAD: f64 = 2.0;
/// Requests of a run.
const COUNT: usize = 600;

/// A contender.
type Way = (&'static str, bool, fn() -> Box<dyn Policy>);

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
        Box::new(PriorityWithAgeing {
            step: Duration::from_secs(5),
        })
    }),
    ("place a class", true, || Box::new(PlacesPerClass { places: 2 })),
    ("fair quota", true, || Box::new(FairQuota)),
];

/// What one policy achieved on one kind of traffic.
struct Came {
    p50: f64,
    p99: f64,
    tokens_per_second: f64,
    fairness: f64,
    /// Seconds until all of them are served, when nothing more comes.
    all_served: f64,
}

fn came(scene: &Scene, lengths: &Lengths, burst: usize, way: &Way) -> anyhow::Result<Came> {
    let rate = LOAD * world::capacity(scene.seed, lengths)?;
    let jobs = world::jobs(scene.seed, COUNT, lengths, rate, burst);
    let machine = if way.1 { world::chunked() } else { world::whole() };
    let all_served = world::run(&machine, way.2(), &jobs)?.end;
    let setup = Setup {
        horizon: jobs.last().map_or(Duration::ZERO, |job| job.at),
        ..machine
    };
    let done = world::run(&setup, way.2(), &jobs)?;
    let short = world::first_tokens(&done, &jobs, world::is_short);
    let rows: Vec<f64> = (0..4)
        .map(|tenant| done.served.get(&TenantId(tenant)).copied().unwrap_or(0) as f64)
        .collect();
    Ok(Came {
        p50: percentile_ms(&short, 50.0),
        p99: percentile_ms(&short, 99.0),
        tokens_per_second: done.tokens_per_second(),
        fairness: jain(&rows),
        all_served: all_served.as_secs_f64(),
    })
}

/// The comparison, as tables and a chart.
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
    let mut all: Vec<Vec<Came>> = WAYS.iter().map(|_| Vec::new()).collect();
    let mut spreads = Vec::new();
    for (name, lengths, burst) in &traffic {
        let mut ends = Vec::new();
        let mut table = Table::new(&[
            name,
            "P50 short, ms",
            "P99 short, ms",
            "tokens/s",
            "fairness",
            "done, s",
        ]);
        for (way, all) in WAYS.iter().zip(&mut all) {
            let came = came(scene, lengths, *burst, way)?;
            table.row([
                way.0.to_owned(),
                format!("{:.0}", came.p50),
                format!("{:.0}", came.p99),
                format!("{:.0}", came.tokens_per_second),
                format!("{:.2}", came.fairness),
                format!("{:.1}", came.all_served),
            ]);
            ends.push(came.all_served);
            story.values(
                &format!("{name}, {}", way.0),
                [
                    came.p50,
                    came.p99,
                    came.tokens_per_second,
                    came.fairness,
                    came.all_served,
                ],
            );
            all.push(came);
        }
        story.table(&table);
        let (least, most) = (ends.iter()).fold((f64::MAX, 0.0f64), |(least, most), end| {
            (least.min(*end), most.max(*end))
        });
        spreads.push(most / least);
    }
    let spread = spreads.into_iter().fold(1.0, f64::max);
    story.show_as(
        "slowest order over the fastest",
        spread,
        format!("{spread:.2} times as long until all are served"),
    );
    story.say(
        "An order that gives more tokens a second while requests keep coming has chosen the cheap ones; the dear ones still wait. Let the queue run dry, and all orders take nearly \
         the same time. An order moves the waiting from some requests to others, and the gain of one is paid with the time of another.",
    );
    let names = traffic.map(|(name, ..)| name);
    drawn(story, &names, &all)
}

/// A chart for each of the three questions; `all[way][traffic]`.
fn drawn(story: &mut Story, names: &[&str], all: &[Vec<Came>]) -> anyhow::Result<()> {
    let chart = |id: &str, title: &str, label: &str| {
        Chart::bars(id, title)
            .y_label(label)
            .note("virtual clock, twice as much comes as can be served")
    };
    let title = format!("Short ones until the first token, {}", names[1]);
    let waits = WAYS
        .iter()
        .zip(all)
        .fold(chart("policies", &title, "ms").log_y(), |chart, (way, came)| {
            chart.group(way.0, &[("P50", came[1].p50), ("P99", came[1].p99)])
        });
    story.chart(&waits.less_is_better().baseline(WAYS[0].0))?;
    let of_each = |chart: Chart, number: fn(&Came) -> f64| {
        WAYS.iter().zip(all).fold(chart, |chart, (way, came)| {
            let parts: Vec<(&str, f64)> = names.iter().copied().zip(came.iter().map(number)).collect();
            chart.group(way.0, &parts)
        })
    };
    let fairness = chart("fairness", "How evenly four tenants are served", "Jain's index");
    story.chart(&of_each(fairness, |came| came.fairness).baseline(WAYS[0].0))?;
    let tokens = chart("throughput", "Tokens a second while requests keep coming", "tokens/s");
    story.chart(&of_each(tokens, |came| came.tokens_per_second).baseline(WAYS[0].0))?;
    Ok(())
}
