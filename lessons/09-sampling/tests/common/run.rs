//! Requests through lesson 08's engine.

use continuous_batching::model_runner::ModelRunner;
use continuous_batching::{Delivery, Engine, EngineLimits, Event, FinishReason, SeqId, SlotCache};
use generation::Model;
use layout::pool::Pool;
use sampling::SamplingParams;
use sampling::choice::ParamsOfRequests;
use std::collections::BTreeMap;
use training::TokenId;

/// What is asked for.
#[derive(Clone)]
pub struct Ask {
    pub prompt: Vec<TokenId>,
    pub new_tokens: usize,
    /// None: greedy, as the engine is without this lesson.
    pub params: Option<SamplingParams>,
}

/// Submits at most `burst` requests before each step; returns each one's tokens and end.
pub fn together(
    model: &Model,
    asks: &[Ask],
    num_slots: usize,
    threads: usize,
    burst: usize,
) -> Vec<(Vec<TokenId>, FinishReason)> {
    let (pool, max_seq_len) = (Pool::new(threads), 320);
    let cache = SlotCache::new(&model.config.llama, num_slots, max_seq_len);
    let runner = ModelRunner::new(model, &pool, num_slots, max_seq_len);
    let params = ParamsOfRequests::new();
    let mut engine =
        Engine::new(runner, cache, EngineLimits::of_model(&model.config, num_slots)).with_choice(params.choice());
    let (mut ended, mut rest) = (BTreeMap::new(), asks.iter());
    while rest.len() > 0 || !engine.is_idle() {
        for ask in rest.by_ref().take(burst) {
            let id = engine.submit(&ask.prompt, ask.new_tokens).unwrap();
            if let Some(mine) = &ask.params {
                params.set(id, mine.clone().check(engine.limits.vocab_size).unwrap());
            }
        }
        engine
            .step(&mut |event| {
                if let Event::Finished { id, output, reason } = event {
                    ended.insert(id, (output.to_vec(), reason));
                    params.remove(id);
                }
                Delivery::Taken
            })
            .unwrap();
        engine.check_invariants();
    }
    assert!(
        params.is_empty(),
        "parameters of requests that have ended are forgotten"
    );
    assert_eq!(engine.memory.slots().num_free(), num_slots);
    (0..asks.len() as u64)
        .map(|id| ended.remove(&SeqId(id)).unwrap())
        .collect()
}

/// These texts, all with the same parameters.
pub fn all(
    model: &Model,
    num_slots: usize,
    texts: &[&str],
    new_tokens: usize,
    params: &SamplingParams,
) -> Vec<Vec<TokenId>> {
    let ask = |text: &&str| Ask {
        prompt: model.encode_prompt(text).unwrap(),
        new_tokens,
        params: Some(params.clone()),
    };
    let asks: Vec<Ask> = texts.iter().map(ask).collect();
    let ended = together(model, &asks, num_slots, 2, asks.len());
    ended.into_iter().map(|(tokens, _)| tokens).collect()
}
