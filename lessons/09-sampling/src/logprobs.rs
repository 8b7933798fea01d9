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
    largest: f32,
    /// Logarithm of the sum of all exponentials, each less the largest: a token's log probability is its logit less both.
    log_sum: f64,
}

impl LogSoftmax {
    /// Of a row of logits without NaN. If the largest of them is infinite, those that equal it share everything: one +inf is certain, a row of
    /// -inf is even. Cost: one exponential a token.
    pub fn of(logits: &[f32]) -> LogSoftmax {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if largest.is_infinite() {
            let equal = logits.iter().filter(|logit| **logit == largest).count();
            return LogSoftmax {
                largest,
                log_sum: (equal as f64).ln(),
            };
        }
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
            largest,
            log_sum: sum.ln(),
        }
    }

    /// The log probability of a token with this logit.
    pub fn logprob(&self, logit: f32) -> f32 {
        let below = match logit == self.largest {
            // Also where both are infinite, and their difference no number.
            true => 0.0,
            false => f64::from(logit) - f64::from(self.largest),
        };
        (below - self.log_sum) as f32
    }
}

/// The `count` likeliest tokens, the likeliest first, written over `out`; `scratch` is for indices.
pub fn likeliest(logits: &[f32], softmax: LogSoftmax, count: usize, scratch: &mut Vec<u32>, out: &mut Vec<Logprob>) {
    top_k(logits, count, scratch);
    out.clear();
    out.extend(scratch.iter().map(|id| Logprob {
        token: TokenId(*id),
        logprob: softmax.logprob(logits[*id as usize]),
    }));
}
