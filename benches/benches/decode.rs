//! `cargo bench -p ladder -- decode`: tokens a second of one sequence, its prompt (prefill) and its answer (decode).
//!
//! First a table for each model: lesson 06's pass and lesson 08's take turns on the same rows, beside the limit that
//! this machine has for them. Then criterion, for the history. Keys and values of the context are there before the
//! clock starts, and each pass begins at the same position again.

use criterion::{BenchmarkId, Criterion, Throughput};
use lab::table::Table;
use ladder::passes::{Ragged, Single};
use ladder::subject::Subject;
use ladder::table::{self, MODELS, TARGET_MODEL, TRIAL_MODELS};
use std::time::Duration;

/// Tokens of a prompt.
const PROMPTS: [usize; 2] = [128, 512];
/// Positions that the row of a decode step sees.
const CONTEXTS: [usize; 2] = [16, 512];

/// One kind of pass: `rows` new tokens after `num_cached` ones.
struct Pass {
    name: String,
    num_cached: usize,
    rows: usize,
}

fn passes(subject: &Subject) -> Vec<Pass> {
    let prompts = PROMPTS.map(|rows| subject.context(rows)).map(|rows| Pass {
        name: format!("prefill {rows}"),
        num_cached: 0,
        rows,
    });
    let contexts = CONTEXTS.map(|len| subject.context(len)).map(|len| Pass {
        name: format!("decode at {len}"),
        num_cached: len - 1,
        rows: 1,
    });
    prompts.into_iter().chain(contexts).collect()
}

fn main() {
    let Some(mut bench) = ladder::turn::take("decode") else {
        return;
    };
    let models: &[&str] = if bench.is_trial { &TRIAL_MODELS } else { &MODELS };
    for model in models {
        let subject = Subject::open(model);
        if !bench.is_list {
            shares(&subject, bench.is_trial);
        }
        history(&mut bench.criterion, &subject);
    }
    bench.criterion.final_summary();
}

fn shares(subject: &Subject, is_trial: bool) {
    lab::outln!("{}", table::head(subject, is_trial));
    let passes = passes(subject);
    let longest = passes.iter().map(|pass| pass.num_cached + pass.rows).max();
    let longest = longest.unwrap_or(1);
    let (mut single, mut ragged) = (Single::new(subject, longest), Ragged::new(subject, 1, longest));
    let mut table = Table::new(&[
        "tokens/s",
        "lesson 06",
        "lesson 08",
        "08 / 06",
        "limit",
        "waits for",
        "reached",
        "target",
    ]);
    for pass in passes {
        single.chunk(pass.num_cached, pass.rows);
        ragged.chunk(pass.num_cached, pass.rows);
        let (single, ragged) = (&mut single, &mut ragged);
        let result = table::race(&pass.name, is_trial)
            .work(pass.rows as f64)
            .entry("lesson 06", None, || single.pass())
            .entry("lesson 08", None, || ragged.pass())
            .check(|a, b| (a == b).then_some(()).ok_or(format!("{a} and {b}")))
            .run()
            .expect("both lessons give the same logits");
        let of = |name: &str| result.entry(name).map_or(0.0, |entry| entry.median);
        let (six, eight) = (of("lesson 06"), of("lesson 08"));
        let work = subject.work(std::iter::once((pass.num_cached, pass.rows)));
        let (limit, waits_for) = table::limit(subject, &work, pass.rows);
        let (wanted, text) = match pass.rows {
            1 => (0.75, ">= 75 %"),
            _ => (0.60, ">= 60 %"),
        };
        let target = match subject.model.name.as_str() {
            TARGET_MODEL if !is_trial => table::target(eight / limit, wanted, text),
            _ => "-".to_owned(),
        };
        table.row([
            pass.name,
            format!("{six:.0}"),
            format!("{eight:.0}"),
            format!("{:.2}", eight / six),
            format!("{limit:.0}"),
            waits_for.to_owned(),
            table::percent(eight / limit),
            target,
        ]);
    }
    lab::outln!("{table}");
}

fn history(criterion: &mut Criterion, subject: &Subject) {
    let longest = subject.context(PROMPTS[1]);
    let mut ragged = Ragged::new(subject, 1, longest);
    let mut group = criterion.benchmark_group("decode");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    for pass in passes(subject) {
        ragged.chunk(pass.num_cached, pass.rows);
        group.throughput(Throughput::Elements(pass.rows as u64));
        let id = BenchmarkId::new(pass.name, &subject.model.name);
        group.bench_function(id, |bencher| bencher.iter(|| ragged.pass()));
    }
    group.finish();
}
