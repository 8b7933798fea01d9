//! The lesson's claims, as counts.

use crate::common::{sample, seeded};
use crate::run;
use generation::Model;
use generation::generate::greedy;
use layout::pool::Pool;
use sampling::SamplingParams;
use sampling::counted::{Counted, comparisons, made_up_logits};
use sampling::exercises::{softmax, top_k};
use sampling::measure::{entropy, repeated_share};
use training::TokenId;

/// S1: the plain formula overflows for a logit of 9 at a temperature of 0.1; with the largest logit subtracted, no
/// temperature overflows.
#[test]
fn only_the_plain_formula_overflows() {
    let logits = [9.0f32, 8.0, 1.0];
    let plain = |temperature: f32| -> f32 { logits.iter().map(|l| (l / temperature).exp()).sum() };
    assert!(plain(1.0).is_finite() && plain(0.11).is_finite() && plain(0.1).is_infinite());
    for temperature in [0.1, 0.01, 0.001] {
        let mut shares = [0.0; 3];
        softmax(&logits, temperature, &mut shares);
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
}

/// S2: finding the 50 largest compares each number about once, and a sort log2 of their count times.
#[test]
fn selecting_compares_each_number_about_once() {
    for (vocab_size, most) in [(2048, 2.5), (32_768, 1.2), (131_072, 1.05)] {
        let numbers: Vec<Counted> = made_up_logits(vocab_size, 1).into_iter().map(Counted).collect();
        let each = |count: u64| count as f64 / vocab_size as f64;
        let select = each(comparisons(|| top_k(&numbers, 50, &mut Vec::new())));
        assert!(select < most, "{select:.2} comparisons a number at {vocab_size}");
        let mut sorted = numbers.clone();
        let sort = each(comparisons(|| sorted.sort_by(|a, b| b.partial_cmp(a).unwrap())));
        let log2 = (vocab_size as f64).log2();
        assert!(sort > 0.8 * log2, "{sort:.2} comparisons a number at {vocab_size}");
    }
}

/// Rounded logits have few distinct values: the bar keeps out what equals it, for its index is higher. Rising numbers
/// are the worst order for the bar: each is above all numbers before it.
#[test]
fn ties_and_rising_numbers_cost_a_few_comparisons_each() {
    let equal: Vec<Counted> = (0..32_768).map(|i| Counted((i * 7919 % 3) as f32)).collect();
    let rising: Vec<Counted> = (0..32_768).map(|i| Counted(i as f32)).collect();
    for (what, numbers, most) in [("equal", equal, 2), ("rising", rising, 12)] {
        let count = comparisons(|| top_k(&numbers, 50, &mut Vec::new()));
        assert!(count < most * 32_768, "{count} comparisons of {what} numbers");
    }
}

/// S3, on each row that the trained model gives for a text.
#[test]
fn a_masked_row_gets_the_token_that_greedy_choice_gives_it() {
    let model = Model::open("stories").unwrap();
    let vocab_size = model.config.llama.vocab_size;
    let tokens = model.encode_prompt("Once upon a time there was a little dog.").unwrap();
    let mut state = generation::State::new(&model.config, tokens.len());
    let all = (0..vocab_size as u32).map(|id| (TokenId(id), f32::NEG_INFINITY));
    let params = seeded(1)
        .with(|p| p.logit_bias = all.collect())
        .check(vocab_size)
        .unwrap();
    for len in 1..=tokens.len() {
        let logits = model.forward(&mut state, &Pool::new(1), &tokens[..len]).unwrap();
        let (_, sampled) = sample(logits, &params, &[]);
        assert!(sampled.fell_back);
        assert_eq!(sampled.token, greedy(logits).unwrap());
    }
}

/// S4: the number of tokens that top-p leaves depends on the temperature, and some cuts at temperature 1 are as stable
/// as a low temperature.
#[test]
fn temperature_and_cuts_act_on_each_other() {
    let logits = made_up_logits(2000, 9);
    let left = |temperature: f32, top_p: f32, top_k: usize| {
        let params = seeded(1).with(|p| (p.temperature, p.top_p, p.top_k) = (temperature, top_p, top_k));
        let (sampler, sampled) = sample(&logits, &params.check(logits.len()).unwrap(), &[]);
        (sampled.num_kept, entropy(sampler.candidates().map(|(_, share)| share)))
    };
    let kept = [0.5, 1.0, 2.0].map(|temperature| left(temperature, 0.9, 0).0);
    assert!(kept[0] < kept[1] && kept[1] < kept[2], "{kept:?}");
    // After top-k the same top-p leaves fewer tokens, because it is a share of less.
    assert!(left(1.0, 0.9, 20).0 < left(1.0, 0.9, 0).0);
    let cold = left(0.5, 1.0, 0).1;
    assert!((1..20).any(|step| left(1.0, step as f32 * 0.05, 0).1 <= cold));
}

/// S5, counted on texts of the trained model while the end of the text is forbidden.
#[test]
fn greedy_choice_repeats_itself_and_a_draw_does_not() {
    let model = Model::open("stories").unwrap();
    let texts = [
        "Once upon a time",
        "Ben the bear was sad.",
        "The little dog",
        "In the morning",
    ];
    let repeated = |params: &SamplingParams| {
        let tokens = run::all(&model, &texts, 200, params);
        tokens.iter().map(|text| repeated_share(text, 4)).sum::<f64>() / texts.len() as f64
    };
    let ends = model.config.eos_token_ids.iter().map(|id| (*id, f32::NEG_INFINITY));
    let greedy = SamplingParams::greedy().with(|p| p.logit_bias = ends.collect());
    let nucleus = greedy.clone().with(|p| (p.temperature, p.top_p) = (1.0, 0.9));
    let penalty = greedy.clone().with(|p| p.frequency_penalty = 0.5);
    let shares = [greedy, nucleus, penalty].map(|params| repeated(&params));
    assert!(shares[0] > 2.0 * shares[1] && shares[0] > 2.0 * shares[2], "{shares:?}");
}
