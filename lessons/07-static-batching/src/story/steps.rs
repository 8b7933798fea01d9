//! Steps over more and more rows, timed, and what the shapes and the machine's limits say of them.

use super::bench::{Bench, CONTEXT};
use generation::Model;
use generation::roofline::{Bound, MachineLimits};
use generation::work::Work;
use lab::race::{Race, RaceResult};
use lab::story::Story;
use layout::pool::Pool;
use static_batching::work;
use std::cell::RefCell;

/// Rows of a step that are timed.
pub const BATCHES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The entries of a race.
const TOGETHER: &str = "one step, all rows";
const ALONE: &str = "lesson 06, one row";

/// One model's steps: the race, and what the shapes say.
pub struct Steps {
    pub name: String,
    pub race: RaceResult,
    pub limits: MachineLimits,
    pub work: Vec<Work>,
}

impl Steps {
    pub fn alone(&self) -> f64 {
        self.race.entry(ALONE).map_or(f64::NAN, |e| e.median)
    }

    /// Milliseconds of a step over so many rows.
    pub fn ms(&self, rows: usize) -> f64 {
        let entry = self.race.entry_at(TOGETHER, rows as f64);
        entry.map_or(f64::NAN, |entry| entry.median)
    }

    /// How many times one row of lesson 06 a step takes.
    pub fn times(&self, rows: usize) -> f64 {
        self.ms(rows) / self.alone()
    }

    pub fn limit_ms(&self, index: usize) -> f64 {
        1e3 * self.limits.shortest(&self.work[index]).0
    }

    /// The first of the timed batch sizes at which arithmetic takes longer than reading.
    pub fn turn(&self) -> String {
        let bound = |work: &Work| self.limits.shortest(work).1;
        let turn = self.work.iter().position(|work| bound(work) == Bound::Arithmetic);
        turn.map_or("more than 64".to_owned(), |index| BATCHES[index].to_string())
    }

    /// A line over the batch size, from each size and its index.
    pub fn line(&self, y: impl Fn(usize, usize) -> f64) -> Vec<(f64, f64)> {
        let points = BATCHES.iter().enumerate();
        points.map(|(index, rows)| (*rows as f64, y(*rows, index))).collect()
    }
}

/// Races the steps of one model, and measures the machine's limits beside it.
pub fn measure(story: &mut Story, model: &Model, pool: &Pool) -> anyhow::Result<Steps> {
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
        race = race.entry(TOGETHER, Some(rows as f64), || bench.borrow_mut().step(batch));
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
