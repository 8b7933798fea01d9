//! The two functions that decide what the model learns: which token is the answer, and how wrong the guess was.

use crate::config::TokenId;

/// Splits a window into what the model reads and what it must predict: position t reads token t and predicts token
/// t + 1, shifted once.
///
/// Shapes: `window` `[seq_len + 1]`, both halves `[seq_len]`. Shifted by none, the answer stands in the question and the
/// loss falls to zero; shifted twice, it never falls far.
pub fn inputs_and_targets(window: &[TokenId]) -> (&[TokenId], &[TokenId]) {
    (&window[..window.len() - 1], &window[1..])
}

/// Turns a row of logits into the gradient of its cross entropy and gives the cross entropy in nats.
///
/// Shapes: `logits` `[vocab_size]`, overwritten by `weight · (softmax(logits) - one_hot(target))`. The maximum is
/// subtracted first, so that no exponential overflows.
pub fn cross_entropy_backward(logits: &mut [f32], target: TokenId, weight: f32) -> f32 {
    let largest = crate::vector::max(logits);
    let target_logit = logits[target.index()];
    let sum = crate::vector::exp_and_sum(logits, largest);
    crate::vector::scale(logits, weight / sum);
    logits[target.index()] -= weight;
    largest + sum.ln() - target_logit
}
