//! What is drawn often enough follows the shares. Seeds are fixed, so a run that passes always passes.
//!
//! The statistic of Pearson: over all tokens, the squared distance of found and expected count, divided by the expected one. With `f` degrees of
//! freedom its mean is `f` and its variance `2 f`. The threshold is the mean and four deviations: one in some ten thousand right samplers would be
//! above it, and a sampler that is wrong by a few per cent in one token is far above.

mod common;

use common::{seeded, token_at};
use sampling::counted::made_up_logits;
use sampling::random::uniform;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

const DRAWS: usize = 40_000;

/// The statistic, and its degrees of freedom.
fn chi_square(counts: &[usize], shares: &[f64]) -> (f64, usize) {
    let draws: usize = counts.iter().sum();
    let expected = shares.iter().map(|share| share * draws as f64);
    let mut statistic = 0.0;
    let mut cells = 0;
    // Cells that expect fewer than five are put together, as the test asks for.
    let (mut rest_found, mut rest_expected) = (0.0, 0.0);
    for (found, expected) in counts.iter().zip(expected) {
        if expected < 5.0 {
            rest_found += *found as f64;
            rest_expected += expected;
        } else {
            statistic += (*found as f64 - expected).powi(2) / expected;
            cells += 1;
        }
    }
    if rest_expected >= 5.0 {
        statistic += (rest_found - rest_expected).powi(2) / rest_expected;
        cells += 1;
    }
    (statistic, cells - 1)
}

#[track_caller]
fn expect_distribution(what: &str, counts: &[usize], shares: &[f64]) {
    let (statistic, freedom) = chi_square(counts, shares);
    let threshold = freedom as f64 + 4.0 * (2.0 * freedom as f64).sqrt();
    assert!(
        statistic < threshold,
        "{what}: chi-square {statistic:.1} with {freedom} degrees of freedom, at most {threshold:.1} expected"
    );
}

/// Draws at the positions 0, 1, 2, …, and compares with what the sampler says that it draws from.
#[track_caller]
fn drawn_follows_the_shares(what: &str, logits: &[f32], params: SamplingParams) {
    let checked = params.check(logits.len()).unwrap();
    let mut sampler = Sampler::new();
    let mut counts = vec![0; logits.len()];
    let prompt = vec![TokenId(0); DRAWS];
    for position in 0..DRAWS {
        let sampled = sampler.sample(&checked, &prompt[..position], &[], &mut logits.to_vec());
        counts[sampled.unwrap().token.index()] += 1;
    }
    let mut shares = vec![0.0; logits.len()];
    sampler
        .candidates()
        .for_each(|(token, share)| shares[token.index()] = share);
    for (id, share) in shares.iter().enumerate() {
        assert!(*share > 0.0 || counts[id] == 0, "{what}: {id} was cut and drawn");
    }
    expect_distribution(what, &counts, &shares);
}

#[test]
fn drawn_tokens_follow_their_shares() {
    let small = [1.0, 0.0, 2.0, -1.0, 0.5];
    drawn_follows_the_shares("five tokens", &small, seeded(1));
    let cold = SamplingParams {
        temperature: 0.5,
        ..seeded(2)
    };
    drawn_follows_the_shares("at temperature 0.5", &small, cold);
    let large = made_up_logits(200, 3);
    drawn_follows_the_shares("200 tokens", &large, seeded(4));
    let cut = SamplingParams {
        top_k: 40,
        top_p: 0.9,
        min_p: 0.02,
        temperature: 1.3,
        ..seeded(5)
    };
    drawn_follows_the_shares("200 tokens, cut", &large, cut);
    let nucleus = SamplingParams {
        top_p: 0.95,
        temperature: 1.5,
        ..seeded(6)
    };
    drawn_follows_the_shares("200 tokens, top-p alone", &large, nucleus);
}

/// The same shares whether one request draws on and on, or many requests or answers draw once.
#[test]
fn seeds_and_answers_draw_as_positions_do() {
    let logits = [1.0, 0.0, 2.0, -1.0, 0.5];
    let powers: Vec<f64> = logits.iter().map(|logit| f64::from(*logit).exp()).collect();
    let shares: Vec<f64> = powers.iter().map(|power| power / powers.iter().sum::<f64>()).collect();
    let counted = |of: &dyn Fn(u64) -> TokenId| {
        let mut counts = [0; 5];
        (0..DRAWS as u64).for_each(|i| counts[of(i).index()] += 1);
        counts
    };
    let by_seed = counted(&|i| token_at(&logits, &seeded(i), 7));
    expect_distribution("one draw for each seed", &by_seed, &shares);
    let answer = |i: u64| SamplingParams {
        answer: i as u32,
        ..seeded(9)
    };
    let by_answer = counted(&|i| token_at(&logits, &answer(i), 7));
    expect_distribution("one draw for each answer", &by_answer, &shares);
}

/// A hundred cells of the unit interval, and pairs of neighbours in ten by ten: no neighbour says anything of the next one.
#[test]
fn numbers_are_even_and_neighbours_are_strangers() {
    for (what, number) in [
        ("positions", &(|i| uniform(1, 0, i)) as &dyn Fn(u64) -> f64),
        ("answers", &|i| uniform(1, i as u32, 0)),
        ("seeds", &|i| uniform(i, 0, 0)),
    ] {
        let (mut single, mut pairs) = ([0; 100], [0; 100]);
        for i in 0..100_000 {
            let (a, b) = (number(i), number(i + 1));
            assert!((0.0..1.0).contains(&a));
            single[(a * 100.0) as usize] += 1;
            if i % 2 == 0 {
                pairs[(a * 10.0) as usize * 10 + (b * 10.0) as usize] += 1;
            }
        }
        expect_distribution(what, &single, &[0.01; 100]);
        expect_distribution(&format!("pairs of {what}"), &pairs, &[0.01; 100]);
    }
}

/// The statistic itself finds a sampler that is wrong: one that takes a twentieth from a token and gives it to another.
#[test]
fn a_sampler_that_is_wrong_by_a_little_is_found() {
    let shares = [0.25; 4];
    let found = [10_500, 9_500, 10_000, 10_000];
    let (statistic, freedom) = chi_square(&found, &shares);
    assert!(statistic > freedom as f64 + 4.0 * (2.0 * freedom as f64).sqrt());
}
