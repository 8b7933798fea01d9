//! Two times that a reader of an answer feels.
//!
//! *Time to first token*: how long nothing happens. *Time per output token*: how fast the text comes after that. The first is the prompt's
//! affair, the second the cache's: they are bound by different limits of the machine, so one number for both would say nothing.

use serde::Serialize;
use std::time::Duration;

// ANCHOR: timings
/// When the tokens of an answer came. All times count from the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Timings {
    /// TTFT: until the first token. `None` where there was none.
    pub ttft: Option<Duration>,
    /// Until the last token.
    pub last_token: Option<Duration>,
    /// Tokens of the answer.
    pub new_tokens: usize,
}
// ANCHOR_END: timings

impl Timings {
    /// Notes a token that came `since_call` after the call.
    pub fn token_at(&mut self, since_call: Duration) {
        self.ttft.get_or_insert(since_call);
        self.last_token = Some(since_call);
        self.new_tokens += 1;
    }

    /// TPOT: mean time from one token to the next, the first one left out. `None` below two tokens.
    pub fn tpot(&self) -> Option<Duration> {
        let gaps = u32::try_from(self.new_tokens).ok()?.checked_sub(1)?;
        (self.last_token? - self.ttft?).checked_div(gaps)
    }
}
