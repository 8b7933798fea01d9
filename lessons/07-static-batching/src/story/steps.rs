//! Steps of decoding over more and more rows, timed, with the limits that follow from shapes and machine.

use generation::roofline::{Bound, MachineLimits};
use generation::work::Work;
use generation::{Model, State};
use kv_cache::ContiguousCache;
use lab::race::{Disturbance, Race, RaceResult, WallClock};
use lab::story::Story;
use layout::pool::Pool;
use static_batching::batch::Pad;
use static_batching::forward::forward;
use static_batching::{PaddedBatch, work};
use std::cell::RefCell;
use training::TokenId;

/// Rows of the timed steps.
pub const BATCHES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Tokens of each sequence before the step.
pub const CONTEXT: usize = 64;

/// The entries of a race.
const TOGETHER: &str = "one step, all rows";
const ALONE: &str = "lesson 06, one row";

/// Sequences of one model, all of the same length. A step computes one more token of each and forgets it again.
pub struct Bench<'a> {
    model: &'a Model,
    pool: &'a Pool,
    state: State,
    caches: Vec<ContiguousCache>,
}

impl<'a> Bench<'a> {
    /// Up to `rows` sequences with made-up keys and values: the time of a step does not depend on them.
    pub fn new(model: &'a Model, pool: &'a Pool, rows: usize) -> Bench<'a> {
        let llama = &model.config.llama;
        let numbers = CONTEXT * (llama.q_size() + 2 * llama.kv_size());
        let cache = |row| {
            let mut cache = ContiguousCache::new(llama, CONTEXT + 1);
            let wave = |i| ((i + 977 * row) as f32 * 0.37).sin() * 0.5;
            let qkv: Vec<f32> = (0..numbers).map(wave).collect();
            (0..llama.num_layers).for_each(|layer| cache.append(layer, &qkv));
            cache.advance(CONTEXT);
            cache
        };
        Bench {
            model,
            pool,
            state: State::new(&model.config, rows),
            caches: (0..rows).map(cache).collect(),
        }
    }

    /// The batch of one step over `rows` sequences.
    pub fn batch(&self, rows: usize) -> PaddedBatch {
        let prompts = vec![&[TokenId(1)][..]; rows];
        let batch = PaddedBatch::prefill(&self.model.config.llama, &prompts, Pad::default());
        let mut batch = batch.expect("token 1 is in every vocabulary");
        batch.set_step(&vec![Some(TokenId(1)); rows], &vec![CONTEXT; rows]);
        batch
    }

    /// One step. The caches are truncated to their old length after it.
    pub fn step(&mut self, batch: &PaddedBatch) {
        let (config, weights) = (&self.model.config, &self.model.weights);
        let caches = &mut self.caches[..batch.batch_size()];
        let logits = forward(config, weights, &mut self.state, caches, self.pool, batch);
        std::hint::black_box(logits.expect("one more position fits"));
        for cache in caches {
            cache.truncate(CONTEXT).expect("it held more");
        }
    }

    /// The same step for one sequence by lesson 06's pass.
    fn step_of_lesson_06(&mut self) {
        let (config, weights) = (&self.model.config, &self.model.weights);
        let (state, cache) = (&mut self.state, &mut self.caches[0]);
        let logits = kv_cache::forward::forward(config, weights, state, cache, self.pool, &[TokenId(1)]);
        std::hint::black_box(logits.expect("one more position fits"));
        cache.truncate(CONTEXT).expect("it held more");
    }
}

/// The steps of one model: the race, and the limits.
pub struct Steps {
    pub name: String,
    pub race: RaceResult,
    pub limits: MachineLimits,
    /// The work of each of [`BATCHES`].
    pub work: Vec<Work>,
}

impl Steps {
    /// Races the steps of one model, and measures the limits of the machine.
    pub fn measure(story: &mut Story, model: &Model, pool: &Pool) -> anyhow::Result<Steps> {
        let bench = RefCell::new(Bench::new(model, pool, BATCHES[BATCHES.len() - 1]));
        let batches = BATCHES.map(|rows| bench.borrow().batch(rows));
        let id = format!("step-{}", model.name.replace(':', "-"));
        let title = format!("One step of {}, {CONTEXT} tokens before it", model.name);
        let mut race = Race::new(&id, &title).unit("ms").rounds(7).baseline(ALONE);
        race = race.entry(ALONE, Some(1.0), || bench.borrow_mut().step_of_lesson_06());
        for (batch, rows) in batches.iter().zip(BATCHES) {
            race = race.entry(TOGETHER, Some(rows as f64), || bench.borrow_mut().step(batch));
        }
        let bar = story.progress(race.num_calls() as u64, race.title());
        let race = race.run_with(&mut WallClock::default(), &mut |done, _| bar.set_position(done as u64))?;
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

    /// Milliseconds of lesson 06's step over one row.
    pub fn alone(&self) -> f64 {
        self.race.median(ALONE)
    }

    /// Milliseconds of a step over `rows` rows.
    pub fn ms(&self, rows: usize) -> f64 {
        self.race.median_at(TOGETHER, rows as f64)
    }

    /// The same, in times of lesson 06's step over one row.
    pub fn times(&self, rows: usize) -> f64 {
        self.ms(rows) / self.alone()
    }

    /// A sign that other work disturbed the steps: rounds of one entry that differ by more than a quarter of it.
    pub fn disturbance(&self) -> Option<Disturbance> {
        let spread = self.race.noise(&[ALONE, TOGETHER]);
        Disturbance::of_ratio("spread of a step in times of its median", spread, 0.0..=0.25)
    }

    /// Milliseconds of a step by the limits of the machine; `index` is that of [`BATCHES`].
    pub fn limit_ms(&self, index: usize) -> f64 {
        1e3 * self.limits.shortest(&self.work[index]).0
    }

    /// The limit that a step meets.
    pub fn waits_for(&self, index: usize) -> &'static str {
        match self.limits.shortest(&self.work[index]).1 {
            Bound::Reading => "memory",
            Bound::Arithmetic => "arithmetic",
        }
    }

    /// The first of the timed batch sizes at which arithmetic takes longer than reading.
    pub fn turn(&self) -> String {
        let turn = (0..BATCHES.len()).find(|index| self.waits_for(*index) == "arithmetic");
        turn.map_or("more than 64".to_owned(), |index| BATCHES[index].to_string())
    }

    /// A line over the batch size, from each size and its index.
    pub fn line(&self, y: impl Fn(usize, usize) -> f64) -> Vec<(f64, f64)> {
        let points = BATCHES.iter().enumerate();
        points.map(|(index, rows)| (*rows as f64, y(*rows, index))).collect()
    }
}
