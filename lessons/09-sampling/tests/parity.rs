//! The sampler that selects gives the token of the sampler that sorts, for all parameters.

use proptest::prelude::*;
use sampling::{Sampler, SamplingParams, full_sort};
use training::TokenId;

/// Logits with ties, forbidden tokens and large steps.
fn logits() -> impl Strategy<Value = Vec<f32>> {
    let logit = prop_oneof![
        8 => -12.0f32..12.0,
        3 => (-3i32..4).prop_map(|x| x as f32),
        1 => Just(f32::NEG_INFINITY),
    ];
    proptest::collection::vec(logit, 1..400)
}

fn params(vocab_size: usize) -> impl Strategy<Value = SamplingParams> {
    let temperature = prop_oneof![1 => Just(0.0f32), 6 => 0.001f32..3.0];
    let top_k = prop_oneof![2 => Just(0usize), 3 => 0usize..80, 1 => Just(vocab_size)];
    let top_p = prop_oneof![1 => Just(1.0f32), 3 => 0.001f32..1.0];
    let min_p = prop_oneof![2 => Just(0.0f32), 1 => 0.0f32..=1.0];
    let token = (0..vocab_size as u32).prop_map(TokenId);
    let bias = prop_oneof![4 => -5.0f32..5.0, 1 => Just(f32::NEG_INFINITY)];
    let bias = proptest::collection::vec((token, bias), 0..4);
    let penalties = prop_oneof![
        Just((1.0f32, 0.0f32, 0.0f32)),
        (0.5f32..2.0, -2.0f32..2.0, -2.0f32..2.0)
    ];
    (
        temperature,
        top_k,
        top_p,
        min_p,
        bias,
        penalties,
        any::<u64>(),
    )
        .prop_map(
            |(temperature, top_k, top_p, min_p, logit_bias, penalties, seed)| SamplingParams {
                temperature,
                top_k,
                top_p,
                min_p,
                logit_bias,
                repetition_penalty: penalties.0,
                presence_penalty: penalties.1,
                frequency_penalty: penalties.2,
                seed,
                ..SamplingParams::default()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    #[test]
    fn selecting_gives_the_token_that_sorting_gives(
        (logits, params, text) in logits().prop_flat_map(|logits| {
            let vocab_size = logits.len();
            let text = proptest::collection::vec(0..vocab_size as u32, 1..20);
            (Just(logits), params(vocab_size), text)
        })
    ) {
        let text: Vec<TokenId> = text.into_iter().map(TokenId).collect();
        let (prompt, output) = text.split_at(text.len().div_ceil(2));
        let params = params.check(logits.len()).unwrap();
        let mut sampler = Sampler::new();
        for _ in 0..2 {
            // The second time the scratch is full of what the first one left.
            let fast = sampler.sample(&params, prompt, output, &mut logits.clone()).unwrap();
            let slow = full_sort::sample(&params, prompt, output, &mut logits.clone()).unwrap();
            prop_assert_eq!(fast.token, slow);
        }
    }
}
