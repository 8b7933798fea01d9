//! Exercise 07.4: start a batch now, or wait for more requests? [`crate::serve`] calls it.

use crate::parts::{Decision, Window};
use std::time::Duration;

/// The decision of an idle machine at `now`. `waiting` holds the arrival times of the requests that wait for a batch,
/// oldest first.
///
/// A batch starts as soon as it is full, and at the latest when its **oldest** request has waited `window.max_wait()`:
/// then with all waiting requests, up to `window.max_batch()`. Before that moment the machine waits for it. If a
/// request arrives earlier, the caller asks again: later arrivals are not known here.
pub fn decide(now: Duration, waiting: &[Duration], window: &Window) -> Decision {
    // ANCHOR: ex_07_4
    let Some(oldest) = waiting.first() else {
        return Decision::Idle;
    };
    let deadline = oldest.saturating_add(window.max_wait());
    if waiting.len() >= window.max_batch() {
        Decision::Start(window.max_batch())
    } else if now >= deadline {
        Decision::Start(waiting.len())
    } else {
        Decision::WaitUntil(deadline)
    }
    // ANCHOR_END: ex_07_4
}
