//! What is refused, and in which words.

use sampling::{SamplingError, SamplingParams};
use training::TokenId;

fn refusal(change: impl FnOnce(&mut SamplingParams)) -> SamplingError {
    let mut params = SamplingParams::default();
    change(&mut params);
    params.check(2048).unwrap_err()
}

#[test]
fn texts_of_refusals() {
    let refusals = [
        refusal(|p| p.temperature = -0.5),
        refusal(|p| p.temperature = f32::NAN),
        refusal(|p| p.top_p = 0.0),
        refusal(|p| p.min_p = 1.5),
        refusal(|p| p.repetition_penalty = 0.0),
        refusal(|p| p.presence_penalty = 3.0),
        refusal(|p| p.frequency_penalty = f32::INFINITY),
        refusal(|p| p.logit_bias = vec![(TokenId(3), 1000.0)]),
        refusal(|p| p.logit_bias = vec![(TokenId(2048), 1.0)]),
        refusal(|p| p.stop_ids = vec![TokenId(9999)]),
        refusal(|p| p.logprobs = Some(21)),
        refusal(|p| p.stop = vec!["x".to_owned(); 17]),
        refusal(|p| p.stop = vec!["x".to_owned(), String::new()]),
    ];
    let texts: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

/// A comparison with NaN is false, so a check by what is forbidden would let it pass.
#[test]
fn no_number_passes_nowhere() {
    let nan = f32::NAN;
    refusal(|p| p.temperature = nan);
    refusal(|p| p.top_p = nan);
    refusal(|p| p.min_p = nan);
    refusal(|p| p.repetition_penalty = nan);
    refusal(|p| p.presence_penalty = nan);
    refusal(|p| p.frequency_penalty = nan);
    refusal(|p| p.logit_bias = vec![(TokenId(0), nan)]);
}

#[test]
fn what_is_at_the_limit_is_allowed() {
    for params in [
        SamplingParams {
            temperature: sampling::params::LEAST_TEMPERATURE,
            ..SamplingParams::default()
        },
        SamplingParams {
            temperature: sampling::params::MOST_TEMPERATURE,
            ..SamplingParams::default()
        },
        SamplingParams {
            top_p: f32::MIN_POSITIVE,
            min_p: 1.0,
            top_k: usize::MAX,
            ..SamplingParams::default()
        },
        SamplingParams {
            presence_penalty: -2.0,
            frequency_penalty: 2.0,
            ..SamplingParams::default()
        },
        SamplingParams {
            logit_bias: vec![(TokenId(2047), f32::NEG_INFINITY), (TokenId(0), 100.0)],
            ..SamplingParams::default()
        },
        SamplingParams {
            logprobs: Some(20),
            stop: vec!["x".to_owned(); 16],
            ..SamplingParams::default()
        },
    ] {
        assert!(params.clone().check(2048).is_ok(), "{params:?}");
    }
}
