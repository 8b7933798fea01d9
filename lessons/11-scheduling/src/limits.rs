//! What a step may cost, and how memory is taken back.

use continuous_batching::limits::EngineLimits;
use std::time::Duration;

/// How a request gives its memory back before its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preemption {
    /// Its keys and values are forgotten and computed again.
    #[default]
    Recompute,
    /// They are copied to the host pool and back. Where the pool has no room, they are forgotten.
    Swap,
}

/// What a scheduler may do in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLimits {
    /// Limits of requests and of the model.
    pub engine: EngineLimits,
    /// Most rows of a step, prompts and decodes together. At least `engine.max_running`, so that every stream moves on in every step.
    pub max_step_tokens: usize,
    /// Most rows of one prompt in a step.
    pub max_chunk_tokens: usize,
    /// How memory is taken back.
    pub preemption: Preemption,
    /// Whoever has waited so long for a first row gives up: it ends as cancelled. `None`: everybody waits.
    pub max_wait: Option<Duration>,
}

impl StepLimits {
    /// No bound on a step: prompts are computed whole, as lesson 08 does it.
    pub fn whole_prompts(engine: EngineLimits) -> StepLimits {
        StepLimits {
            engine,
            max_step_tokens: usize::MAX,
            max_chunk_tokens: usize::MAX,
            preemption: Preemption::default(),
            max_wait: None,
        }
    }

    /// Steps of at most `max_step_tokens` rows.
    ///
    /// # Panics
    /// If there is not a row for each running request.
    pub fn with_budget(engine: EngineLimits, max_step_tokens: usize) -> StepLimits {
        assert!(
            max_step_tokens >= engine.max_running,
            "expected a budget of at least one row for each of {} running requests, found {max_step_tokens}",
            engine.max_running
        );
        StepLimits {
            engine,
            max_step_tokens,
            max_chunk_tokens: max_step_tokens,
            preemption: Preemption::default(),
            max_wait: None,
        }
    }
}
