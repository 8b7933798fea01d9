//! Requests through lesson 08's engine.

use continuous_batching::{Delivery, Event, FinishReason, SeqId};
use generation::Model;
use layout::pool::Pool;
use sampling::choice::SamplingEngine;
use sampling::{SamplingParams, choice};
use std::collections::BTreeMap;
use training::TokenId;

/// A request.
#[derive(Clone)]
pub struct Ask {
    pub prompt: Vec<TokenId>,
    pub new_tokens: usize,
    pub params: SamplingParams,
}

/// Submits at most `burst` requests before each step; returns tokens and end of each request.
pub fn together(model: &Model, asks: &[Ask], num_slots: usize, burst: usize) -> Vec<(Vec<TokenId>, FinishReason)> {
    let pool = Pool::new(2);
    run(choice::engine(model, &pool, num_slots, 320), asks, burst)
}

/// [`together`], through an engine of the caller.
pub fn run(mut engine: SamplingEngine<'_>, asks: &[Ask], burst: usize) -> Vec<(Vec<TokenId>, FinishReason)> {
    let (mut ended, mut rest) = (BTreeMap::new(), asks.iter());
    while rest.len() > 0 || !engine.is_idle() {
        for ask in rest.by_ref().take(burst) {
            let params = ask.params.clone().check(engine.limits.vocab_size).unwrap();
            engine.submit_with(&ask.prompt, ask.new_tokens, params).unwrap();
        }
        let step = engine.step(&mut |event| {
            if let Event::Finished { id, output, reason } = event {
                ended.insert(id, (output.to_vec(), reason));
            }
            Delivery::Taken
        });
        step.unwrap();
        engine.check_invariants();
    }
    assert_eq!(
        engine.memory.num_free(),
        engine.limits.max_running,
        "all slots are free at the end"
    );
    (0..asks.len() as u64)
        .map(|id| ended.remove(&SeqId(id)).unwrap())
        .collect()
}

/// The answers to these texts, all with the same parameters.
pub fn all(model: &Model, texts: &[&str], new_tokens: usize, params: &SamplingParams) -> Vec<Vec<TokenId>> {
    let ask = |text: &&str| Ask {
        prompt: model.encode_prompt(text).unwrap(),
        new_tokens,
        params: params.clone(),
    };
    let asks: Vec<Ask> = texts.iter().map(ask).collect();
    let ended = together(model, &asks, asks.len(), asks.len());
    ended.into_iter().map(|(tokens, _)| tokens).collect()
}
