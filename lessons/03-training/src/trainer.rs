//! One step of training: loss, gradients, clipping, AdamW; and how the learning rate runs.

use crate::batch::Batch;
use crate::model::Llama;
use autograd::Tensor;
use autograd::optim::{AdamW, AdamWConfig, clip_grad_norm};
use serde::{Deserialize, Serialize};

/// The learning rate over a run, and the run's length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Number of tokens to train on; the last step may go over.
    pub tokens: u64,
    /// Number of windows of one step.
    pub batch_size: usize,
    /// Number of positions of one window.
    pub seq_len: usize,
    /// The learning rate after the warm-up.
    pub peak_rate: f64,
    /// The share of the peak at which the cosine ends.
    pub final_share: f64,
    /// Number of steps over which the rate rises from zero.
    pub warmup_steps: u64,
    /// Share of a matrix that is lost per step and unit of learning rate; norms do not decay.
    pub weight_decay: f64,
    /// The largest norm of all gradients together.
    pub clip: f64,
}

impl Schedule {
    /// The default model's schedule for a budget of tokens. Windows of 512, four a step: at this budget more, smaller
    /// steps learn more per token than fewer, larger ones.
    pub fn for_tokens(tokens: u64) -> Self {
        Self {
            tokens,
            batch_size: 4,
            seq_len: 512,
            peak_rate: 2e-3,
            final_share: 0.05,
            warmup_steps: 100,
            weight_decay: 0.05,
            clip: 1.0,
        }
    }

    /// Tokens of one step.
    pub fn tokens_per_step(&self) -> u64 {
        (self.batch_size * self.seq_len) as u64
    }

    /// Steps of the whole run.
    pub fn num_steps(&self) -> u64 {
        self.tokens.div_ceil(self.tokens_per_step()).max(1)
    }

    /// The learning rate of a step (the first is 0): a straight rise, then half a cosine down to the final share.
    /// Source: Loshchilov and Hutter 2017, arXiv:1608.03983, equation 5, without restarts.
    pub fn learning_rate(&self, step: u64) -> f64 {
        let warmup = self.warmup_steps.min(self.num_steps() / 4);
        if step < warmup {
            return self.peak_rate * (step + 1) as f64 / warmup as f64;
        }
        let done = (step - warmup) as f64 / (self.num_steps() - warmup).max(1) as f64;
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * done.min(1.0)).cos());
        self.peak_rate * (self.final_share + (1.0 - self.final_share) * cosine)
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// The step, counted from 0.
    pub step: u64,
    /// Mean cross entropy of the batch before the step, in nats per token.
    pub loss: f64,
    /// Norm of all gradients before clipping.
    pub gradient_norm: f64,
    /// The rate that was used.
    pub learning_rate: f64,
}

/// A model, its optimizer and the number of steps done.
pub struct Trainer {
    /// What is trained.
    pub model: Llama,
    /// Number of steps done.
    pub step: u64,
    /// The learning rate and the length of the run.
    pub schedule: Schedule,
    parameters: Vec<Tensor>,
    optimizer: AdamW,
}

impl Trainer {
    /// Starts at step 0 with moments of zero.
    pub fn new(model: Llama, schedule: Schedule) -> Self {
        keep_freed_memory();
        let parameters: Vec<_> = model.parameters().into_iter().map(|(_, tensor)| tensor).collect();
        let config = AdamWConfig {
            learning_rate: schedule.peak_rate,
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-8,
            weight_decay: schedule.weight_decay,
        };
        let is_matrix = |tensor: &Tensor| tensor.shape().len() > 1;
        let optimizer = AdamW::with_decay(parameters.clone(), config, is_matrix);
        Self {
            model,
            step: 0,
            schedule,
            parameters,
            optimizer,
        }
    }

    /// Learns from one batch.
    ///
    /// # Errors
    /// What the tape reports; none in a correct program.
    pub fn train(&mut self, batch: &Batch) -> autograd::Result<StepReport> {
        let loss = self.model.loss(batch);
        loss.backward()?;
        let gradient_norm = clip_grad_norm(&self.parameters, self.schedule.clip);
        let learning_rate = self.schedule.learning_rate(self.step);
        self.optimizer.set_learning_rate(learning_rate);
        self.optimizer.step();
        self.optimizer.zero_grad();
        let report = StepReport {
            step: self.step,
            loss: f64::from(loss.item()?),
            gradient_norm,
            learning_rate,
        };
        self.step += 1;
        Ok(report)
    }

    /// The optimizer, for checkpoints.
    pub fn optimizer(&self) -> &AdamW {
        &self.optimizer
    }

    /// The optimizer, for checkpoints.
    pub fn optimizer_mut(&mut self) -> &mut AdamW {
        &mut self.optimizer
    }
}

/// Asks glibc to keep freed memory instead of giving it back: a step frees and takes again about a hundred arrays of
/// megabytes, and each page that comes back from the system costs a fault and is zeroed first. Worth a fifth of the
/// time of a step. No effect elsewhere.
fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::sync::Once;
        static ONCE: Once = Once::new();
        // SAFETY: `mallopt` changes constants of the allocator and takes no pointers.
        ONCE.call_once(|| unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
            libc::mallopt(libc::M_TOP_PAD, 64 << 20);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_and_then_falls_to_its_final_share() {
        let schedule = Schedule {
            warmup_steps: 10,
            ..Schedule::for_tokens(2048 * 110)
        };
        assert_eq!(schedule.num_steps(), 110);
        assert!((schedule.learning_rate(0) - 2e-4).abs() < 1e-12);
        assert!((schedule.learning_rate(9) - 2e-3).abs() < 1e-12);
        assert!((schedule.learning_rate(10) - 2e-3).abs() < 1e-12);
        assert!((schedule.learning_rate(110) - 1e-4).abs() < 1e-12);
        let falls = (10..110).all(|s| schedule.learning_rate(s + 1) < schedule.learning_rate(s));
        assert!(falls);
    }
}
