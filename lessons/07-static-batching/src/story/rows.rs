//! B1: why eight rows cost little more than one: bytes, multiply-adds, and the clock.

use super::Scene;
use super::steps::{BATCHES, Bench, Steps};
use generation::Model;
use lab::alloc;
use lab::chart::Chart;
use lab::ledger::{self, Ledger};
use lab::number;
use lab::race::Disturbance;
use lab::story::{Claim, Story, Verdict};
use lab::term::Tone;
use layout::pool::Pool;

/// A model larger than the cache of this class of machine.
const LARGE: &str = "random:135m";

/// One step over more and more rows, on the lesson's model and on a large one. Returns the timed steps, the large model
/// first.
pub fn steps(story: &mut Story, scene: &Scene) -> anyhow::Result<Vec<Steps>> {
    story.step(
        "Add rows to a step",
        "Each row is the next token of another sequence. A step reads every weight once, and multiplies it with each \
         row.",
    );
    let other = match scene.model.name.as_str() {
        LARGE => None,
        _ => Some(Model::open(LARGE)?),
    };
    let large = Steps::measure(story, other.as_ref().unwrap_or(&scene.model), &scene.pool)?;
    let eight = large.times(8);
    let weights = number::bytes(large.work[0].weight_bytes);
    story.predict_with(
        "eight-rows",
        &[
            ("model", &large.name),
            ("weights", &weights),
            ("times", &format!("{eight:.2}")),
        ],
    );
    story.race_result(&large.race);
    let header = [
        "rows",
        "multiply-adds",
        "weights",
        "waits for",
        "limit ms",
        "measured ms",
        "times one",
    ];
    story.rows(
        &header,
        BATCHES.iter().enumerate().map(|(index, rows)| {
            [
                rows.to_string(),
                format!("{} M", number::grouped(large.work[index].multiply_adds() / 1_000_000)),
                weights.clone(),
                large.waits_for(index).to_owned(),
                format!("{:.2}", large.limit_ms(index)),
                format!("{:.2}", large.ms(*rows)),
                format!("{:.2}", large.times(*rows)),
            ]
        }),
    );
    story.values("batches", BATCHES);
    story.values("times_one_row", BATCHES.map(|rows| large.times(rows)));
    let mut all = vec![large];
    if other.is_some() {
        let small = Steps::measure(story, &scene.model, &scene.pool)?;
        story.race_result(&small.race);
        story.say_as(
            Tone::Dim,
            format!(
                "{}: {} of weights, which a large cache may hold. By the limits of this machine, arithmetic takes \
                 longer than reading from {} rows on here, and from {} rows on with {}.",
                small.name,
                number::bytes(small.work[0].weight_bytes),
                small.turn(),
                all[0].turn(),
                all[0].name,
            ),
        );
        all.push(small);
    }
    count(story, &scene.model, &scene.pool);
    claim(story, &all);
    charts(story, &all)?;
    Ok(all)
}

/// The bytes and multiply-adds of two steps, by the ledger.
fn count(story: &mut Story, model: &Model, pool: &Pool) {
    let mut bench = Bench::new(model, pool, 8);
    let mut counted = |rows| {
        let batch = bench.batch(rows);
        bench.step(&batch);
        ledger::measure(|| bench.step(&batch)).1
    };
    let (one, eight) = (counted(1), counted(8));
    story.say(format!(
        "Counted in two steps of {}: from one row to eight the multiply-adds grow {:.2} times. The bytes that the \
         products read grow {:.2} times, because of the rows themselves.",
        model.name,
        eight.multiply_adds as f64 / one.multiply_adds as f64,
        eight.bytes_read as f64 / one.bytes_read as f64,
    ));
    // Without an open ledger: its map of names allocates.
    let batch = bench.batch(8);
    let before = alloc::snapshot();
    bench.step(&batch);
    let after = alloc::snapshot();
    let eight = Ledger {
        allocations: after.allocations - before.allocations,
        allocated_bytes: after.allocated_bytes - before.allocated_bytes,
        peak_bytes: 0,
        ..eight
    };
    story.show("allocations in a step of eight", eight.allocations);
    story.values("bytes_read", [one.bytes_read, eight.bytes_read]);
    story.values("multiply_adds", [one.multiply_adds, eight.multiply_adds]);
    story.ledger(&eight);
}

fn claim(story: &mut Story, all: &[Steps]) {
    let (large, most) = (&all[0], BATCHES[BATCHES.len() - 1]);
    let eight = large.times(8);
    let others = all[1..].iter().map(|steps| {
        let times = steps.times(8);
        let rate = 8.0 / times;
        format!(
            " On {}, which has fewer weights, it takes {times:.1} times as long: {rate:.1} times the tokens.",
            steps.name
        )
    });
    let claim = Claim {
        id: "B1",
        claimed: "Batching raises throughput because decode is bound by reading the weights: batch 8 costs little more \
                  than batch 1",
        value: eight,
        unit: "times one row, for a step over eight",
        verdict: Verdict::of(eight <= 1.6 && large.waits_for(0) == "memory", eight <= 4.0),
        note: &format!(
            "{}: a step over eight rows takes {eight:.2} times as long as lesson 06's step over one, so it gives {:.1} \
             times the tokens a second; {most} rows take {:.1} times as long.{}",
            large.name,
            8.0 / eight,
            large.times(most),
            others.collect::<String>(),
        ),
    };
    // Eight rows in less time than one are a fault of the measurement.
    let sign = Disturbance::of_ratio("eight rows in times of one row", eight, 0.9..=f64::INFINITY);
    story.claim_if_quiet(claim, [sign, large.disturbance()]);
}

/// Step time in times of lesson 06's step, and tokens a second.
fn charts(story: &mut Story, all: &[Steps]) -> anyhow::Result<()> {
    let chart = |id, title, y| {
        Chart::lines(id, title)
            .x_label("rows in the step (sequences in the batch)")
            .y_label(y)
            .log_x()
            .log_y()
    };
    let mut times = chart(
        "step-time",
        "Rows are almost free, up to a point",
        "times lesson 06's step of one row",
    );
    let mut rates = chart("tokens-per-second", "The rate of a batch", "tokens a second");
    let rate = |rows: usize, ms: f64| 1e3 * rows as f64 / ms;
    for steps in all {
        let name = &steps.name;
        times = times.series(name, steps.line(|rows, _| steps.times(rows)));
        rates = rates
            .series(name, steps.line(|rows, _| rate(rows, steps.ms(rows))))
            .dashed(
                &format!("{name}: limit by bytes and multiply-adds"),
                steps.line(|rows, index| rate(rows, steps.limit_ms(index))),
            )
            .rule(&format!("{name}: lesson 06, one row"), rate(1, steps.alone()));
    }
    let large = &all[0];
    times = times
        .dashed(
            &format!("{}: limit by bytes and multiply-adds", large.name),
            large.line(|_, index| large.limit_ms(index) / large.alone()),
        )
        .dashed("each row in a step of its own", large.line(|rows, _| rows as f64))
        .rule("lesson 06: one row", 1.0);
    story.chart(&times)?;
    story.chart(&rates)?;
    story.say(
        "A larger batch is not always better. From the row on where the limit turns from memory to arithmetic, each \
         further row costs its full arithmetic: the rate stays the same, and every sequence in the batch gets its next \
         token later.",
    );
    Ok(())
}
