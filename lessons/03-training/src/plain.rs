//! The operations of the model composed of plain tape operations: slow, easy to read, in f32 or f64.
//!
//! They are the oracle of the fused operations in [`ops`](crate::ops): tests hold value and gradients together, and the
//! lesson's race shows what fusing is worth.

use crate::kernels::attention::AttentionShape;
use autograd::{Real, Result, Tensor};
use ndarray::{ArrayD, IxDyn};

/// RMSNorm of each row. Shapes: `x` `[rows, n]`, `weight` `[n]`.
///
/// # Errors
/// When the shapes do not fit.
pub fn rms_norm<T: Real>(x: &Tensor<T>, weight: &Tensor<T>, eps: f64) -> Result<Tensor<T>> {
    let mean = x.mul(x)?.mean_axis(1)?.add_scalar(T::of(eps));
    // 1 / sqrt(m) = e^(-ln(m) / 2)
    let inverse = mean.ln().scale(T::of(-0.5)).exp();
    let inverse = inverse.reshape(&[x.shape()[0], 1])?;
    x.mul(&inverse)?.mul(weight)
}

/// `x wᵀ`. Shapes: `x` `[rows, n]`, `w` `[m, n]`.
///
/// # Errors
/// When the shapes do not fit.
pub fn linear<T: Real>(x: &Tensor<T>, w: &Tensor<T>) -> Result<Tensor<T>> {
    x.matmul(&w.transpose(0, 1)?)
}

/// `silu(gate) · up`. Shape of `gate_up`: `[rows, 2 n]`.
///
/// # Errors
/// When the shape does not fit.
pub fn swiglu<T: Real>(gate_up: &Tensor<T>) -> Result<Tensor<T>> {
    let n = gate_up.shape()[1] / 2;
    gate_up.slice(1, 0..n)?.silu().mul(&gate_up.slice(1, n..2 * n)?)
}

/// Causal attention within documents, head by head. Shapes as in
/// [`attention_forward`](crate::kernels::attention::attention_forward).
///
/// # Errors
/// When the shapes do not fit.
pub fn attention<T: Real>(
    shape: &AttentionShape,
    rope_theta: f64,
    starts: &[u32],
    qkv: &Tensor<T>,
) -> Result<Tensor<T>> {
    let (dim, len) = (shape.head_dim, shape.seq_len);
    let cos = angles(shape, rope_theta, f64::cos);
    let sin = angles(shape, rope_theta, f64::sin);
    let turn = |x: &Tensor<T>| -> Result<Tensor<T>> {
        let (a, b) = (x.slice(1, 0..dim / 2)?, x.slice(1, dim / 2..dim)?);
        let swapped = Tensor::concat(&[&b.neg(), &a], 1)?;
        x.mul(&cos)?.add(&swapped.mul(&sin)?)
    };
    let mut sequences = Vec::new();
    for sequence in 0..shape.batch_size {
        let rows = qkv.slice(0, sequence * len..(sequence + 1) * len)?;
        let mask = mask(len, &starts[sequence * len..]);
        let column = |index: usize| rows.slice(1, index * dim..(index + 1) * dim);
        let mut heads = Vec::new();
        for head in 0..shape.num_heads {
            let kv_head = head * shape.num_kv_heads / shape.num_heads;
            let q = turn(&column(head)?)?;
            let k = turn(&column(shape.num_heads + kv_head)?)?;
            let v = column(shape.num_heads + shape.num_kv_heads + kv_head)?;
            let scale = T::of(1.0 / (dim as f64).sqrt());
            let scores = q.matmul(&k.transpose(0, 1)?)?.scale(scale);
            heads.push(scores.add(&mask)?.softmax(1)?.matmul(&v)?);
        }
        sequences.push(Tensor::concat(&heads.iter().collect::<Vec<_>>(), 1)?);
    }
    Tensor::concat(&sequences.iter().collect::<Vec<_>>(), 0)
}

/// A function of every position's angles, `[seq_len, head_dim]`, both halves alike.
fn angles<T: Real>(shape: &AttentionShape, rope_theta: f64, f: fn(f64) -> f64) -> Tensor<T> {
    let half = shape.head_dim / 2;
    let value = ArrayD::from_shape_fn(IxDyn(&[shape.seq_len, shape.head_dim]), |at| {
        let exponent = -2.0 * (at[1] % half) as f64 / shape.head_dim as f64;
        T::of(f(at[0] as f64 * rope_theta.powf(exponent)))
    });
    Tensor::new(value)
}

/// Zero where a position is visible, and so far below that nothing is left after softmax where it is not.
fn mask<T: Real>(len: usize, starts: &[u32]) -> Tensor<T> {
    let value = ArrayD::from_shape_fn(IxDyn(&[len, len]), |at| {
        let visible = at[1] >= starts[at[0]] as usize && at[1] <= at[0];
        T::of(if visible { 0.0 } else { -1e9 })
    });
    Tensor::new(value)
}
