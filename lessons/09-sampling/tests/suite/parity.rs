//! The sampler that selects chooses the same tokens as the sampler that sorts, for all parameters.

use crate::common::{case, logits, sample};
use proptest::prelude::*;
use sampling::exercises::top_k;
use sampling::{Sampler, SamplingParams, full_sort};

/// The ids that may be drawn, in the order of the draw: of the sampler that selects, and of the one that sorts.
fn kept_by_both(params: SamplingParams, logits: &[f32]) -> [Vec<u32>; 2] {
    let params = params.check(logits.len()).unwrap();
    let (sampler, _) = sample(logits, &params, &[]);
    let fast = sampler.candidates().map(|(token, _)| token.0).collect();
    let slow = full_sort::candidates(&params, logits)
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    [fast, slow]
}

/// Ids by falling number, equal ones by the lower id.
fn sorted(numbers: &[f32]) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..numbers.len() as u32).collect();
    let number = |id: u32| numbers[id as usize];
    ids.sort_by(|a, b| number(*b).partial_cmp(&number(*a)).unwrap().then(a.cmp(b)));
    ids
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    #[test]
    fn selecting_gives_the_token_that_sorting_gives((logits, params, text, cut) in case(400)) {
        let (prompt, output) = text.split_at(cut);
        let params = params.check(logits.len()).unwrap();
        let mut sampler = Sampler::new();
        for _ in 0..2 {
            // The second choice finds the scratch of the first.
            let fast = sampler.sample(&params, prompt, output, &mut logits.clone()).unwrap();
            let slow = full_sort::sample(&params, prompt, output, &mut logits.clone()).unwrap();
            prop_assert_eq!(fast.token, slow);
        }
    }

    /// Not only the drawn token: all that could have been drawn.
    #[test]
    fn selecting_keeps_what_sorting_keeps((logits, params, _, _) in case(400)) {
        prop_assume!(logits.iter().any(|logit| logit.is_finite()));
        let (temperature, nothing) = (params.temperature.max(0.1), (1.0, 0.0, 0.0));
        let params = params.with(|p| {
            (p.temperature, p.logit_bias) = (temperature, Vec::new());
            (p.repetition_penalty, p.presence_penalty, p.frequency_penalty) = nothing;
        });
        let [fast, slow] = kept_by_both(params, &logits);
        prop_assert_eq!(fast, slow);
    }

    /// Neither bias nor penalty nor temperature changes a log probability.
    #[test]
    fn logprobs_are_those_of_the_untouched_logits((logits, params, text, cut) in case(200)) {
        prop_assume!(logits.iter().any(|logit| logit.is_finite()));
        let (prompt, output) = text.split_at(cut);
        let params = params.with(|p| p.logprobs = Some(5)).check(logits.len()).unwrap();
        let mut sampler = Sampler::new();
        let sampled = sampler.sample(&params, prompt, output, &mut logits.clone()).unwrap();
        let sum: f64 = logits.iter().map(|l| f64::from(*l).exp()).sum();
        let is_own = |found: f32, id: usize| {
            let (found, own) = (f64::from(found), (f64::from(logits[id]).exp() / sum).ln());
            found == own || (found - own).abs() < 1e-3
        };
        prop_assert!(is_own(sampled.logprob.unwrap(), sampled.token.index()));
        let reported: Vec<u32> = sampler.logprobs().iter().map(|l| l.token.0).collect();
        prop_assert_eq!(&reported[..], &sorted(&logits)[..5.min(logits.len())]);
        prop_assert!(sampler.logprobs().iter().all(|l| is_own(l.logprob, l.token.index())));
    }

    #[test]
    fn the_selection_is_the_head_of_a_sort(numbers in logits(300), k in prop_oneof![0usize..400, Just(usize::MAX)]) {
        let mut kept = vec![7; 3];
        top_k(&numbers, k, &mut kept);
        prop_assert_eq!(&kept[..], &sorted(&numbers)[..k.min(numbers.len())]);
    }
}

/// The border lies among the first candidates that are selected, among more of them, or further on.
#[test]
fn a_border_anywhere_in_a_large_vocabulary_keeps_what_sorting_keeps() {
    let vocab_size = 5000;
    // The order of the logits is not that of the ids, and each value stands three times.
    let rank = |id: usize| id * 1777 % vocab_size / 3;
    let mut reached = [false; 3];
    for halving in [1.0, 10.0, 60.0, 200.0, 400.0, 2000.0, f32::INFINITY] {
        let logits: Vec<f32> = (0..vocab_size).map(|id| -(rank(id) as f32) / halving).collect();
        for top_k in [1, 300, 313, 1000, 4999] {
            let params = SamplingParams::default().with(|p| (p.top_k, p.top_p) = (top_k, 0.95));
            let [fast, slow] = kept_by_both(params, &logits);
            assert!(fast == slow, "slope 1/{halving}, top-k {top_k}");
        }
        for (top_p, min_p) in [(0.9, 0.0), (1.0, 0.1), (0.5, 0.001), (0.99, 0.2), (1.0, 1e-30)] {
            let params = SamplingParams::default().with(|p| (p.temperature, p.top_p, p.min_p) = (0.7, top_p, min_p));
            let [fast, slow] = kept_by_both(params, &logits);
            reached[usize::from(slow.len() >= 64) + usize::from(slow.len() >= 1024)] = true;
            let (few, many) = (fast.len(), slow.len());
            assert!(
                fast == slow,
                "slope 1/{halving}, top-p {top_p}, min-p {min_p}: {few} and {many} kept"
            );
        }
    }
    assert_eq!(reached, [true; 3], "a border in each of the three ranges");
}
