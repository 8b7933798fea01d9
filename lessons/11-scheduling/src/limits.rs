//! What a step may compute, and how memory is taken back.

use std::time::Duration;

/// How memory is taken back from a running request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preemption {
    /// Its keys and values are dropped, and computed again later.
    #[default]
    Recompute,
    /// Its keys and values are copied to the host pool and back. Where the pool has no room, they are dropped.
    Swap,
}

/// What the scheduler may do in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLimits {
    /// Largest number of rows of a step, prompts and decodes together. At least the number of requests that may run, so
    /// that every stream gets a token in every step.
    pub max_step_tokens: usize,
    /// Largest number of rows of one prompt in a step.
    pub max_chunk_tokens: usize,
    /// How memory is taken back.
    pub preemption: Preemption,
    /// Longest wait for a first row; a request that has waited as long is cancelled. With `None` requests wait without
    /// limit.
    pub max_wait: Option<Duration>,
}

impl StepLimits {
    /// No bound on a step: prompts are computed whole, as in lesson 08.
    pub fn whole_prompts() -> StepLimits {
        StepLimits::with_budget(usize::MAX)
    }

    /// Steps of at most `max_step_tokens` rows.
    pub fn with_budget(max_step_tokens: usize) -> StepLimits {
        StepLimits {
            max_step_tokens,
            max_chunk_tokens: max_step_tokens,
            preemption: Preemption::default(),
            max_wait: None,
        }
    }
}
