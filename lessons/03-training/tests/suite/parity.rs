//! The fused operations equal the composition of plain tape operations, value and gradients, and so does the whole
//! model.

use autograd::Tensor;
use layout::pool::Pool;
use ndarray::{ArrayD, IxDyn};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use training::batch::Batch;
use training::kernels::attention::AttentionShape;
use training::kernels::rotary::RotaryTable;
use training::model::Llama;
use training::ops::{self, Targets};
use training::plain;
use training::random::Random;
use training::{LlamaConfig, TokenId};

type Plain = Tensor<f64>;

fn random(shape: &[usize], seed: u64) -> ArrayD<f64> {
    let mut random = Random::at(&[seed, 77]);
    ArrayD::from_shape_fn(IxDyn(shape), |_| 2.0 * random.unit() - 1.0)
}

fn pool() -> Arc<Pool> {
    Arc::new(Pool::new(2))
}

/// Compares value and every gradient of a fused operation (f32) with its plain composition (f64) on random inputs.
#[track_caller]
fn check(
    shapes: &[&[usize]],
    fused: impl Fn(&[Tensor]) -> Tensor,
    plain: impl Fn(&[Plain]) -> autograd::Result<Plain>,
) {
    let values: Vec<_> = (0..).zip(shapes).map(|(seed, shape)| random(shape, seed)).collect();
    let narrow = |value: &ArrayD<f64>| Tensor::parameter(value.mapv(|x| x as f32));
    let fused_inputs: Vec<Tensor> = values.iter().map(narrow).collect();
    // The plain side starts from the same rounded numbers.
    let wide = |tensor: &Tensor| Plain::parameter(tensor.value().mapv(f64::from));
    let plain_inputs: Vec<Plain> = fused_inputs.iter().map(wide).collect();

    let (got, expected) = (fused(&fused_inputs), plain(&plain_inputs).unwrap());
    close("value", &got.value(), &expected.value());
    let seed = random(&got.shape(), 1000);
    got.backward_with(seed.mapv(|x| x as f32)).unwrap();
    let rounded_seed = seed.mapv(|x| f64::from(x as f32));
    expected.backward_with(rounded_seed).unwrap();
    for (index, (a, b)) in fused_inputs.iter().zip(&plain_inputs).enumerate() {
        let (a, b) = (a.grad().expect("a gradient"), b.grad().expect("a gradient"));
        close(&format!("gradient of input {index}"), &a, &b);
    }
}

#[track_caller]
fn close(what: &str, got: &ArrayD<f32>, expected: &ArrayD<f64>) {
    assert_eq!(got.shape(), expected.shape(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
    let worst = got
        .iter()
        .zip(expected)
        .fold(0.0_f64, |a, (g, e)| a.max((f64::from(*g) - e).abs()));
    assert!(
        worst <= 4e-6 * largest.max(1.0),
        "{what}: off by {worst:e}, largest is {largest:e}"
    );
}

#[track_caller]
fn check_attention(shape: AttentionShape, starts: Vec<u32>) {
    let theta = 10_000.0;
    let rotary = Rc::new(RotaryTable::new(shape.seq_len, shape.head_dim, theta));
    let shared: Rc<[u32]> = starts.clone().into();
    check(
        &[&[shape.num_rows(), shape.qkv_size()]],
        |inputs| ops::attention(&pool(), shape, &rotary, &shared, &inputs[0]),
        |inputs| plain::attention(&shape, theta, &starts, &inputs[0]),
    );
}

fn shape(batch_size: usize, seq_len: usize, num_heads: usize, num_kv_heads: usize, head_dim: usize) -> AttentionShape {
    AttentionShape {
        batch_size,
        seq_len,
        num_heads,
        num_kv_heads,
        head_dim,
    }
}

#[test]
fn attention_equals_its_parts_when_heads_share_keys() {
    check_attention(shape(2, 40, 4, 2, 32), vec![0; 80]);
}

#[test]
fn attention_equals_its_parts_for_every_tail() {
    for seq_len in [1, 2, 15, 16, 17, 31, 33, 70] {
        check_attention(shape(1, seq_len, 2, 1, 8), vec![0; seq_len]);
    }
}

#[test]
fn attention_equals_its_parts_for_wide_and_odd_heads() {
    check_attention(shape(1, 20, 2, 2, 64), vec![0; 20]);
    check_attention(shape(1, 20, 3, 1, 6), vec![0; 20]);
}

#[test]
fn attention_does_not_cross_documents() {
    let starts = |len: u32| -> Vec<u32> {
        (0..len)
            .map(|i| {
                if i < 9 {
                    0
                } else if i < 50 {
                    9
                } else {
                    50
                }
            })
            .collect()
    };
    check_attention(shape(1, 75, 2, 1, 16), starts(75));
}

#[test]
fn rms_norm_equals_its_parts() {
    for n in [1, 16, 24, 33] {
        check(
            &[&[37, n], &[n]],
            |inputs| ops::rms_norm(&pool(), &inputs[0], &inputs[1], 1e-5),
            |inputs| plain::rms_norm(&inputs[0], &inputs[1], 1e-5),
        );
    }
}

#[test]
fn linear_equals_its_parts() {
    check(
        &[&[19, 24], &[40, 24]],
        |inputs| ops::linear(&pool(), &inputs[0], &inputs[1]),
        |inputs| plain::linear(&inputs[0], &inputs[1]),
    );
}

#[test]
fn linear_with_residual_equals_its_parts() {
    check(
        &[&[19, 24], &[40, 24], &[19, 40]],
        |inputs| ops::linear_add(&pool(), &inputs[0], &inputs[1], &inputs[2]),
        |inputs| inputs[2].add(&plain::linear(&inputs[0], &inputs[1])?),
    );
}

#[test]
fn swiglu_equals_its_parts() {
    check(
        &[&[21, 2 * 35]],
        |inputs| ops::swiglu(&pool(), &inputs[0]),
        |inputs| plain::swiglu(&inputs[0]),
    );
}

#[test]
fn embedding_adds_the_gradients_of_repeated_tokens() {
    let ids = [3, 0, 3, 3, 6];
    let tokens = ids.map(|id| TokenId(id as u32));
    check(
        &[&[7, 5]],
        |inputs| ops::embedding(&inputs[0], &tokens),
        |inputs| inputs[0].gather_rows(&ids),
    );
}

#[test]
fn head_and_loss_equal_their_parts_over_several_blocks_of_rows() {
    let rows = 1100;
    let ids: Vec<usize> = (0..rows).map(|i| i * 7 % 50).collect();
    let tokens: Vec<TokenId> = ids.iter().map(|&id| TokenId(id as u32)).collect();
    let targets = Targets {
        tokens: &tokens,
        weights: &vec![1.0; rows],
        spread: &BTreeMap::new(),
    };
    check(
        &[&[rows, 12], &[50, 12]],
        |inputs| ops::head_loss(&pool(), &inputs[0], &inputs[1], targets),
        |inputs| plain::linear(&inputs[0], &inputs[1])?.cross_entropy(&ids),
    );
}

/// Row 0 counts twice; row 1 has two targets that are equally likely. The same by hand: the mean over the rows
/// 0, 0, 1 and 2, where row 1 is half its first and half its second target.
#[test]
fn weights_count_and_targets_spread() {
    let tokens = [3, 4, 0].map(TokenId);
    let targets = Targets {
        tokens: &tokens,
        weights: &[2.0, 1.0, 1.0],
        spread: &BTreeMap::from([(1, vec![TokenId(4), TokenId(1)])]),
    };
    check(
        &[&[3, 12], &[6, 12]],
        |inputs| ops::head_loss(&pool(), &inputs[0], &inputs[1], targets),
        |inputs| {
            // Eight rows, so that half of a row is a row.
            let logits = plain::linear(&inputs[0], &inputs[1])?;
            logits
                .gather_rows(&[0, 0, 0, 0, 1, 1, 2, 2])?
                .cross_entropy(&[3, 3, 3, 3, 4, 1, 0, 0])
        },
    );
}

/// The whole model: the loss and the gradient of every weight, against the plain composition in f64.
#[test]
fn the_model_equals_its_parts() {
    let config = LlamaConfig {
        vocab_size: 60,
        hidden_size: 24,
        intermediate_size: 40,
        num_layers: 2,
        num_heads: 4,
        num_kv_heads: 2,
        head_dim: 8,
        max_seq_len: 32,
        ..LlamaConfig::stories()
    };
    let model = Llama::new(config.clone(), 5, pool());
    let windows: Vec<Vec<TokenId>> = (0..2)
        .map(|w| {
            (0..30)
                .map(|i| TokenId((i * 11 + w * 5) % 60 * u32::from(i % 13 != 6)))
                .collect()
        })
        .collect();
    let batch = Batch::windows(&windows);
    assert!(batch.starts.iter().any(|&s| s > 0), "documents end inside the windows");
    let loss = model.loss(&batch);
    loss.backward().unwrap();

    let parameters = model.parameters();
    let wide: Vec<Plain> = parameters
        .iter()
        .map(|(_, t)| Plain::parameter(t.value().mapv(f64::from)))
        .collect();
    let weight_of = |name: &str| &wide[parameters.iter().position(|(n, _)| n == name).unwrap()];
    let attention_shape = shape(2, 29, 4, 2, 8);
    let ids = |tokens: &[TokenId]| tokens.iter().map(|t| t.index()).collect::<Vec<_>>();
    let compute = || -> autograd::Result<Plain> {
        let eps = config.rms_norm_eps;
        let mut x = weight_of("embedding").gather_rows(&ids(&batch.inputs))?;
        for layer in 0..config.num_layers {
            let weight = |part: &str| weight_of(&format!("layers.{layer}.{part}"));
            let qkv = plain::linear(&plain::rms_norm(&x, weight("attention_norm"), eps)?, weight("qkv"))?;
            let mixed = plain::attention(&attention_shape, config.rope_theta, &batch.starts, &qkv)?;
            x = x.add(&plain::linear(&mixed, weight("out"))?)?;
            let gate_up = plain::linear(&plain::rms_norm(&x, weight("mlp_norm"), eps)?, weight("gate_up"))?;
            x = x.add(&plain::linear(&plain::swiglu(&gate_up)?, weight("down"))?)?;
        }
        let x = plain::rms_norm(&x, weight_of("norm"), eps)?;
        plain::linear(&x, weight_of("embedding"))?.cross_entropy(&ids(&batch.targets))
    };
    let expected = compute().unwrap();
    expected.backward().unwrap();
    close("loss", &loss.value(), &expected.value());
    for ((name, got), expected) in parameters.iter().zip(&wide) {
        let (got, expected) = (got.grad().unwrap(), expected.grad().unwrap());
        let largest = expected.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
        let worst = got
            .iter()
            .zip(expected.iter())
            .fold(0.0_f64, |a, (g, e)| a.max((f64::from(*g) - e).abs()));
        assert!(
            worst <= 1e-5 * largest,
            "gradient of {name}: off by {worst:e}, largest is {largest:e}"
        );
    }
}
