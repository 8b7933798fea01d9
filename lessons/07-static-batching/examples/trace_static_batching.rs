//! Records the trace of the book's interactive figure: a queue of requests, cut into batches of every size by three
//! rules of padding.
//!
//! ```text
//! cargo run -q -p lesson07 --example trace_static_batching > target/static-batching.json && mv target/static-batching.json book/figures/static-batching.json
//! ```
//!
//! Counted, not timed: cells, bytes and multiply-adds come from the batches that the lesson's own code makes. The page
//! computes times from them, for a machine that the reader chooses. (`tests/suite/claims.rs` compares these counts with
//! those of computed passes.)

use anyhow::ensure;
use generation::Model;
use generation::work::Work;
use kv_cache::memory::kv_bytes;
use serde::Serialize;
use serde_json::{Value, json};
use static_batching::buckets::into_buckets;
use static_batching::rules::{Rule, cells};
use static_batching::work::{of_batch, of_step};
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};
use static_batching::{Pad, PaddedBatch, Padding, Width};
use training::TokenId;

/// Requests in a queue.
const REQUESTS: usize = 64;
/// Seed of their lengths.
const SEED: u64 = 11;
/// Mean tokens of a prompt.
const MEAN: usize = 80;
/// The one width that fits every prompt.
const MAX_WIDTH: usize = 512;
/// Borders of the buckets.
const PERCENTS: [f64; 3] = [50.0, 80.0, 95.0];
/// Batch sizes, one a step of the figure.
const SIZES: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/// All batches of one size.
#[derive(Serialize)]
struct Step {
    size: usize,
    batches: Vec<Batch>,
}

/// One batch: the next requests of the order.
#[derive(Serialize)]
struct Batch {
    requests: usize,
    /// Cells of each row.
    width: usize,
    /// Counts of the pass over the prompts.
    prefill: Counts,
    /// Counts of one token for each row after it.
    decode: Counts,
}

/// One pass.
#[derive(Serialize)]
struct Counts {
    /// Bytes of the weights, read once, and for a token the keys and values of each row's own cache.
    bytes: u64,
    multiply_adds: u64,
}

/// Records the trace as JSON, a line for each step and each run.
///
/// # Errors
/// A model that can not be opened; batches that have other cells than their rule counts.
pub fn record() -> anyhow::Result<String> {
    let model = Model::open("stories")?;
    let mixed = Distribution::log_normal(MEAN as f64, 0.8, MAX_WIDTH);
    let queues = [
        ("mixed", "of mixed length, about 80 in the mean", lengths(mixed)),
        ("equal", "all of 80 tokens", lengths(Distribution::Equal(MEAN))),
    ];
    let mut runs = Vec::new();
    for (queue, _, lengths) in &queues {
        for rule in ["own", "global", "buckets"] {
            let (order, steps) = run(&model, lengths, rule)?;
            runs.push(json!({"queue": queue, "rule": rule, "order": order, "steps": steps}));
        }
    }
    // The run that is shown first has its steps at the top.
    let steps = std::mem::replace(&mut runs[0]["steps"], json!([]));
    let of_queue =
        |(name, label, lengths): &(_, _, Vec<usize>)| json!({"name": name, "label": label, "lengths": lengths});
    let trace: Value = json!({
        "schema": 1,
        "figure": "static-batching",
        "source": "cargo run -q -p lesson07 --example trace_static_batching",
        "model": {"name": "stories", "weight_bytes": model.weights.bytes_per_pass()},
        "requests": REQUESTS,
        "sizes": SIZES,
        "max_width": MAX_WIDTH,
        "queues": queues.iter().map(of_queue).collect::<Vec<_>>(),
        "steps": steps,
        "runs": runs,
    });
    Ok(trace
        .to_string()
        .replace("{\"batches\"", "\n{\"batches\"")
        .replace("{\"order\"", "\n{\"order\""))
}

/// The prompts of a queue, in tokens.
fn lengths(prompt: Distribution) -> Vec<usize> {
    let new = Distribution::Equal(1);
    let drawn = arrivals(SEED, REQUESTS, &Lengths::Independent { prompt, new }, &Pace::AtOnce);
    drawn.iter().map(|arrival| arrival.prompt_tokens).collect()
}

/// A queue under a rule: the requests in the order in which the batches take them, and the batches of every size.
fn run(model: &Model, lengths: &[usize], rule: &str) -> anyhow::Result<(Vec<usize>, Vec<Step>)> {
    let in_order = vec![(0..REQUESTS).collect()];
    let (groups, width, of_lesson): (Vec<Vec<usize>>, _, _) = match rule {
        "global" => (in_order, Width::Exactly(MAX_WIDTH), Rule::Global(MAX_WIDTH)),
        "own" => (in_order, Width::Longest, Rule::Own),
        _ => {
            let buckets = into_buckets(lengths, &PERCENTS).into_iter();
            let groups = buckets.map(|bucket| bucket.prompts).collect();
            (groups, Width::Longest, Rule::BucketsOwn(PERCENTS.to_vec()))
        }
    };
    let mut steps = Vec::new();
    for size in SIZES {
        let mut batches = Vec::new();
        for ids in groups.iter().flat_map(|group| group.chunks(size)) {
            let lengths: Vec<usize> = ids.iter().map(|id| lengths[*id]).collect();
            batches.push(batch(model, &lengths, width)?);
        }
        let computed: u64 = batches.iter().map(|b: &Batch| (b.requests * b.width) as u64).sum();
        let expected = cells(lengths, size, &of_lesson).computed;
        ensure!(
            computed == expected,
            "the batches have {computed} cells, the rule {expected}"
        );
        steps.push(Step { size, batches });
    }
    Ok((groups.concat(), steps))
}

/// The counts of the pass over some prompts and of one step after it.
fn batch(model: &Model, lengths: &[usize], width: Width) -> anyhow::Result<Batch> {
    let (llama, weights) = (&model.config.llama, &model.weights);
    let prompts: Vec<Vec<TokenId>> = lengths.iter().map(|len| vec![TokenId(1); *len]).collect();
    let prompts: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
    let side = Padding::Left;
    let batch = PaddedBatch::prefill(llama, &prompts, Pad { side, width })?;
    let context_len: Vec<usize> = lengths.iter().map(|len| len + 1).collect();
    let prefill = of_batch(llama, weights, &batch);
    let decode = of_step(llama, weights.bytes_per_pass(), &context_len);
    let kept = |positions| kv_bytes(llama.num_layers, llama.num_kv_heads, llama.head_dim, positions, 1, 4);
    let counts = |work: &Work, kv_bytes: u64| Counts {
        bytes: work.weight_bytes + kv_bytes,
        multiply_adds: work.multiply_adds(),
    };
    Ok(Batch {
        requests: lengths.len(),
        width: batch.width(),
        prefill: counts(&prefill, 0),
        decode: counts(&decode, kept(context_len.iter().sum())),
    })
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    lab::outln!("{}", record()?);
    Ok(())
}
