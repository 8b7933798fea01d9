//! Which parameters are refused, and the texts of the refusals.

use sampling::params::{LEAST_TEMPERATURE, MOST_TEMPERATURE};
use sampling::{SamplingError, SamplingParams};
use training::TokenId;

#[track_caller]
fn refusal(change: impl FnOnce(&mut SamplingParams)) -> SamplingError {
    SamplingParams::default().with(change).check(2048).unwrap_err()
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
    insta::assert_snapshot!(refusals.map(|refusal| refusal.to_string()).join("\n"));
}

/// Every comparison with NaN is false, so a check for forbidden values would let it pass.
#[test]
fn nan_is_refused_everywhere() {
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
fn a_temperature_outside_of_its_range_is_refused() {
    let denormal = f32::from_bits(1);
    for found in [
        -1.0,
        -f32::MIN_POSITIVE,
        f32::INFINITY,
        f32::NEG_INFINITY,
        denormal,
        1e-4,
        101.0,
    ] {
        refusal(|p| p.temperature = found);
    }
}

#[test]
fn values_at_the_limits_are_allowed() {
    let allowed = |change: fn(&mut SamplingParams)| {
        let params = SamplingParams::default().with(change);
        assert!(params.clone().check(2048).is_ok(), "{params:?}");
    };
    allowed(|p| p.temperature = -0.0);
    allowed(|p| p.temperature = LEAST_TEMPERATURE);
    allowed(|p| p.temperature = MOST_TEMPERATURE);
    allowed(|p| (p.top_p, p.min_p, p.top_k) = (f32::MIN_POSITIVE, 1.0, usize::MAX));
    allowed(|p| (p.presence_penalty, p.frequency_penalty) = (-2.0, 2.0));
    allowed(|p| p.logit_bias = vec![(TokenId(2047), f32::NEG_INFINITY), (TokenId(0), 100.0)]);
    allowed(|p| (p.logprobs, p.stop) = (Some(20), vec!["x".to_owned(); 16]));
}
