//! What several test files share.
#![allow(dead_code)]

pub mod run;

use proptest::prelude::*;
use sampling::{Sampled, Sampler, SamplingParams, full_sort};
use training::TokenId;

pub fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

/// Logits with ties, forbidden tokens and large steps; at least one may be drawn.
pub fn logits(most: usize) -> impl Strategy<Value = Vec<f32>> {
    let logit = prop_oneof![
        8 => -12.0f32..12.0,
        3 => (-3i32..4).prop_map(|x| x as f32),
        1 => Just(-0.0f32),
        1 => Just(f32::NEG_INFINITY),
    ];
    proptest::collection::vec(logit, 1..most)
}

/// Parameters of all kinds.
pub fn params(vocab_size: usize) -> impl Strategy<Value = SamplingParams> {
    let temperature = prop_oneof![1 => Just(0.0f32), 6 => 0.001f32..3.0];
    let top_k = prop_oneof![2 => Just(0usize), 3 => 0usize..80, 1 => Just(vocab_size), 1 => Just(usize::MAX)];
    let top_p = prop_oneof![1 => Just(1.0f32), 3 => 0.001f32..1.0, 1 => Just(f32::MIN_POSITIVE)];
    let min_p = prop_oneof![2 => Just(0.0f32), 1 => 0.0f32..=1.0, 1 => Just(1.0f32)];
    let token = (0..vocab_size as u32).prop_map(TokenId);
    let bias = prop_oneof![4 => -5.0f32..5.0, 1 => Just(f32::NEG_INFINITY)];
    let bias = proptest::collection::vec((token, bias), 0..4);
    let penalties = prop_oneof![
        Just((1.0f32, 0.0f32, 0.0f32)),
        (0.5f32..2.0, -2.0f32..2.0, -2.0f32..2.0)
    ];
    let address = (any::<u64>(), 0u32..3, proptest::option::of(0usize..=20));
    (temperature, top_k, top_p, min_p, bias, penalties, address).prop_map(
        |(temperature, top_k, top_p, min_p, logit_bias, penalties, (seed, answer, logprobs))| SamplingParams {
            temperature,
            top_k,
            top_p,
            min_p,
            logit_bias,
            repetition_penalty: penalties.0,
            presence_penalty: penalties.1,
            frequency_penalty: penalties.2,
            seed,
            answer,
            logprobs,
            ..SamplingParams::default()
        },
    )
}

/// Logits, parameters, and a text of tokens that the vocabulary has, cut into prompt and output.
pub fn case(most: usize) -> impl Strategy<Value = (Vec<f32>, SamplingParams, Vec<TokenId>, usize)> {
    logits(most).prop_flat_map(|logits| {
        let vocab_size = logits.len();
        let text = proptest::collection::vec(0..vocab_size as u32, 1..20);
        let cut = any::<proptest::sample::Index>();
        (Just(logits), params(vocab_size), text, cut).prop_map(|(logits, params, text, cut)| {
            let cut = cut.index(text.len());
            (logits, params, text.into_iter().map(TokenId).collect(), cut)
        })
    })
}

/// The token at a position after a prompt of that many tokens 0, by a sampler of its own.
#[track_caller]
pub fn token_at(logits: &[f32], params: &SamplingParams, position: usize) -> TokenId {
    let checked = params.clone().check(logits.len()).unwrap();
    let prompt = vec![TokenId(0); position];
    let sampled = Sampler::new().sample(&checked, &prompt, &[], &mut logits.to_vec());
    sampled.unwrap().token
}

/// Temperature 1 and nothing cut, with this seed.
pub fn seeded(seed: u64) -> SamplingParams {
    SamplingParams {
        seed,
        ..SamplingParams::default()
    }
}

/// Chooses after an empty text; the fast way and the slow way agree.
#[track_caller]
pub fn chosen(logits: &[f32], params: SamplingParams) -> Sampled {
    let checked = params.check(logits.len()).unwrap();
    let sampled = Sampler::new().sample(&checked, &[], &[], &mut logits.to_vec()).unwrap();
    let slow = full_sort::sample(&checked, &[], &[], &mut logits.to_vec()).unwrap();
    assert_eq!(sampled.token, slow);
    sampled
}

/// What may be drawn.
pub fn kept(logits: &[f32], params: SamplingParams) -> Vec<u32> {
    let checked = params.check(logits.len()).unwrap();
    let mut sampler = Sampler::new();
    sampler.sample(&checked, &[], &[], &mut logits.to_vec()).unwrap();
    sampler.candidates().map(|(token, _)| token.0).collect()
}

/// Shares 0.5, 0.3, 0.2: the logarithms are the logits.
pub fn three() -> [f32; 3] {
    [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()]
}
