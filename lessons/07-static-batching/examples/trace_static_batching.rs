//! Records what the book's interactive figure shows: a queue of requests, cut into batches of every size by three rules of padding.
//!
//! ```text
//! cargo run -q -p lesson07 --example trace_static_batching > target/static-batching.json && mv target/static-batching.json book/figures/static-batching.json
//! ```
//!
//! Counted, never timed: cells, bytes and multiply-adds come from the batches that the lesson's own code makes. How long a pass takes follows
//! from them on the reader's page, for a machine that the reader chooses. One batch of each rule is really computed, with the ledger open, so
//! that the counts are those of the pass and not of a formula.

use anyhow::{Context, ensure};
use generation::Model;
use generation::work::Work;
use kv_cache::memory::kv_bytes;
use lab::ledger;
use layout::pool::Pool;
use serde::{Deserialize, Serialize};
use static_batching::buckets::into_buckets;
use static_batching::forward::forward;
use static_batching::rules::{Cells, Rule, cells};
use static_batching::work::{of_batch, of_step};
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};
use static_batching::{BatchState, Pad, PaddedBatch, Padding, Width};
use training::TokenId;

/// Requests in the queue.
const REQUESTS: usize = 64;
/// Of their lengths.
const SEED: u64 = 11;
/// Mean tokens of a prompt.
const MEAN: usize = 80;
/// The one width that fits every prompt.
const MAX_WIDTH: usize = 512;
/// Borders of the buckets.
const PERCENTS: [f64; 3] = [50.0, 80.0, 95.0];
/// Batch sizes, one a step of the figure.
const SIZES: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/// The size of which one batch of each rule is really computed.
const COMPUTED: usize = 8;

/// The file `book/figures/static-batching.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    model: Shape,
    requests: usize,
    sizes: Vec<usize>,
    max_width: usize,
    queues: Vec<Queue>,
    /// The run that is shown first: mixed lengths, each batch as wide as its longest prompt.
    steps: Vec<Step>,
    /// All runs; the one that is shown first has its steps above.
    runs: Vec<Run>,
}

/// What the reader's page needs of the model.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Shape {
    name: String,
    /// Bytes of the weights that each pass reads.
    weight_bytes: u64,
}

/// Prompts that wait.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Queue {
    name: String,
    label: String,
    lengths: Vec<usize>,
}

/// A queue under a rule.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Run {
    queue: String,
    rule: String,
    /// The requests in the order in which the batches take them.
    order: Vec<usize>,
    steps: Vec<Step>,
}

/// One size of the batches.
#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Step {
    /// The sentence that stands where scripts do not run.
    text: String,
    size: usize,
    batches: Vec<Batch>,
}

/// One batch: the next requests of the order.
#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Batch {
    requests: usize,
    /// Cells of each row.
    width: usize,
    /// Of the pass over the prompts.
    prefill: Counts,
    /// Of one token for each row after it.
    decode: Counts,
}

/// One pass.
#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Counts {
    /// Weights, once; and for a token the keys and values of everything before it, each row its own.
    bytes: u64,
    multiply_adds: u64,
}

/// Records the trace anew.
///
/// # Errors
/// A model that can not be opened or run; a pass that counts otherwise than its formula says.
pub fn record() -> anyhow::Result<Trace> {
    let mut recorder = Recorder {
        model: Model::open("stories")?,
        pool: Pool::new(2),
    };
    let weight_bytes = recorder.model.weights.bytes_per_pass();
    let queues = vec![
        queue(
            "mixed",
            "of mixed length, about 80 in the mean",
            Distribution::log_normal(MEAN as f64, 0.8, MAX_WIDTH),
        ),
        queue("equal", "all of 80 tokens", Distribution::Equal(MEAN)),
    ];
    let mut runs = Vec::new();
    for queue in &queues {
        for rule in ["own", "global", "buckets"] {
            runs.push(recorder.run(queue, rule)?);
        }
    }
    Ok(Trace {
        schema: 1,
        figure: "static-batching".into(),
        source: "cargo run -q -p lesson07 --example trace_static_batching".into(),
        model: Shape {
            name: "stories".into(),
            weight_bytes,
        },
        requests: REQUESTS,
        sizes: SIZES.to_vec(),
        max_width: MAX_WIDTH,
        steps: std::mem::take(&mut runs[0].steps),
        queues,
        runs,
    })
}

/// Draws the prompts of a queue.
fn queue(name: &str, label: &str, prompt: Distribution) -> Queue {
    let new = Distribution::Equal(1);
    let drawn = arrivals(SEED, REQUESTS, &Lengths::Independent { prompt, new }, &Pace::AtOnce);
    Queue {
        name: name.into(),
        label: label.into(),
        lengths: drawn.iter().map(|arrival| arrival.prompt_tokens).collect(),
    }
}

struct Recorder {
    model: Model,
    pool: Pool,
}

impl Recorder {
    fn run(&mut self, queue: &Queue, rule: &str) -> anyhow::Result<Run> {
        let groups: Vec<Vec<usize>> = match rule {
            "buckets" => into_buckets(&queue.lengths, &PERCENTS)
                .into_iter()
                .map(|bucket| bucket.prompts)
                .collect(),
            _ => vec![(0..REQUESTS).collect()],
        };
        let width = match rule {
            "global" => Width::Exactly(MAX_WIDTH),
            _ => Width::Longest,
        };
        let mut steps = Vec::new();
        for size in SIZES {
            let mut batches = Vec::new();
            for ids in groups.iter().flat_map(|group| group.chunks(size)) {
                let lengths: Vec<usize> = ids.iter().map(|id| queue.lengths[*id]).collect();
                let compute = size == COMPUTED && batches.is_empty();
                batches.push(self.batch(&lengths, width, compute)?);
            }
            let sums = Cells {
                useful: queue.lengths.iter().sum::<usize>() as u64,
                computed: batches.iter().map(|b: &Batch| (b.requests * b.width) as u64).sum(),
            };
            ensure!(
                sums == cells(&queue.lengths, size, &lesson_rule(rule)),
                "the batches and the rule count other cells"
            );
            steps.push(Step {
                text: sentence(size, &sums, &batches),
                size,
                batches,
            });
        }
        Ok(Run {
            queue: queue.name.clone(),
            rule: rule.into(),
            order: groups.concat(),
            steps,
        })
    }

    /// The pass over some prompts, and one step after it, counted; computed as well where that is asked for.
    fn batch(&mut self, lengths: &[usize], width: Width, compute: bool) -> anyhow::Result<Batch> {
        let (config, weights) = (&self.model.config.llama, &self.model.weights);
        let prompts: Vec<Vec<TokenId>> = lengths.iter().map(|len| vec![TokenId(1); *len]).collect();
        let prompts: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
        let mut batch = PaddedBatch::prefill(
            config,
            &prompts,
            Pad {
                side: Padding::Left,
                width,
            },
        )?;
        let context_len: Vec<usize> = lengths.iter().map(|len| len + 1).collect();
        let prefill = of_batch(config, weights, &batch);
        let decode = of_step(config, weights.bytes_per_pass(), &context_len);
        let counted = Batch {
            requests: lengths.len(),
            width: batch.width(),
            prefill: counts(&prefill, 0),
            decode: counts(
                &decode,
                context_len
                    .iter()
                    .map(|len| {
                        kv_bytes(
                            config.num_layers,
                            config.num_kv_heads,
                            config.head_dim,
                            *len,
                            1,
                            size_of::<f32>(),
                        )
                    })
                    .sum(),
            ),
        };
        if compute {
            let mut state = BatchState::new(&self.model.config);
            state.prepare(&self.model.config, context_len.iter().copied());
            self.compute(&mut state, &batch, &prefill)?;
            batch.set_step(&vec![Some(TokenId(2)); lengths.len()], lengths);
            self.compute(&mut state, &batch, &decode)?;
        }
        Ok(counted)
    }

    /// Runs a pass with the ledger open.
    fn compute(&self, state: &mut BatchState, batch: &PaddedBatch, work: &Work) -> anyhow::Result<()> {
        let (config, weights) = (&self.model.config, &self.model.weights);
        let caches = &mut state.caches[..batch.batch_size()];
        let (done, counted) =
            ledger::measure(|| forward(config, weights, &mut state.state, caches, &self.pool, batch).map(|_| ()));
        done.context("a pass over the batch")?;
        ensure!(
            counted.multiply_adds == work.multiply_adds(),
            "the pass counts {} multiply-adds, its formula {}",
            counted.multiply_adds,
            work.multiply_adds()
        );
        Ok(())
    }
}

fn counts(work: &Work, kv_bytes: u64) -> Counts {
    Counts {
        bytes: work.weight_bytes + kv_bytes,
        multiply_adds: work.multiply_adds(),
    }
}

/// The lesson's name for a rule of the figure.
fn lesson_rule(rule: &str) -> Rule {
    match rule {
        "global" => Rule::Global(MAX_WIDTH),
        "buckets" => Rule::BucketsOwn(PERCENTS.to_vec()),
        _ => Rule::Own,
    }
}

fn sentence(size: usize, cells: &Cells, batches: &[Batch]) -> String {
    let passes = batches.len();
    let plural = if passes == 1 { "pass" } else { "passes" };
    let megabytes = batches.iter().map(|batch| batch.decode.bytes).sum::<u64>() as f64 / 1e6;
    format!(
        "Batches of {size}: {passes} {plural}. The prompts fill {} cells, {:.0} % of them with tokens. One token for each of the {REQUESTS} requests reads {megabytes:.0} MB.",
        cells.computed,
        100.0 * cells.share(),
    )
}

/// The trace as text, a line for each step.
///
/// # Errors
/// None that can happen: the trace is plain data.
pub fn to_text(trace: &Trace) -> anyhow::Result<String> {
    Ok(serde_json::to_string(trace)?
        .replace("{\"text\"", "\n{\"text\"")
        .replace("{\"queue\"", "\n{\"queue\""))
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    lab::outln!("{}", to_text(&record()?)?);
    Ok(())
}
