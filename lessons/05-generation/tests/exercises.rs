//! The functions that a reader can write: what each must do, smallest case first.

use generation::GenerateError;
use generation::characters::take_complete_characters;
use generation::generate::{generate, greedy};
use generation::kernels::{apply_rope, attend_row, inverse_frequencies, rms_norm};
use generation::{FinishReason, Limits};
use loading::RopeScaling;
use training::TokenId;

#[track_caller]
fn close(actual: &[f32], expected: &[f32]) {
    fixtures::assert_close(
        actual,
        expected,
        1e-5 * fixtures::largest(expected).max(1.0),
    );
}

/// 05.1 RMSNorm: divide a row by its root mean square, then scale each number by its weight.
mod e1_rms_norm {
    use super::*;

    /// The mean square of 3 and 4 is 12.5.
    #[test]
    fn a_row_is_divided_by_its_root_mean_square() {
        let mut out = [0.0; 2];
        rms_norm(&[3.0, 4.0], &[1.0, 1.0], 0.0, &mut out);
        close(&out, &[3.0 / 12.5f32.sqrt(), 4.0 / 12.5f32.sqrt()]);
    }

    #[test]
    fn each_number_has_its_own_weight() {
        let mut out = [0.0; 3];
        rms_norm(&[2.0, 2.0, -2.0], &[1.0, 0.5, 3.0], 0.0, &mut out);
        close(&out, &[1.0, 0.5, -3.0]);
    }

    /// Layer norm would subtract the mean and give zeros here.
    #[test]
    fn the_mean_is_not_subtracted() {
        let mut out = [0.0; 4];
        rms_norm(&[5.0; 4], &[1.0; 4], 0.0, &mut out);
        close(&out, &[1.0; 4]);
    }

    /// `eps` goes inside the root: a row of zeros stays zero instead of becoming NaN.
    #[test]
    fn a_row_of_zeros_stays_zero() {
        let mut out = [1.0; 4];
        rms_norm(&[0.0; 4], &[1.0; 4], 1e-5, &mut out);
        assert_eq!(out, [0.0; 4]);
        rms_norm(&[3e-3; 4], &[1.0; 4], 1.6e-5, &mut out);
        close(&out, &[3.0 / 5.0; 4]);
    }

    #[test]
    fn lengths_that_are_no_multiple_of_sixteen_keep_their_tail() {
        for len in 1..40 {
            let x: Vec<f32> = (0..len).map(|i| i as f32 - 7.5).collect();
            let mean_square = x.iter().map(|x| f64::from(x * x)).sum::<f64>() / len as f64;
            let expected: Vec<f32> = x
                .iter()
                .map(|x| (f64::from(*x) / mean_square.sqrt()) as f32)
                .collect();
            let mut out = vec![0.0; len];
            rms_norm(&x, &vec![1.0; len], 0.0, &mut out);
            close(&out, &expected);
        }
    }
}

/// 05.2 Rotary embedding: turn pairs of numbers by an angle that grows with the position.
mod e2_rotary {
    use super::*;

    #[test]
    fn a_quarter_turn_moves_the_first_half_into_the_second() {
        let mut head = [1.0, 2.0, 3.0, 4.0];
        apply_rope(&mut head, 4, &[0.0, 0.0], &[1.0, 1.0]);
        close(&head, &[-3.0, -4.0, 1.0, 2.0]);
    }

    /// Number `i` is paired with `i + head_dim / 2`. Pairing neighbours is another model's convention: the same weights then give
    /// plausible nonsense.
    #[test]
    fn pairs_are_half_a_head_apart() {
        let mut head = [1.0, 0.0, 0.0, 0.0];
        apply_rope(&mut head, 4, &[0.6, 1.0], &[0.8, 0.0]);
        close(&head, &[0.6, 0.0, 0.8, 0.0]);
    }

    #[test]
    fn every_head_of_the_row_is_turned() {
        let mut heads = [1.0, 0.0, 2.0, 0.0, 3.0, 0.0];
        apply_rope(&mut heads, 2, &[0.0], &[1.0]);
        close(&heads, &[0.0, 1.0, 0.0, 2.0, 0.0, 3.0]);
    }

    /// Why it is done at all: a score depends only on the distance of query and key.
    #[test]
    fn scores_depend_on_distance_alone() {
        let head_dim = 8;
        let frequencies = inverse_frequencies(head_dim, 10_000.0, &RopeScaling::None);
        let turned = |x: [f32; 8], position: f32| {
            let cos: Vec<f32> = frequencies.iter().map(|f| (f * position).cos()).collect();
            let sin: Vec<f32> = frequencies.iter().map(|f| (f * position).sin()).collect();
            let mut x = x;
            apply_rope(&mut x, head_dim, &cos, &sin);
            x
        };
        let q = [0.3, -1.0, 0.5, 2.0, -0.7, 0.1, 0.9, -0.2];
        let k = [1.0, 0.4, -0.6, 0.3, 0.8, -1.1, 0.2, 0.5];
        let score = |m, n| {
            turned(q, m)
                .iter()
                .zip(turned(k, n))
                .map(|(a, b)| a * b)
                .sum::<f32>()
        };
        close(
            &[score(5.0, 3.0), score(102.0, 100.0)],
            &[score(2.0, 0.0); 2],
        );
        assert!(
            (score(5.0, 3.0) - score(3.0, 5.0)).abs() > 1e-3,
            "order matters"
        );
    }
}

/// 05.6 Angles, and how they are scaled for long contexts.
mod e6_scaling {
    use super::*;

    #[test]
    fn angles_fall_from_one_by_powers_of_theta() {
        close(
            &inverse_frequencies(8, 10_000.0, &RopeScaling::None),
            &[1.0, 0.1, 0.01, 0.001],
        );
    }

    #[test]
    fn linear_scaling_divides_every_angle() {
        close(
            &inverse_frequencies(4, 100.0, &RopeScaling::Linear { factor: 4.0 }),
            &[0.25, 0.025],
        );
    }

    /// The rule as Llama 3.1's reference code writes it, by wavelengths; ours is written by turns.
    #[test]
    fn llama3_scaling_has_three_bands() {
        let (factor, low, high, original) = (8.0, 1.0, 4.0, 8192usize);
        let scaling = RopeScaling::Llama3 {
            factor,
            low_freq_factor: low,
            high_freq_factor: high,
            original_max_position_embeddings: original,
        };
        let scaled = inverse_frequencies(128, 500_000.0, &scaling);
        let plain = inverse_frequencies(128, 500_000.0, &RopeScaling::None);
        let mut bands = [0; 3];
        for (scaled, plain) in scaled.iter().zip(plain) {
            let wavelength = std::f64::consts::TAU / f64::from(plain);
            let original = original as f64;
            let expected = if wavelength < original / high {
                bands[0] += 1;
                f64::from(plain)
            } else if wavelength > original / low {
                bands[2] += 1;
                f64::from(plain) / factor
            } else {
                bands[1] += 1;
                let smooth = (original / wavelength - low) / (high - low);
                (1.0 - smooth) * f64::from(plain) / factor + smooth * f64::from(plain)
            };
            assert!(
                (f64::from(*scaled) / expected - 1.0).abs() < 1e-5,
                "{scaled} {expected}"
            );
        }
        assert!(
            bands.iter().all(|pairs| *pairs > 3),
            "each band is met: {bands:?}"
        );
    }

    /// Short texts look right without the scaling and long ones degrade: it must change slow angles even at position one.
    #[test]
    fn llama3_scaling_is_not_ignored() {
        let scaling = RopeScaling::Llama3 {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 64,
        };
        let scaled = inverse_frequencies(16, 10_000.0, &scaling);
        let plain = inverse_frequencies(16, 10_000.0, &RopeScaling::None);
        assert_eq!(scaled[0], plain[0]);
        close(&scaled[7..], &[plain[7] / 8.0]);
    }
}

/// 05.3 Grouped attention: scores, softmax, weighted values; several query heads share one key and value head.
mod e3_attention {
    use super::*;

    /// Row-major `[positions, num_kv_heads * head_dim]`.
    fn attend(
        q: &[f32],
        k: &[f32],
        v: &[f32],
        num_heads: usize,
        num_kv_heads: usize,
        context_len: usize,
    ) -> Vec<f32> {
        let head_dim = q.len() / num_heads;
        let stride = num_kv_heads * head_dim;
        let mut scores = vec![f32::NAN; num_heads * context_len];
        let mut out = vec![f32::NAN; q.len()];
        attend_row(
            q,
            k,
            v,
            stride,
            context_len,
            num_heads,
            num_kv_heads,
            head_dim,
            &mut scores,
            &mut out,
        );
        out
    }

    #[test]
    fn one_position_gives_its_value() {
        close(
            &attend(&[9.0, -9.0], &[1.0, 1.0], &[5.0, 6.0], 1, 1, 1),
            &[5.0, 6.0],
        );
    }

    #[test]
    fn equal_scores_give_the_mean() {
        let out = attend(&[1.0, 1.0], &[0.0; 4], &[1.0, 2.0, 3.0, 6.0], 1, 1, 2);
        close(&out, &[2.0, 4.0]);
    }

    /// Scores are divided by the root of head_dim: with four numbers a score of 2 ln 3 weighs 3 to 1.
    #[test]
    fn scores_are_scaled_by_the_root_of_the_width() {
        let q = [2.0 * 3f32.ln(), 0.0, 0.0, 0.0];
        let k = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let v = [4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0];
        close(&attend(&q, &k, &v, 1, 1, 2), &[3.0, 0.0, 0.0, 2.0]);
    }

    /// Positions from `context_len` on are the future: they are not read, not even as zeros.
    #[test]
    fn the_future_is_not_seen() {
        let (k, v) = (
            [0.0, 0.0, f32::NAN, f32::NAN],
            [1.0, 2.0, f32::NAN, f32::NAN],
        );
        close(&attend(&[1.0, 1.0], &k, &v, 1, 1, 1), &[1.0, 2.0]);
    }

    /// Four query heads, two key and value heads: heads 0 and 1 use the first, 2 and 3 the second. (`head % num_kv_heads` is the
    /// common mistake.)
    #[test]
    fn neighbouring_query_heads_share_a_key_head() {
        let q = [1.0; 8];
        let v = [1.0, 1.0, 2.0, 2.0];
        close(
            &attend(&q, &[0.0; 4], &v, 4, 2, 1),
            &[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0],
        );
    }

    /// Scores of hundreds are ordinary in a trained model; e^500 is not a number.
    #[test]
    fn large_scores_do_not_overflow() {
        let out = attend(
            &[1000.0, 0.0],
            &[1.0, 0.0, -1.0, 0.0],
            &[1.0, 2.0, 3.0, 4.0],
            1,
            1,
            2,
        );
        close(&out, &[1.0, 2.0]);
    }

    /// Against the definition in f64, over widths and lengths that are no multiple of anything.
    #[test]
    fn the_definition_holds_for_every_shape() {
        for (num_heads, num_kv_heads, head_dim, context_len) in [
            (1, 1, 2, 1),
            (4, 4, 6, 5),
            (4, 2, 16, 17),
            (6, 2, 32, 33),
            (9, 3, 64, 40),
            (8, 1, 10, 3),
            (3, 1, 24, 50),
        ] {
            let wave = |len: usize, pace: f32| {
                (0..len)
                    .map(|i| (i as f32 * pace).sin())
                    .collect::<Vec<f32>>()
            };
            let q = wave(num_heads * head_dim, 0.37);
            let k = wave(context_len * num_kv_heads * head_dim, 0.11);
            let v = wave(context_len * num_kv_heads * head_dim, 0.23);
            let mut expected = vec![0.0f32; q.len()];
            for head in 0..num_heads {
                let kv_head = head * num_kv_heads / num_heads;
                let at = |m: &[f32], j: usize, d: usize| {
                    f64::from(m[(j * num_kv_heads + kv_head) * head_dim + d])
                };
                let score = |j: usize| -> f64 {
                    let dot: f64 = (0..head_dim)
                        .map(|d| f64::from(q[head * head_dim + d]) * at(&k, j, d))
                        .sum();
                    (dot / (head_dim as f64).sqrt()).exp()
                };
                let sum: f64 = (0..context_len).map(score).sum();
                for d in 0..head_dim {
                    let mixed: f64 = (0..context_len).map(|j| score(j) * at(&v, j, d)).sum();
                    expected[head * head_dim + d] = (mixed / sum) as f32;
                }
            }
            close(
                &attend(&q, &k, &v, num_heads, num_kv_heads, context_len),
                &expected,
            );
        }
    }
}

/// 05.4 The greedy choice and the loop around it.
mod e4_greedy_loop {
    use super::*;

    #[test]
    fn the_largest_logit_wins() {
        assert_eq!(greedy(&[-1.0, 3.0, 2.0]).unwrap(), TokenId(1));
        assert_eq!(
            greedy(&[-5.0, -3.0, -4.0]).unwrap(),
            TokenId(1),
            "all may be negative"
        );
        assert_eq!(greedy(&[f32::NEG_INFINITY; 3]).unwrap(), TokenId(0));
    }

    #[test]
    fn of_equal_logits_the_lowest_id_wins() {
        assert_eq!(greedy(&[1.0, 7.0, 7.0, 7.0]).unwrap(), TokenId(1));
    }

    /// Every comparison with NaN is false, so a search would step over it and hide that the weights are damaged.
    #[test]
    fn a_logit_that_is_not_a_number_is_an_error() {
        for place in 0..3 {
            let mut logits = [1.0, 2.0, 3.0];
            logits[place] = f32::NAN;
            let error = greedy(&logits).unwrap_err();
            assert!(matches!(error, GenerateError::NotANumber { token_id } if token_id == place));
        }
        assert!(matches!(greedy(&[]), Err(GenerateError::NoLogits)));
    }

    fn limits(max_new_tokens: usize) -> Limits {
        Limits {
            max_new_tokens,
            max_seq_len: 10,
            end_of_text: vec![TokenId(0), TokenId(9)],
        }
    }

    /// A model that counts: after a sequence of length n it says n, and writes down what it was shown.
    fn count(
        prompt: &[u32],
        limits: &Limits,
    ) -> (
        Result<generation::Generation, GenerateError>,
        Vec<Vec<u32>>,
        Vec<u32>,
    ) {
        let prompt: Vec<TokenId> = prompt.iter().copied().map(TokenId).collect();
        let (mut seen, mut heard) = (Vec::new(), Vec::new());
        let result = generate(
            &prompt,
            limits,
            &mut |tokens| {
                seen.push(tokens.iter().map(|t| t.0).collect());
                Ok(TokenId(tokens.len() as u32))
            },
            &mut |token| heard.push(token.0),
        );
        (result, seen, heard)
    }

    #[test]
    fn each_step_sees_the_whole_sequence_so_far() {
        let (result, seen, heard) = count(&[5, 6], &limits(3));
        assert_eq!(seen, [vec![5, 6], vec![5, 6, 2], vec![5, 6, 2, 3]]);
        assert_eq!(heard, [2, 3, 4]);
        let generation = result.unwrap();
        assert_eq!(generation.tokens, [TokenId(2), TokenId(3), TokenId(4)]);
        assert_eq!(
            (generation.prompt_tokens, generation.finish_reason),
            (2, FinishReason::Length)
        );
        assert_eq!(generation.rows_recomputed(), 2 + 3 + 4);
    }

    /// Either of two ids ends the text. A loop that knows only one of them talks on.
    #[test]
    fn any_end_of_text_id_ends_it_and_is_no_part_of_it() {
        let (result, seen, heard) = count(&[1, 1, 1, 1, 1, 1, 1], &limits(100));
        let generation = result.unwrap();
        assert_eq!(generation.tokens, [TokenId(7), TokenId(8)]);
        assert_eq!((heard, seen.len()), (vec![7, 8], 3));
        assert_eq!(generation.finish_reason, FinishReason::Stop);
        assert_eq!(generation.rows_recomputed(), 7 + 8 + 9);
    }

    #[test]
    fn zero_tokens_compute_nothing() {
        let (result, seen, _) = count(&[1], &limits(0));
        assert_eq!(seen.len(), 0);
        let generation = result.unwrap();
        assert!(generation.tokens.is_empty());
        assert_eq!(generation.finish_reason, FinishReason::Length);
    }

    #[test]
    fn prompt_and_answer_never_exceed_the_context() {
        let limits = Limits {
            end_of_text: Vec::new(),
            ..limits(usize::MAX)
        };
        let (result, seen, _) = count(&[1; 7], &limits);
        let generation = result.unwrap();
        assert_eq!(generation.tokens, [TokenId(7), TokenId(8), TokenId(9)]);
        assert_eq!(
            (generation.finish_reason, seen.len()),
            (FinishReason::Context, 3)
        );
        // A prompt that fills the context leaves no room: nothing is computed.
        let (result, seen, _) = count(&[1; 10], &limits);
        assert_eq!(
            (result.unwrap().finish_reason, seen.len()),
            (FinishReason::Context, 0)
        );
    }

    #[test]
    fn prompts_that_can_not_be_continued_are_errors() {
        assert!(matches!(
            count(&[], &limits(5)).0,
            Err(GenerateError::EmptyPrompt)
        ));
        let error = count(&[1; 11], &limits(5)).0.unwrap_err();
        assert!(matches!(
            error,
            GenerateError::PromptTooLong {
                prompt_tokens: 11,
                max_seq_len: 10
            }
        ));
    }

    #[test]
    fn an_error_of_the_model_ends_the_loop() {
        let result = generate(
            &[TokenId(1)],
            &limits(5),
            &mut |_| Err(GenerateError::NoLogits),
            &mut |_| {},
        );
        assert!(matches!(result, Err(GenerateError::NoLogits)));
    }
}

/// 05.5 Characters that are split over tokens.
mod e5_characters {
    use super::*;

    fn take(bytes: &[u8]) -> (String, usize) {
        let mut text = String::new();
        let taken = take_complete_characters(bytes, &mut text);
        (text, taken)
    }

    #[test]
    fn whole_characters_pass() {
        assert_eq!(take("story".as_bytes()), ("story".to_owned(), 5));
        assert_eq!(take("你好 🦊".as_bytes()), ("你好 🦊".to_owned(), 11));
        assert_eq!(take(b""), (String::new(), 0));
    }

    /// 你 is three bytes and 🦊 four: every beginning of one waits for its end.
    #[test]
    fn the_beginning_of_a_character_waits() {
        for character in ["é", "你", "🦊"] {
            let bytes = character.as_bytes();
            for cut in 1..bytes.len() {
                let mut cut_off = b"ab".to_vec();
                cut_off.extend_from_slice(&bytes[..cut]);
                assert_eq!(
                    take(&cut_off),
                    ("ab".to_owned(), 2),
                    "{character} cut at {cut}"
                );
            }
        }
    }

    /// Waiting for bytes that can never become a character would hold the text back for ever.
    #[test]
    fn bytes_that_can_not_become_a_character_are_replaced_at_once() {
        assert_eq!(take(b"a\xffb"), ("a\u{fffd}b".to_owned(), 3));
        assert_eq!(
            take(b"\x80"),
            ("\u{fffd}".to_owned(), 1),
            "a middle without a beginning"
        );
        assert_eq!(
            take(b"\xe4\xbda"),
            ("\u{fffd}a".to_owned(), 3),
            "a beginning without its end"
        );
        assert_eq!(
            take(b"\xff\xe4\xbd"),
            ("\u{fffd}".to_owned(), 1),
            "wrong first, waiting then"
        );
    }

    /// `text` may hold something already: it is added to.
    #[test]
    fn text_is_appended() {
        let mut text = "so ".to_owned();
        take_complete_characters(b"far", &mut text);
        assert_eq!(text, "so far");
    }
}
