//! The fused operations of the model, each one node on lesson 01's tape.
//!
//! Every one could be composed of plain tape operations, and the tests do so in f64 to check it. Fused, an operation
//! makes one pass over memory where the composition makes five to ten, and saves only what its own rule reads.
//!
//! | operation | saves | plain tape operations it stands for |
//! |---|---|---|
//! | [`embedding`] | the ids | gather |
//! | [`rms_norm`] | x, one number a row | square, mean, root, division, two products |
//! | [`linear`], [`linear_add`] | x, w | transpose, matmul, add |
//! | [`attention`] | qkv, out, one number a query and head | slices, rotary, two batched matmuls, mask, softmax |
//! | [`swiglu`] | gate and up | slices, silu, product |
//! | [`head_loss`] | two finished gradients | matmul, log softmax, gather, mean |

use crate::config::TokenId;
use crate::exercises::cross_entropy_backward;
use crate::kernels::attention::{AttentionShape, attention_backward, attention_forward};
use crate::kernels::rms_norm::{rms_norm_backward, rms_norm_forward};
use crate::kernels::rotary::RotaryTable;
use crate::kernels::swiglu::{swiglu_backward, swiglu_forward};
use crate::kernels::{piece_rows, pieces};
use autograd::{Saved, Tensor, custom_op, custom_op_with_output};
use layout::gemm::{MatMut, MatRef, Write, gemm};
use layout::pool::Pool;
use ndarray::{ArrayD, IxDyn};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Rows of logits that exist at one time in [`head_loss`]: 512 x 2048 floats are 4 MiB.
const HEAD_ROWS: usize = 512;

/// An array of zeros, to be overwritten by a kernel.
fn zeros(shape: &[usize]) -> ArrayD<f32> {
    ArrayD::zeros(IxDyn(shape))
}

/// The numbers of a row-major array.
fn slice(array: &ArrayD<f32>) -> &[f32] {
    array.as_slice().expect("values on the tape are row-major")
}

/// The numbers of an array that we made ourselves.
fn slice_mut(array: &mut ArrayD<f32>) -> &mut [f32] {
    array.as_slice_mut().expect("a fresh array is row-major")
}

/// Looks up a row for each token. Shapes: `table` `[vocab_size, n]`, result `[tokens, n]`.
///
/// The gradient adds each row's gradient to its token's row, in the order of the tokens.
pub fn embedding(table: &Tensor, tokens: &[TokenId]) -> Tensor {
    let shape = table.shape();
    let n = shape[1];
    let mut out = zeros(&[tokens.len(), n]);
    {
        let table = table.value();
        let table = slice(&table);
        for (row, token) in slice_mut(&mut out).chunks_exact_mut(n).zip(tokens) {
            row.copy_from_slice(&table[token.index() * n..][..n]);
        }
    }
    let tokens = tokens.to_vec();
    custom_op("embedding", &[table], out, move |upstream| {
        let mut d_table = zeros(&shape);
        let sums = slice_mut(&mut d_table);
        for (row, token) in slice(upstream).chunks_exact(n).zip(&tokens) {
            crate::vector::add_to(&mut sums[token.index() * n..][..n], row);
        }
        Ok(vec![Some(d_table)])
    })
}

/// RMSNorm of each row; see [`rms_norm_forward`]. Shapes: `x` `[rows, n]`, `weight` `[n]`.
pub fn rms_norm(pool: &Arc<Pool>, x: &Tensor, weight: &Tensor, eps: f64) -> Tensor {
    let shape = x.shape();
    let mut y = zeros(&shape);
    let mut inverse_rms = vec![0.0; shape[0]];
    rms_norm_forward(
        pool,
        slice(&x.value()),
        slice(&weight.value()),
        eps as f32,
        slice_mut(&mut y),
        &mut inverse_rms,
    );
    let (saved_x, saved_weight, pool) = (Saved::new(x), Saved::new(weight), Arc::clone(pool));
    custom_op("rms_norm", &[x, weight], y, move |upstream| {
        let (x, weight) = (saved_x.read()?, saved_weight.read()?);
        let mut d_x = zeros(x.shape());
        let mut d_weight = zeros(weight.shape());
        rms_norm_backward(
            &pool,
            slice(&x),
            slice(&weight),
            &inverse_rms,
            slice(upstream),
            slice_mut(&mut d_x),
            slice_mut(&mut d_weight),
        );
        Ok(vec![Some(d_x), Some(d_weight)])
    })
}

/// `y = x wᵀ`. Shapes: `x` `[rows, n]`, `w` `[m, n]`, result `[rows, m]`. Three products of `rows · n · m`
/// multiply-adds: one forward, two backward.
pub fn linear(pool: &Arc<Pool>, x: &Tensor, w: &Tensor) -> Tensor {
    let mut y = zeros(&[x.shape()[0], w.shape()[0]]);
    linear_into(pool, x, w, &mut y, Write::Overwrite);
    let rule = linear_rule(pool, x, w);
    custom_op("linear", &[x, w], y, move |upstream| {
        let (d_x, d_w) = rule(upstream)?;
        Ok(vec![Some(d_x), Some(d_w)])
    })
}

/// `y = residual + x wᵀ`: the product is added where the residual already stands. Shapes as in [`linear`], `residual`
/// `[rows, m]`.
pub fn linear_add(pool: &Arc<Pool>, x: &Tensor, w: &Tensor, residual: &Tensor) -> Tensor {
    let mut y = residual.value().clone();
    linear_into(pool, x, w, &mut y, Write::Accumulate);
    let rule = linear_rule(pool, x, w);
    custom_op("linear_add", &[x, w, residual], y, move |upstream| {
        let (d_x, d_w) = rule(upstream)?;
        Ok(vec![Some(d_x), Some(d_w), Some(upstream.clone())])
    })
}

fn linear_into(pool: &Pool, x: &Tensor, w: &Tensor, y: &mut ArrayD<f32>, mode: Write) {
    let (x, w) = (x.value(), w.value());
    let (rows, n, m) = (x.shape()[0], x.shape()[1], w.shape()[0]);
    assert_eq!(w.shape(), [m, n], "w");
    gemm(
        pool,
        MatRef::row_major(slice(&x), rows, n),
        MatRef::row_major(slice(&w), m, n).t(),
        &mut MatMut::row_major(slice_mut(y), rows, m),
        mode,
    );
}

/// Gradients of a linear layer's input and weights from that of its output: `d_x = d_y w`, `d_w = d_yᵀ x`.
fn linear_rule(
    pool: &Arc<Pool>,
    x: &Tensor,
    w: &Tensor,
) -> impl FnOnce(&ArrayD<f32>) -> autograd::Result<(ArrayD<f32>, ArrayD<f32>)> + 'static {
    let (saved_x, saved_w, pool) = (Saved::new(x), Saved::new(w), Arc::clone(pool));
    move |d_y| {
        let (x, w) = (saved_x.read()?, saved_w.read()?);
        let (rows, n, m) = (x.shape()[0], x.shape()[1], w.shape()[0]);
        let (mut d_x, mut d_w) = (zeros(&[rows, n]), zeros(&[m, n]));
        let d_y = MatRef::row_major(slice(d_y), rows, m);
        gemm(
            &pool,
            d_y,
            MatRef::row_major(slice(&w), m, n),
            &mut MatMut::row_major(slice_mut(&mut d_x), rows, n),
            Write::Overwrite,
        );
        gemm(
            &pool,
            d_y.t(),
            MatRef::row_major(slice(&x), rows, n),
            &mut MatMut::row_major(slice_mut(&mut d_w), m, n),
            Write::Overwrite,
        );
        Ok((d_x, d_w))
    }
}

/// Causal attention within documents; see [`attention_forward`]. Shapes: `qkv` `[rows, qkv_size]`, `starts` `[rows]`,
/// result `[rows, out_size]`.
pub fn attention(
    pool: &Arc<Pool>,
    shape: AttentionShape,
    rotary: &Rc<RotaryTable>,
    starts: &Rc<[u32]>,
    qkv: &Tensor,
) -> Tensor {
    let mut out = zeros(&[shape.num_rows(), shape.out_size()]);
    let mut lse = vec![0.0; shape.num_rows() * shape.num_heads];
    attention_forward(
        pool,
        shape,
        rotary,
        starts,
        slice(&qkv.value()),
        slice_mut(&mut out),
        &mut lse,
    );
    let (saved_qkv, pool) = (Saved::new(qkv), Arc::clone(pool));
    let (rotary, starts) = (Rc::clone(rotary), Rc::clone(starts));
    custom_op_with_output("attention", &[qkv], out, move |out, upstream| {
        let qkv = saved_qkv.read()?;
        let mut d_qkv = zeros(qkv.shape());
        attention_backward(
            &pool,
            shape,
            &rotary,
            &starts,
            slice(&qkv),
            slice(out),
            &lse,
            slice(upstream),
            slice_mut(&mut d_qkv),
        );
        Ok(vec![Some(d_qkv)])
    })
}

/// SwiGLU of each row; see [`swiglu_forward`]. Shapes: `gate_up` `[rows, 2 n]`, result `[rows, n]`.
pub fn swiglu(pool: &Arc<Pool>, gate_up: &Tensor) -> Tensor {
    let shape = gate_up.shape();
    let n = shape[1] / 2;
    let mut y = zeros(&[shape[0], n]);
    swiglu_forward(pool, n, slice(&gate_up.value()), slice_mut(&mut y));
    let (saved, pool) = (Saved::new(gate_up), Arc::clone(pool));
    custom_op("swiglu", &[gate_up], y, move |upstream| {
        let gate_up = saved.read()?;
        let mut d_gate_up = zeros(gate_up.shape());
        swiglu_backward(&pool, n, slice(&gate_up), slice(upstream), slice_mut(&mut d_gate_up));
        Ok(vec![Some(d_gate_up)])
    })
}

/// What the rows of a batch must predict, and how much each counts.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'a> {
    /// The token that each row must predict, `[rows]`.
    pub tokens: &'a [TokenId],
    /// How much each row counts, `[rows]`.
    pub weights: &'a [f32],
    /// Rows with several targets that are equally likely, by row.
    pub spread: &'a BTreeMap<usize, Vec<TokenId>>,
}

/// The weighted mean cross entropy in nats of `softmax(x wᵀ)` against the targets: head and loss in one. Shapes: `x`
/// `[rows, n]`, `w` `[vocab_size, n]`, targets `[rows]`, result `[]`. With equal weights it is the mean.
///
/// A few rows of logits are made, turned into their gradient where they stand and used up before the next ones are
/// made, so the `rows · vocab_size` logits (32 MiB for 4096 rows) never exist together; the tape keeps two finished
/// gradients instead. The price: the backward products are computed even if no gradient is asked for.
pub fn head_loss(pool: &Arc<Pool>, x: &Tensor, w: &Tensor, targets: Targets<'_>) -> Tensor {
    let (x_value, w_value) = (x.value(), w.value());
    let (rows, n, vocab_size) = (x_value.shape()[0], x_value.shape()[1], w_value.shape()[0]);
    let Targets {
        tokens,
        weights,
        spread,
    } = targets;
    assert_eq!(tokens.len(), rows, "targets");
    assert_eq!(weights.len(), rows, "weights");
    assert_eq!(w_value.shape(), [vocab_size, n], "w");
    let (mut d_x, mut d_w) = (zeros(&[rows, n]), zeros(&[vocab_size, n]));
    let mut losses = vec![0.0_f32; rows];
    let mut logits = vec![0.0_f32; HEAD_ROWS.min(rows) * vocab_size];
    let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let shares: Vec<f32> = weights
        .iter()
        .map(|&weight| (f64::from(weight) / total) as f32)
        .collect();
    let w_rows = MatRef::row_major(slice(&w_value), vocab_size, n);
    for first in (0..rows).step_by(HEAD_ROWS) {
        let count = HEAD_ROWS.min(rows - first);
        let logits = &mut logits[..count * vocab_size];
        let x_rows = MatRef::row_major(&slice(&x_value)[first * n..][..count * n], count, n);
        let mut out = MatMut::row_major(logits, count, vocab_size);
        gemm(pool, x_rows, w_rows.t(), &mut out, Write::Overwrite);
        let backward = |row: usize, logits: &mut [f32]| match spread.get(&row) {
            Some(tokens) => spread_cross_entropy_backward(logits, tokens, shares[row]),
            None => cross_entropy_backward(logits, tokens[row], shares[row]),
        };
        losses_and_gradients(pool, logits, first, &mut losses[first..first + count], &backward);
        let d_logits = MatRef::row_major(logits, count, vocab_size);
        let d_x_rows = &mut slice_mut(&mut d_x)[first * n..][..count * n];
        let mut out = MatMut::row_major(d_x_rows, count, n);
        gemm(pool, d_logits, w_rows, &mut out, Write::Overwrite);
        let mut out = MatMut::row_major(slice_mut(&mut d_w), vocab_size, n);
        gemm(pool, d_logits.t(), x_rows, &mut out, Write::Accumulate);
    }
    drop((x_value, w_value));
    let weighted = losses
        .iter()
        .zip(weights)
        .map(|(&loss, &weight)| f64::from(loss) * f64::from(weight));
    let mean = weighted.sum::<f64>() / total;
    let loss = ArrayD::from_elem(IxDyn(&[]), mean as f32);
    custom_op("head_loss", &[x, w], loss, move |upstream| {
        let factor = slice(upstream)[0];
        if factor != 1.0 {
            d_x *= factor;
            d_w *= factor;
        }
        Ok(vec![Some(d_x), Some(d_w)])
    })
}

/// Turns rows of logits into gradients in place and writes each row's loss. `backward` is given the row's number.
fn losses_and_gradients(
    pool: &Pool,
    logits: &mut [f32],
    first: usize,
    losses: &mut [f32],
    backward: &(dyn Fn(usize, &mut [f32]) -> f32 + Sync),
) {
    let vocab_size = logits.len() / losses.len();
    let step = piece_rows(losses.len());
    let (logit_pieces, loss_pieces) = (pieces(logits, step * vocab_size), pieces(losses, step));
    pool.run(logit_pieces.len(), &|piece| {
        let mut logits = logit_pieces[piece].lock().unwrap();
        let mut losses = loss_pieces[piece].lock().unwrap();
        let rows = logits.chunks_exact_mut(vocab_size).zip(losses.iter_mut());
        for (row, (logits, loss)) in (first + piece * step..).zip(rows) {
            *loss = backward(row, logits);
        }
    });
}

/// [`cross_entropy_backward`] for several targets that are equally likely: the mean of their cross entropies, and its
/// gradient `weight · (softmax(logits) - 1/n at each target)`.
fn spread_cross_entropy_backward(logits: &mut [f32], targets: &[TokenId], weight: f32) -> f32 {
    let share = 1.0 / targets.len() as f32;
    let mean: f32 = targets.iter().map(|target| share * logits[target.index()]).sum();
    let first = targets[0];
    let first_logit = logits[first.index()];
    let loss = cross_entropy_backward(logits, first, weight) + first_logit - mean;
    logits[first.index()] += weight;
    for target in targets {
        logits[target.index()] -= weight * share;
    }
    loss
}
