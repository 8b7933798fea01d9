//! Prefill and decode with a model: the loop, the pass and the choice together, and the two times of an answer.
//!
//! *Time to first token* (TTFT) is the wait until text appears. *Time per output token* (TPOT) is the pace of the text
//! after that. The prompt decides the first and the cache the second. Different limits of the machine bound them, so
//! one number for both would say nothing.

use crate::cache::ContiguousCache;
use crate::error::CacheError;
use crate::forward::forward;
use crate::generate::generate as generate_with;
use generation::generate::greedy;
use generation::{Generation, Model, State};
use layout::pool::Pool;
use serde::Serialize;
use std::time::{Duration, Instant};
use training::TokenId;

// ANCHOR: timings
/// When the tokens of an answer came. All times count from the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Timings {
    /// TTFT: time until the first token; `None` if the answer is empty.
    pub ttft: Option<Duration>,
    /// Time until the last token.
    pub last_token: Option<Duration>,
    /// Number of tokens in the answer.
    pub new_tokens: usize,
}
// ANCHOR_END: timings

impl Timings {
    /// Records a token that came `since_call` after the call.
    pub fn token_at(&mut self, since_call: Duration) {
        self.ttft.get_or_insert(since_call);
        self.last_token = Some(since_call);
        self.new_tokens += 1;
    }

    /// TPOT: mean time from one token to the next, without the first token. `None` below two tokens.
    pub fn tpot(&self) -> Option<Duration> {
        let gaps = u32::try_from(self.new_tokens).ok()?.checked_sub(1)?;
        (self.last_token? - self.ttft?).checked_div(gaps)
    }
}

/// An answer, and when its tokens came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The answer.
    pub generation: Generation,
    /// TTFT and TPOT.
    pub timings: Timings,
}

/// A cache with room for a prompt and its answer, at most for the model's context. The last token needs no place: it is
/// never read.
pub fn cache_for(model: &Model, prompt_tokens: usize, max_new_tokens: usize) -> ContiguousCache {
    let longest = prompt_tokens.saturating_add(max_new_tokens);
    let positions = longest.min(model.config.llama.max_seq_len);
    ContiguousCache::new(&model.config.llama, positions.saturating_sub(1).max(1))
}

/// Continues `prompt` greedily, computing each token once. Supersedes [`generation::model::Model::generate`]: the same
/// tokens, the same reasons to end.
///
/// The cache is cleared first. If it has less room than the text needs, the text ends as in a full context: with
/// `FinishReason::Context`, one token after the last position was written.
///
/// # Errors
/// Those of [`generate_with`] and [`forward`].
pub fn generate(
    model: &Model,
    state: &mut State,
    cache: &mut ContiguousCache,
    pool: &Pool,
    prompt: &[TokenId],
    max_new_tokens: usize,
    on_token: &mut dyn FnMut(TokenId),
) -> Result<Timed, CacheError> {
    let mut limits = model.limits(max_new_tokens);
    cache.clear();
    // A prompt too long for the model is another error than one too long for the cache; the loop reports it.
    if prompt.len() <= limits.max_seq_len {
        let longest = cache.capacity() + 1;
        if prompt.len() > longest {
            cache.check_room(prompt.len())?;
        }
        limits.max_seq_len = limits.max_seq_len.min(longest);
    }
    let (called, mut timings) = (Instant::now(), Timings::default());
    // ANCHOR: loop
    let generation = generate_with(
        prompt,
        &limits,
        &mut |tokens| {
            let logits = forward(&model.config, &model.weights, state, cache, pool, tokens)?;
            Ok(greedy(logits)?)
        },
        &mut |token| {
            timings.token_at(called.elapsed());
            on_token(token);
        },
    )?;
    // ANCHOR_END: loop
    Ok(Timed { generation, timings })
}
