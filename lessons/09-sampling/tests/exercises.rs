//! What each exercise must do, smallest case first. One group an exercise, each with its own function and nothing that another one
//! writes; `whole` at the end plays all of them together.

use fixtures::expect;

/// Compares numbers that may differ by rounding.
#[track_caller]
fn expect_close(what: &str, found: &[f32], expected: &[f32]) {
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(close),
        "{what}\n  expected {expected:?}\n  found    {found:?}"
    );
}

/// The options of a question in `course.toml`, and which of them it calls right.
fn question(id: &str) -> (Vec<String>, usize) {
    fixtures::question(include_str!("../course.toml"), id)
}

/// 09.7 Twice as hot: the answer, computed.
mod ex_09_7_temperature {
    use super::{expect, question};

    /// Ratio of the first two shares, which are 4 to 1 at temperature 1.
    fn ratio(temperature: f64) -> f64 {
        let logits = [4f64.ln(), 0.0];
        let powers = logits.map(|logit| (logit / temperature).exp());
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
            assert!(
                ratio(temperature) >= 1.0,
                "at temperature {temperature} the second comes first"
            );
        }
    }
}

/// 09.1 Softmax: logits to shares.
mod ex_09_1_softmax {
    use super::expect_close;
    use sampling::softmax::softmax;

    /// The shares, written over what is no number.
    fn shares(logits: &[f32], temperature: f32) -> Vec<f32> {
        let mut shares = vec![f32::NAN; logits.len()];
        softmax(logits, temperature, &mut shares);
        shares
    }

    #[test]
    fn equal_logits_get_equal_shares() {
        expect_close("logits [0, 0] at temperature 1", &shares(&[0.0, 0.0], 1.0), &[0.5, 0.5]);
        expect_close("logits [7, 7, 7, 7]", &shares(&[7.0; 4], 1.0), &[0.25; 4]);
    }

    /// ln 1, ln 2 and ln 5: the powers are 1, 2 and 5, their sum 8.
    #[test]
    fn shares_are_of_the_whole() {
        let logits = [0.0, 2f32.ln(), 5f32.ln()];
        expect_close(
            "logits [ln 1, ln 2, ln 5] at temperature 1",
            &shares(&logits, 1.0),
            &[0.125, 0.25, 0.625],
        );
    }

    /// The chapter's row: powers 7.389, 2.718, 1 and 0.368, sum 11.475.
    #[test]
    fn four_logits_by_hand() {
        let found = shares(&[2.0, 1.0, 0.0, -1.0], 1.0);
        let expected = [0.643_914, 0.236_883, 0.087_144, 0.032_059];
        expect_close("logits [2, 1, 0, -1] at temperature 1", &found, &expected);
    }

    /// 4 to 1 becomes 2 to 1 at temperature 2, and 16 to 1 at temperature 0.5.
    #[test]
    fn a_temperature_divides_the_logits() {
        let logits = [4f32.ln(), 0.0];
        expect_close(
            "logits [ln 4, 0] at temperature 2",
            &shares(&logits, 2.0),
            &[2.0 / 3.0, 1.0 / 3.0],
        );
        expect_close(
            "logits [ln 4, 0] at temperature 0.5",
            &shares(&logits, 0.5),
            &[16.0 / 17.0, 1.0 / 17.0],
        );
    }

    /// The same differences as [1, 0], so the same shares.
    #[test]
    fn large_logits_do_not_overflow() {
        let expected = shares(&[1.0, 0.0], 1.0);
        expect_close(
            "logits [1000, 999] have the shares of [1, 0]",
            &shares(&[1000.0, 999.0], 1.0),
            &expected,
        );
        expect_close(
            "logits [100, 80, 0] have the shares of [20, 0, -80]",
            &shares(&[100.0, 80.0, 0.0], 1.0),
            &shares(&[20.0, 0.0, -80.0], 1.0),
        );
        expect_close(
            "logits [9, 8] at temperature 0.01",
            &shares(&[9.0, 8.0], 0.01),
            &[1.0, 0.0],
        );
    }

    #[test]
    fn logits_far_below_zero_keep_their_shares() {
        let expected = shares(&[1.0, 0.0], 1.0);
        expect_close(
            "logits [-1000, -1001] have the shares of [1, 0]",
            &shares(&[-1000.0, -1001.0], 1.0),
            &expected,
        );
        expect_close(
            "logits [100, 100, 96] at temperature 1",
            &shares(&[100.0, 100.0, 96.0], 1.0),
            &shares(&[4.0, 4.0, 0.0], 1.0),
        );
    }

    #[test]
    fn a_forbidden_token_gets_exactly_nothing() {
        let shares = shares(&[f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY, 0.0], 0.7);
        super::expect("logits [-inf, 0, -inf, 0]", shares, vec![0.0, 0.5, 0.0, 0.5]);
    }

    /// Whatever the length: no tail is left out.
    #[test]
    fn all_tokens_are_counted() {
        for len in [1, 2, 15, 16, 17, 33, 1000] {
            let found = shares(&vec![0.5; len], 1.3);
            let expected = vec![1.0 / len as f32; len];
            expect_close(&format!("{len} equal logits"), &found, &expected);
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
        expect("one too few", options[1].as_str(), (kept - 1).to_string());
        expect("nine tenths of ten tokens", options[0].as_str(), "9");
    }
}

/// 09.3 The border of top-p.
mod ex_09_3_nucleus {
    use super::expect;
    use sampling::nucleus::nucleus_len;

    #[test]
    fn the_token_that_crosses_the_border_stays() {
        let shares = [0.5, 0.3, 0.2];
        expect(
            "shares [0.5, 0.3, 0.2], p 0.6: 0.5 is not enough, so two are kept",
            nucleus_len(&shares, 1.0, 0.6),
            2usize,
        );
        expect(
            "shares [0.5, 0.3, 0.2], p 0.9: all are needed",
            nucleus_len(&shares, 1.0, 0.9),
            3usize,
        );
    }

    /// The chapter's row: 0.65 stand before the third token, 0.8 before the fourth.
    #[test]
    fn six_shares_by_hand() {
        let shares = [0.4, 0.25, 0.15, 0.1, 0.06, 0.04];
        expect(
            "shares [0.4, 0.25, 0.15, 0.1, 0.06, 0.04], p 0.7",
            nucleus_len(&shares, 1.0, 0.7),
            3usize,
        );
    }

    #[test]
    fn one_is_always_kept() {
        expect("shares [0.9, 0.1], p 0.3", nucleus_len(&[0.9, 0.1], 1.0, 0.3), 1usize);
        expect(
            "shares [0.9, 0.1], p next to nothing",
            nucleus_len(&[0.9, 0.1], 1.0, f32::MIN_POSITIVE),
            1usize,
        );
        expect("one token", nucleus_len(&[1.0], 1.0, 0.5), 1usize);
    }

    #[test]
    fn whoever_has_it_exactly_needs_no_other() {
        expect(
            "shares [0.5, 0.25, 0.25], p 0.5",
            nucleus_len(&[0.5, 0.25, 0.25], 1.0, 0.5),
            1usize,
        );
        expect(
            "shares [0.5, 0.25, 0.25], p 0.75",
            nucleus_len(&[0.5, 0.25, 0.25], 1.0, 0.75),
            2usize,
        );
    }

    #[test]
    fn mass_is_counted_not_tokens() {
        let mut shares = [0.005f32; 20];
        shares[0] = 0.905;
        expect(
            "one token with 0.905 and 19 with 0.005 each, p 0.9",
            nucleus_len(&shares, 1.0, 0.9),
            1usize,
        );
        expect(
            "twenty equal tokens, p 0.5",
            nucleus_len(&[0.05; 20], 1.0, 0.475),
            10usize,
        );
    }

    /// Parts of 10 instead of 1, and of 0.5.
    #[test]
    fn p_is_a_share_of_the_mass() {
        expect(
            "[5, 3, 2] of 10, p 0.6",
            nucleus_len(&[5.0, 3.0, 2.0], 10.0, 0.6),
            2usize,
        );
        expect(
            "[0.25, 0.125, 0.125] of 0.5, p 0.6",
            nucleus_len(&[0.25, 0.125, 0.125], 0.5, 0.6),
            2usize,
        );
    }

    #[test]
    fn all_are_kept_where_the_border_lies_further_on() {
        expect(
            "the first two, [0.4, 0.2], of more tokens with 1 together, p 0.9",
            nucleus_len(&[0.4, 0.2], 1.0, 0.9),
            2usize,
        );
        expect(
            "[0.5, 0.5] with a mass of 1.0000001, p 1",
            nucleus_len(&[0.5, 0.5], 1.000_000_1, 1.0),
            2usize,
        );
    }
}

/// 09.2 The largest few.
mod ex_09_2_top_k {
    use super::expect;
    use sampling::counted::{Counted, comparisons, made_up_logits};
    use sampling::select::top_k;

    fn top(numbers: &[f32], k: usize) -> Vec<u32> {
        let mut kept = Vec::new();
        top_k(numbers, k, &mut kept);
        kept
    }

    #[test]
    fn the_largest_come_first() {
        expect(
            "the 3 largest of [3, 9, 1, 7, 5], as indices",
            top(&[3.0, 9.0, 1.0, 7.0, 5.0], 3),
            vec![1, 3, 4],
        );
        expect("the largest of [-3, -1, -2]", top(&[-3.0, -1.0, -2.0], 1), vec![1]);
    }

    #[test]
    fn eight_digits_by_hand() {
        let digits = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        expect(
            "the 2 largest of [3, 1, 4, 1, 5, 9, 2, 6], as indices",
            top(&digits, 2),
            vec![5, 7],
        );
    }

    #[test]
    fn of_equal_numbers_the_lower_index_stays() {
        expect(
            "the 2 largest of [1, 5, 5, 5]",
            top(&[1.0, 5.0, 5.0, 5.0], 2),
            vec![1, 2],
        );
        expect(
            "the 3 largest of [2, 1, 2, 1, 2, 2, 2, 2]",
            top(&[2.0, 1.0, 2.0, 1.0, 2.0, 2.0, 2.0, 2.0], 3),
            vec![0, 2, 4],
        );
        expect(
            "the 2 largest of [0, -0, 0]: equal, too",
            top(&[0.0, -0.0, 0.0], 2),
            vec![0, 1],
        );
    }

    #[test]
    fn fewer_than_k_are_all_kept() {
        expect("5 of [1, 3, 2]", top(&[1.0, 3.0, 2.0], 5), vec![1, 2, 0]);
        expect(
            "as many as a usize can say",
            top(&[1.0, 3.0, 2.0], usize::MAX),
            vec![1, 2, 0],
        );
        expect("none of [1, 3, 2]", top(&[1.0, 3.0, 2.0], 0), Vec::<u32>::new());
        expect("3 of nothing", top(&[], 3), Vec::<u32>::new());
    }

    #[test]
    fn a_forbidden_token_is_a_number_too() {
        let low = f32::NEG_INFINITY;
        expect(
            "the 3 largest of [-inf, 2, -inf, 1]",
            top(&[low, 2.0, low, 1.0], 3),
            vec![1, 3, 0],
        );
    }

    #[test]
    fn what_stood_in_the_list_is_forgotten() {
        let mut kept = vec![8, 9];
        top_k(&[1.0, 2.0], 1, &mut kept);
        expect("the largest of [1, 2], into a list with [8, 9]", &kept[..], [1]);
        top_k::<f32>(&[], 1, &mut kept);
        expect("the largest of nothing, into the same list", &kept[..], [0u32; 0]);
    }

    /// Against a sort, for many lengths and k, with equal numbers.
    #[test]
    fn it_is_the_head_of_a_sort() {
        for len in [1usize, 7, 64, 500] {
            let numbers: Vec<f32> = (0..len).map(|i| (i * 7919 % 101) as f32).collect();
            let mut sorted: Vec<u32> = (0..len as u32).collect();
            sorted.sort_by(|a, b| numbers[*b as usize].total_cmp(&numbers[*a as usize]).then(a.cmp(b)));
            for k in [1, 2, 3, 10, 63, 64, 499, 600] {
                let head = sorted[..k.min(len)].to_vec();
                expect(
                    &format!("the {k} largest of {len} numbers i * 7919 mod 101"),
                    top(&numbers, k),
                    head,
                );
            }
        }
    }

    const MANY: usize = 16_384;

    /// Comparisons for `k` of 16 384 numbers in no order.
    fn count(k: usize) -> u64 {
        let numbers: Vec<Counted> = made_up_logits(MANY, 1).into_iter().map(Counted).collect();
        let mut kept = Vec::new();
        comparisons(|| top_k(&numbers, k, &mut kept))
    }

    #[test]
    fn most_numbers_are_compared_once() {
        let found = count(3);
        assert!(
            found <= 5 * MANY as u64,
            "the 3 largest of {MANY} numbers\n  expected at most {} comparisons, 5 a number\n  found    {found}, {:.1} a number: a sort takes \
             log2 of {MANY}, which is 14, and orders {} numbers that nobody asked for",
            5 * MANY,
            found as f64 / MANY as f64,
            MANY - 3
        );
    }

    #[test]
    fn fifty_are_not_fifty_passes() {
        let found = count(50);
        assert!(
            found <= 25 * MANY as u64,
            "the 50 largest of {MANY} numbers\n  expected at most {} comparisons, 25 a number (a sort takes 14)\n  found    {found}, {:.1} a number: \
             is there a pass for each of the 50?",
            25 * MANY,
            found as f64 / MANY as f64
        );
    }
}

/// 09.8 Who moved the generator: the answer, tried on two small generators.
mod ex_09_8_company {
    use super::{expect, question};

    fn mix(x: u64) -> u64 {
        let x = (x ^ (x >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x ^ (x >> 29)
    }

    /// What seed 7 gets at position 5 where `strangers` draw in front of it in each step: from one running generator, and by address.
    fn at_five(strangers: u64) -> (u64, u64) {
        let mut state = 7u64;
        let mut running = 0;
        for _position in 0..=5 {
            for _draw in 0..=strangers {
                state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                running = mix(state);
            }
        }
        (running, mix(mix(7) ^ 5))
    }

    #[test]
    fn only_a_running_generator_is_moved_by_strangers() {
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
    use sampling::random::uniform;
    use std::collections::BTreeSet;

    const DRAWS: u64 = 20_000;

    /// A name, and number i of a walk.
    type Walk = (&'static str, fn(u64) -> f64);

    /// Three ways to walk: from position to position, answer to answer, seed to seed.
    fn walks() -> [Walk; 3] {
        [
            ("positions 0, 1, 2, … of seed 42", |i| uniform(42, 0, i)),
            ("answers 0, 1, 2, … of seed 42 at position 3", |i| {
                uniform(42, i as u32, 3)
            }),
            ("seeds 0, 1, 2, … at position 3", |i| uniform(i, 0, 3)),
        ]
    }

    #[test]
    fn numbers_lie_between_zero_and_one() {
        for (what, number) in walks() {
            for i in 0..DRAWS {
                let found = number(i);
                assert!(
                    (0.0..1.0).contains(&found),
                    "{what}: number {i}\n  expected at least 0 and less than 1\n  found    {found}"
                );
            }
        }
    }

    /// Asked in another order, and twice.
    #[test]
    fn an_address_has_one_number() {
        let upwards: Vec<f64> = (0..50).map(|i| uniform(1, 2, i)).collect();
        let mut downwards: Vec<f64> = (0..50).rev().map(|i| uniform(1, 2, i)).collect();
        downwards.reverse();
        expect(
            "positions 0 to 49 of seed 1, answer 2, asked from the end",
            downwards,
            upwards,
        );
    }

    #[test]
    fn two_positions_are_two_numbers() {
        let (first, second) = (uniform(5, 0, 0), uniform(5, 0, 1));
        assert!(
            first != second,
            "seed 5, positions 0 and 1\n  expected two numbers\n  found    {first} twice"
        );
    }

    #[test]
    fn answers_to_one_prompt_differ() {
        let (first, second) = (uniform(5, 0, 9), uniform(5, 1, 9));
        assert!(
            first != second,
            "seed 5, position 9, answers 0 and 1\n  expected two numbers\n  found    {first} twice"
        );
    }

    #[test]
    fn seeds_and_positions_do_not_make_up_for_each_other() {
        let mut seen = BTreeSet::new();
        for seed in 0..40u64 {
            for answer in 0..4u32 {
                for position in 0..40u64 {
                    let number = uniform(seed, answer, position);
                    assert!(
                        seen.insert(number.to_bits()),
                        "seed {seed}, answer {answer}, position {position}\n  expected a number that no other address of 40 seeds, 4 answers and 40 \
                         positions has\n  found    {number}, which was there before"
                    );
                }
            }
        }
    }

    /// A tenth of the draws in each tenth; 20 000 draws are 2000 each, give or take 4 times 42.
    #[test]
    fn numbers_are_spread_evenly() {
        for (what, number) in walks() {
            let mut tenths = [0u32; 10];
            (0..DRAWS).for_each(|i| tenths[(number(i) * 10.0) as usize] += 1);
            assert!(
                tenths.iter().all(|count| count.abs_diff(2000) <= 170),
                "{what}: how many of {DRAWS} numbers lie in each tenth\n  expected 2000, 170 more or fewer\n  found    {tenths:?}"
            );
        }
    }

    /// After a number in each third, the next one is in each third equally often: 2222 times, give or take 4 times 44.
    #[test]
    fn neighbours_are_strangers() {
        for (what, number) in walks() {
            let mut pairs = [0u32; 9];
            let third = |i: u64| (number(i) * 3.0) as usize;
            (0..DRAWS).for_each(|i| pairs[third(i) * 3 + third(i + 1)] += 1);
            assert!(
                pairs.iter().all(|count| count.abs_diff(2222) <= 178),
                "{what}: how often a number in each third is followed by one in each third\n  expected 2222 for all nine, 178 more or fewer\n  found    {pairs:?}"
            );
        }
    }
}

/// 09.5 The penalty's sign.
mod ex_09_5_penalty {
    use super::expect;
    use sampling::SamplingParams;
    use sampling::penalty::{Seen, penalize};

    fn params(repetition: f32, presence: f32, frequency: f32) -> SamplingParams {
        SamplingParams {
            repetition_penalty: repetition,
            presence_penalty: presence,
            frequency_penalty: frequency,
            ..SamplingParams::default()
        }
    }

    const IN_PROMPT: Seen = Seen {
        in_prompt: true,
        in_output: 0,
    };
    const TWICE: Seen = Seen {
        in_prompt: false,
        in_output: 2,
    };

    #[test]
    fn a_positive_logit_is_lowered() {
        expect(
            "logit 4, seen, repetition penalty 2",
            penalize(4.0, IN_PROMPT, &params(2.0, 0.0, 0.0)),
            2.0f32,
        );
    }

    #[test]
    fn a_negative_logit_is_lowered_too() {
        expect(
            "logit -4, seen, repetition penalty 2",
            penalize(-4.0, IN_PROMPT, &params(2.0, 0.0, 0.0)),
            -8.0f32,
        );
    }

    #[test]
    fn both_signs_by_hand() {
        let params = params(1.25, 0.0, 0.0);
        expect(
            "logit 2, seen, repetition penalty 1.25",
            penalize(2.0, TWICE, &params),
            1.6f32,
        );
        expect(
            "logit -2, seen, repetition penalty 1.25",
            penalize(-2.0, TWICE, &params),
            -2.5f32,
        );
    }

    /// A factor below 1 rewards, on both sides of zero.
    #[test]
    fn a_factor_below_one_raises() {
        expect(
            "logit 4, factor 0.5",
            penalize(4.0, TWICE, &params(0.5, 0.0, 0.0)),
            8.0f32,
        );
        expect(
            "logit -4, factor 0.5",
            penalize(-4.0, TWICE, &params(0.5, 0.0, 0.0)),
            -2.0f32,
        );
    }

    #[test]
    fn a_token_that_was_not_seen_keeps_its_logit() {
        for logit in [4.0, -4.0, 0.0] {
            expect(
                "a logit, not seen",
                penalize(logit, Seen::default(), &params(2.0, 1.0, 1.0)),
                logit,
            );
        }
    }

    #[test]
    fn presence_and_frequency_are_taken_from_what_the_output_has() {
        let params = params(1.0, 0.5, 0.25);
        expect(
            "logit 4, twice in the output: less 0.5 and twice 0.25",
            penalize(4.0, TWICE, &params),
            3.0f32,
        );
        expect("logit -4, twice in the output", penalize(-4.0, TWICE, &params), -5.0f32);
        expect("logit 4, in the prompt only", penalize(4.0, IN_PROMPT, &params), 4.0f32);
    }
}

/// All of them together.
mod whole {
    use super::expect;
    use sampling::counted::made_up_logits;
    use sampling::{Sampler, SamplingParams, full_sort};
    use training::TokenId;

    /// Selecting and sorting choose the same token, at many settings.
    #[test]
    fn the_sampler_chooses_what_the_slow_one_chooses() {
        let logits = made_up_logits(150, 5);
        let (prompt, output) = ([TokenId(0)], [TokenId(1), TokenId(2)]);
        let mut sampler = Sampler::new();
        for seed in 0..300u64 {
            let step = seed as f32;
            let params = SamplingParams {
                temperature: 0.1 + step % 17.0 / 8.0,
                top_k: (seed % 7 * seed % 40) as usize,
                top_p: 0.1 + step % 10.0 / 10.0,
                repetition_penalty: 1.2,
                seed,
                ..SamplingParams::default()
            };
            let what = format!("{params:?}");
            let params = params.check(logits.len()).unwrap();
            let fast = sampler.sample(&params, &prompt, &output, &mut logits.clone());
            let slow = full_sort::sample(&params, &prompt, &output, &mut logits.clone());
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
        let near = |(count, expected): (&u32, u32)| count.abs_diff(expected) <= 160;
        assert!(
            counts.iter().zip([3000, 2000, 1000]).all(near),
            "tokens drawn 6000 times with shares 1/2, 1/3, 1/6\n  expected about [3000, 2000, 1000]\n  found    {counts:?}"
        );
    }

    #[test]
    fn a_seed_gives_the_same_text_twice() {
        let model = generation::Model::open("stories").unwrap();
        let pool = layout::pool::Pool::new(2);
        let mut state = generation::State::new(&model.config, 0);
        let params = SamplingParams {
            temperature: 0.8,
            top_p: 0.9,
            seed: 7,
            ..SamplingParams::default()
        };
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
