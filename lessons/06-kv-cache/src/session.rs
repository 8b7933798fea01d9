//! Prefill and decode with a model: the loop, the pass and the choice put together.

use crate::cache::ContiguousCache;
use crate::error::CacheError;
use crate::forward::forward;
use crate::generate::generate as generate_with;
use crate::timings::Timings;
use generation::generate::greedy;
use generation::{Generation, Model, State};
use layout::pool::Pool;
use std::time::Instant;
use training::TokenId;

/// An answer, and when its tokens came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The answer.
    pub generation: Generation,
    /// TTFT and TPOT.
    pub timings: Timings,
}

/// A cache with room for a prompt and its answer, as far as the model's context reaches. The last token needs no place: it is never read.
pub fn cache_for(model: &Model, prompt_tokens: usize, max_new_tokens: usize) -> ContiguousCache {
    let longest = prompt_tokens.saturating_add(max_new_tokens);
    let positions = longest.min(model.config.llama.max_seq_len);
    ContiguousCache::new(&model.config.llama, positions.saturating_sub(1).max(1))
}

/// Continues `prompt` greedily, computing each token once. Supersedes [`generation::model::Model::generate`]: the same tokens, the same reasons to end.
///
/// What the cache held is forgotten first. A cache with less room than the text needs ends it as a full context does: with
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
    // A text too long for the model is another mistake than one too long for the cache, and the loop finds it.
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
