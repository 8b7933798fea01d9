//! The rows of one request in a step.

use continuous_batching::request::Request;
use std::ops::Range;

/// Which positions of a request's text are computed next when it gets `rows` rows, and whether a token is wanted of the
/// last of them.
///
/// The text is what is known: prompt and output so far. The part begins behind the computed tokens, and ends at the end
/// of the text at the latest. A token is wanted only from the row of the last known token: what follows any other row
/// is known already. There is no other phase: a request that reads a prompt, one that reads its own output again after
/// a preemption, and one that decodes all have `num_computed < num_tokens`.
pub fn next_part<X>(request: &Request<X>, rows: usize) -> (Range<usize>, bool) {
    // ANCHOR: ex_11_9
    let first = request.num_computed;
    let end = (first + rows).min(request.num_tokens());
    //~ fault 11.9
    //~ | let wants_logits = end >= request.prompt.len();
    let wants_logits = end == request.num_tokens();
    //~ end
    (first..end, wants_logits)
    // ANCHOR_END: ex_11_9
}
