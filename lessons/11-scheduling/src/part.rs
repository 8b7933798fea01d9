//! The rows of one request in a step.

use continuous_batching::request::Request;
use std::ops::Range;

/// Which positions of a request's text are computed next when it gets `rows` rows, and whether a token is wanted of the last of them.
///
/// The text is what is known: prompt and answer so far. What is computed begins where the computing got to, and ends with the text at the latest. A token is
/// wanted only of the row of the last known token: what follows any other row is known already. Nothing else says in which phase a request is: it reads a
/// prompt, reads its own answer again after it was sent back, or writes, and all three are `num_computed < num_tokens`.
pub fn next_part(request: &Request, rows: usize) -> (Range<usize>, bool) {
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
