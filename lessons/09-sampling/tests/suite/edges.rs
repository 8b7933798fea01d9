//! The limits of what a request may ask for and of what a model may give: each has one defined result.

use crate::common::{chosen, ids, kept, seeded, three, token_at};
use generation::GenerateError;
use sampling::exercises::top_k;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

#[test]
fn a_token_at_minus_infinity_is_never_drawn() {
    let logits = [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY];
    for params in [
        seeded(1),
        seeded(1).with(|p| p.top_k = 2),
        seeded(1).with(|p| p.top_p = 0.99),
        seeded(1).with(|p| p.temperature = 100.0),
    ] {
        for position in 0..50 {
            assert_eq!(token_at(&logits, &params, position), TokenId(1));
        }
    }
}

#[test]
fn plus_infinity_is_certain() {
    let logits = [0.0, f32::INFINITY, 3.0, f32::INFINITY];
    let params = seeded(1).with(|p| (p.logprobs, p.temperature) = (Some(3), 2.0));
    let sampled = chosen(&logits, params.clone());
    assert_eq!((sampled.token, sampled.num_kept), (TokenId(1), 1));
    assert_eq!(sampled.logprob, Some(-2f32.ln()), "two tokens share everything");
    // A bias can forbid it all the same.
    let forbidden = [1, 3].map(|id| (TokenId(id), f32::NEG_INFINITY)).to_vec();
    let forbidden = params.with(|p| (p.logit_bias, p.top_k) = (forbidden, 1));
    assert_eq!(chosen(&logits, forbidden).token, TokenId(2));
}

#[test]
fn a_nan_logit_is_an_error() {
    for params in [SamplingParams::greedy(), seeded(1), seeded(1).with(|p| p.top_k = 1)] {
        let checked = params.check(3).unwrap();
        let found = Sampler::new().sample(&checked, &[], &[], &mut [0.0, f32::NAN, 1.0]);
        let expected = matches!(found, Err(GenerateError::NotANumber { token_id: 1 }));
        assert!(expected, "{found:?}");
        let found = Sampler::new().sample(&checked, &[], &[], &mut []);
        assert!(matches!(found, Err(GenerateError::NoLogits)), "{found:?}");
    }
}

#[test]
fn of_equal_tokens_the_lower_id_is_kept() {
    let logits = [1.0, 2.0, 2.0, 2.0, 2.0, 1.0];
    assert_eq!(kept(&logits, seeded(1).with(|p| p.top_k = 2)), [1, 2]);
    assert_eq!(kept(&logits, seeded(1).with(|p| p.top_p = 0.3)), [1, 2]);
    assert_eq!(chosen(&logits, SamplingParams::greedy()).token, TokenId(1));
    let zeros = kept(&[0.0, -0.0, 0.0], seeded(1).with(|p| p.top_k = 2));
    assert_eq!(zeros, [0, 1], "0 and -0 are equal");
}

#[test]
fn the_edges_of_each_cut() {
    let (logits, all) = ([1.0, 3.0, 2.0], [0, 1, 2]);
    for top_k in [0, 3, 4, usize::MAX] {
        assert_eq!(kept(&logits, seeded(1).with(|p| p.top_k = top_k)), all, "top-k {top_k}");
    }
    assert_eq!(kept(&logits, seeded(1).with(|p| p.top_k = 1)), [1]);
    assert_eq!(kept(&logits, seeded(1).with(|p| p.top_p = 1.0)), all);
    assert_eq!(kept(&logits, seeded(1).with(|p| p.min_p = 1.0)), [1]);
    let equals = kept(&[2.0, 2.0, 1.0], seeded(1).with(|p| p.min_p = 1.0));
    assert_eq!(equals, [0, 1], "equals of the likeliest stay");
    assert_eq!(kept(&[5.0], seeded(1)), [0], "a vocabulary of one");
    let mut none = vec![1, 2];
    top_k(&logits, 0, &mut none);
    assert!(none.is_empty());
}

#[test]
fn the_cuts_come_in_the_documented_order() {
    // Temperature, then top-p: a higher temperature keeps more.
    let num_kept = |temperature| {
        kept(
            &three(),
            seeded(1).with(|p| (p.temperature, p.top_p) = (temperature, 0.55)),
        )
        .len()
    };
    assert_eq!((num_kept(0.5), num_kept(100.0)), (1, 2));
    // Top-k, then top-p: of 0.5 and 0.3 the first has 0.625, which is above 0.6; of all three it has 0.5, which is not.
    assert_eq!(kept(&three(), seeded(1).with(|p| (p.top_k, p.top_p) = (2, 0.6))), [0]);
    // A bias, then a penalty: 3 + 1 is divided by 2.
    let bias = vec![(TokenId(0), 1.0)];
    let both = SamplingParams::greedy().with(|p| (p.logit_bias, p.repetition_penalty) = (bias, 2.0));
    let (both, mut logits) = (both.check(2).unwrap(), [3.0, 0.0]);
    Sampler::new().sample(&both, &ids(&[0]), &[], &mut logits).unwrap();
    assert_eq!(logits, [2.0, 0.0]);
}
