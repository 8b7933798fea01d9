//! Two orders for the rows of the query and key matrices.
//!
//! The rotary embedding turns pairs of a head's values. There are two conventions for the pairs: Hugging Face pairs
//! value `i` with value `i + head_dim / 2` (half-split), Meta's code and GGUF's architecture `llama` pair `2i` with
//! `2i + 1` (interleaved). So a writer of GGUF reorders the rows of Q and K of a Llama, and a reader that does not
//! restore the order gets wrong logits without an error. Qwen's rows stay as they are.
//!
//! ```text
//! head_dim 8    half-split row    0  1  2  3  4  5  6  7
//!               interleaved row   0  2  4  6  1  3  5  7      of the GGUF file
//! ```

use crate::config::RopeScaling;

/// The row of a GGUF file's Q or K that is row `row` in the half-split order.
pub fn interleaved_row(row: usize, head_dim: usize) -> usize {
    let (head, within) = (row / head_dim, row % head_dim);
    let half = head_dim / 2;
    head * head_dim + 2 * (within % half) + within / half
}

/// The divisors of the rotary frequencies under llama3 scaling, one for each pair of values.
///
/// Shape: `[head_dim / 2]`. Source: `_compute_llama3_parameters` in transformers; GGUF writers store this as
/// `rope_freqs.weight`.
pub fn llama3_divisors(
    head_dim: usize,
    rope_theta: f64,
    factor: f64,
    low_freq_factor: f64,
    high_freq_factor: f64,
    original_max_position_embeddings: usize,
) -> Vec<f64> {
    let context = original_max_position_embeddings as f64;
    let divisor = |pair: usize| {
        let frequency = rope_theta.powf(-2.0 * pair as f64 / head_dim as f64);
        let waves = context * frequency / (2.0 * std::f64::consts::PI);
        if waves > high_freq_factor {
            return 1.0;
        }
        if waves < low_freq_factor {
            return factor;
        }
        let smooth = (waves - low_freq_factor) / (high_freq_factor - low_freq_factor);
        1.0 / ((1.0 - smooth) / factor + smooth)
    };
    (0..head_dim / 2).map(divisor).collect()
}

/// The llama3 parameters that give the stored divisors, or `None` if no known parameters give them.
///
/// GGUF has only the divisors. All published models of this kind use bands of 1 and 4 and an original context of 8192;
/// the factor is the largest divisor. The function computes the divisors of these parameters and compares them.
pub fn recognise_llama3(stored: &[f32], head_dim: usize, rope_theta: f64) -> Option<RopeScaling> {
    let factor = f64::from(stored.iter().copied().fold(0.0, f32::max));
    let (low, high, context) = (1.0, 4.0, 8192);
    let computed = llama3_divisors(head_dim, rope_theta, factor, low, high, context);
    let close = |(stored, computed): (&f32, &f64)| (f64::from(*stored) / computed - 1.0).abs() < 1e-4;
    let same = stored.len() == computed.len() && stored.iter().zip(&computed).all(close);
    same.then_some(RopeScaling::Llama3 {
        factor,
        low_freq_factor: low,
        high_freq_factor: high,
        original_max_position_embeddings: context,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_order_is_the_inverse_of_the_converters() {
        // The converter: rows [heads, 2, half] become [heads, half, 2].
        let (heads, head_dim) = (3, 8);
        let mut gguf = vec![0; heads * head_dim];
        for head in 0..heads {
            for part in 0..2 {
                for i in 0..head_dim / 2 {
                    let half_split = head * head_dim + part * head_dim / 2 + i;
                    gguf[head * head_dim + 2 * i + part] = half_split;
                }
            }
        }
        for row in 0..heads * head_dim {
            assert_eq!(gguf[interleaved_row(row, head_dim)], row);
        }
    }

    #[test]
    fn published_llama3_divisors_are_recognised_and_others_are_not() {
        let divisors = llama3_divisors(64, 500_000.0, 32.0, 1.0, 4.0, 8192);
        let mut stored: Vec<f32> = divisors.iter().map(|d| *d as f32).collect();
        let found = recognise_llama3(&stored, 64, 500_000.0);
        assert!(matches!(found, Some(RopeScaling::Llama3 { factor: 32.0, .. })));
        stored[20] *= 1.01;
        assert_eq!(recognise_llama3(&stored, 64, 500_000.0), None);
        assert_eq!(recognise_llama3(&[], 64, 500_000.0), None);
    }
}
