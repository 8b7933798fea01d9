//! Log probabilities of the model itself, before any sampling parameter changes them.

use crate::exercises::top_k;
use generation::lanes::exp;
use layout::simd::with_fma;
use training::TokenId;

/// A token and the natural logarithm of its probability at a temperature of 1, without bias or penalty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logprob {
    /// The token.
    pub token: TokenId,
    /// Log probability of the token, in nats; 0 is certain.
    pub logprob: f32,
}

/// The two numbers of a row that turn a logit of it into a log probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSoftmax {
    /// Largest logit of the row.
    largest: f32,
    /// Logarithm of the sum of `e^(logit - largest)` over the row. A log probability is `logit - largest - log_sum`.
    log_sum: f64,
}

impl LogSoftmax {
    /// Reads a row of logits `[vocab_size]` without NaN. If the largest logit is infinite, the tokens that equal it
    /// have equal shares of everything: a single +inf is certain, and a row of -inf is even. Cost: one exponential per
    /// token.
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

    /// The log probability of a token with this logit, in nats.
    pub fn logprob(&self, logit: f32) -> f32 {
        let below = match logit == self.largest {
            // The difference of two equal infinities would be NaN.
            true => 0.0,
            false => f64::from(logit) - f64::from(self.largest),
        };
        (below - self.log_sum) as f32
    }
}

/// Writes the `count` likeliest tokens over `out`, the likeliest first. `scratch` holds indices.
pub fn likeliest(logits: &[f32], softmax: LogSoftmax, count: usize, scratch: &mut Vec<u32>, out: &mut Vec<Logprob>) {
    top_k(logits, count, scratch);
    out.clear();
    out.extend(scratch.iter().map(|id| Logprob {
        token: TokenId(*id),
        logprob: softmax.logprob(logits[*id as usize]),
    }));
}
