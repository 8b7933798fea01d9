//! Giving memory back by forgetting.

use continuous_batching::request::{Request, Status};

/// Sends a request back to the waiting ones, with nothing in memory: its prompt *and what it has answered so far* will be computed again when it is
/// admitted, as one longer prompt, and then it goes on where it was.
///
/// No token of the answer is lost or told twice: prompt and output stay as they are and apart, and so does the number of tokens asked for. Only how much
/// is computed changes. Cost: nothing now, and later the rows of the whole text once more.
pub fn send_back(request: &mut Request) {
    // ANCHOR: ex_11_4
    request.num_computed = 0;
    request.status = Status::Waiting;
    // ANCHOR_END: ex_11_4
}
