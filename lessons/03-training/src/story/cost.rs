//! What training costs: fused operations against plain ones, and the memory that it holds.

use anyhow::Result;
use autograd::Tensor;
use lab::chart::Chart;
use lab::race::Race;
use lab::story::Story;
use layout::pool::Pool;
use ndarray::{ArrayD, IxDyn};
use std::rc::Rc;
use std::sync::Arc;
use training::batch::Batch;
use training::kernels::attention::AttentionShape;
use training::kernels::rotary::RotaryTable;
use training::model::Llama;
use training::random::Random;
use training::{TokenId, ops, plain};

/// Attention composed and fused.
pub fn fused(story: &mut Story, pool: &Arc<Pool>) -> Result<()> {
    story.step(
        "What fusing is worth",
        "Attention as fifteen plain tape operations per head, and as one: same numbers, forward and backward.",
    );
    let shape = AttentionShape {
        batch_size: 2,
        seq_len: 256,
        num_heads: 8,
        num_kv_heads: 4,
        head_dim: 32,
    };
    let theta = 10_000.0;
    let rotary = Rc::new(RotaryTable::new(shape.seq_len, shape.head_dim, theta));
    let starts: Rc<[u32]> = vec![0; shape.num_rows()].into();
    let mut random = Random::at(&[story.args().seed, 3]);
    let dims = IxDyn(&[shape.num_rows(), shape.qkv_size()]);
    let qkv = ArrayD::from_shape_fn(dims, |_| random.unit() as f32 - 0.5);
    let qkv = Tensor::parameter(qkv);
    let gradient = |out: Tensor| -> Vec<f32> {
        let seed = ArrayD::from_elem(IxDyn(&out.shape()), 1.0);
        out.backward_with(seed).expect("the tape is whole");
        qkv.take_grad().expect("qkv is a leaf").into_raw_vec_and_offset().0
    };
    let race = Race::new("attention", "Attention of 2 x 256 positions, forward and backward")
        .rounds(5)
        .baseline("plain tape operations")
        .entry("plain tape operations", None, || {
            gradient(plain::attention(&shape, theta, &starts, &qkv).expect("shapes fit"))
        })
        .entry("fused", None, || {
            gradient(ops::attention(pool, shape, &rotary, &starts, &qkv))
        })
        .check(|a, b| {
            let worst = a.iter().zip(b).fold(0.0_f32, |worst, (a, b)| worst.max((a - b).abs()));
            if worst < 1e-4 {
                Ok(())
            } else {
                Err(format!("gradients differ by {worst}"))
            }
        });
    story.race(race)?;
    story.say("`cargo run -p lesson03 -- peers --python PYTHON` races a whole training step against PyTorch.");
    Ok(())
}

/// Weights, gradients, moments and tape, and what of it inference needs.
pub fn memory(story: &mut Story, model: &Llama) -> Result<()> {
    story.step(
        "What training holds, and inference will not",
        "The tape keeps what backward will read: keep or recompute is the question of every lesson that follows.",
    );
    let config = &model.config;
    let parameters = 4.0 * config.num_parameters() as f64;
    let windows = vec![vec![TokenId(5); 513]; 4];
    let batch = Batch::windows(&windows);
    let before = autograd::memory::live().value_bytes;
    let loss = model.loss(&batch);
    let tape = (autograd::memory::live().value_bytes - before) as f64;
    drop(loss);
    let mib = |bytes: f64| bytes / (1024.0 * 1024.0);
    let half_weights = parameters / 2.0;
    let per_token = (2 * config.num_layers * config.kv_size() * 4) as f64;
    for (key, bytes) in [
        ("weights, gradients, two moments", 4.0 * parameters),
        ("the tape of one step, 4 x 512 tokens", tape),
        ("inference: weights in bf16", half_weights),
        ("inference: keys and values in f32, per token", per_token),
    ] {
        story.show_as(key, bytes, lab::number::bytes(bytes as u64));
    }
    let chart = Chart::bars(
        "memory",
        "Training on 2048 tokens holds far more than inference with 512",
    )
    .y_label("MiB")
    .stack(
        "training",
        &[
            ("weights", mib(parameters)),
            ("gradients", mib(parameters)),
            ("moments", mib(2.0 * parameters)),
            ("tape", mib(tape)),
        ],
    )
    .stack(
        "inference",
        &[
            ("weights", mib(half_weights)),
            ("keys and values", mib(512.0 * per_token)),
        ],
    );
    story.chart(&chart)?;
    story.say(
        "Lesson 04 opens the file with the weights; lesson 05 asks what each token costs when nothing else is kept.",
    );
    Ok(())
}
