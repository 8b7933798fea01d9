//! Fixtures of this program and of `allocations`.
#![allow(dead_code)] // `allocations` uses a part of them

use continuous_batching::oracle::play::Interrupted;
use continuous_batching::runner::NoModel;
use continuous_batching::{Batch, BatchSequence, Engine, EngineLimits, ModelRunner, Runner, SeqId, SlotCache, Slots};
use generation::Model;
use layout::pool::Pool;
use training::TokenId;

/// The trained model of the workbook.
pub fn stories() -> Model {
    Model::open("stories").unwrap()
}

pub fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

/// Tokens without a pattern, the same in each run; never the one that ends a text.
pub fn text(len: usize, seed: u32) -> Vec<TokenId> {
    let token = |i: u32| 1 + (i * 97 + seed * 1009 + i * i * 31) % 2000;
    (0..len as u32).map(|i| TokenId(token(i))).collect()
}

/// A sequence's part of a batch: its slot, its first position, its tokens, whether it wants logits.
pub type Part<'a> = (u32, usize, &'a [TokenId], bool);

/// A batch of these parts. A sequence has the number of its slot.
pub fn batch_of(parts: &[Part<'_>]) -> Batch {
    let mut batch = Batch::default();
    for (slot, first_position, tokens, wants_logits) in parts {
        batch.sequences.push(BatchSequence {
            id: SeqId(u64::from(*slot)),
            first_row: batch.tokens.len(),
            num_rows: tokens.len(),
            wants_logits: *wants_logits,
        });
        batch.tokens.extend_from_slice(tokens);
        batch.positions.extend(*first_position..first_position + tokens.len());
        batch.add_table(|table| table.push(*slot));
    }
    batch.check_invariants();
    batch
}

/// An engine over the model and slots.
pub type ModelEngine<'m> = Engine<ModelRunner<'m>, Slots>;

/// A runner over the model and the floats of `num_slots` slots.
pub fn runner<'m>(model: &'m Model, pool: &'m Pool, num_slots: usize, max_seq_len: usize) -> ModelRunner<'m> {
    let cache = SlotCache::new(&model.config.llama, num_slots, max_seq_len);
    ModelRunner::new(model, pool, cache, num_slots, max_seq_len)
}

/// An engine that runs as many requests as it has slots.
pub fn engine<'m>(model: &'m Model, pool: &'m Pool, num_slots: usize, max_seq_len: usize) -> ModelEngine<'m> {
    let limits = EngineLimits::of_model(&model.config, num_slots);
    Engine::new(
        runner(model, pool, num_slots, max_seq_len),
        Slots::new(num_slots, max_seq_len),
        limits,
    )
}

/// Limits of an engine without a model: a vocabulary of four tokens, of which the last one ends a text.
pub fn small_limits(max_running: usize, max_seq_len: usize) -> EngineLimits {
    EngineLimits {
        max_running,
        max_new_tokens: usize::MAX,
        max_seq_len,
        vocab_size: 4,
        end_of_text: ids(&[3]),
    }
}

/// An engine without a model, with slots of 64 tokens.
pub fn scheduler(num_slots: usize, max_running: usize) -> Engine<NoModel, Slots> {
    let limits = small_limits(max_running, 64);
    Engine::new(NoModel::new(4), Slots::new(num_slots, 64), limits)
}

/// The same engine, whose passes send the cancels of `engine.runner.during`.
pub fn interrupted<R: Runner>(engine: Engine<R, Slots>) -> Engine<Interrupted<R>, Slots> {
    let mut interrupted = Engine::new(Interrupted::new(engine.runner), engine.memory, engine.limits);
    interrupted.runner.canceller = Some(interrupted.canceller());
    interrupted
}
