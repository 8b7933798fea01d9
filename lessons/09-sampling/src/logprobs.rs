//! What the model itself thought of a token, before anyone's parameters.

use crate::select::top_k;
use generation::lanes::exp;
use layout::simd::with_fma;
use training::TokenId;

/// A token and the natural logarithm of the probability that the model gives it at a temperature of 1, without bias or penalty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logprob {
    /// The token.
    pub token: TokenId,
    /// Its log probability; 0 is certain.
    pub logprob: f32,
}

/// Reads log probabilities off one row of logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSoftmax {
    /// Logarithm of the sum of all exponentials: a token's log probability is its logit less this.
    log_sum: f64,
}

impl LogSoftmax {
    /// Of a row of logits, of which one at least is above -inf and none is +inf or NaN. Cost: one exponential a token.
    pub fn of(logits: &[f32]) -> LogSoftmax {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum = with_fma(
            #[inline(always)]
            || {
                let mut lanes = [0.0f64; 16];
                for chunk in logits.chunks(16) {
                    for (logit, lane) in chunk.iter().zip(&mut lanes) {
                        *lane += f64::from(exp(logit - largest));
                    }
                }
                lanes.iter().sum::<f64>()
            },
        );
        LogSoftmax {
            log_sum: f64::from(largest) + sum.ln(),
        }
    }

    /// The log probability of a token with this logit.
    pub fn logprob(&self, logit: f32) -> f32 {
        (f64::from(logit) - self.log_sum) as f32
    }
}

/// The `count` likeliest tokens, the likeliest first, written over `out`; `scratch` is for indices.
pub fn likeliest(
    logits: &[f32],
    softmax: LogSoftmax,
    count: usize,
    scratch: &mut Vec<u32>,
    out: &mut Vec<Logprob>,
) {
    top_k(logits, count, scratch);
    out.clear();
    out.extend(scratch.iter().map(|id| Logprob {
        token: TokenId(*id),
        logprob: softmax.logprob(logits[*id as usize]),
    }));
}
