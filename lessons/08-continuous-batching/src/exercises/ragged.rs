//! From running requests to the rows of one pass.

use crate::batch::{Batch, BatchSequence};
use crate::request::Request;

/// Writes into `batch` the rows that the running requests need: for each request, in order, one row for each token
/// whose keys and values are not in memory yet. For a request that has just joined, these are the tokens of its prompt;
/// for a request that decodes, its newest token.
///
/// The rows of the step before are removed first. Each request wants the token after its last row. Each request in
/// `running` has at least one token to compute. Cost: one token and one position a row; no allocation once the batch
/// has been as large.
pub fn build_batch<X>(running: &[Request<X>], batch: &mut Batch) {
    // ANCHOR: ex_08_1
    batch.clear();
    for request in running {
        // The rows of this request begin behind those that are there.
        let first_row = batch.tokens.len();
        batch.tokens.extend(request.tokens().skip(request.num_computed));
        batch.positions.extend(request.num_computed..request.num_tokens());
        batch.sequences.push(BatchSequence {
            id: request.id,
            first_row,
            num_rows: batch.tokens.len() - first_row,
            // The last row is the request's newest token, so its logits give the next one.
            wants_logits: true,
        });
    }
    // ANCHOR_END: ex_08_1
}
