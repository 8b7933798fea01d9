//! Why eight rows cost little more than one: bytes, multiply-adds, and the clock.

use super::Scene;
use super::bench::Bench;
use super::row_charts::charts;
use super::steps::{BATCHES, Steps, measure};
use generation::Model;
use generation::roofline::Bound;
use lab::alloc;
use lab::ledger::{self, Ledger};
use lab::number;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use layout::pool::Pool;

/// A model that fits no cache of this class of machine.
const LARGE: &str = "random:135m";

/// B1: one step over more and more rows, on the lesson's model and on one that fits no cache.
pub fn steps(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Add rows to a step",
        "Each row is the next token of another sequence. A step reads every weight once, and multiplies it with each row.",
    );
    let other = match scene.model.name.as_str() {
        LARGE => None,
        _ => Some(Model::open(LARGE)?),
    };
    let large = other.as_ref().unwrap_or(&scene.model);
    let measured = measure(story, large, &scene.pool)?;
    let eight = measured.times(8);
    let times = format!("about {eight:.1} times as long as one row");
    let question = format!(
        "{} has {} of weights. Eight rows in one step take …",
        measured.name,
        number::bytes(measured.work[0].weight_bytes)
    );
    let because = format!(
        "The weights are read once for all rows, and that is most of the time. The multiply-adds are eight times as many; they were idle before. \
         Measured: {eight:.2} times.",
    );
    story.predict(Prediction {
        id: "eight-rows",
        question: &question,
        options: &[
            Choice { text: "8 times as long as one row", answer_to_wrong: Some("Eight times the arithmetic; but for one row the arithmetic waits for the weights, and these are read once.") },
            Choice { text: &times, answer_to_wrong: None },
            Choice { text: "exactly as long as one row", answer_to_wrong: Some("The bytes of weights are exactly the same. Arithmetic, and each row's own cache and norms, do show a little.") },
        ],
        answer: 1,
        because: &because,
    });
    story.race_result(&measured.race);
    table(story, &measured);
    let times: Vec<f64> = BATCHES.map(|rows| measured.times(rows)).to_vec();
    story.values("batches", BATCHES);
    story.values("times_one_row", times);
    let mut all = vec![measured];
    if other.is_some() {
        let small = measure(story, &scene.model, &scene.pool)?;
        story.race_result(&small.race);
        story.say_as(
            lab::term::Tone::Dim,
            format!(
                "{}: {} of weights, which a large cache may hold. By the limits arithmetic takes longer than reading from {} rows on here, and from {} rows \
                 on with {}.",
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
    charts(story, &all)
}

fn table(story: &mut Story, steps: &Steps) {
    let mut table = Table::new(&[
        "rows",
        "multiply-adds",
        "weights",
        "waits for",
        "limit ms",
        "measured ms",
        "times one",
    ]);
    for (index, rows) in BATCHES.into_iter().enumerate() {
        let work = &steps.work[index];
        let waits_for = match steps.limits.shortest(work).1 {
            Bound::Reading => "memory",
            Bound::Arithmetic => "arithmetic",
        };
        table.row([
            rows.to_string(),
            format!("{} M", number::grouped(work.multiply_adds() / 1_000_000)),
            number::bytes(work.weight_bytes),
            waits_for.to_owned(),
            format!("{:.2}", steps.limit_ms(index)),
            format!("{:.2}", steps.ms(rows)),
            format!("{:.2}", steps.times(rows)),
        ]);
    }
    story.table(&table);
}

/// What two steps read, by the ledger.
fn count(story: &mut Story, model: &Model, pool: &Pool) {
    let mut bench = Bench::new(model, pool, 8);
    let mut counted = |rows| {
        let batch = bench.batch(rows);
        bench.step(&batch);
        ledger::measure(|| bench.step(&batch)).1
    };
    let (one, eight) = (counted(1), counted(8));
    story.say(format!(
        "Counted in two steps of {}: from one row to eight the multiply-adds grow {:.2} times, and the bytes that the products read {:.2} times, \
         by the rows themselves.",
        model.name,
        eight.multiply_adds as f64 / one.multiply_adds as f64,
        eight.bytes_read as f64 / one.bytes_read as f64,
    ));
    // Without the ledger, whose own map of names allocates.
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
    let large = &all[0];
    let eight = large.times(8);
    let waits_for_weights = large.limits.shortest(&large.work[0]).1 == Bound::Reading;
    // Eight rows in less time than one would be a fault of the measurement, and no proof.
    let little_more = (0.9..=1.6).contains(&eight);
    let verdict = match (little_more, waits_for_weights) {
        (true, true) => Verdict::Holds,
        _ if eight <= 4.0 => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let others: String = all[1..]
        .iter()
        .map(|steps| {
            format!(
                " On {}, whose weights lie nearer, it takes {:.1} times as long: {:.1} times the tokens.",
                steps.name,
                steps.times(8),
                8.0 / steps.times(8)
            )
        })
        .collect();
    let most = BATCHES[BATCHES.len() - 1];
    let note = format!(
        "{}: a step over eight rows takes {eight:.2} times as long as lesson 06's step over one, so it gives {:.1} times the tokens a second; {most} rows \
         take {:.1} times as long.{others}",
        large.name,
        8.0 / eight,
        large.times(most),
    );
    story.claim(Claim {
        id: "B1",
        claimed: "Batching raises throughput because decode is bound by reading the weights: batch 8 costs little more than batch 1",
        value: eight,
        unit: "times one row, for a step over eight",
        verdict,
        note: &note,
    });
}
