//! The tests of each exercise, smallest case first. A group uses its own function and none that another exercise
//! writes; `whole`, at the end, runs all of them together.

use fixtures::expect;

/// The options of a question in `course.toml`, and the index of the right one.
fn question(id: &str) -> (Vec<String>, usize) {
    fixtures::question(include_str!("../course.toml"), id)
}

/// 09.7 Twice as hot: the answer, computed.
mod ex_09_7_temperature {
    use super::{expect, question};

    /// Ratio of two shares that are 4 to 1 at temperature 1.
    fn ratio(temperature: f64) -> f64 {
        let powers = [4f64.ln(), 0.0].map(|logit| (logit / temperature).exp());
        (powers[0] / powers[1]).round()
    }

    #[test]
    fn the_ratio_is_as_the_answer_says() {
        let (options, answer) = question("09.7");
        let text = |temperature: f64| format!("{} to 1", ratio(temperature));
        expect("temperature 2", options[answer].as_str(), text(2.0));
        expect("temperature 0.5, the third option", options[2].as_str(), text(0.5));
    }

    /// The first option: the order never changes.
    #[test]
    fn no_temperature_brings_the_second_to_the_front() {
        for temperature in [0.1, 1.0, 2.0, 100.0] {
            let ratio = ratio(temperature);
            assert!(
                ratio >= 1.0,
                "at temperature {temperature} the second token comes first: {ratio} to 1"
            );
        }
    }
}

/// 09.1 Softmax: logits to shares.
mod ex_09_1_softmax {
    use super::expect;
    use sampling::exercises::softmax;

    /// The shares, written over NaN.
    fn shares(logits: &[f32], temperature: f32) -> Vec<f32> {
        let mut shares = vec![f32::NAN; logits.len()];
        softmax(logits, temperature, &mut shares);
        shares
    }

    /// Compares shares that may differ by rounding.
    #[track_caller]
    fn expect_close(what: &str, found: &[f32], expected: &[f32]) {
        let is_close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-5);
        assert!(is_close, "{what}\n  expected {expected:?}\n  found    {found:?}");
    }

    #[track_caller]
    fn expect_shares(logits: &[f32], temperature: f32, expected: &[f32]) {
        let what = format!("logits {logits:?} at temperature {temperature}");
        expect_close(&what, &shares(logits, temperature), expected);
    }

    #[test]
    fn equal_logits_get_equal_shares() {
        expect_shares(&[0.0, 0.0], 1.0, &[0.5, 0.5]);
        expect_shares(&[7.0; 4], 1.0, &[0.25; 4]);
    }

    /// ln 1, ln 2 and ln 5: the powers are 1, 2 and 5, and their sum is 8.
    #[test]
    fn shares_are_of_the_whole() {
        expect_shares(&[0.0, 2f32.ln(), 5f32.ln()], 1.0, &[0.125, 0.25, 0.625]);
    }

    /// The chapter's row: powers 7.389, 2.718, 1 and 0.368, sum 11.475.
    #[test]
    fn four_logits_by_hand() {
        expect_shares(
            &[2.0, 1.0, 0.0, -1.0],
            1.0,
            &[0.643_914, 0.236_883, 0.087_144, 0.032_059],
        );
    }

    /// ln 4 and 0: 4 to 1 becomes 2 to 1 at temperature 2, and 16 to 1 at temperature 0.5.
    #[test]
    fn a_temperature_divides_the_logits() {
        let logits = [4f32.ln(), 0.0];
        expect_shares(&logits, 2.0, &[2.0 / 3.0, 1.0 / 3.0]);
        expect_shares(&logits, 0.5, &[16.0 / 17.0, 1.0 / 17.0]);
    }

    #[test]
    fn large_logits_do_not_overflow() {
        expect_shares(&[1000.0, 0.0], 1.0, &[1.0, 0.0]);
        expect_shares(&[0.0, 1000.0], 1.0, &[0.0, 1.0]);
        expect_shares(&[100.0, 50.0, 0.0], 1.0, &[1.0, 0.0, 0.0]);
    }

    /// The differences are those of [1, 0] and [4, 4, 0], and so are the shares.
    #[test]
    fn large_logits_keep_their_differences() {
        expect_shares(&[1000.0, 999.0], 1.0, &shares(&[1.0, 0.0], 1.0));
        expect_shares(&[100.0, 100.0, 96.0], 1.0, &shares(&[4.0, 4.0, 0.0], 1.0));
        expect_shares(&[9.0, 8.0], 0.01, &[1.0, 0.0]);
    }

    #[test]
    fn logits_far_below_zero_keep_their_shares() {
        expect_shares(&[-1000.0, -1001.0], 1.0, &shares(&[1.0, 0.0], 1.0));
    }

    #[test]
    fn a_forbidden_token_gets_exactly_nothing() {
        let shares = shares(&[f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY, 0.0], 0.7);
        expect("logits [-inf, 0, -inf, 0]", shares, vec![0.0, 0.5, 0.0, 0.5]);
    }

    /// Lengths around those of chunks, in which a tail could be left out.
    #[test]
    fn all_tokens_are_counted() {
        for len in [1, 2, 15, 16, 17, 33, 1000] {
            let (found, expected) = (shares(&vec![0.5; len], 1.3), 1.0 / len as f32);
            let is_close = |share: &f32| (share - expected).abs() <= 1e-5;
            if let Some(at) = found.iter().position(|share| !is_close(share)) {
                let found = found[at];
                panic!("{len} equal logits: the share at index {at}\n  expected {expected}\n  found    {found}");
            }
        }
    }
}

/// 09.6 Nine tenths of what: the answer, computed.
mod ex_09_6_top_p {
    use super::{expect, question};

    const PERCENT: [u32; 10] = [50, 25, 10, 6, 3, 2, 1, 1, 1, 1];

    #[test]
    fn as_many_are_kept_as_reach_nine_tenths() {
        expect("all shares", PERCENT.iter().sum::<u32>(), 100u32);
        let reaches = |count: &usize| PERCENT[..*count].iter().sum::<u32>() >= 90;
        let kept = (1..=10).find(reaches).unwrap();
        let (options, answer) = question("09.6");
        expect("the right option", options[answer].as_str(), kept.to_string());
        expect("one token too few", options[1].as_str(), (kept - 1).to_string());
        expect("nine tenths of ten tokens", options[0].as_str(), "9");
    }
}

/// 09.3 The border of top-p.
mod ex_09_3_nucleus {
    use super::expect;
    use sampling::exercises::nucleus_len;

    #[track_caller]
    fn expect_kept(shares: &[f32], mass: f64, top_p: f32, expected: usize) {
        let what = format!("tokens kept of {shares:?}, mass {mass}, top-p {top_p}");
        expect(&what, nucleus_len(shares, mass, top_p), expected);
    }

    /// 0.5 is less than 0.6, so the second token stays, with which it is 0.8.
    #[test]
    fn the_token_that_crosses_the_border_stays() {
        expect_kept(&[0.5, 0.3, 0.2], 1.0, 0.6, 2);
        expect_kept(&[0.5, 0.3, 0.2], 1.0, 0.9, 3);
    }

    /// The chapter's row: the tokens before the third have 0.65, those before the fourth 0.8.
    #[test]
    fn six_shares_by_hand() {
        expect_kept(&[0.4, 0.25, 0.15, 0.1, 0.06, 0.04], 1.0, 0.7, 3);
    }

    #[test]
    fn one_token_is_always_kept() {
        expect_kept(&[0.9, 0.1], 1.0, 0.3, 1);
        expect_kept(&[0.9, 0.1], 1.0, f32::MIN_POSITIVE, 1);
        expect_kept(&[1.0], 1.0, 0.5, 1);
    }

    #[test]
    fn a_sum_of_exactly_p_needs_no_further_token() {
        expect_kept(&[0.5, 0.25, 0.25], 1.0, 0.5, 1);
        expect_kept(&[0.5, 0.25, 0.25], 1.0, 0.75, 2);
    }

    #[test]
    fn mass_is_counted_not_tokens() {
        let mut shares = [0.005f32; 20];
        shares[0] = 0.905;
        let kept = nucleus_len(&shares, 1.0, 0.9);
        expect(
            "tokens kept of one with 0.905 and 19 with 0.005 each, top-p 0.9",
            kept,
            1usize,
        );
        let kept = nucleus_len(&[0.05; 20], 1.0, 0.475);
        expect("tokens kept of twenty with 0.05 each, top-p 0.475", kept, 10usize);
    }

    #[test]
    fn p_is_a_share_of_the_mass() {
        expect_kept(&[5.0, 3.0, 2.0], 10.0, 0.6, 2);
        expect_kept(&[0.25, 0.125, 0.125], 0.5, 0.6, 2);
    }

    /// The first two of more tokens; and a sum of f32 that is a little below the mass.
    #[test]
    fn all_are_kept_where_the_border_lies_further_on() {
        expect_kept(&[0.4, 0.2], 1.0, 0.9, 2);
        expect_kept(&[0.5, 0.5], 1.000_000_1, 1.0, 2);
    }
}

/// 09.2 The largest few.
mod ex_09_2_top_k {
    use super::expect;
    use sampling::counted::{Counted, comparisons, made_up_logits};
    use sampling::exercises::top_k;

    fn top(numbers: &[f32], k: usize) -> Vec<u32> {
        let mut kept = Vec::new();
        top_k(numbers, k, &mut kept);
        kept
    }

    #[track_caller]
    fn expect_top(numbers: &[f32], k: usize, expected: &[u32]) {
        let what = format!("indices of the {k} largest of {numbers:?}");
        expect(&what, top(numbers, k), expected);
    }

    /// Compares with a sort, for numbers in no order. Numbers are equal if there are more of them than `modulus`.
    #[track_caller]
    fn expect_head(len: usize, modulus: usize, k: usize) {
        let numbers: Vec<f32> = (0..len).map(|i| (i * 7919 % modulus) as f32).collect();
        let mut head: Vec<u32> = (0..len as u32).collect();
        head.sort_by(|a, b| numbers[*b as usize].total_cmp(&numbers[*a as usize]).then(a.cmp(b)));
        head.truncate(k);
        let (found, what) = (
            top(&numbers, k),
            format!("the {k} largest of the {len} numbers i * 7919 mod {modulus}"),
        );
        expect(&format!("{what}: how many"), found.len(), head.len());
        if let Some(at) = (0..head.len()).find(|at| found[*at] != head[*at]) {
            expect(&format!("{what}: the index at place {at}"), found[at], head[at]);
        }
    }

    #[test]
    fn the_largest_come_first() {
        expect_top(&[3.0, 9.0, 1.0, 7.0, 5.0], 3, &[1, 3, 4]);
        expect_top(&[-3.0, -1.0, -2.0], 1, &[1]);
    }

    #[test]
    fn eight_digits_by_hand() {
        expect_top(&[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0], 2, &[5, 7]);
    }

    /// 0 and -0 are equal, too.
    #[test]
    fn of_equal_numbers_the_lower_index_stays() {
        expect_top(&[1.0, 5.0, 5.0, 5.0], 2, &[1, 2]);
        expect_top(&[2.0, 1.0, 2.0, 1.0, 2.0, 2.0, 2.0, 2.0], 3, &[0, 2, 4]);
        expect_top(&[0.0, -0.0, 0.0], 2, &[0, 1]);
        expect_head(500, 7, 100);
    }

    #[test]
    fn fewer_than_k_are_all_kept() {
        expect_top(&[1.0, 3.0, 2.0], 5, &[1, 2, 0]);
        expect_top(&[1.0, 3.0, 2.0], usize::MAX, &[1, 2, 0]);
        expect_top(&[1.0, 3.0, 2.0], 0, &[]);
        expect_top(&[], 3, &[]);
    }

    #[test]
    fn a_forbidden_token_is_a_number_too() {
        expect_top(&[f32::NEG_INFINITY, 2.0, f32::NEG_INFINITY, 1.0], 3, &[1, 3, 0]);
    }

    #[test]
    fn the_earlier_content_of_the_list_is_dropped() {
        let mut kept = vec![0];
        top_k(&[5.0, 1.0, 2.0], 2, &mut kept);
        expect("the 2 largest of [5, 1, 2], in a list that held [0]", &kept[..], [0, 2]);
        top_k::<f32>(&[], 2, &mut kept);
        expect("the 2 largest of nothing, in the same list", &kept[..], [0u32; 0]);
    }

    /// Against a sort, for many lengths and k.
    #[test]
    fn it_is_the_head_of_a_sort() {
        for len in [1usize, 7, 64, 500] {
            for k in [1, 2, 3, 10, 63, 64, 499, 600] {
                expect_head(len, 503, k);
            }
        }
    }

    const MANY: usize = 16_384;

    /// Expects at most `most` comparisons a number for `k` of 16 384 numbers in no order.
    #[track_caller]
    fn expect_comparisons(k: usize, most: usize, advice: &str) {
        let numbers: Vec<Counted> = made_up_logits(MANY, 1).into_iter().map(Counted).collect();
        let found = comparisons(|| top_k(&numbers, k, &mut Vec::new()));
        let each = found as f64 / MANY as f64;
        assert!(
            found <= (most * MANY) as u64,
            "comparisons a number, {k} largest of {MANY}\n  expected at most {most}\n  found    {each:.1}: {advice}"
        );
    }

    #[test]
    fn most_numbers_are_compared_once() {
        expect_comparisons(
            3,
            5,
            "a sort takes log2 of 16384, which is 14, and orders numbers that are then dropped",
        );
    }

    #[test]
    fn fifty_are_not_fifty_passes() {
        expect_comparisons(50, 25, "a sort takes 14; is every number compared with each of the 50?");
    }
}

/// 09.8 Company: the answer, tried on two small generators.
mod ex_09_8_company {
    use super::{expect, question};

    fn mix(x: u64) -> u64 {
        let x = (x ^ (x >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x ^ (x >> 29)
    }

    /// The number of seed 7 at position 5 if `others` draw before it in each step: from one running generator, and by
    /// address.
    fn at_five(others: u64) -> (u64, u64) {
        let (mut state, mut running) = (7u64, 0);
        for _draw in 0..6 * (others + 1) {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            running = mix(state);
        }
        (running, mix(mix(7) ^ 5))
    }

    #[test]
    fn only_a_running_generator_is_moved_by_other_requests() {
        let (alone, company) = (at_five(0), at_five(7));
        assert!(alone.0 != company.0, "the running generator did not move");
        expect("the number at seed 7, position 5", company.1, alone.1);
        let (options, answer) = question("09.8");
        expect("the right option", options[answer].as_str(), "the same one");
    }
}

/// 09.4 A draw with an address.
mod ex_09_4_uniform {
    use super::expect;
    use sampling::exercises::uniform;
    use std::collections::BTreeSet;

    const DRAWS: u64 = 20_000;

    /// A name, and the number at step i of a walk.
    type Walk = (&'static str, fn(u64) -> f64);

    /// From position to position, from answer to answer, and from seed to seed.
    const WALKS: [Walk; 3] = [
        ("positions 0, 1, 2, … of seed 42", |i| uniform(42, 0, i)),
        ("answers 0, 1, 2, … of seed 42 at position 3", |i| {
            uniform(42, i as u32, 3)
        }),
        ("seeds 0, 1, 2, … at position 3", |i| uniform(i, 0, 3)),
    ];

    #[test]
    fn numbers_lie_between_zero_and_one() {
        for (what, number) in WALKS {
            for i in 0..DRAWS {
                let found = number(i);
                let is_between = (0.0..1.0).contains(&found);
                assert!(
                    is_between,
                    "{what}: number {i}\n  expected at least 0 and less than 1\n  found    {found}"
                );
            }
        }
    }

    /// Asked in another order, and twice.
    #[test]
    fn an_address_has_one_number() {
        let upwards: Vec<f64> = (0..5).map(|i| uniform(1, 2, i)).collect();
        let mut downwards: Vec<f64> = (0..5).rev().map(|i| uniform(1, 2, i)).collect();
        downwards.reverse();
        expect(
            "positions 0 to 4 of seed 1, answer 2, asked from the end",
            downwards,
            upwards,
        );
    }

    #[track_caller]
    fn expect_two_numbers(what: &str, first: f64, second: f64) {
        assert!(
            first != second,
            "{what}\n  expected two numbers\n  found    {first} twice"
        );
    }

    #[test]
    fn two_positions_are_two_numbers() {
        expect_two_numbers("seed 5, positions 0 and 1", uniform(5, 0, 0), uniform(5, 0, 1));
    }

    #[test]
    fn answers_to_one_prompt_differ() {
        expect_two_numbers(
            "seed 5, position 9, answers 0 and 1",
            uniform(5, 0, 9),
            uniform(5, 1, 9),
        );
    }

    #[test]
    fn two_seeds_are_two_numbers() {
        expect_two_numbers("seeds 5 and 6 at position 0", uniform(5, 0, 0), uniform(6, 0, 0));
    }

    /// 6400 addresses.
    #[test]
    fn seeds_and_positions_do_not_make_up_for_each_other() {
        let mut seen = BTreeSet::new();
        for answer in 0..4u32 {
            for seed in 0..40u64 {
                for position in 0..40u64 {
                    let number = uniform(seed, answer, position);
                    let is_new = seen.insert(number.to_bits());
                    let address = format!("answer {answer}, seed {seed}, position {position}");
                    assert!(
                        is_new,
                        "{address}\n  expected a new number\n  found    {number}, which came before"
                    );
                }
            }
        }
    }

    /// A tenth of the draws in each tenth: 20 000 draws are 2000 each, give or take 4 times 42.
    #[test]
    fn numbers_are_spread_evenly() {
        for (what, number) in WALKS {
            let mut tenths = [0u32; 10];
            (0..DRAWS).for_each(|i| tenths[(number(i) * 10.0) as usize] += 1);
            assert!(
                tenths.iter().all(|count| count.abs_diff(2000) <= 170),
                "{what}: numbers in each tenth\n  expected 2000, 170 more or fewer\n  found    {tenths:?}"
            );
        }
    }

    /// After a number in each third, the next one is in each third equally often: 2222 times, give or take 4 times 44.
    #[test]
    fn neighbours_are_independent() {
        for (what, number) in WALKS {
            let mut pairs = [0u32; 9];
            let third = |i: u64| (number(i) * 3.0) as usize;
            (0..DRAWS).for_each(|i| pairs[third(i) * 3 + third(i + 1)] += 1);
            assert!(
                pairs.iter().all(|count| count.abs_diff(2222) <= 178),
                "{what}: how often a number in each third is followed by one in each third\n  expected 2222 for all \
                 nine, 178 more or fewer\n  found    {pairs:?}"
            );
        }
    }
}

/// 09.5 The penalty's sign.
mod ex_09_5_penalty {
    use super::expect;
    use sampling::SamplingParams;
    use sampling::exercises::{Seen, penalize};

    const NOWHERE: Seen = Seen {
        in_prompt: false,
        in_output: 0,
    };
    const IN_PROMPT: Seen = Seen {
        in_prompt: true,
        in_output: 0,
    };
    const TWICE_IN_OUTPUT: Seen = Seen {
        in_prompt: false,
        in_output: 2,
    };

    /// `penalties`: repetition, presence and frequency.
    #[track_caller]
    fn expect_logit(logit: f32, seen: Seen, penalties: (f32, f32, f32), expected: f32) {
        let params = SamplingParams::default()
            .with(|p| (p.repetition_penalty, p.presence_penalty, p.frequency_penalty) = penalties);
        let place = match seen {
            NOWHERE => "not in the text",
            IN_PROMPT => "in the prompt",
            _ => "twice in the output",
        };
        let (repetition, presence, frequency) = penalties;
        let what = format!(
            "logit {logit} of a token {place}; penalties: repetition {repetition}, presence {presence}, frequency \
             {frequency}"
        );
        expect(&what, penalize(logit, seen, &params), expected);
    }

    #[test]
    fn a_positive_logit_is_lowered() {
        expect_logit(4.0, IN_PROMPT, (2.0, 0.0, 0.0), 2.0);
    }

    #[test]
    fn a_negative_logit_is_lowered_too() {
        expect_logit(-4.0, IN_PROMPT, (2.0, 0.0, 0.0), -8.0);
    }

    #[test]
    fn both_signs_by_hand() {
        expect_logit(2.0, TWICE_IN_OUTPUT, (1.25, 0.0, 0.0), 1.6);
        expect_logit(-2.0, TWICE_IN_OUTPUT, (1.25, 0.0, 0.0), -2.5);
    }

    /// A factor below 1 rewards, on both sides of zero.
    #[test]
    fn a_factor_below_one_raises() {
        expect_logit(4.0, TWICE_IN_OUTPUT, (0.5, 0.0, 0.0), 8.0);
        expect_logit(-4.0, TWICE_IN_OUTPUT, (0.5, 0.0, 0.0), -2.0);
    }

    #[test]
    fn a_token_that_is_not_in_the_text_keeps_its_logit() {
        for logit in [4.0, -4.0, 0.0] {
            expect_logit(logit, NOWHERE, (2.0, 1.0, 1.0), logit);
        }
    }

    #[test]
    fn presence_and_frequency_count_the_output() {
        expect_logit(4.0, TWICE_IN_OUTPUT, (1.0, 0.5, 0.25), 3.0);
        expect_logit(-4.0, TWICE_IN_OUTPUT, (1.0, 0.5, 0.25), -5.0);
        expect_logit(4.0, IN_PROMPT, (1.0, 0.5, 0.25), 4.0);
    }
}

/// All of them together.
mod whole {
    use super::expect;
    use sampling::counted::made_up_logits;
    use sampling::{Sampler, SamplingParams, full_sort};
    use training::TokenId;

    /// Selecting and sorting choose the same token, with many parameters.
    #[test]
    fn the_sampler_chooses_what_the_slow_one_chooses() {
        let logits = made_up_logits(150, 5);
        let (prompt, output) = ([TokenId(0)], [TokenId(1), TokenId(2)]);
        let mut sampler = Sampler::new();
        for seed in 0..300u64 {
            let (temperature, top_k) = (0.1 + (seed % 17) as f32 / 8.0, (seed % 7 * seed % 40) as usize);
            let top_p = 0.1 + (seed % 10) as f32 / 10.0;
            let params = SamplingParams::default().with(|p| {
                (p.temperature, p.top_k, p.top_p) = (temperature, top_k, top_p);
                (p.repetition_penalty, p.seed) = (1.2, seed);
            });
            let params = params.check(logits.len()).unwrap();
            let fast = sampler.sample(&params, &prompt, &output, &mut logits.clone());
            let slow = full_sort::sample(&params, &prompt, &output, &mut logits.clone());
            let what = format!("temperature {temperature}, top-k {top_k}, top-p {top_p}, seed {seed}");
            expect(&what, fast.unwrap().token, slow.unwrap());
        }
    }

    /// Three tokens with shares of a half, a third and a sixth, drawn 6000 times.
    #[test]
    fn drawn_tokens_follow_their_shares() {
        let logits = [3f32.ln(), 2f32.ln(), 0.0];
        let params = SamplingParams::default().check(3).unwrap();
        let (mut sampler, mut counts) = (Sampler::new(), [0u32; 3]);
        let text = vec![TokenId(0); 6000];
        for position in 0..6000 {
            let sampled = sampler.sample(&params, &text[..position], &[], &mut logits.clone());
            counts[sampled.unwrap().token.index()] += 1;
        }
        let is_near = counts
            .iter()
            .zip([3000, 2000, 1000])
            .all(|(count, expected)| count.abs_diff(expected) <= 160);
        assert!(
            is_near,
            "6000 draws with shares 1/2, 1/3, 1/6\n  expected about [3000, 2000, 1000]\n  found    {counts:?}"
        );
    }

    #[test]
    fn a_seed_gives_the_same_text_twice() {
        let model = generation::Model::open("stories").unwrap();
        let (pool, mut state) = (layout::pool::Pool::new(2), generation::State::new(&model.config, 0));
        let params = SamplingParams::default().with(|p| (p.temperature, p.top_p, p.seed) = (0.8, 0.9, 7));
        let params = params.check(model.config.llama.vocab_size).unwrap();
        let prompt = model.encode_prompt("Once upon a time").unwrap();
        let mut text = || {
            let (mut sampler, mut output) = (Sampler::new(), Vec::new());
            for _ in 0..8 {
                let all = [&prompt[..], &output].concat();
                let mut logits = model.forward(&mut state, &pool, &all).unwrap().to_vec();
                output.push(sampler.sample(&params, &prompt, &output, &mut logits).unwrap().token);
            }
            output
        };
        let (first, second) = (text(), text());
        expect("eight tokens with seed 7, a second time", second, first);
    }
}
