//! Why eight rows cost little more than one: bytes, multiply-adds, and the clock.

use super::Scene;
use super::bench::{Bench, CONTEXT};
use generation::Model;
use generation::roofline::{Bound, MachineLimits};
use generation::work::Work;
use lab::alloc;
use lab::chart::Chart;
use lab::ledger::{self, Ledger};
use lab::number;
use lab::race::{Race, RaceResult};
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use layout::pool::Pool;
use static_batching::work;
use std::cell::RefCell;

/// Two questions on earlier lessons.
pub fn recall(story: &mut Story) {
    story.step(
        "Two questions from before",
        "If you begin with this lesson, skip them with Enter.",
    );
    story.predict(Prediction {
        id: "recall-bound",
        question: "Lesson 05: the model computes one row. What does it wait for most of the time?",
        options: &[
            Choice { text: "the multiply-adds", answer_to_wrong: Some("They are done long before the weights have arrived: one for each weight is little.") },
            Choice { text: "the weights to be read", answer_to_wrong: None },
            Choice { text: "attention", answer_to_wrong: Some("At these lengths attention is a few per cent of the work.") },
        ],
        answer: 1,
        because: "One row does one multiply-add for each weight of four bytes. The machine could do ten or twenty in that time.",
    });
    story.predict(Prediction {
        id: "recall-cache",
        question: "Lesson 06: 100 tokens are cached. How many rows does the model compute for the next one?",
        options: &[
            Choice { text: "1", answer_to_wrong: None },
            Choice { text: "100", answer_to_wrong: Some("That was the naive loop. The others' keys and values are kept.") },
            Choice { text: "101", answer_to_wrong: Some("That was the naive loop. The others' keys and values are kept.") },
        ],
        answer: 0,
        because: "One row, and for it every weight is read. So decoding is bound by reading, and its arithmetic is idle.",
    });
}

/// Rows of a step that are timed.
const BATCHES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// A model that fits no cache of this class of machine.
const LARGE: &str = "random:135m";

/// The entries of a race.
const TOGETHER: &str = "one step, all rows";
const ALONE: &str = "lesson 06, one row";

/// One model's steps: the race, and what the shapes say.
struct Steps {
    name: String,
    race: RaceResult,
    limits: MachineLimits,
    work: Vec<Work>,
}

impl Steps {
    fn alone(&self) -> f64 {
        self.race.entry(ALONE).map_or(f64::NAN, |e| e.median)
    }

    /// Milliseconds of a step over so many rows.
    fn ms(&self, rows: usize) -> f64 {
        let entry = self.race.entry_at(TOGETHER, rows as f64);
        entry.map_or(f64::NAN, |entry| entry.median)
    }

    /// How many times one row of lesson 06 a step takes.
    fn times(&self, rows: usize) -> f64 {
        self.ms(rows) / self.alone()
    }

    fn limit_ms(&self, index: usize) -> f64 {
        1e3 * self.limits.shortest(&self.work[index]).0
    }

    /// The first of the timed batch sizes at which arithmetic takes longer than reading.
    fn turn(&self) -> String {
        let bound = |work: &Work| self.limits.shortest(work).1;
        let turn = self
            .work
            .iter()
            .position(|work| bound(work) == Bound::Arithmetic);
        turn.map_or("more than 64".to_owned(), |index| {
            BATCHES[index].to_string()
        })
    }

    /// A line over the batch size, from each size and its index.
    fn line(&self, y: impl Fn(usize, usize) -> f64) -> Vec<(f64, f64)> {
        let points = BATCHES.iter().enumerate();
        points
            .map(|(index, rows)| (*rows as f64, y(*rows, index)))
            .collect()
    }
}

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

/// Races the steps of one model, and measures the machine's limits beside it.
fn measure(story: &mut Story, model: &Model, pool: &Pool) -> anyhow::Result<Steps> {
    let most = BATCHES[BATCHES.len() - 1];
    let bench = RefCell::new(Bench::new(model, pool, most));
    let batches: Vec<_> = BATCHES.map(|rows| bench.borrow().batch(rows)).to_vec();
    let mut race = Race::new(
        &format!("step-{}", model.name.replace(':', "-")),
        &format!("One step of {}, {CONTEXT} tokens before it", model.name),
    )
    .unit("ms")
    .rounds(7)
    .baseline(ALONE);
    race = race.entry(ALONE, Some(1.0), || bench.borrow_mut().step_of_lesson_06());
    for (batch, rows) in batches.iter().zip(BATCHES) {
        race = race.entry(TOGETHER, Some(rows as f64), || {
            bench.borrow_mut().step(batch)
        });
    }
    let bar = story.progress(race.num_calls() as u64, race.title());
    let mut clock = lab::race::WallClock::default();
    let race = race.run_with(&mut clock, &mut |done, _| bar.set_position(done as u64))?;
    bar.finish_and_clear();
    let weight_bytes = model.weights.bytes_per_pass();
    let step = |rows| work::of_step(&model.config.llama, weight_bytes, &vec![CONTEXT + 1; rows]);
    Ok(Steps {
        name: model.name.clone(),
        race,
        limits: MachineLimits {
            flops_per_second: layout::probe::peak_flops(pool),
            bytes_per_second: layout::probe::read_bandwidth(pool, weight_bytes as usize),
        },
        work: BATCHES.map(step).to_vec(),
    })
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
    let verdict = match eight {
        times if times <= 2.0 => Verdict::Holds,
        times if times <= 4.0 => Verdict::Partly,
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

fn charts(story: &mut Story, all: &[Steps]) -> anyhow::Result<()> {
    let mut times = Chart::lines("step-time", "Rows ride almost free, up to a point")
        .x_label("rows in the step (sequences in the batch)")
        .y_label("times lesson 06's step of one row")
        .log_x()
        .log_y();
    let mut rates = Chart::lines("tokens-per-second", "What a batch brings")
        .x_label("rows in the step (sequences in the batch)")
        .y_label("tokens a second")
        .log_x()
        .log_y();
    for steps in all {
        times = times.series(&steps.name, steps.line(|rows, _| steps.times(rows)));
        let rate = |rows: usize, ms: f64| 1e3 * rows as f64 / ms;
        rates = rates
            .series(
                &steps.name,
                steps.line(|rows, _| rate(rows, steps.ms(rows))),
            )
            .dashed(
                &format!("{}: limit by bytes and multiply-adds", steps.name),
                steps.line(|rows, index| rate(rows, steps.limit_ms(index))),
            )
            .rule(
                &format!("{}: lesson 06, one row", steps.name),
                rate(1, steps.alone()),
            );
    }
    let large = &all[0];
    times = times
        .dashed(
            &format!("{}: limit by bytes and multiply-adds", large.name),
            large.line(|_, index| large.limit_ms(index) / large.alone()),
        )
        .dashed(
            "each row in a step of its own",
            large.line(|rows, _| rows as f64),
        )
        .rule("lesson 06: one row", 1.0);
    story.chart(&times)?;
    story.chart(&rates)?;
    story.say(
        "Bigger is not always better. Where the limit turns from memory to arithmetic each further row pays in full: the rate stands still, and \
         every sequence in the batch gets its next token later.",
    );
    Ok(())
}
