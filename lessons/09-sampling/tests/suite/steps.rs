//! Each step against its definition, in f64.

use crate::common::{case, logits, sample, shares};
use proptest::prelude::*;
use sampling::exercises::{Seen, nucleus_len, penalize, softmax};
use sampling::measure::entropy;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

/// The tokens that may be drawn with their shares, by the definitions: (id, share), the likeliest first.
fn defined(params: &SamplingParams, prompt: &[TokenId], output: &[TokenId], logits: &[f32]) -> Vec<(u32, f64)> {
    let mut numbers: Vec<f64> = logits.iter().map(|logit| f64::from(*logit)).collect();
    for (token, bias) in &params.logit_bias {
        numbers[token.index()] += f64::from(*bias);
    }
    for (id, number) in numbers.iter_mut().enumerate() {
        let token = TokenId(id as u32);
        let count = output.iter().filter(|other| **other == token).count();
        if count > 0 || prompt.contains(&token) {
            let factor = f64::from(params.repetition_penalty);
            *number *= if *number > 0.0 { 1.0 / factor } else { factor };
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

    /// The whole chain, for all parameters. Rounding may move a token at a border to the other side. So the shares are
    /// compared and not the borders: the kept sets may differ in the last token, and then the distance is about its
    /// share.
    #[test]
    fn every_parameter_does_what_its_definition_says((logits, params, text, cut) in case(120)) {
        let (prompt, output) = text.split_at(cut);
        let temperature = params.temperature.max(0.05);
        let params = params.with(|p| p.temperature = temperature);
        let (checked, mut sampler) = (params.clone().check(logits.len()).unwrap(), Sampler::new());
        let sampled = sampler.sample(&checked, prompt, output, &mut logits.clone()).unwrap();
        prop_assume!(!sampled.fell_back);
        let expected = defined(&params, prompt, output, &logits);
        let found = shares(&sampler, logits.len());
        let mut wanted = vec![0.0; logits.len()];
        expected.iter().for_each(|(id, share)| wanted[*id as usize] = *share);
        let distance: f64 = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).sum();
        let border = expected.last().map_or(0.0, |(_, share)| *share);
        let is_moved = sampler.candidates().count() != expected.len();
        let is_near = distance < 1e-3 || (is_moved && distance < 2.5 * border + 1e-3);
        prop_assert!(is_near, "{distance} apart: {found:?} {wanted:?}");
        prop_assert!(found[sampled.token.index()] > 0.0, "a token that was cut was drawn");
    }

    #[test]
    fn softmax_is_its_definition(logits in logits(300), temperature in 0.001f32..50.0) {
        prop_assume!(logits.iter().any(|logit| logit.is_finite()));
        let mut shares = vec![f32::NAN; logits.len()];
        softmax(&logits, temperature, &mut shares);
        let largest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let power = |logit: &f32| ((f64::from(*logit) - largest) / f64::from(temperature)).exp();
        let powers: Vec<f64> = logits.iter().map(power).collect();
        let total: f64 = powers.iter().sum();
        for ((logit, share), power) in logits.iter().zip(&shares).zip(powers) {
            prop_assert!((f64::from(*share) - power / total).abs() < 1e-5);
            prop_assert!(*logit != f32::NEG_INFINITY || *share == 0.0);
        }
        let sum: f64 = shares.iter().map(|share| f64::from(*share)).sum();
        prop_assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }

    /// The sum of the kept shares reaches p, and with one token less it would not.
    #[test]
    fn the_nucleus_is_the_shortest_prefix_that_reaches_p(
        mut parts in proptest::collection::vec(1u32..1000, 1..60),
        top_p in 0.001f32..=1.0,
    ) {
        parts.sort_unstable_by(|a, b| b.cmp(a));
        let of = |count: usize| parts[..count].iter().map(|part| f64::from(*part)).sum::<f64>();
        let (mass, probabilities) = (of(parts.len()), parts.iter().map(|part| *part as f32).collect::<Vec<_>>());
        let (kept, border) = (nucleus_len(&probabilities, mass, top_p), mass * f64::from(top_p));
        prop_assert!(kept >= 1 && of(kept) >= border, "{} of {border} are kept", of(kept));
        prop_assert!(kept == 1 || of(kept - 1) < border, "one token less is enough");
    }

    #[test]
    fn penalties_never_raise_a_logit(
        logit in -50.0f32..50.0,
        (factor, presence, frequency) in (1.0f32..5.0, 0.0f32..2.0, 0.0f32..2.0),
        in_prompt: bool,
        in_output in 0u32..9,
    ) {
        let params = SamplingParams::default()
            .with(|p| (p.repetition_penalty, p.presence_penalty, p.frequency_penalty) = (factor, presence, frequency));
        let after = penalize(logit, Seen { in_prompt, in_output }, &params);
        prop_assert!(after <= logit, "{logit} became {after}");
        prop_assert!(in_prompt || in_output > 0 || after == logit, "a token that is not in the text paid");
    }

    #[test]
    fn entropy_falls_with_a_cut_and_rises_with_temperature(
        logits in logits(100),
        temperature in 0.1f32..2.0,
        top_p in 0.1f32..1.0,
    ) {
        prop_assume!(logits.iter().filter(|logit| logit.is_finite()).count() > 1);
        let of = |temperature: f32, top_p: f32| {
            let params = SamplingParams::default().with(|p| (p.temperature, p.top_p) = (temperature, top_p));
            let (sampler, _) = sample(&logits, &params.check(logits.len()).unwrap(), &[]);
            entropy(sampler.candidates().map(|(_, share)| share))
        };
        prop_assert!(of(temperature, top_p) <= of(temperature, 1.0) + 1e-5);
        prop_assert!(of(temperature, 1.0) <= of(1.5 * temperature, 1.0) + 1e-5);
    }
}
