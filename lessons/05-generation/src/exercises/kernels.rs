//! The row kernels: what a layer does to one row besides matrix products. Each is a plain function on slices.
//!
//! The caller owns the output and the scratch memory. The kernels allocate nothing (except the table of angles, which
//! is made once), and a row's result depends on the arguments alone.

use crate::lanes;
use loading::config::RopeScaling;

/// Scales a row to root mean square one, then by a learned weight: `out[i] = x[i] / sqrt(mean(x²) + eps) * weight[i]`.
///
/// Shapes: `x`, `weight`, `out` `[hidden_size]`. The mean square is summed in sixteen lanes
/// ([`lanes::sum_of_squares`]). Source: root mean square layer normalization, Zhang and Sennrich 2019,
/// arXiv:1910.07467.
///
/// # Panics
/// If the lengths differ.
pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    assert!(x.len() == weight.len() && x.len() == out.len());
    // ANCHOR: ex_05_1
    let mean_square = lanes::sum_of_squares(x) / x.len() as f32;
    let scale = 1.0 / (mean_square + eps).sqrt();
    for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
        *out = x * scale * weight;
    }
    // ANCHOR_END: ex_05_1
}

/// Returns the angle by which each pair of a head turns from one position to the next: `theta^(-2i / head_dim)` for
/// pair `i`, then scaled for contexts longer than the one that the model was first trained on.
///
/// Shape of the result: `[head_dim / 2]`, the largest angle first. The scaling rules:
/// - linear: every angle is divided by `factor`, as if the positions were closer together;
/// - llama3: the rule depends on how many times a pair turns in the original context. From `high_freq_factor` turns on
///   the angle stays (these pairs tell neighbours apart). Up to `low_freq_factor` turns the angle is divided by
///   `factor` (otherwise it would leave the range that was trained). Between the two the results are mixed linearly.
///
/// Sources: rotary position embedding, Su et al. 2021, arXiv:2104.09864; the Llama 3.1 reference code for the three
/// bands.
pub fn inverse_frequencies(head_dim: usize, theta: f64, scaling: &RopeScaling) -> Vec<f32> {
    // ANCHOR: ex_05_6
    (0..head_dim / 2)
        .map(|i| {
            // In f64, so that only the result is rounded.
            let angle = theta.powf(-(2.0 * i as f64) / head_dim as f64);
            let scaled = match *scaling {
                RopeScaling::None => angle,
                RopeScaling::Linear { factor } => angle / factor,
                RopeScaling::Llama3 {
                    factor,
                    low_freq_factor,
                    high_freq_factor,
                    original_max_position_embeddings,
                } => {
                    let turns = original_max_position_embeddings as f64 * angle / std::f64::consts::TAU;
                    let keep = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor);
                    let keep = keep.clamp(0.0, 1.0);
                    keep * angle + (1.0 - keep) * angle / factor
                }
            };
            scaled as f32
        })
        .collect()
    // ANCHOR_END: ex_05_6
}

/// Turns the pairs of some heads by the angles of one position, in place.
///
/// This is the half-split form of Hugging Face files: number `i` of a head is paired with number `i + head_dim / 2`.
/// (Meta's files and GGUF files pair neighbours; the loader permutes their query and key rows.) Shapes: `heads`
/// `[any number, head_dim]`; `cos`, `sin` `[head_dim / 2]`, those of the position.
///
/// # Panics
/// If `heads` is no whole number of heads.
pub fn apply_rope(heads: &mut [f32], head_dim: usize, cos: &[f32], sin: &[f32]) {
    assert!(heads.len().is_multiple_of(head_dim));
    assert!(cos.len() == head_dim / 2 && sin.len() == head_dim / 2);
    // ANCHOR: ex_05_2
    for head in heads.chunks_exact_mut(head_dim) {
        let (first, second) = head.split_at_mut(head_dim / 2);
        for (((a, b), cos), sin) in first.iter_mut().zip(second).zip(cos).zip(sin) {
            (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
        }
    }
    // ANCHOR_END: ex_05_2
}

/// Attends one query row to the first `context_len` positions: grouped-query attention.
///
/// Each key and value head serves `num_heads / num_kv_heads` query heads. For each query head: scores q·k /
/// sqrt(head_dim), softmax over the positions, then the weighted sum of the values. A row at position `i` sees the
/// positions 0 to `i`, so its `context_len` is `i + 1`: causality is a length, not a mask.
///
/// Shapes: `q`, `out` `[num_heads, head_dim]`; head `g` of position `j` starts at `k[j * kv_stride + g * head_dim]`,
/// and at the same index in `v`; `scores` is scratch memory of at least `num_heads / num_kv_heads * context_len`
/// numbers. A caller that splits heads over threads passes the query heads of one group, `k` and `v` from the key head
/// of that group on, and 1 as `num_kv_heads`.
///
/// Order of the sums: each score in sixteen lanes over `head_dim`, each output with one accumulator over ascending
/// positions. So the bits depend neither on `kv_stride` nor on the rows that other calls compute. Cost: 2 · context_len
/// · num_heads · head_dim multiply-adds and context_len · num_heads exponentials; reads 8 · context_len · num_kv_heads
/// · head_dim bytes. Source: grouped-query attention, Ainslie et al. 2023, arXiv:2305.13245.
///
/// # Panics
/// If a slice is too short for these shapes, the heads do not divide evenly, or there is no position.
pub fn attend_row(
    q: &[f32],
    k: &[f32],
    v: &[f32],
    kv_stride: usize,
    context_len: usize,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    scores: &mut [f32],
    out: &mut [f32],
) {
    assert!(q.len() == num_heads * head_dim && out.len() == q.len());
    assert!(num_heads.is_multiple_of(num_kv_heads));
    assert!(context_len >= 1, "a row sees at least itself");
    // ANCHOR: ex_05_3
    let group_size = num_heads / num_kv_heads;
    let scores = &mut scores[..group_size * context_len];
    let scale = 1.0 / (head_dim as f32).sqrt();
    for kv_head in 0..num_kv_heads {
        let group = kv_head * group_size * head_dim..(kv_head + 1) * group_size * head_dim;
        // Position 0 of this key head; steps of `kv_stride` lead to its other positions.
        let k = &k[kv_head * head_dim..];
        let v = &v[kv_head * head_dim..];
        lanes::dots(
            &q[group.clone()],
            head_dim,
            k,
            kv_stride,
            context_len,
            scale,
            scores,
            context_len,
        );
        for weights in scores.chunks_exact_mut(context_len) {
            lanes::softmax(weights);
        }
        let out = &mut out[group];
        // The values are added to `out`, which still holds the row of an earlier call.
        out.fill(0.0);
        lanes::add_weighted(scores, context_len, v, kv_stride, context_len, head_dim, out);
    }
    // ANCHOR_END: ex_05_3
}
