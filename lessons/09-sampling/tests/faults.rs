//! Faults that real engines had, each by the name of the right behaviour.

mod common;

use common::{chosen, ids, kept, seeded, three, token_at};
use sampling::nucleus::nucleus_len;
use sampling::penalty::{Seen, penalize};
use sampling::random::uniform;
use sampling::softmax::softmax;
use sampling::{Sampler, SamplingError, SamplingParams};
use training::TokenId;

#[test]
fn top_p_keeps_the_token_that_crosses_the_threshold() {
    let top_p = |top_p: f32| kept(&three(), SamplingParams { top_p, ..seeded(1) });
    assert_eq!(top_p(0.6), [0, 1], "0.5 is below 0.6, so the next one stays");
    assert_eq!(top_p(0.9), [0, 1, 2]);
    assert_eq!(top_p(0.4), [0]);
    assert_eq!(top_p(f32::MIN_POSITIVE), [0], "one is always left");
    // Exactly on the border: the first has the share already.
    assert_eq!(nucleus_len(&[0.5, 0.25, 0.25], 1.0, 0.5), 1);
}

#[test]
fn temperature_zero_takes_the_likeliest_and_divides_nothing() {
    let sampled = chosen(&[1.0, 3.0, 2.0], SamplingParams::greedy());
    assert_eq!((sampled.token, sampled.num_kept), (TokenId(1), 1));
    assert!(!sampled.fell_back);
}

/// One sampler, and greedy rows between rows that are drawn: neither leaves anything for the other.
#[test]
fn greedy_rows_of_a_mixed_batch_stay_as_they_are() {
    let (greedy, hot) = (
        SamplingParams::greedy().check(3).unwrap(),
        SamplingParams {
            temperature: 5.0,
            ..seeded(3)
        }
        .check(3)
        .unwrap(),
    );
    let (logits, mut sampler) = ([1.0, 3.0, 2.0], Sampler::new());
    for position in 0..50 {
        let prompt = vec![TokenId(0); position];
        let mut row = logits;
        let sampled = sampler.sample(&greedy, &prompt, &[], &mut row).unwrap();
        assert_eq!((sampled.token, row), (TokenId(1), logits));
        let mut row = logits;
        let drawn = sampler.sample(&hot, &prompt, &[], &mut row).unwrap().token;
        assert_eq!(drawn, token_at(&logits, &hot, position));
    }
}

#[test]
fn a_temperature_that_is_no_temperature_is_refused() {
    let denormal = f32::from_bits(1);
    for found in [
        f32::NAN,
        -1.0,
        -f32::MIN_POSITIVE,
        f32::INFINITY,
        f32::NEG_INFINITY,
        denormal,
        1e-4,
        101.0,
    ] {
        let params = SamplingParams {
            temperature: found,
            ..SamplingParams::default()
        };
        let refused = params.check(4);
        assert!(
            matches!(refused, Err(SamplingError::Temperature { .. })),
            "{found}: {refused:?}"
        );
    }
    // Minus zero is zero.
    let params = SamplingParams {
        temperature: -0.0,
        ..SamplingParams::default()
    };
    assert_eq!(chosen(&[1.0, 2.0], params).token, TokenId(1));
}

#[test]
fn a_repetition_penalty_lowers_negative_logits_too() {
    let params = SamplingParams {
        repetition_penalty: 2.0,
        ..SamplingParams::default()
    };
    let seen = Seen {
        in_prompt: true,
        in_output: 0,
    };
    assert_eq!(penalize(4.0, seen, &params), 2.0);
    assert_eq!(penalize(-4.0, seen, &params), -8.0);
    assert_eq!(penalize(0.0, seen, &params), 0.0);
}

/// Presence and frequency count the answer, not the question.
#[test]
fn penalties_keep_prompt_and_output_apart() {
    let params = SamplingParams {
        temperature: 0.0,
        presence_penalty: 1.0,
        frequency_penalty: 0.5,
        ..SamplingParams::default()
    };
    let params = params.check(3).unwrap();
    let after = |prompt: &[u32], output: &[u32]| {
        let mut logits = [3.0, 3.0, 3.0];
        let mut sampler = Sampler::new();
        sampler
            .sample(&params, &ids(prompt), &ids(output), &mut logits)
            .unwrap();
        logits
    };
    assert_eq!(after(&[0, 0, 1], &[]), [3.0, 3.0, 3.0]);
    assert_eq!(after(&[], &[0, 0, 1]), [1.0, 1.5, 3.0]);
    assert_eq!(after(&[0, 2], &[0]), [1.5, 3.0, 3.0]);
}

/// Whoever was served before, in whatever order.
#[test]
fn the_same_seed_gives_the_same_token_whatever_came_before() {
    let logits = [0.3, 0.1, 0.2, 0.0, 0.4];
    let alone: Vec<TokenId> = (0..40)
        .map(|position| token_at(&logits, &seeded(7), position))
        .collect();
    let mut sampler = Sampler::new();
    let mine = seeded(7).check(5).unwrap();
    for position in (0..40).rev() {
        // Strangers draw in between, and one computes a position a second time.
        for stranger in 0..position as u64 % 4 {
            let theirs = SamplingParams {
                top_p: 0.5,
                ..seeded(stranger)
            };
            let theirs = theirs.check(3).unwrap();
            sampler
                .sample(&theirs, &ids(&[1, 2]), &[], &mut [0.0, 1.0, 2.0])
                .unwrap();
        }
        for _ in 0..2 {
            // Where the prompt ends does not matter: a position is a place in the text.
            let text = vec![TokenId(0); position];
            let (prompt, output) = text.split_at(position / 2);
            let sampled = sampler.sample(&mine, prompt, output, &mut logits.clone());
            assert_eq!(sampled.unwrap().token, alone[position], "position {position}");
        }
    }
}

/// The numbers themselves, so that a text that was noted with its seed comes again after years. Computed with another implementation (Python).
#[test]
fn the_numbers_of_a_seed_stay_what_they_are() {
    let found = [(0, 0, 0), (42, 0, 1), (42, 1, 0), (u64::MAX, u32::MAX, u64::MAX)]
        .map(|(seed, answer, position)| uniform(seed, answer, position));
    assert_eq!(
        found,
        [
            0.13870941014555427,
            0.7129353372857994,
            0.577125795355946,
            0.5651237677618718
        ]
    );
}

#[test]
fn two_draws_are_two_numbers() {
    let numbers: Vec<f64> = (0..100).map(|position| uniform(5, 0, position)).collect();
    let distinct: std::collections::BTreeSet<u64> = numbers.iter().map(|n| n.to_bits()).collect();
    assert_eq!(distinct.len(), 100);
    let even = [0.0; 1000];
    let tokens: std::collections::BTreeSet<TokenId> =
        (0..20).map(|position| token_at(&even, &seeded(5), position)).collect();
    assert!(tokens.len() > 15, "{tokens:?}");
}

#[test]
fn seed_answer_and_position_are_three_things() {
    let even = [0.0; 1_000];
    let draw =
        |seed: u64, answer: u32, position: usize| token_at(&even, &SamplingParams { answer, ..seeded(seed) }, position);
    let differ = [
        draw(1, 2, 3),
        draw(2, 1, 3),
        draw(3, 2, 1),
        draw(1, 3, 2),
        draw(2, 3, 1),
    ];
    let distinct: std::collections::BTreeSet<TokenId> = differ.into_iter().collect();
    assert_eq!(distinct.len(), differ.len(), "{differ:?}");
}

#[test]
fn the_maximum_is_subtracted_before_any_power() {
    for (logits, temperature) in [
        (vec![1000.0, 999.0, 0.0], 1.0),
        (vec![20.0, 19.0, 0.0], 0.01),
        (vec![-1000.0, -1001.0, -5000.0], 1.0),
        (vec![f32::MAX, 0.0, f32::MIN], 1.0),
    ] {
        let mut shares = vec![0.0; logits.len()];
        softmax(&logits, temperature, &mut shares);
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{shares:?}");
        assert!(shares[0] > shares[2]);
    }
}

#[test]
fn the_likeliest_are_kept_not_the_least_likely() {
    let logits = [0.0, 5.0, 1.0, 4.0];
    assert_eq!(kept(&logits, SamplingParams { top_k: 2, ..seeded(1) }), [1, 3]);
    assert_eq!(
        kept(
            &logits,
            SamplingParams {
                top_p: 0.5,
                ..seeded(1)
            }
        ),
        [1]
    );
    assert_eq!(
        kept(
            &logits,
            SamplingParams {
                min_p: 0.1,
                ..seeded(1)
            }
        ),
        [1, 3]
    );
}

/// A mask that forbids everything costs the answer nothing but its mask.
#[test]
fn a_row_that_is_all_masked_falls_back_to_the_models_own_likeliest() {
    let forbid = |tokens: &[u32]| SamplingParams {
        logit_bias: tokens.iter().map(|id| (TokenId(*id), f32::NEG_INFINITY)).collect(),
        ..seeded(1)
    };
    let sampled = chosen(&[1.0, 3.0, 2.0], forbid(&[0, 1, 2]));
    assert_eq!((sampled.token, sampled.fell_back), (TokenId(1), true));
    let sampled = chosen(&[1.0, 3.0, 2.0], forbid(&[1, 2]));
    assert_eq!((sampled.token, sampled.fell_back), (TokenId(0), false));
    // A model that gives nothing has no likeliest token; the first one is as good as any.
    let sampled = chosen(&[f32::NEG_INFINITY; 3], seeded(1));
    assert_eq!((sampled.token, sampled.fell_back), (TokenId(0), true));
}
