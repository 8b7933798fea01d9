//! `cargo bench -p ladder -- schedule`: how long it takes to decide who is computed, with 256 running requests. Numbers
//! only, no model.
//!
//! First a table: lesson 11's scheduler, for each policy, takes turns with lesson 08's. Each decision begins at the
//! same moment, with queues and memory that were put together before the clock starts. Then a whole step of the engine
//! without a model, for comparison. Then criterion, for the history.

use criterion::{BenchmarkId, Criterion};
use lab::table::Table;
use ladder::steps::{Crowd, EarlierMoment, Moment, RUNNING, WAITING, WholeSteps, policies};
use ladder::table;
use scheduling::policy::{Fcfs, Policy};
use std::time::Duration;

/// Longest decision that is good enough, in microseconds.
const TARGET: f64 = 50.0;
/// Decisions in a round: one alone is too short for the clock.
const DECISIONS: u32 = 20;

fn main() {
    let Some(mut bench) = ladder::turn::take("schedule") else {
        return;
    };
    if !bench.is_list {
        decisions(bench.is_trial);
    }
    history(&mut bench.criterion);
    bench.criterion.final_summary();
}

/// Who is there, in words.
fn crowds() -> [(&'static str, Crowd); 3] {
    [
        ("256 decode", Crowd::DECODE),
        ("256 decode, 256 wait", Crowd::FULL),
        ("224 decode, 24 prefill, 8 of 256 join", Crowd::MIX),
    ]
}

fn decisions(is_trial: bool) {
    let what = format!("one decision with {RUNNING} running requests, {WAITING} waiting or none");
    lab::outln!("{}", table::head_of(&what, is_trial));
    let mut table = Table::new(&["requests", "policy", "µs", "lesson 08", "target"]);
    let count = if is_trial { 1 } else { DECISIONS };
    for (name, crowd) in crowds() {
        for policy in policies_for(crowd) {
            let title = policy.name();
            let (mut moment, mut earlier) = (Moment::new(crowd, policy), EarlierMoment::new(crowd));
            let result = race(is_trial)
                .entry_timed("lesson 11", None, move || mean(count, || moment.decide().1))
                .entry_timed("lesson 08", None, move || mean(count, || earlier.decide().1))
                .run()
                .expect("nothing is checked here; tests compare the batches");
            let of = |name: &str| result.entry(name).map_or(f64::NAN, |entry| entry.median);
            table.row([
                name.to_owned(),
                title.to_owned(),
                table::micros(of("lesson 11")),
                table::micros(of("lesson 08")),
                target(of("lesson 11"), is_trial),
            ]);
        }
    }
    let mut steps = WholeSteps::new();
    let whole = race(is_trial)
        .entry_timed("whole", None, move || mean(count, || steps.step()))
        .run()
        .expect("nothing is checked");
    table.row([
        "256 decode".to_owned(),
        "a whole step, without a model".to_owned(),
        table::micros(whole.entries[0].median),
        "-".to_owned(),
        "-".to_owned(),
    ]);
    lab::outln!("{table}");
}

/// Policies differ only where a waiting request can join.
fn policies_for(crowd: Crowd) -> Vec<Box<dyn Policy>> {
    match crowd == Crowd::MIX {
        true => policies(),
        false => vec![Box::new(Fcfs)],
    }
}

fn race<'a>(is_trial: bool) -> lab::race::Race<'a> {
    table::race_in_us("schedule", is_trial)
}

/// The mean of some decisions.
fn mean(count: u32, mut decide: impl FnMut() -> Duration) -> ((), Duration) {
    let all: Duration = (0..count).map(|_| decide()).sum();
    ((), all / count)
}

fn target(us: f64, is_trial: bool) -> String {
    match is_trial {
        true => "-".to_owned(),
        false => table::target_below(us, TARGET, "< 50 µs"),
    }
}

fn history(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("schedule");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    for (name, crowd) in crowds() {
        let mut moment = Moment::new(crowd, Box::new(Fcfs));
        group.bench_function(BenchmarkId::new("lesson 11", name), |bencher| {
            bencher.iter_custom(|count| (0..count).map(|_| moment.decide().1).sum());
        });
    }
    group.finish();
}
