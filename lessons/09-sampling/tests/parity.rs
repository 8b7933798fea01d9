//! The sampler that selects gives the token of the sampler that sorts, for all parameters.

mod common;

use common::{case, logits};
use proptest::prelude::*;
use sampling::select::top_k;
use sampling::{Sampler, SamplingParams, full_sort};

/// What may be drawn by the sampler that selects and by the one that sorts, in the order of the draw.
fn kept_by_both(params: SamplingParams, logits: &[f32]) -> [Vec<u32>; 2] {
    let params = params.check(logits.len()).unwrap();
    let mut sampler = Sampler::new();
    let chosen = sampler.sample(&params, &[], &[], &mut logits.to_vec());
    chosen.unwrap();
    let fast = sampler.candidates().map(|(token, _)| token.0);
    let slow = full_sort::candidates(&params, logits);
    [fast.collect(), slow.iter().map(|(id, _)| *id).collect()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    #[test]
    fn selecting_gives_the_token_that_sorting_gives((logits, params, text, cut) in case(400)) {
        let (prompt, output) = text.split_at(cut);
        let params = params.check(logits.len()).unwrap();
        let mut sampler = Sampler::new();
        for _ in 0..2 {
            // The second time the scratch is full of what the first one left.
            let fast = sampler.sample(&params, prompt, output, &mut logits.clone()).unwrap();
            let slow = full_sort::sample(&params, prompt, output, &mut logits.clone()).unwrap();
            prop_assert_eq!(fast.token, slow);
        }
    }

    /// Not only the token that happens to be drawn: all that could have been, bit for bit.
    #[test]
    fn selecting_keeps_what_sorting_keeps((logits, params, _, _) in case(400)) {
        let params = SamplingParams {
            temperature: params.temperature.max(0.1),
            logit_bias: Vec::new(),
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            ..params
        };
        prop_assume!(logits.iter().any(|logit| logit.is_finite()));
        let [fast, slow] = kept_by_both(params, &logits);
        prop_assert_eq!(fast, slow);
    }

    /// The log probability is the model's own: neither bias nor penalty nor temperature is in it.
    #[test]
    fn logprobs_are_those_of_the_untouched_logits((logits, params, text, cut) in case(200)) {
        let (prompt, output) = text.split_at(cut);
        let params = SamplingParams { logprobs: Some(5), ..params };
        let params = params.check(logits.len()).unwrap();
        let mut sampler = Sampler::new();
        let sampled = sampler.sample(&params, prompt, output, &mut logits.clone()).unwrap();
        let finite = logits.iter().any(|logit| logit.is_finite());
        prop_assume!(finite);
        let sum: f64 = logits.iter().map(|l| f64::from(*l).exp()).sum();
        let own = |id: usize| (f64::from(logits[id]).exp() / sum).ln();
        let close = |found: f32, expected: f64| {
            let found = f64::from(found);
            found == expected || (found - expected).abs() < 1e-3
        };
        prop_assert!(close(sampled.logprob.unwrap(), own(sampled.token.index())));
        let mut likeliest: Vec<usize> = (0..logits.len()).collect();
        likeliest.sort_by(|a, b| logits[*b].partial_cmp(&logits[*a]).unwrap().then(a.cmp(b)));
        likeliest.truncate(5);
        let reported: Vec<usize> = sampler.logprobs().iter().map(|l| l.token.index()).collect();
        prop_assert_eq!(reported, likeliest);
        for reported in sampler.logprobs() {
            prop_assert!(close(reported.logprob, own(reported.token.index())));
        }
    }

    /// For all k, also those that no row has tokens for.
    #[test]
    fn the_selection_is_the_head_of_a_sort(numbers in logits(300), k in prop_oneof![0usize..400, Just(usize::MAX)]) {
        let mut kept = vec![7; 3];
        top_k(&numbers, k, &mut kept);
        let mut sorted: Vec<u32> = (0..numbers.len() as u32).collect();
        let number = |id: u32| numbers[id as usize];
        sorted.sort_by(|a, b| number(*b).partial_cmp(&number(*a)).unwrap().then(a.cmp(b)));
        sorted.truncate(k);
        prop_assert_eq!(kept, sorted);
    }
}

/// What was reported for the request before is not reported for one that asks for nothing.
#[test]
fn logprobs_are_given_to_those_who_asked() {
    let with = SamplingParams {
        logprobs: Some(2),
        ..SamplingParams::default()
    };
    let (with, without) = (with.check(3).unwrap(), SamplingParams::default().check(3).unwrap());
    let mut sampler = Sampler::new();
    let logits = [1.0, 2.0, 3.0];
    let sampled = sampler.sample(&with, &[], &[], &mut logits.clone()).unwrap();
    assert!(sampled.logprob.is_some() && sampler.logprobs().len() == 2);
    let sampled = sampler.sample(&without, &[], &[], &mut logits.clone()).unwrap();
    assert!(sampled.logprob.is_none() && sampler.logprobs().is_empty());
}

/// Whether the border lies among the first candidates that are selected, among more of them, or where only all will do.
#[test]
fn a_border_anywhere_in_a_large_vocabulary_keeps_what_sorting_keeps() {
    let vocab_size = 5000;
    // Every logit has another place than its rank, and some are equal.
    let rank = |id: usize| id * 1777 % vocab_size / 3;
    let mut reached = [false; 3];
    for halving in [1.0, 10.0, 60.0, 200.0, 400.0, 2000.0, f32::INFINITY] {
        let logits: Vec<f32> = (0..vocab_size).map(|id| -(rank(id) as f32) / halving).collect();
        for top_k in [1, 300, 313, 1000, 4999] {
            let params = SamplingParams {
                top_k,
                top_p: 0.95,
                ..SamplingParams::default()
            };
            let [fast, slow] = kept_by_both(params, &logits);
            assert!(fast == slow, "{halving}, top-k {top_k}");
        }
        for (top_p, min_p) in [(0.9, 0.0), (1.0, 0.1), (0.5, 0.001), (0.99, 0.2), (1.0, 1e-30)] {
            let params = SamplingParams {
                temperature: 0.7,
                top_p,
                min_p,
                ..SamplingParams::default()
            };
            let [fast, slow] = kept_by_both(params, &logits);
            reached[usize::from(slow.len() >= 64) + usize::from(slow.len() >= 1024)] = true;
            assert!(
                fast == slow,
                "{halving}, {top_p}, {min_p}: {} and {}",
                fast.len(),
                slow.len()
            );
        }
    }
    assert_eq!(reached, [true; 3], "each way was taken");
}
