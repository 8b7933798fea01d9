//! Both ways to serve on the virtual clock: schedules are counted, steps have measured prices.

use super::Scene;
use super::serve::{Times, serve};
use continuous_batching::batch::BatchSequence;
use continuous_batching::runner::NoModel;
use continuous_batching::{Batch, Engine, EngineLimits, ModelRunner, Runner, SeqId, SlotCache, Slots};
use generation::Model;
use lab::race::{Disturbance, Race, RaceResult};
use lab::story::Story;
use static_batching::clock::{Clock, VirtualClock};
use static_batching::prices::StepPrices;
use static_batching::serve::Window;
use static_batching::workload::Arrival;
use std::cell::RefCell;
use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;
use training::TokenId;

/// Rows of the timed steps.
const ROWS: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Sequences of a timed step at most; with more rows each brings several.
const SEQUENCES: usize = 32;
/// Tokens of each sequence before the step.
const CONTEXT: usize = 64;
/// A model larger than the caches of this class of machine.
const LARGE: &str = "random:135m";

/// Prices of the steps of a model, and the race that measured them.
pub struct Prices {
    pub model: String,
    pub steps: StepPrices,
    race: RaceResult,
}

impl Prices {
    /// Races steps of this lesson's pass over more and more rows: on a model that fits in no cache, if the story runs on
    /// the default model, otherwise on the story's own.
    pub fn measure(story: &mut Story, scene: &Scene) -> anyhow::Result<Prices> {
        let other = match scene.model.name.as_str() {
            "stories" => Some(Model::open(LARGE)?),
            _ => None,
        };
        let model = other.as_ref().unwrap_or(&scene.model);
        let most_rows = ROWS[ROWS.len() - 1] / SEQUENCES;
        let capacity = (CONTEXT + most_rows).min(model.config.llama.max_seq_len);
        let cache = SlotCache::new(&model.config.llama, SEQUENCES, capacity);
        let runner = RefCell::new(ModelRunner::new(model, &scene.pool, cache, SEQUENCES, capacity));
        let mut race = Race::new("step-prices", "One step, x: its rows").unit("ms").rounds(5);
        for rows in ROWS {
            let (batch, runner) = (batch_of(rows, capacity - most_rows), &runner);
            race = race.entry("step", Some(rows as f64), move || {
                let mut runner = runner.borrow_mut();
                runner.forward(&batch).map(|logits| logits.len()).expect("the rows fit")
            });
        }
        let race = story.race(race)?;
        let points = race.line("step").into_iter().map(|(rows, ms)| (rows, ms / 1e3));
        Ok(Prices {
            model: model.name.clone(),
            steps: StepPrices::new(points.collect()),
            race,
        })
    }

    /// Signs that other work disturbed the prices.
    pub fn disturbances(&self) -> [Option<Disturbance>; 2] {
        let eight = self.race.median_at("step", 8.0) / self.race.median_at("step", 1.0);
        let spread = self.race.noise(&["step"]);
        [
            Disturbance::of_ratio("eight rows in times of one row", eight, 0.9..=f64::INFINITY),
            Disturbance::of_ratio("spread of a step in times of its median", spread, 0.0..=0.25),
        ]
    }
}

/// A batch of this many rows: up to [`SEQUENCES`] sequences of equal size, each after `context` tokens.
fn batch_of(rows: usize, context: usize) -> Batch {
    let num_sequences = rows.min(SEQUENCES);
    let num_rows = rows / num_sequences;
    let mut batch = Batch::default();
    for sequence in 0..num_sequences {
        batch.sequences.push(BatchSequence {
            id: SeqId(sequence as u64),
            first_row: batch.tokens.len(),
            num_rows,
            wants_logits: true,
        });
        batch.tokens.extend(vec![TokenId(1); num_rows]);
        batch.positions.extend(context..context + num_rows);
        batch.add_table(|table| table.push(sequence as u32));
    }
    batch
}

/// A stream that was served: the times of its requests, and the end of each step.
pub struct Run {
    pub times: Vec<Times>,
    ends: Vec<Duration>,
}

impl Run {
    pub fn num_steps(&self) -> usize {
        self.ends.len()
    }

    /// Seconds until the last step ended.
    pub fn seconds(&self) -> f64 {
        self.ends.last().copied().unwrap_or_default().as_secs_f64()
    }

    /// Number of steps that end after the arrival of a request, up to that of its first token. For a request alone: 1.
    pub fn steps_to_first(&self, request: usize) -> usize {
        let ended = |by: Duration| self.ends.partition_point(|end| *end <= by);
        let times = &self.times[request];
        ended(times.first) - ended(times.arrived)
    }
}

/// Whether the prompts of a static batch are padded to the longest, as lesson 07 does, or cost their own rows only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    Padded,
    Unpadded,
}

/// A stream in lesson 07's batches.
pub fn in_batches(prices: &StepPrices, stream: &[Arrival], window: &Window, prompts: Prompts) -> Run {
    let at: Vec<Duration> = stream.iter().map(|arrival| arrival.at).collect();
    let mut times: Vec<Times> = at.iter().map(|at| Times::of_arrival(*at)).collect();
    let mut ends = Vec::new();
    let run = &mut |clock: &mut VirtualClock, ids: Range<usize>| {
        let batch = &stream[ids.clone()];
        let lengths = batch.iter().map(|request| request.prompt_tokens);
        let rows = match prompts {
            Prompts::Padded => batch.len() * lengths.max().unwrap_or(0),
            Prompts::Unpadded => lengths.sum(),
        };
        let steps = batch.iter().map(|request| request.new_tokens).max().unwrap_or(0);
        for step in 0..steps {
            clock.advance(prices.step(if step == 0 { rows } else { batch.len() }));
            ends.push(clock.now());
            let pairs = times[ids.clone()].iter_mut().zip(batch);
            let running = pairs.filter(|(_, request)| step < request.new_tokens);
            running.for_each(|(times, _)| times.token(clock.now()));
        }
        Ok::<(), Infallible>(())
    };
    let Ok(served) = static_batching::serve::serve(&mut VirtualClock::new(), &at, window, run);
    for (times, served) in times.iter_mut().zip(served) {
        times.returned = served.finished;
    }
    Run { times, ends }
}

/// A stream through the engine, without a model.
pub fn in_engine(prices: &StepPrices, stream: &[Arrival], num_slots: usize) -> anyhow::Result<Run> {
    const LONGEST: usize = 1 << 20;
    let limits = EngineLimits {
        max_running: num_slots,
        max_new_tokens: usize::MAX,
        max_seq_len: LONGEST,
        vocab_size: 1,
        end_of_text: Vec::new(),
    };
    let mut engine = Engine::new(NoModel::new(1), Slots::new(num_slots, LONGEST), limits);
    let at: Vec<Duration> = stream.iter().map(|arrival| arrival.at).collect();
    let longest = stream.iter().map(|arrival| arrival.prompt_tokens).max().unwrap_or(0);
    let prompt = vec![TokenId(0); longest];
    let request = |index: usize| (&prompt[..stream[index].prompt_tokens], stream[index].new_tokens);
    let mut ends = Vec::new();
    let mut after_step = |clock: &mut VirtualClock, batch: &Batch| {
        clock.advance(prices.step(batch.num_rows()));
        ends.extend((!batch.is_empty()).then_some(clock.now()));
    };
    let times = serve(&mut engine, &mut VirtualClock::new(), &at, request, &mut after_step)?;
    Ok(Run { times, ends })
}
