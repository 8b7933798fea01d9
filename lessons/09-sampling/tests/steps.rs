//! Each step against the dumbest form of it, in f64 where numbers are added.

mod common;

use common::{case, logits};
use proptest::prelude::*;
use sampling::measure::entropy;
use sampling::nucleus::nucleus_len;
use sampling::penalty::{Seen, penalize};
use sampling::softmax::softmax;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

/// What may be drawn and with which share, straight from the definitions: (id, share), the likeliest first.
fn dumb(params: &SamplingParams, prompt: &[TokenId], output: &[TokenId], logits: &[f32]) -> Vec<(u32, f64)> {
    let mut numbers: Vec<f64> = logits.iter().map(|logit| f64::from(*logit)).collect();
    for (token, bias) in &params.logit_bias {
        numbers[token.index()] += f64::from(*bias);
    }
    for (id, number) in numbers.iter_mut().enumerate() {
        let token = TokenId(id as u32);
        let count = output.iter().filter(|other| **other == token).count();
        if count > 0 || prompt.contains(&token) {
            let factor = f64::from(params.repetition_penalty);
            *number = if *number > 0.0 {
                *number / factor
            } else {
                *number * factor
            };
        }
        if count > 0 {
            *number -= f64::from(params.presence_penalty) + f64::from(params.frequency_penalty) * count as f64;
        }
    }
    let mut tokens: Vec<(u32, f64)> = (0..).zip(numbers).collect();
    tokens.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    if params.top_k > 0 {
        tokens.truncate(params.top_k);
    }
    let largest = tokens[0].1;
    for (_, number) in &mut tokens {
        *number = ((*number - largest) / f64::from(params.temperature)).exp();
    }
    let sum: f64 = tokens.iter().map(|(_, power)| power).sum();
    let mut before = 0.0;
    let mut kept = Vec::new();
    for (id, power) in tokens {
        let share = power / sum;
        let first = kept.first().map_or(share, |(_, share)| *share);
        if !kept.is_empty() && (before >= f64::from(params.top_p) || share < f64::from(params.min_p) * first) {
            break;
        }
        before += share;
        kept.push((id, share));
    }
    kept.into_iter().map(|(id, share)| (id, share / before)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    /// Of the whole chain, for all parameters. A token right at a border may fall to either side by rounding; so shares are compared, not
    /// borders: what one side keeps and the other not is next to nothing, unless tokens tie.
    #[test]
    fn every_parameter_does_what_its_definition_says((logits, params, text, cut) in case(120)) {
        let (prompt, output) = text.split_at(cut);
        let params = SamplingParams { temperature: params.temperature.max(0.05), ..params };
        let mut changed = logits.clone();
        let checked = params.clone().check(logits.len()).unwrap();
        let mut sampler = Sampler::new();
        let sampled = sampler.sample(&checked, prompt, output, &mut changed).unwrap();
        prop_assume!(!sampled.fell_back);
        let expected = dumb(&params, prompt, output, &logits);
        let mut found = vec![0.0; logits.len()];
        sampler.candidates().for_each(|(token, share)| found[token.index()] = share);
        let mut wanted = vec![0.0; logits.len()];
        expected.iter().for_each(|(id, share)| wanted[*id as usize] = *share);
        let distance: f64 = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).sum();
        // A border that rounding moves: the sets differ in the last token, whose share decides how much.
        let border = expected.last().map_or(0.0, |(_, share)| *share);
        let kept = sampler.candidates().count();
        let moved = kept != expected.len();
        prop_assert!(distance < 1e-3 || (moved && distance < 2.5 * border + 1e-3), "{distance} apart: {found:?} {wanted:?}");
        prop_assert!(found[sampled.token.index()] > 0.0, "a token that was cut was drawn");
    }

    #[test]
    fn shares_add_up_to_one_and_keep_the_order(logits in logits(300), temperature in 0.001f32..50.0) {
        prop_assume!(logits.iter().any(|logit| logit.is_finite()));
        let mut shares = vec![f32::NAN; logits.len()];
        softmax(&logits, temperature, &mut shares);
        let sum: f64 = shares.iter().map(|share| f64::from(*share)).sum();
        prop_assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = logits.iter().map(|l| ((f64::from(*l) - f64::from(largest)) / f64::from(temperature)).exp()).collect();
        let total: f64 = powers.iter().sum();
        for (share, power) in shares.iter().zip(&powers) {
            prop_assert!((f64::from(*share) - power / total).abs() < 1e-5);
        }
        for (logit, share) in logits.iter().zip(&shares) {
            prop_assert!(*logit != f32::NEG_INFINITY || *share == 0.0);
        }
    }

    /// The shortest prefix whose mass reaches p: one token less would not, unless only one is there.
    #[test]
    fn the_nucleus_is_the_shortest_prefix_that_reaches_p(parts in proptest::collection::vec(1u32..1000, 1..60), top_p in 0.001f32..=1.0) {
        let mut parts = parts;
        parts.sort_unstable_by(|a, b| b.cmp(a));
        let mass: f64 = parts.iter().map(|part| f64::from(*part)).sum();
        let probabilities: Vec<f32> = parts.iter().map(|part| *part as f32).collect();
        let kept = nucleus_len(&probabilities, mass, top_p);
        let of = |count: usize| parts[..count].iter().map(|part| f64::from(*part)).sum::<f64>();
        let border = mass * f64::from(top_p);
        prop_assert!(kept >= 1 && of(kept) >= border, "{} of {border} are kept", of(kept));
        prop_assert!(kept == 1 || of(kept - 1) < border, "one fewer would do");
    }

    /// Whatever the sign of the logit.
    #[test]
    fn penalties_above_nothing_never_raise_a_logit(logit in -50.0f32..50.0, factor in 1.0f32..5.0, presence in 0.0f32..2.0, frequency in 0.0f32..2.0, in_prompt: bool, in_output in 0u32..9) {
        let params = SamplingParams {
            repetition_penalty: factor,
            presence_penalty: presence,
            frequency_penalty: frequency,
            ..SamplingParams::default()
        };
        let after = penalize(logit, Seen { in_prompt, in_output }, &params);
        prop_assert!(after <= logit, "{logit} became {after}");
        if !in_prompt && in_output == 0 {
            prop_assert_eq!(after, logit);
        }
    }

    /// Cutting makes a choice less free, heating makes it freer.
    #[test]
    fn entropy_falls_with_a_cut_and_rises_with_temperature(logits in logits(100), temperature in 0.1f32..2.0, top_p in 0.1f32..1.0) {
        prop_assume!(logits.iter().filter(|logit| logit.is_finite()).count() > 1);
        let free = |temperature: f32, top_p: f32| {
            let params = SamplingParams { temperature, top_p, ..SamplingParams::default() };
            let mut sampler = Sampler::new();
            let checked = params.check(logits.len()).unwrap();
            sampler.sample(&checked, &[], &[], &mut logits.clone()).unwrap();
            entropy(sampler.candidates().map(|(_, share)| share))
        };
        prop_assert!(free(temperature, top_p) <= free(temperature, 1.0) + 1e-5);
        prop_assert!(free(temperature, 1.0) <= free(1.5 * temperature, 1.0) + 1e-5);
    }
}
