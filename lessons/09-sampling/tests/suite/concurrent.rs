//! With the real model: requests that are drawn together get the tokens that each of them gets alone.

use crate::common::seeded;
use crate::run::{self, Ask, together};
use continuous_batching::{FinishReason, SeqId};
use generation::{Model, State};
use layout::pool::Pool;
use sampling::{Sampler, SamplingParams, choice};
use training::TokenId;

/// Prompts and parameters of all kinds: nothing cut, top-k, top-p, min-p, penalties, bias, greedy.
fn asks(model: &Model, count: usize) -> Vec<Ask> {
    let beginnings = ["Once upon a time", "Lily had a red ball.", "One day, Tom", "The fox"];
    let with = |change: fn(&mut SamplingParams)| SamplingParams::default().with(change);
    let bias = vec![(TokenId(300), 4.0), (TokenId(5), f32::NEG_INFINITY)];
    let settings = [
        SamplingParams::default(),
        with(|p| (p.temperature, p.top_k) = (0.7, 40)),
        with(|p| (p.temperature, p.top_p) = (1.2, 0.9)),
        SamplingParams::greedy(),
        with(|p| (p.temperature, p.min_p, p.repetition_penalty) = (1.5, 0.05, 1.3)),
        with(|p| (p.top_k, p.top_p, p.presence_penalty, p.frequency_penalty) = (20, 0.8, 0.4, 0.7)),
        SamplingParams::greedy().with(|p| (p.repetition_penalty, p.logit_bias) = (1.2, bias)),
    ];
    let made_up = |i: usize, j: usize| TokenId((1 + (j * 97 + i * 1009 + j * j * 31) % 2000) as u32);
    let ask = |i: usize| Ask {
        prompt: match i % 3 {
            0 => model.encode_prompt(beginnings[i / 3 % beginnings.len()]).unwrap(),
            _ => (0..1 + i * 7 % 20).map(|j| made_up(i, j)).collect(),
        },
        new_tokens: i * 5 % 18,
        // Some requests share a seed, and some of those differ in the answer only.
        params: (settings[i % settings.len()].clone()).with(|p| (p.seed, p.answer) = ((i / 4) as u64, (i % 3) as u32)),
    };
    (0..count).map(ask).collect()
}

/// One request alone: lesson 05's pass over the whole text and a new sampler for each token.
fn alone(model: &Model, ask: &Ask) -> (Vec<TokenId>, FinishReason) {
    let (pool, mut state) = (Pool::new(1), State::new(&model.config, 0));
    let params = ask.params.clone().check(model.config.llama.vocab_size).unwrap();
    let mut output = Vec::new();
    while output.len() < ask.new_tokens {
        let text = [&ask.prompt[..], &output].concat();
        let mut logits = model.forward(&mut state, &pool, &text).unwrap().to_vec();
        let sampled = Sampler::new().sample(&params, &ask.prompt, &output, &mut logits);
        let token = sampled.unwrap().token;
        if model.config.eos_token_ids.contains(&token) {
            return (output, FinishReason::Stop);
        }
        output.push(token);
    }
    (output, FinishReason::Length)
}

#[track_caller]
fn together_equals_alone(num_slots: usize, burst: usize, count: usize) {
    let model = Model::open("stories").unwrap();
    let asks = asks(&model, count);
    let ended = together(&model, &asks, num_slots, burst);
    for (index, (ask, ended)) in asks.iter().zip(ended).enumerate() {
        assert_eq!(ended, alone(&model, ask), "request {index}");
    }
}

/// Claim C5 of lesson 08 again, now with draws: more requests than slots, all at once.
#[test]
fn sixty_four_drawn_requests_equal_their_single_runs() {
    together_equals_alone(24, 64, 64);
}

#[test]
fn drawn_requests_that_come_one_by_one_equal_their_single_runs() {
    together_equals_alone(3, 1, 24);
}

/// Without this, equal answers in the tests above would show nothing.
#[test]
fn other_seeds_give_other_texts() {
    let model = Model::open("stories").unwrap();
    let asks = asks(&model, 32);
    let other = |ask: &Ask| Ask {
        params: ask.params.clone().with(|p| p.seed += 1000),
        ..ask.clone()
    };
    let others: Vec<Ask> = asks.iter().map(other).collect();
    let (texts, others) = (together(&model, &asks, 8, 32), together(&model, &others, 8, 32));
    let (mut changed, mut drawn) = (0, 0);
    for ((ask, text), other) in asks.iter().zip(&texts).zip(&others) {
        let is_drawn = ask.params.temperature > 0.0;
        assert!(is_drawn || text == other, "a greedy answer depends on its seed");
        drawn += usize::from(is_drawn && ask.new_tokens > 3);
        changed += usize::from(text != other);
    }
    assert!(2 * changed > drawn, "{changed} of {drawn} texts changed");
}

/// A logit that is NaN ends its own request, and the others go on unchanged.
#[test]
fn a_failed_choice_ends_its_own_request() {
    let (model, pool) = (Model::open("stories").unwrap(), Pool::new(1));
    let ask = |seed: u64| Ask {
        prompt: model.encode_prompt("Once upon a time").unwrap(),
        new_tokens: 6,
        params: seeded(seed),
    };
    let asks = [ask(1), ask(2), ask(3)];
    let mut by_params = choice::by_params();
    let engine = choice::engine(&model, &pool, 3, 64).with_choice(Box::new(move |request, logits| {
        if request.id == SeqId(1) && request.output.len() == 2 {
            logits[7] = f32::NAN;
        }
        by_params(request, logits)
    }));
    let ended = run::run(engine, &asks, 3);
    assert_eq!((ended[1].0.len(), ended[1].1), (2, FinishReason::ChoiceFailed));
    for index in [0, 2] {
        assert_eq!(ended[index], alone(&model, &asks[index]), "request {index}");
    }
}
