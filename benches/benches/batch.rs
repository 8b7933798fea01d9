//! `cargo bench -p ladder -- batch`: tokens a second of a decode step over 1 to 32 sequences.
//!
//! First a table for each model: all batch sizes take turns in lesson 08's ragged pass, with lesson 06's pass for one
//! sequence beside them. More rows share one reading of the weights, so the rate rises until arithmetic sets the limit.
//! Then criterion, for the history. Every row sees the same number of positions, which are there before the clock
//! starts.

use criterion::{BenchmarkId, Criterion, Throughput};
use lab::table::Table;
use ladder::passes::{Ragged, Single};
use ladder::subject::Subject;
use ladder::table::{self, MODELS, TARGET_MODEL, TRIAL_MODELS};
use std::cell::RefCell;
use std::time::Duration;

const BATCH_SIZES: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Positions that each row sees.
const CONTEXT_LEN: usize = 64;

fn main() {
    let Some(mut bench) = ladder::turn::take("batch") else {
        return;
    };
    let models: &[&str] = if bench.is_trial { &TRIAL_MODELS } else { &MODELS };
    for model in models {
        let subject = Subject::open(model);
        let largest = BATCH_SIZES[BATCH_SIZES.len() - 1];
        let ragged = RefCell::new(Ragged::new(&subject, largest, CONTEXT_LEN));
        if !bench.is_list {
            shares(&subject, &ragged, bench.is_trial);
        }
        history(&mut bench.criterion, &subject, &ragged);
    }
    bench.criterion.final_summary();
}

fn shares(subject: &Subject, ragged: &RefCell<Ragged<'_>>, is_trial: bool) {
    lab::outln!("{}", table::head(subject, is_trial));
    let mut single = Single::new(subject, CONTEXT_LEN);
    single.chunk(CONTEXT_LEN - 1, 1);
    let mut race = table::race("batch", is_trial).entry_with_work("lesson 06", None, 1.0, move || single.pass());
    for batch_size in BATCH_SIZES {
        let (x, work) = (Some(batch_size as f64), batch_size as f64);
        race = race.entry_with_work("lesson 08", x, work, move || {
            let mut ragged = ragged.borrow_mut();
            ragged.rows(batch_size, CONTEXT_LEN);
            ragged.pass()
        });
    }
    let result = race.run().expect("nothing is checked here; tests compare the logits");
    let alone = result.entries.iter().find(|entry| entry.x == Some(1.0));
    let alone = alone.map_or(f64::NAN, |entry| entry.median);
    let mut table = Table::new(&[
        "batch",
        "tokens/s",
        "ms a step",
        "times batch 1",
        "limit",
        "waits for",
        "reached",
        "target",
    ]);
    for entry in &result.entries {
        let batch_size = entry.x.map_or(1, |x| x as usize);
        let work = subject.work(std::iter::repeat_n((CONTEXT_LEN - 1, 1), batch_size));
        let (limit, waits_for) = table::limit(subject, &work, batch_size);
        let times = entry.median / alone;
        let is_target = subject.model.name == TARGET_MODEL && !is_trial && entry.x.is_some();
        let target = match batch_size {
            8 if is_target => table::target(times, 4.0, ">= 4 x"),
            32 if is_target => table::target(times, 8.0, ">= 8 x"),
            _ => "-".to_owned(),
        };
        table.row([
            match entry.x {
                Some(_) => batch_size.to_string(),
                None => "1, lesson 06".to_owned(),
            },
            format!("{:.0}", entry.median),
            format!("{:.2}", 1e3 * batch_size as f64 / entry.median),
            format!("{times:.2}"),
            format!("{limit:.0}"),
            waits_for.to_owned(),
            table::percent(entry.median / limit),
            target,
        ]);
    }
    lab::outln!("{table}");
}

fn history(criterion: &mut Criterion, subject: &Subject, ragged: &RefCell<Ragged<'_>>) {
    let mut group = criterion.benchmark_group("batch");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    for batch_size in [1, 8, 32] {
        let mut ragged = ragged.borrow_mut();
        ragged.rows(batch_size, CONTEXT_LEN);
        group.throughput(Throughput::Elements(batch_size as u64));
        let id = BenchmarkId::new(format!("batch {batch_size}"), &subject.model.name);
        group.bench_function(id, |bencher| bencher.iter(|| ragged.pass()));
    }
    group.finish();
}
