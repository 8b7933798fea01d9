//! The row kernels: everything a layer does besides matrix products, each a plain function on slices.
//!
//! The caller owns the output and the scratch, nothing allocates, and a row's result depends on nothing but its arguments.

use crate::lanes;
use loading::config::RopeScaling;

/// Scales a row to root mean square one, then by a learned weight: `out[i] = x[i] / sqrt(mean(x²) + eps) * weight[i]`.
///
/// Shapes: `x`, `weight`, `out` `[hidden_size]`. The mean square is summed in sixteen lanes ([`lanes::sum_of_squares`]).
/// Source: root mean square layer normalization, Zhang and Sennrich 2019, arXiv:1910.07467.
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

/// Angle that each pair of a head turns by from one position to the next: `theta^(-2i / head_dim)` for pair `i`, then scaled
/// for contexts longer than the model was first trained on.
///
/// Shape of the result: `[head_dim / 2]`, falling. The scaling rules:
/// - linear: every angle divided by `factor`, as if positions stood closer together;
/// - llama3: by wavelength 2π / angle. Waves that turn at least `high_freq_factor` times within the original context keep their
///   angle (they tell neighbours apart), waves that turn at most `low_freq_factor` times are divided by `factor` (their angles
///   would otherwise leave the trained range), and between the two it is mixed linearly.
///
/// Sources: rotary position embedding, Su et al. 2021, arXiv:2104.09864; the Llama 3.1 reference code for the three bands.
pub fn inverse_frequencies(head_dim: usize, theta: f64, scaling: &RopeScaling) -> Vec<f32> {
    // ANCHOR: ex_05_6
    (0..head_dim / 2)
        .map(|i| {
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
/// The half-split form of Hugging Face files: number `i` of a head is paired with number `i + head_dim / 2`. (Meta's and GGUF
/// files pair neighbours; their query and key rows are permuted when they are loaded.) Shapes: `heads`
/// `[any number, head_dim]`; `cos`, `sin` `[head_dim / 2]` of the position.
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
/// Each key and value head serves `num_heads / num_kv_heads` query heads. Per query head: scores q·k / sqrt(head_dim), softmax over
/// the positions, then the values weighted and added up. A row at position `i` sees the positions 0 to `i`, so its
/// `context_len` is `i + 1`: causality is a length, not a mask.
///
/// Shapes: `q`, `out` `[num_heads, head_dim]`; head `g` of position `j` stands at `k[j * kv_stride + g * head_dim..]`, and likewise
/// in `v`; `scores` is scratch of at least `num_heads / num_kv_heads * context_len` numbers. A caller that splits heads over threads
/// passes the query heads of one group, `k` and `v` from that group's head on, and `num_kv_heads` 1.
///
/// Order of the sums: each score in sixteen lanes over `head_dim`, each output with one accumulator over ascending positions, so the bits
/// depend neither on `kv_stride` nor on who else is computed. Cost: 2 · context_len · num_heads · head_dim multiply-adds,
/// context_len · num_heads exponentials; reads 8 · context_len · num_kv_heads · head_dim bytes. Source: grouped-query attention, Ainslie et al.
/// 2023, arXiv:2305.13245.
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
        out.fill(0.0);
        lanes::add_weighted(scores, context_len, v, kv_stride, context_len, head_dim, out);
    }
    // ANCHOR_END: ex_05_3
}

/// The gate of the feed-forward block: `out = silu(gate) * up`, with silu(x) = x / (1 + e^-x).
///
/// Shapes: `gate_up` `[2, intermediate_size]`, the gate first, as one fused product writes them; `out` `[intermediate_size]`. Source: GLU
/// variants improve transformer, Shazeer 2020, arXiv:2002.05202.
///
/// # Panics
/// If `gate_up` is not twice as long as `out`.
// ANCHOR: swiglu
pub fn swiglu(gate_up: &[f32], out: &mut [f32]) {
    assert_eq!(gate_up.len(), 2 * out.len());
    let (gate, up) = gate_up.split_at(out.len());
    lanes::silu_times(gate, up, out);
}
// ANCHOR_END: swiglu
