//! Frequent draws follow the shares. The seeds are fixed, so the outcome is the same in every run.
//!
//! The statistic is Pearson's: the squared distance of found and expected count, divided by the expected count, summed
//! over all tokens. With `f` degrees of freedom its mean is `f` and its variance `2 f`. The threshold is the mean plus
//! four deviations: one of some ten thousand right samplers would be above it, and a sampler that is wrong by a few per
//! cent in one token is far above it.

use crate::common::{seeded, shares, token_at};
use sampling::counted::made_up_logits;
use sampling::exercises::uniform;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

const DRAWS: usize = 40_000;

/// The statistic, and its threshold.
fn chi_square(counts: &[usize], shares: &[f64]) -> (f64, f64) {
    let draws: usize = counts.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0);
    let mut add = |found: f64, expected: f64| {
        statistic += (found - expected).powi(2) / expected;
        cells += 1;
    };
    // The test asks for cells of at least five: smaller ones are put together.
    let (mut rest_found, mut rest_expected) = (0.0, 0.0);
    for (found, share) in counts.iter().zip(shares) {
        let (found, expected) = (*found as f64, share * draws as f64);
        if expected >= 5.0 {
            add(found, expected);
        } else {
            rest_found += found;
            rest_expected += expected;
        }
    }
    if rest_expected >= 5.0 {
        add(rest_found, rest_expected);
    }
    let freedom = f64::from(cells - 1);
    (statistic, freedom + 4.0 * (2.0 * freedom).sqrt())
}

#[track_caller]
fn expect_distribution(what: &str, counts: &[usize], shares: &[f64]) {
    let (statistic, threshold) = chi_square(counts, shares);
    assert!(
        statistic < threshold,
        "{what}: chi-square {statistic:.1}, below {threshold:.1} expected"
    );
}

/// Draws at the positions 0, 1, 2, …, and compares with the shares that the sampler draws from.
#[track_caller]
fn drawn_follows_the_shares(what: &str, logits: &[f32], params: SamplingParams) {
    let checked = params.check(logits.len()).unwrap();
    let (mut sampler, mut counts) = (Sampler::new(), vec![0; logits.len()]);
    let prompt = vec![TokenId(0); DRAWS];
    for position in 0..DRAWS {
        let sampled = sampler.sample(&checked, &prompt[..position], &[], &mut logits.to_vec());
        counts[sampled.unwrap().token.index()] += 1;
    }
    let shares = shares(&sampler, logits.len());
    let drawn = |id: &usize| shares[*id] == 0.0 && counts[*id] > 0;
    assert_eq!((0..logits.len()).find(drawn), None, "{what}: a token was cut and drawn");
    expect_distribution(what, &counts, &shares);
}

const SMALL: [f32; 5] = [1.0, 0.0, 2.0, -1.0, 0.5];

#[test]
fn drawn_tokens_follow_their_shares() {
    drawn_follows_the_shares("five tokens", &SMALL, seeded(1));
    let cold = seeded(2).with(|p| p.temperature = 0.5);
    drawn_follows_the_shares("at temperature 0.5", &SMALL, cold);
    let large = made_up_logits(200, 3);
    drawn_follows_the_shares("200 tokens", &large, seeded(4));
    let cut = seeded(5).with(|p| (p.top_k, p.top_p, p.min_p, p.temperature) = (40, 0.9, 0.02, 1.3));
    drawn_follows_the_shares("200 tokens, cut", &large, cut);
    let nucleus = seeded(6).with(|p| (p.top_p, p.temperature) = (0.95, 1.5));
    drawn_follows_the_shares("200 tokens, top-p alone", &large, nucleus);
}

/// The shares are the same if one request draws many times, and if many requests or answers draw once.
#[test]
fn seeds_and_answers_draw_as_positions_do() {
    let powers = SMALL.map(|logit| f64::from(logit).exp());
    let shares = powers.map(|power| power / powers.iter().sum::<f64>());
    let expect = |what: &str, params: &dyn Fn(u64) -> SamplingParams| {
        let mut counts = [0; 5];
        (0..DRAWS as u64).for_each(|i| counts[token_at(&SMALL, &params(i), 7).index()] += 1);
        expect_distribution(what, &counts, &shares);
    };
    expect("one draw for each seed", &seeded);
    expect("one draw for each answer", &|i| seeded(9).with(|p| p.answer = i as u32));
}

/// A hundred cells of the unit interval, and pairs of neighbours in ten by ten cells: a number tells nothing about the
/// next one.
#[test]
fn numbers_are_even_and_neighbours_are_independent() {
    for (what, number) in [
        ("positions", &(|i| uniform(1, 0, i)) as &dyn Fn(u64) -> f64),
        ("answers", &|i| uniform(1, i as u32, 0)),
        ("seeds", &|i| uniform(i, 0, 0)),
    ] {
        let (mut single, mut pairs) = ([0; 100], [0; 100]);
        for i in 0..100_000 {
            let (a, b) = (number(i), number(i + 1));
            single[(a * 100.0) as usize] += 1;
            pairs[(a * 10.0) as usize * 10 + (b * 10.0) as usize] += usize::from(i % 2 == 0);
        }
        expect_distribution(what, &single, &[0.01; 100]);
        expect_distribution(&format!("pairs of {what}"), &pairs, &[0.01; 100]);
    }
}

/// The statistic finds a sampler that moves a twentieth of a token's share to another.
#[test]
fn a_sampler_that_is_wrong_by_a_little_is_found() {
    let (statistic, threshold) = chi_square(&[10_500, 9_500, 10_000, 10_000], &[0.25; 4]);
    assert!(statistic > threshold);
}
