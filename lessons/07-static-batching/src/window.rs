//! Start now, or wait for company? One function; [`crate::serve`] asks it.

use crate::serve::{Decision, Window};
use std::time::Duration;

/// What to do at `now` with an idle machine, when requests that came at the times `waiting` (oldest first) wait for a batch.
///
/// A batch starts as soon as it is full, and at the latest when its **oldest** request has waited `window.max_wait()`: then with all that wait,
/// up to `window.max_batch()`. Otherwise the machine waits for that moment; whoever calls asks again when a request comes before it.
/// Nobody knows here what will come.
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
