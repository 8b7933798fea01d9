//! What the model learns: which token is the answer, and how wrong the guess was.

use crate::config::TokenId;

/// Splits a window into what the model reads and what it must predict: position t reads token t and predicts token
/// t + 1, shifted once.
///
/// Shapes: `window` `[seq_len + 1]`, both halves `[seq_len]`. Shifted by none, the answer stands in the question and
/// the loss falls to zero; shifted twice, it never falls far.
pub fn inputs_and_targets(window: &[TokenId]) -> (&[TokenId], &[TokenId]) {
    // ANCHOR: ex_03_5
    let seq_len = window.len() - 1;
    let inputs = &window[..seq_len];
    //~ fault 03.5
    //~ | let targets = &window[..seq_len];
    let targets = &window[1..];
    //~ end
    (inputs, targets)
    // ANCHOR_END: ex_03_5
}

/// Turns a row of logits into the gradient of its cross entropy and gives the cross entropy in nats.
///
/// Shapes: `logits` `[vocab_size]`, overwritten by `weight · (softmax(logits) - one_hot(target))`. The cross entropy
/// itself, `-ln softmax(logits)[target]`, is not weighted. The maximum is subtracted first, so that no exponential
/// overflows. Nothing is allocated: the gradient overwrites the logits. [`vector`](crate::vector) has the loops.
pub fn cross_entropy_backward(logits: &mut [f32], target: TokenId, weight: f32) -> f32 {
    // ANCHOR: ex_03_2
    let largest = crate::vector::max(logits);
    let target_logit = logits[target.index()];
    let sum = crate::vector::exp_and_sum(logits, largest);
    crate::vector::scale(logits, weight / sum);
    logits[target.index()] -= weight;
    largest + sum.ln() - target_logit
    // ANCHOR_END: ex_03_2
}
