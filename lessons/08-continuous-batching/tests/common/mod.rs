//! What several test files share.
#![allow(dead_code)]

use continuous_batching::model_runner::ModelRunner;
use continuous_batching::{
    Batch, BatchSequence, Delivery, Engine, EngineLimits, Event, FinishReason, SeqId, SlotCache,
};
use generation::{Model, State};
use kv_cache::cache::ContiguousCache;
use layout::pool::Pool;
use std::collections::BTreeMap;
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
        batch
            .positions
            .extend(*first_position..first_position + tokens.len());
    }
    batch
}

/// Lesson 06, one request at a time.
pub struct Single<'m> {
    model: &'m Model,
    pool: Pool,
}

impl<'m> Single<'m> {
    pub fn new(model: &'m Model) -> Single<'m> {
        Single {
            model,
            pool: Pool::new(2),
        }
    }

    /// Logits of the token after these, computed in one chunk.
    pub fn logits(&self, tokens: &[TokenId]) -> Vec<f32> {
        let mut state = State::new(&self.model.config, 0);
        let mut cache = ContiguousCache::new(&self.model.config.llama, tokens.len());
        let (config, weights) = (&self.model.config, &self.model.weights);
        kv_cache::forward::forward(config, weights, &mut state, &mut cache, &self.pool, tokens)
            .unwrap()
            .to_vec()
    }

    /// The answer and why it ends, for prompt and answer of at most `max_seq_len` tokens.
    pub fn answer(
        &self,
        prompt: &[TokenId],
        max_new_tokens: usize,
        max_seq_len: usize,
    ) -> (Vec<TokenId>, FinishReason) {
        let mut state = State::new(&self.model.config, 0);
        // Its last token needs no place.
        let mut cache = ContiguousCache::new(&self.model.config.llama, max_seq_len - 1);
        let run = kv_cache::session::generate(
            self.model,
            &mut state,
            &mut cache,
            &self.pool,
            prompt,
            max_new_tokens,
            &mut |_| {},
        );
        let generation = run.unwrap().generation;
        (generation.tokens, generation.finish_reason.into())
    }
}

/// An engine over the model and slots.
pub type ModelEngine<'m> = Engine<ModelRunner<'m>, SlotCache>;

/// As many slots as may run.
pub fn engine<'m>(
    model: &'m Model,
    pool: &'m Pool,
    num_slots: usize,
    max_seq_len: usize,
) -> ModelEngine<'m> {
    let cache = SlotCache::new(&model.config.llama, num_slots, max_seq_len);
    let runner = ModelRunner::new(model, pool, num_slots, max_seq_len);
    Engine::new(
        runner,
        cache,
        EngineLimits::of_model(&model.config, num_slots),
    )
}

/// Takes all events: tokens and end of each request.
#[derive(Debug, Default)]
pub struct Listener {
    pub tokens: BTreeMap<SeqId, Vec<TokenId>>,
    pub ends: BTreeMap<SeqId, FinishReason>,
}

impl Listener {
    pub fn take(&mut self, event: Event<'_>) -> Delivery {
        match event {
            Event::Token { id, token } => {
                assert!(
                    !self.ends.contains_key(&id),
                    "a token of {id} after its end"
                );
                self.tokens.entry(id).or_default().push(token);
            }
            Event::Finished { id, reason, output } => {
                let told = self.tokens.entry(id).or_default();
                assert_eq!(told, output, "the output of {id} is what was told");
                assert_eq!(self.ends.insert(id, reason), None, "{id} ended twice");
            }
        }
        Delivery::Taken
    }
}
