//! Fixtures that several modules share: short ways to choose a token, and generated cases.

use proptest::prelude::*;
use sampling::{CheckedParams, Sampled, Sampler, SamplingParams, full_sort};
use training::TokenId;

pub fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

/// Temperature 1 and nothing cut, with this seed.
pub fn seeded(seed: u64) -> SamplingParams {
    SamplingParams::default().with(|p| p.seed = seed)
}

/// Logits whose shares are 0.5, 0.3 and 0.2.
pub fn three() -> [f32; 3] {
    [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()]
}

/// One choice by a new sampler, which is returned too. The text is `prompt` without an output.
#[track_caller]
pub fn sample(logits: &[f32], params: &CheckedParams, prompt: &[TokenId]) -> (Sampler, Sampled) {
    let mut sampler = Sampler::new();
    let sampled = sampler.sample(params, prompt, &[], &mut logits.to_vec());
    (sampler, sampled.unwrap())
}

/// The choice after an empty text. The sampler that sorts must agree.
#[track_caller]
pub fn chosen(logits: &[f32], params: SamplingParams) -> Sampled {
    let checked = params.check(logits.len()).unwrap();
    let (_, sampled) = sample(logits, &checked, &[]);
    let slow = full_sort::sample(&checked, &[], &[], &mut logits.to_vec()).unwrap();
    assert_eq!(sampled.token, slow);
    sampled
}

/// The ids that may be drawn, in the order of the draw.
#[track_caller]
pub fn kept(logits: &[f32], params: SamplingParams) -> Vec<u32> {
    let (sampler, _) = sample(logits, &params.check(logits.len()).unwrap(), &[]);
    sampler.candidates().map(|(token, _)| token.0).collect()
}

/// The token at a position, after a prompt of `position` tokens 0.
#[track_caller]
pub fn token_at(logits: &[f32], params: &SamplingParams, position: usize) -> TokenId {
    let checked = params.clone().check(logits.len()).unwrap();
    sample(logits, &checked, &vec![TokenId(0); position]).1.token
}

/// The share of each token that the sampler draws from, 0 for tokens that were cut.
pub fn shares(sampler: &Sampler, vocab_size: usize) -> Vec<f64> {
    let mut shares = vec![0.0; vocab_size];
    sampler
        .candidates()
        .for_each(|(token, share)| shares[token.index()] = share);
    shares
}

/// Generated logits with ties, forbidden tokens and large steps.
pub fn logits(most: usize) -> impl Strategy<Value = Vec<f32>> {
    let logit = prop_oneof![
        8 => -12.0f32..12.0,
        3 => (-3i32..4).prop_map(|x| x as f32),
        1 => Just(-0.0f32),
        1 => Just(f32::NEG_INFINITY),
    ];
    proptest::collection::vec(logit, 1..most)
}

/// Generated parameters of all kinds.
pub fn params(vocab_size: usize) -> impl Strategy<Value = SamplingParams> {
    let temperature = prop_oneof![1 => Just(0.0f32), 6 => 0.001f32..3.0];
    let top_k = prop_oneof![2 => Just(0usize), 3 => 0usize..80, 1 => Just(vocab_size), 1 => Just(usize::MAX)];
    let top_p = prop_oneof![1 => Just(1.0f32), 3 => 0.001f32..1.0, 1 => Just(f32::MIN_POSITIVE)];
    let min_p = prop_oneof![2 => Just(0.0f32), 1 => 0.0f32..=1.0, 1 => Just(1.0f32)];
    let bias = prop_oneof![4 => -5.0f32..5.0, 1 => Just(f32::NEG_INFINITY)];
    let bias = proptest::collection::vec(((0..vocab_size as u32).prop_map(TokenId), bias), 0..4);
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

/// Generated logits and parameters, and a text of tokens of the vocabulary, with the length of its prompt.
pub fn case(most: usize) -> impl Strategy<Value = (Vec<f32>, SamplingParams, Vec<TokenId>, usize)> {
    logits(most).prop_flat_map(|logits| {
        let vocab_size = logits.len();
        let text = proptest::collection::vec((0..vocab_size as u32).prop_map(TokenId), 1..20);
        let cut = any::<proptest::sample::Index>();
        (Just(logits), params(vocab_size), text, cut).prop_map(|(logits, params, text, cut)| {
            let cut = cut.index(text.len());
            (logits, params, text, cut)
        })
    })
}
