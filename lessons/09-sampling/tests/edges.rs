//! The edges of what may be asked and of what a model may give: each has one defined result.

mod common;

use common::{chosen, ids, kept, seeded, three, token_at};
use generation::GenerateError;
use sampling::select::top_k;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

#[test]
fn a_token_at_minus_infinity_is_never_drawn() {
    let logits = [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY];
    for params in [
        seeded(1),
        SamplingParams { top_k: 2, ..seeded(1) },
        SamplingParams {
            top_p: 0.99,
            ..seeded(1)
        },
        SamplingParams {
            temperature: 100.0,
            ..seeded(1)
        },
    ] {
        for position in 0..50 {
            assert_eq!(token_at(&logits, &params, position), TokenId(1));
        }
    }
}

#[test]
fn plus_infinity_is_certain() {
    let logits = [0.0, f32::INFINITY, 3.0, f32::INFINITY];
    let params = SamplingParams {
        logprobs: Some(3),
        temperature: 2.0,
        ..seeded(1)
    };
    let sampled = chosen(&logits, params.clone());
    assert_eq!((sampled.token, sampled.num_kept), (TokenId(1), 1));
    assert_eq!(sampled.logprob, Some(-2f32.ln()), "two share it");
    // It can be forbidden all the same.
    let forbidden = SamplingParams {
        logit_bias: vec![(TokenId(1), f32::NEG_INFINITY), (TokenId(3), f32::NEG_INFINITY)],
        top_k: 1,
        ..params
    };
    assert_eq!(chosen(&logits, forbidden).token, TokenId(2));
}

#[test]
fn a_logit_that_is_no_number_is_an_error() {
    for params in [
        SamplingParams::greedy(),
        seeded(1),
        SamplingParams { top_k: 1, ..seeded(1) },
    ] {
        let checked = params.check(3).unwrap();
        let found = Sampler::new().sample(&checked, &[], &[], &mut [0.0, f32::NAN, 1.0]);
        assert!(
            matches!(found, Err(GenerateError::NotANumber { token_id: 1 })),
            "{found:?}"
        );
        let found = Sampler::new().sample(&checked, &[], &[], &mut []);
        assert!(matches!(found, Err(GenerateError::NoLogits)), "{found:?}");
    }
}

#[test]
fn of_equal_tokens_the_lower_id_is_kept() {
    let logits = [1.0, 2.0, 2.0, 2.0, 2.0, 1.0];
    assert_eq!(kept(&logits, SamplingParams { top_k: 2, ..seeded(1) }), [1, 2]);
    assert_eq!(
        kept(
            &logits,
            SamplingParams {
                top_p: 0.3,
                ..seeded(1)
            }
        ),
        [1, 2]
    );
    assert_eq!(chosen(&logits, SamplingParams::greedy()).token, TokenId(1));
    assert_eq!(
        kept(&[0.0, -0.0, 0.0], SamplingParams { top_k: 2, ..seeded(1) }),
        [0, 1],
        "0 and -0 are equal"
    );
}

#[test]
fn the_edges_of_each_cut() {
    let logits = [1.0, 3.0, 2.0];
    let all = [0, 1, 2];
    for top_k in [0, 3, 4, usize::MAX] {
        assert_eq!(
            kept(&logits, SamplingParams { top_k, ..seeded(1) }),
            all,
            "top-k {top_k}"
        );
    }
    assert_eq!(kept(&logits, SamplingParams { top_k: 1, ..seeded(1) }), [1]);
    assert_eq!(
        kept(
            &logits,
            SamplingParams {
                top_p: 1.0,
                ..seeded(1)
            }
        ),
        all
    );
    assert_eq!(
        kept(
            &logits,
            SamplingParams {
                min_p: 1.0,
                ..seeded(1)
            }
        ),
        [1]
    );
    assert_eq!(
        kept(
            &[2.0, 2.0, 1.0],
            SamplingParams {
                min_p: 1.0,
                ..seeded(1)
            }
        ),
        [0, 1],
        "those that are as likely"
    );
    assert_eq!(kept(&[5.0], seeded(1)), [0], "a vocabulary of one");
    let mut none = vec![1, 2];
    top_k(&logits, 0, &mut none);
    assert!(none.is_empty());
}

/// Temperature, then top-p: a hot row keeps more. Top-k, then top-p: the share is of what top-k has left.
#[test]
fn the_cuts_come_in_the_order_that_is_written_down() {
    let hot = |temperature: f32| {
        kept(
            &three(),
            SamplingParams {
                temperature,
                top_p: 0.55,
                ..seeded(1)
            },
        )
        .len()
    };
    assert_eq!((hot(0.5), hot(100.0)), (1, 2));
    // Of 0.5 and 0.3 the first has 0.625, which is above 0.6; of all three it has 0.5, which is not.
    let two = SamplingParams {
        top_k: 2,
        top_p: 0.6,
        ..seeded(1)
    };
    assert_eq!(kept(&three(), two), [0]);
    // A bias comes before a penalty: 3 + 1 is divided by 2.
    let both = SamplingParams {
        logit_bias: vec![(TokenId(0), 1.0)],
        repetition_penalty: 2.0,
        ..SamplingParams::greedy()
    };
    let mut logits = [3.0, 0.0];
    Sampler::new()
        .sample(&both.check(2).unwrap(), &ids(&[0]), &[], &mut logits)
        .unwrap();
    assert_eq!(logits, [2.0, 0.0]);
}
