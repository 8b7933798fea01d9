//! The real model: requests that are drawn together get, token for token, what each of them gets alone.

mod common;

use common::run::{Ask, together};
use continuous_batching::FinishReason;
use generation::{Model, State};
use layout::pool::Pool;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

/// Prompts of all kinds, and parameters of all kinds: nothing cut, top-k, top-p, min-p, penalties, bias, greedy, and some without parameters.
fn asks(model: &Model, count: usize) -> Vec<Ask> {
    let beginnings = ["Once upon a time", "Lily had a red ball.", "One day, Tom", "The fox"];
    let settings = [
        Some(SamplingParams::default()),
        Some(SamplingParams {
            temperature: 0.7,
            top_k: 40,
            ..SamplingParams::default()
        }),
        Some(SamplingParams {
            temperature: 1.2,
            top_p: 0.9,
            ..SamplingParams::default()
        }),
        Some(SamplingParams::greedy()),
        Some(SamplingParams {
            temperature: 1.5,
            min_p: 0.05,
            repetition_penalty: 1.3,
            ..SamplingParams::default()
        }),
        Some(SamplingParams {
            top_k: 20,
            top_p: 0.8,
            presence_penalty: 0.4,
            frequency_penalty: 0.7,
            ..SamplingParams::default()
        }),
        None,
        Some(SamplingParams {
            repetition_penalty: 1.2,
            logit_bias: vec![(TokenId(300), 4.0), (TokenId(5), f32::NEG_INFINITY)],
            ..SamplingParams::greedy()
        }),
    ];
    (0..count)
        .map(|i| {
            let prompt = match i % 3 {
                0 => model.encode_prompt(beginnings[i / 3 % beginnings.len()]).unwrap(),
                _ => (0..1 + i * 7 % 20)
                    .map(|j| TokenId((1 + (j * 97 + i * 1009 + j * j * 31) % 2000) as u32))
                    .collect(),
            };
            let params = settings[i % settings.len()].clone().map(|params| SamplingParams {
                // Some share a seed, and some of those differ in the answer only.
                seed: (i / 4) as u64,
                answer: (i % 3) as u32,
                ..params
            });
            Ask {
                prompt,
                new_tokens: i * 5 % 18,
                params,
            }
        })
        .collect()
}

/// One request by itself: lesson 05's pass over the whole text for each token, a sampler of its own for each token.
fn alone(model: &Model, ask: &Ask) -> (Vec<TokenId>, FinishReason) {
    let (pool, mut state) = (Pool::new(1), State::new(&model.config, 0));
    let mut output = Vec::new();
    while output.len() < ask.new_tokens {
        let text = [&ask.prompt[..], &output].concat();
        let mut logits = model.forward(&mut state, &pool, &text).unwrap().to_vec();
        let params = ask.params.clone().unwrap_or_else(SamplingParams::greedy);
        let params = params.check(logits.len()).unwrap();
        let token = Sampler::new()
            .sample(&params, &ask.prompt, &output, &mut logits)
            .unwrap()
            .token;
        if model.config.eos_token_ids.contains(&token) {
            return (output, FinishReason::Stop);
        }
        output.push(token);
    }
    (output, FinishReason::Length)
}

#[track_caller]
fn together_equals_alone(num_slots: usize, threads: usize, burst: usize, count: usize) {
    let model = Model::open("stories").unwrap();
    let asks = asks(&model, count);
    let ended = together(&model, &asks, num_slots, threads, burst);
    for (index, (ask, ended)) in asks.iter().zip(ended).enumerate() {
        assert_eq!(ended, alone(&model, ask), "request {index}");
    }
}

/// Claim C5 of lesson 08 again, now with draws: more requests than slots, all at once.
#[test]
fn sixty_four_drawn_requests_equal_their_single_runs() {
    together_equals_alone(24, 2, 64, 64);
}

#[test]
fn drawn_requests_that_come_one_by_one_equal_their_single_runs() {
    together_equals_alone(3, 2, 1, 24);
}

/// The texts depend on the seeds, or the tests above would say nothing.
#[test]
fn other_seeds_give_other_texts() {
    let model = Model::open("stories").unwrap();
    let asks = asks(&model, 32);
    let mut others = asks.clone();
    for ask in &mut others {
        if let Some(params) = &mut ask.params {
            params.seed += 1000;
        }
    }
    let (texts, others) = (together(&model, &asks, 8, 2, 32), together(&model, &others, 8, 2, 32));
    let (mut changed, mut drawn) = (0, 0);
    for ((ask, text), other) in asks.iter().zip(&texts).zip(&others) {
        let is_drawn = ask.params.as_ref().is_some_and(|params| params.temperature > 0.0);
        assert!(is_drawn || text == other, "a greedy answer depends on its seed");
        drawn += usize::from(is_drawn && ask.new_tokens > 3);
        changed += usize::from(text != other);
    }
    assert!(2 * changed > drawn, "{changed} of {drawn} texts changed");
}
