//! A runner without a model that says what a step would have taken.

use crate::memory::SwapSpace;
use crate::step_cost::StepCost;
use continuous_batching::batch::Batch;
use continuous_batching::error::EngineError;
use continuous_batching::runner::{NoModel, Runner};
use paged_cache::{BlockId, Pages};
use std::time::Duration;

/// Computes nothing: keeps the books of memory and says what the step would have taken.
pub struct Costed {
    model: NoModel,
    cost: StepCost,
    copied: Vec<(BlockId, BlockId)>,
    took: Duration,
}

impl Costed {
    /// A runner with this cost of a step.
    pub fn new(cost: StepCost) -> Costed {
        Costed {
            model: NoModel::new(1),
            cost,
            copied: Vec::new(),
            took: Duration::ZERO,
        }
    }

    /// What the last step took.
    pub fn took(&self) -> Duration {
        self.took
    }
}

impl Runner<SwapSpace<Pages>> for Costed {
    fn forward(&mut self, memory: &mut SwapSpace<Pages>, batch: &Batch) -> Result<&mut [f32], EngineError> {
        self.took = self.cost.of(batch);
        self.copied.clear();
        memory.device_mut().begin(batch, &mut self.copied)?;
        memory.device_mut().commit(batch);
        self.model.forward(memory, batch)
    }
}
