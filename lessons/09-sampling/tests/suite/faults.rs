//! Faults of real engines, each test named after the right behaviour.

use crate::common::{chosen, ids, kept, sample, seeded, three, token_at};
use sampling::exercises::{nucleus_len, softmax, uniform};
use sampling::{Sampler, SamplingParams};
use std::collections::BTreeSet;
use training::TokenId;

#[test]
fn top_p_keeps_the_token_that_crosses_the_threshold() {
    let top_p = |top_p: f32| kept(&three(), seeded(1).with(|p| p.top_p = top_p));
    assert_eq!(top_p(0.6), [0, 1], "0.5 is below 0.6, so the next token stays");
    assert_eq!(top_p(0.9), [0, 1, 2]);
    assert_eq!(top_p(0.4), [0]);
    assert_eq!(top_p(f32::MIN_POSITIVE), [0], "one token always stays");
    let exactly = nucleus_len(&[0.5, 0.25, 0.25], 1.0, 0.5);
    assert_eq!(exactly, 1, "the first token has exactly the share");
}

#[test]
fn temperature_zero_takes_the_likeliest_and_divides_nothing() {
    for zero in [0.0, -0.0] {
        let sampled = chosen(&[1.0, 3.0, 2.0], seeded(1).with(|p| p.temperature = zero));
        assert_eq!(
            (sampled.token, sampled.num_kept, sampled.fell_back),
            (TokenId(1), 1, false)
        );
    }
}

/// One sampler, and greedy rows between rows that are drawn: no row changes another.
#[test]
fn greedy_and_drawn_rows_of_a_batch_do_not_change_each_other() {
    let hot = seeded(3).with(|p| p.temperature = 5.0);
    let [greedy, checked] = [SamplingParams::greedy(), hot.clone()].map(|params| params.check(3).unwrap());
    let (logits, mut sampler) = ([1.0, 3.0, 2.0], Sampler::new());
    for position in 0..50 {
        let prompt = vec![TokenId(0); position];
        let mut row = logits;
        let sampled = sampler.sample(&greedy, &prompt, &[], &mut row).unwrap();
        assert_eq!((sampled.token, row), (TokenId(1), logits));
        let drawn = sampler.sample(&checked, &prompt, &[], &mut row).unwrap().token;
        assert_eq!(drawn, token_at(&logits, &hot, position));
    }
}

/// Presence and frequency count the output and not the prompt.
#[test]
fn penalties_keep_prompt_and_output_apart() {
    let params = SamplingParams::greedy().with(|p| (p.presence_penalty, p.frequency_penalty) = (1.0, 0.5));
    let params = params.check(3).unwrap();
    let after = |prompt: &[u32], output: &[u32]| {
        let mut logits = [3.0, 3.0, 3.0];
        let chosen = Sampler::new().sample(&params, &ids(prompt), &ids(output), &mut logits);
        chosen.unwrap();
        logits
    };
    assert_eq!(after(&[0, 0, 1], &[]), [3.0, 3.0, 3.0]);
    assert_eq!(after(&[], &[0, 0, 1]), [1.0, 1.5, 3.0]);
    assert_eq!(after(&[0, 2], &[0]), [1.5, 3.0, 3.0]);
}

#[test]
fn the_same_seed_gives_the_same_token_whatever_came_before() {
    let logits = [0.3, 0.1, 0.2, 0.0, 0.4];
    let alone: Vec<TokenId> = (0..40)
        .map(|position| token_at(&logits, &seeded(7), position))
        .collect();
    let (mine, mut sampler) = (seeded(7).check(5).unwrap(), Sampler::new());
    for position in (0..40).rev() {
        // Other requests draw in between, and each position is drawn twice.
        for seed in 0..position as u64 % 4 {
            let other = seeded(seed).with(|p| p.top_p = 0.5).check(3).unwrap();
            let drawn = sampler.sample(&other, &ids(&[1, 2]), &[], &mut [0.0, 1.0, 2.0]);
            drawn.unwrap();
        }
        for _ in 0..2 {
            // A position counts from the beginning of the text, so the length of the prompt does not matter.
            let text = vec![TokenId(0); position];
            let (prompt, output) = text.split_at(position / 2);
            let sampled = sampler.sample(&mine, prompt, output, &mut logits.clone());
            assert_eq!(sampled.unwrap().token, alone[position], "position {position}");
        }
    }
}

/// A text that was noted with its seed comes again after years. The numbers are from another implementation, in Python.
#[test]
fn the_numbers_of_a_seed_stay_what_they_are() {
    for (seed, answer, position, expected) in [
        (0, 0, 0, 0.13870941014555427),
        (42, 0, 1, 0.7129353372857994),
        (42, 1, 0, 0.577125795355946),
        (u64::MAX, u32::MAX, u64::MAX, 0.5651237677618718),
    ] {
        assert_eq!(uniform(seed, answer, position), expected);
    }
}

#[test]
fn two_addresses_draw_two_tokens() {
    let even = [0.0; 1000];
    let positions: BTreeSet<TokenId> = (0..20).map(|position| token_at(&even, &seeded(5), position)).collect();
    assert!(positions.len() > 15, "20 positions drew only {positions:?}");
    // The same numbers in other roles.
    let addresses = [(1, 2, 3), (2, 1, 3), (3, 2, 1), (1, 3, 2), (2, 3, 1)];
    let draw = |(seed, answer, position)| token_at(&even, &seeded(seed).with(|p| p.answer = answer), position);
    assert_eq!(BTreeSet::from(addresses.map(draw)).len(), addresses.len());
}

#[test]
fn the_maximum_is_subtracted_before_any_power() {
    for (logits, temperature) in [
        ([1000.0, 999.0, 0.0], 1.0),
        ([20.0, 19.0, 0.0], 0.01),
        ([-1000.0, -1001.0, -5000.0], 1.0),
        ([f32::MAX, 0.0, f32::MIN], 1.0),
    ] {
        let mut shares = [0.0; 3];
        softmax(&logits, temperature, &mut shares);
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{shares:?}");
        assert!(shares[0] > shares[2]);
    }
}

#[test]
fn the_likeliest_are_kept_not_the_least_likely() {
    let logits = [0.0, 5.0, 1.0, 4.0];
    assert_eq!(kept(&logits, seeded(1).with(|p| p.top_k = 2)), [1, 3]);
    assert_eq!(kept(&logits, seeded(1).with(|p| p.top_p = 0.5)), [1]);
    assert_eq!(kept(&logits, seeded(1).with(|p| p.min_p = 0.1)), [1, 3]);
}

#[test]
fn a_row_that_is_all_masked_falls_back_to_the_models_own_likeliest() {
    let forbid = |tokens: &[u32]| {
        let bias = ids(tokens).into_iter().map(|token| (token, f32::NEG_INFINITY));
        seeded(1).with(|p| p.logit_bias = bias.collect())
    };
    let sampled = chosen(&[1.0, 3.0, 2.0], forbid(&[0, 1, 2]));
    assert_eq!((sampled.token, sampled.fell_back), (TokenId(1), true));
    let sampled = chosen(&[1.0, 3.0, 2.0], forbid(&[1, 2]));
    assert_eq!((sampled.token, sampled.fell_back), (TokenId(0), false));
    // A row of -inf has no likeliest token: the lowest id is taken.
    let sampled = chosen(&[f32::NEG_INFINITY; 3], seeded(1));
    assert_eq!((sampled.token, sampled.fell_back), (TokenId(0), true));
}

/// The log probabilities of one request are not reported for the next one.
#[test]
fn logprobs_are_reported_for_the_request_that_asks() {
    let [with, without] = [Some(2), None].map(|count| seeded(1).with(|p| p.logprobs = count).check(3).unwrap());
    let (mut sampler, sampled) = sample(&[1.0, 2.0, 3.0], &with, &[]);
    assert!(sampled.logprob.is_some() && sampler.logprobs().len() == 2);
    let sampled = sampler.sample(&without, &[], &[], &mut [1.0, 2.0, 3.0]).unwrap();
    assert!(sampled.logprob.is_none() && sampler.logprobs().is_empty());
}
