//! A machine, and what comes to it.

use crate::limits::StepLimits;
use crate::meta::Meta;
use crate::step_cost::StepCost;
use continuous_batching::limits::EngineLimits;
use std::time::Duration;

/// A machine to serve with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Limits of requests.
    pub engine: EngineLimits,
    /// What a step may compute.
    pub limits: StepLimits,
    /// Blocks on the device.
    pub num_blocks: usize,
    /// Positions of a block.
    pub block_size: usize,
    /// Number of blocks in the host pool.
    pub host_blocks: usize,
    /// What a step costs.
    pub cost: StepCost,
    /// No step begins after this.
    pub horizon: Duration,
}

impl Setup {
    /// Up to `max_running` requests of up to `max_seq_len` tokens, memory for all of them at their longest, and no
    /// bound on a step.
    pub fn new(max_running: usize, max_seq_len: usize) -> Setup {
        let block_size = 16;
        let engine = EngineLimits {
            max_running,
            max_new_tokens: usize::MAX,
            max_seq_len,
            vocab_size: 1,
            end_of_text: Vec::new(),
        };
        Setup {
            limits: StepLimits::whole_prompts(),
            engine,
            num_blocks: max_running * max_seq_len.div_ceil(block_size),
            block_size,
            host_blocks: 0,
            cost: StepCost::default(),
            horizon: Duration::MAX,
        }
    }

    /// The same with steps of at most `budget` rows, or `max_running` rows if that is more, and prompts in chunks of at
    /// most `chunk`.
    pub fn with_budget(self, budget: usize, chunk: usize) -> Setup {
        let limits = StepLimits {
            max_step_tokens: budget.max(self.engine.max_running),
            max_chunk_tokens: chunk,
            ..self.limits
        };
        Setup { limits, ..self }
    }
}

/// A request to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When it is submitted.
    pub at: Duration,
    /// Its tenant and class; the arrival is set from `at`.
    pub meta: Meta,
    /// Tokens of its prompt, at least one.
    pub prompt_tokens: usize,
    /// Tokens of its answer.
    pub new_tokens: usize,
}
