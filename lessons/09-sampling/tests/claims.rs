//! What the lesson claims, as counts.

mod common;

use common::seeded;
use generation::Model;
use layout::pool::Pool;
use sampling::counted::{Counted, comparisons, made_up_logits};
use sampling::measure::{entropy, repeated_share};
use sampling::select::top_k;
use sampling::softmax::softmax;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

/// S1: by the formula as it stands, a logit of 9 overflows at a temperature of 0.1; less the largest, at none.
#[test]
fn only_the_plain_formula_overflows() {
    let logits = [9.0f32, 8.0, 1.0];
    let plain = |temperature: f32| -> f32 { logits.iter().map(|l| (l / temperature).exp()).sum() };
    assert!(plain(1.0).is_finite() && plain(0.11).is_finite());
    assert!(plain(0.1).is_infinite());
    for temperature in [0.1, 0.01, 0.001] {
        let mut shares = [0.0; 3];
        softmax(&logits, temperature, &mut shares);
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
}

/// S2: to find the 50 largest, a number is compared about once; to sort, log2 of their count times.
#[test]
fn selecting_compares_each_number_about_once() {
    for (vocab_size, most) in [(2048, 2.5), (32_768, 1.2), (131_072, 1.05)] {
        let numbers: Vec<Counted> = made_up_logits(vocab_size, 1).into_iter().map(Counted).collect();
        let mut kept = Vec::new();
        let select = comparisons(|| top_k(&numbers, 50, &mut kept)) as f64 / vocab_size as f64;
        assert!(select < most, "{select:.2} comparisons a number at {vocab_size}");
        let sort = comparisons(|| {
            let mut ids: Vec<usize> = (0..vocab_size).collect();
            ids.sort_by(|a, b| numbers[*b].partial_cmp(&numbers[*a]).unwrap());
        });
        let (sort, log2) = (sort as f64 / vocab_size as f64, (vocab_size as f64).log2());
        assert!(sort > 0.8 * log2, "{sort:.2} comparisons a number at {vocab_size}");
    }
}

/// A row of few distinct values, as rounded logits have them: the bar keeps out what equals it, for its index is higher.
#[test]
fn equal_numbers_are_compared_once_too() {
    let numbers: Vec<Counted> = (0..32_768).map(|i| Counted((i * 7919 % 3) as f32)).collect();
    let count = comparisons(|| top_k(&numbers, 50, &mut Vec::new()));
    assert!(count < 2 * 32_768, "{count}");
}

/// The same in the order that is worst for the bar: every number is above all before it. Still a few comparisons a number.
#[test]
fn rising_numbers_cost_a_few_comparisons_each() {
    let numbers: Vec<Counted> = (0..32_768).map(|i| Counted(i as f32)).collect();
    let count = comparisons(|| top_k(&numbers, 50, &mut Vec::new()));
    assert!(count < 12 * 32_768, "{count}");
}

/// S3, on each row that the trained model gives for a text.
#[test]
fn a_masked_row_gets_the_token_that_greedy_choice_gives_it() {
    let model = Model::open("stories").unwrap();
    let vocab_size = model.config.llama.vocab_size;
    let tokens = model.encode_prompt("Once upon a time there was a little dog.").unwrap();
    let mut state = generation::State::new(&model.config, tokens.len());
    let params = SamplingParams {
        logit_bias: (0..vocab_size as u32)
            .map(|id| (TokenId(id), f32::NEG_INFINITY))
            .collect(),
        ..seeded(1)
    };
    let (params, mut sampler) = (params.check(vocab_size).unwrap(), Sampler::new());
    for len in 1..=tokens.len() {
        let logits = model.forward(&mut state, &Pool::new(1), &tokens[..len]).unwrap();
        let greedy = generation::generate::greedy(logits).unwrap();
        let sampled = sampler.sample(&params, &[], &[], &mut logits.to_vec()).unwrap();
        assert!(sampled.fell_back);
        assert_eq!(sampled.token, greedy);
    }
}

/// S4: what top-p leaves depends on the temperature; and there are cuts at temperature 1 that are as stable as a low temperature.
#[test]
fn temperature_and_cuts_act_on_each_other() {
    let logits = made_up_logits(2000, 9);
    let left = |temperature: f32, top_p: f32, top_k: usize| {
        let params = SamplingParams {
            temperature,
            top_p,
            top_k,
            ..seeded(1)
        };
        let mut sampler = Sampler::new();
        let checked = params.check(logits.len()).unwrap();
        let sampled = sampler.sample(&checked, &[], &[], &mut logits.clone()).unwrap();
        (sampled.num_kept, entropy(sampler.candidates().map(|(_, share)| share)))
    };
    let kept = [0.5, 1.0, 2.0].map(|temperature| left(temperature, 0.9, 0).0);
    assert!(kept[0] < kept[1] && kept[1] < kept[2], "{kept:?}");
    // With top-k the same top-p leaves less, for it is a share of less.
    assert!(left(1.0, 0.9, 20).0 < left(1.0, 0.9, 0).0);
    let cold = left(0.5, 1.0, 0).1;
    assert!((1..20).any(|step| left(1.0, step as f32 * 0.05, 0).1 <= cold));
}

/// S5, counted on what the trained model writes when the end of the text is forbidden.
#[test]
fn greedy_choice_repeats_itself_and_a_draw_does_not() {
    let model = Model::open("stories").unwrap();
    let texts = |params: &SamplingParams| {
        common::run::all(
            &model,
            4,
            &[
                "Once upon a time",
                "Ben the bear was sad.",
                "The little dog",
                "In the morning",
            ],
            200,
            params,
        )
    };
    let never_ends = (model.config.eos_token_ids.iter()).map(|id| (*id, f32::NEG_INFINITY));
    let greedy = SamplingParams {
        logit_bias: never_ends.collect(),
        ..SamplingParams::greedy()
    };
    let nucleus = SamplingParams {
        temperature: 1.0,
        top_p: 0.9,
        ..greedy.clone()
    };
    let penalty = SamplingParams {
        frequency_penalty: 0.5,
        ..greedy.clone()
    };
    let mean = |texts: Vec<Vec<TokenId>>| texts.iter().map(|text| repeated_share(text, 4)).sum::<f64>() / 4.0;
    let shares = [greedy, nucleus, penalty].map(|params| mean(texts(&params)));
    assert!(shares[0] > 2.0 * shares[1] && shares[0] > 2.0 * shares[2], "{shares:?}");
}
