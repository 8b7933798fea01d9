//! All policies beside each other, on three kinds of traffic.

use super::Scene;
use super::world::{self, percentile_ms};
use lab::chart::Chart;
use lab::story::Story;
use lab::table::Table;
use scheduling::TenantId;
use scheduling::fairness::jain;
use scheduling::policy::{
    FairQuota, Fcfs, LengthCap, PlacesPerClass, Policy, Priority, PriorityWithAgeing,
    ShortestPrompt,
};
use scheduling::simulate::Setup;
use static_batching::workload::Lengths;
use std::time::Duration;

/// Load: more than can be served, for as long as requests come.
const LOAD: f64 = 1.2;
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
            step: Duration::from_secs(2),
        })
    }),
    ("place a class", true, || {
        Box::new(PlacesPerClass { places: 2 })
    }),
    ("fair quota", true, || Box::new(FairQuota)),
];

/// What came of one policy on one kind of traffic.
struct Came {
    p50: f64,
    p99: f64,
    tokens_per_second: f64,
    fairness: f64,
}

fn came(scene: &Scene, lengths: &Lengths, burst: usize, way: &Way) -> anyhow::Result<Came> {
    let rate = LOAD * world::capacity(scene.seed, lengths)?;
    let jobs = world::jobs(scene.seed, COUNT, lengths, rate, burst);
    let machine = if way.1 {
        world::chunked()
    } else {
        world::whole()
    };
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
    })
}

/// The comparison, as tables and a chart.
pub fn compared(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "All of them beside each other",
        "A fifth more comes than can be served, seven tenths of it from one of four tenants. Short requests are judged by their first token, the machine by tokens a second, \
         fairness by Jain's index of the rows that tenants were given.",
    );
    let traffic = [
        ("6 : 3 : 1", world::three_kinds(), 1),
        ("conversation", world::conversation(), 1),
        ("code, in bursts", world::code(), 20),
    ];
    let mut chart = Chart::bars("policies", "P99 of short ones, until the first token")
        .y_label("seconds")
        .note("virtual clock, load 1.2");
    let mut bars = vec![Vec::new(); WAYS.len()];
    for (name, lengths, burst) in &traffic {
        let mut table = Table::new(&[
            name,
            "P50 short, ms",
            "P99 short, ms",
            "tokens/s",
            "fairness",
        ]);
        for (way, bars) in WAYS.iter().zip(&mut bars) {
            let came = came(scene, lengths, *burst, way)?;
            table.row([
                way.0.to_owned(),
                format!("{:.0}", came.p50),
                format!("{:.0}", came.p99),
                format!("{:.0}", came.tokens_per_second),
                format!("{:.2}", came.fairness),
            ]);
            story.values(
                &format!("{name}, {}", way.0),
                [came.p50, came.p99, came.tokens_per_second, came.fairness],
            );
            bars.push((*name, came.p99 / 1e3));
        }
        story.table(&table);
    }
    story.say("Tokens a second hardly move: no order makes the machine faster. What moves is who waits, and each policy pays for its gain with somebody else's time.");
    for (way, bars) in WAYS.iter().zip(&bars) {
        chart = chart.group(way.0, bars);
    }
    story.chart(&chart.less_is_better().baseline("first come (08)"))?;
    Ok(())
}
