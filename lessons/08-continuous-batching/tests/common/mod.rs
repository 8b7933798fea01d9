//! What several test files share.
#![allow(dead_code)]

use continuous_batching::model_runner::ModelRunner;
use continuous_batching::{Batch, BatchSequence, Engine, EngineLimits, SeqId, SlotCache};
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

/// Tokens that look random and are the same each time; never the one that ends a text.
pub fn text(len: usize, seed: u32) -> Vec<TokenId> {
    let token = |i: u32| 1 + (i * 97 + seed * 1009 + i * i * 31) % 2000;
    (0..len as u32).map(|i| TokenId(token(i))).collect()
}

/// A batch of these parts: sequence, first position, tokens, whether logits are wanted.
pub fn batch_of(parts: &[(u64, usize, &[TokenId], bool)]) -> Batch {
    let mut batch = Batch::default();
    for (id, first_position, tokens, wants_logits) in parts {
        batch.sequences.push(BatchSequence {
            id: SeqId(*id),
            first_row: batch.tokens.len(),
            num_rows: tokens.len(),
            wants_logits: *wants_logits,
        });
        batch.tokens.extend_from_slice(tokens);
        batch.positions.extend(*first_position..first_position + tokens.len());
    }
    batch
}

/// An engine over the model and slots.
pub type ModelEngine<'m> = Engine<ModelRunner<'m>, SlotCache>;

/// As many slots as may run.
pub fn engine<'m>(model: &'m Model, pool: &'m Pool, num_slots: usize, max_seq_len: usize) -> ModelEngine<'m> {
    let cache = SlotCache::new(&model.config.llama, num_slots, max_seq_len);
    let runner = ModelRunner::new(model, pool, num_slots, max_seq_len);
    Engine::new(runner, cache, EngineLimits::of_model(&model.config, num_slots))
}
