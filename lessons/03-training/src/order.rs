//! The experiment of claim D1: one small model learns from the same tokens in two orders.

use std::sync::Arc;

use layout::pool::Pool;

use crate::batch::Batch;
use crate::config::{LlamaConfig, TokenId};
use crate::corpus::evaluation::EvalSize;
use crate::corpus::{Evaluation, Literature, Order, StreamOptions, TrainingStream};
use crate::grammar::Grammar;
use crate::model::Llama;
use crate::split::Split;
use crate::tokenizer::Tokenizer;
use crate::trainer::{Schedule, Trainer};

/// What all runs of the experiment share.
pub struct Experiment<'a> {
    /// The books; half of the windows are theirs, the others hold stories.
    pub literature: &'a Literature,
    /// The vocabulary.
    pub tokenizer: &'a Tokenizer,
    /// The model's shape.
    pub config: LlamaConfig,
    /// How long and how fast it learns.
    pub schedule: Schedule,
    /// Of the weights that it begins with.
    pub seed: u64,
    /// Threads.
    pub pool: Arc<Pool>,
}

/// A run that is over.
pub struct Learned {
    /// The model.
    pub model: Llama,
    /// Loss of the first batch, in nats per token, before anything was learned.
    pub first_loss: f64,
    /// Mean loss of the last tenth of the steps, each before its step.
    pub last_loss: f64,
}

impl Experiment<'_> {
    /// The two orders, by name: mixed, and all stories before all books.
    pub fn orders(&self) -> [(&'static str, Order); 2] {
        let num_windows = self.schedule.num_steps() * self.schedule.batch_size as u64;
        [
            ("shuffled", Order::Shuffled),
            ("in order", Order::InOrder { num_windows }),
        ]
    }

    /// Held-out text of both kinds, to compare the orders on.
    pub fn held_out(&self, size: EvalSize) -> Evaluation {
        let grammar = Grammar::new();
        Evaluation::new(&grammar, self.literature, self.tokenizer, Split::Validation, size)
    }

    /// Learns in one order. The weights at the beginning and the number of tokens are the same in each.
    ///
    /// # Errors
    /// What the tape reports; none in a correct program.
    pub fn learn(&self, order: Order, mut on_step: impl FnMut()) -> autograd::Result<Learned> {
        let options = StreamOptions {
            story_share: 0.5,
            order,
            ..StreamOptions::default()
        };
        let tokenizer = self.tokenizer.clone();
        let mut stream = TrainingStream::new(Grammar::new(), self.literature, tokenizer, options);
        let model = Llama::new(self.config.clone(), self.seed, Arc::clone(&self.pool));
        let schedule = &self.schedule;
        let mut trainer = Trainer::new(model, schedule.clone());
        let mut losses = Vec::new();
        for _ in 0..schedule.num_steps() {
            let len = schedule.seq_len + 1;
            let tokens = stream.next_batch(schedule.batch_size, len);
            let windows: Vec<&[TokenId]> = tokens.chunks(len).collect();
            losses.push(trainer.train(&Batch::windows(&windows))?.loss);
            on_step();
        }
        let last = &losses[losses.len() - losses.len().div_ceil(10)..];
        Ok(Learned {
            model: trainer.model,
            first_loss: losses[0],
            last_loss: last.iter().sum::<f64>() / last.len() as f64,
        })
    }
}
