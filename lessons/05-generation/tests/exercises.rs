//! The tests of each exercise, smallest case first. A group tests one function and uses no other exercise; `whole` at
//! the end runs all of them together.

use fixtures::expect;
use std::fmt::Display;

/// Writes numbers with at most four digits after the point.
fn written(row: &[f32]) -> String {
    const MOST: usize = 12;
    let number = |x: &f32| {
        let digits = format!("{x:.4}");
        let short = digits.trim_end_matches('0').trim_end_matches('.');
        if short == "-0" { "0" } else { short }.to_owned()
    };
    let mut shown: Vec<String> = row.iter().take(MOST).map(number).collect();
    if row.len() > MOST {
        shown.push(format!("… ({} numbers)", row.len()));
    }
    format!("[{}]", shown.join(", "))
}

/// Compares a row with the expected one, within 1e-5 of its largest number.
#[track_caller]
fn expect_row(call: impl Display, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{call}: the row's length");
    let tolerance = 1e-5 * fixtures::largest(expected).max(1.0);
    if let Some(difference) = fixtures::compare(found, expected, tolerance) {
        let at = difference.first;
        panic!(
            "{call}\n  expected {}\n  found    {}\n  first wrong: number {at} of {}, {} instead of {}",
            written(expected),
            written(found),
            found.len(),
            found[at],
            expected[at],
        );
    }
}

/// The options of a question in `course.toml`, and the index of the right one.
fn question(id: &str) -> (Vec<String>, usize) {
    fixtures::question(include_str!("../course.toml"), id)
}

/// 05.7 Rows computed: the tests count the rows step by step, so that the answer in `course.toml` can not be wrong.
mod ex_05_7_rows_computed {
    use super::{expect, question};
    use generation::limits::rows_of_naive_loop;
    use std::collections::BTreeSet;

    /// Step `i` computes the prompt and the `i` tokens written so far: the positions below 12 + i.
    fn positions_computed() -> impl Iterator<Item = u64> {
        (0..64).flat_map(|step| 0..12 + step)
    }

    #[test]
    fn every_step_computes_all_rows_so_far() {
        let rows = positions_computed().count() as u64;
        assert_eq!(rows, rows_of_naive_loop(12, 64));
        let (options, answer) = question("05.7");
        expect(
            "the right option is the number of rows",
            options[answer].as_str(),
            rows.to_string(),
        );
    }

    /// The two wrong options: one row for each token, and each different row once.
    #[test]
    fn the_wrong_options_are_the_wrong_ideas() {
        let different = positions_computed().collect::<BTreeSet<_>>().len();
        let (options, _) = question("05.7");
        expect(
            "the first two options",
            &options[..2],
            [64.to_string(), different.to_string()],
        );
    }
}

/// 05.8 What comes out: the length of the logits and the work of the head, from the sizes of the default model.
mod ex_05_8_what_comes_out {
    use super::{expect, question};
    use generation::work::Work;
    use loading::ModelFolder;

    fn stories() -> ModelFolder {
        loading::open("stories").unwrap_or_else(|error| panic!("{error}"))
    }

    /// One number for each token of the vocabulary, for the last row. The head has that many rows, and here the head is
    /// the embedding.
    #[test]
    fn one_number_comes_out_for_each_token_of_the_vocabulary() {
        let stories = stories();
        let head = stories.weights.info("model.embed_tokens.weight");
        let logits = head.expect("the head of a tied model").shape[0];
        let (options, answer) = question("05.8");
        expect(
            "the right option is the number of logits",
            options[answer].as_str(),
            format!("{logits} numbers"),
        );
    }

    /// The head multiplies the last row only: four rows cost four times the layers of one row, but one head.
    #[test]
    fn the_head_runs_on_one_row() {
        let llama = stories().config.llama;
        let head = (llama.vocab_size * llama.hidden_size) as u64;
        let layers = |rows| Work::of_shape(&llama, rows).linear_multiply_adds - head;
        assert_eq!(layers(4), 4 * layers(1));
    }
}

/// 05.1 RMSNorm: divide a row by its root mean square, then scale each number by its weight.
mod ex_05_1_rms_norm {
    use super::{expect_row, written};
    use generation::kernels::rms_norm;

    #[track_caller]
    fn check(x: &[f32], weight: &[f32], eps: f32, expected: &[f32]) {
        let mut out = vec![f32::NAN; x.len()];
        rms_norm(x, weight, eps, &mut out);
        let (x, weight) = (written(x), written(weight));
        expect_row(
            format!("rms_norm of x = {x}, weight = {weight}, eps = {eps}"),
            &out,
            expected,
        );
    }

    #[test]
    fn a_row_of_one_number_becomes_one() {
        check(&[3.0], &[1.0], 0.0, &[1.0]);
    }

    /// The mean square of 1 and 7 is 25, its root 5.
    #[test]
    fn a_row_is_divided_by_its_root_mean_square() {
        check(&[1.0, 7.0], &[1.0, 1.0], 0.0, &[0.2, 1.4]);
        check(&[6.0, -8.0, 0.0, 0.0], &[1.0; 4], 0.0, &[1.2, -1.6, 0.0, 0.0]);
    }

    /// Layer norm would subtract the mean, and a row of fives would become zero.
    #[test]
    fn the_mean_is_not_subtracted() {
        let mut out = [f32::NAN; 4];
        rms_norm(&[5.0; 4], &[1.0; 4], 1e-5, &mut out);
        assert!(
            out.iter().all(|x| x.abs() > 1e-3),
            "rms_norm of x = [5, 5, 5, 5], weight = [1, 1, 1, 1], eps = 0.00001\n  expected [1, 1, 1, 1]\n  found    {}: the mean is gone",
            written(&out)
        );
    }

    /// Two numbers of 3: the mean of the squares is 9, their sum 18.
    #[test]
    fn the_mean_of_the_squares_is_taken_not_their_sum() {
        check(&[3.0, -3.0], &[1.0; 2], 0.0, &[1.0, -1.0]);
    }

    #[test]
    fn each_number_has_its_own_weight() {
        check(&[2.0, 2.0, -2.0], &[1.0, 0.5, 3.0], 0.0, &[1.0, 0.5, -3.0]);
    }

    /// 0.003² + 0.000016 is 0.000025, its root 0.005. Added after the root, `eps` would change the result by 0.5 %
    /// only.
    #[test]
    fn eps_stands_inside_the_root() {
        check(&[3e-3; 4], &[1.0; 4], 1.6e-5, &[0.6; 4]);
    }

    /// Without `eps` this is 0 / 0, which is NaN.
    #[test]
    fn a_row_of_zeros_stays_zero() {
        check(&[0.0; 4], &[1.0; 4], 1e-5, &[0.0; 4]);
    }

    /// Every length from 1 to 39, so that no number is lost at the end of a row.
    #[test]
    fn the_last_numbers_of_a_row_count_too() {
        for len in 1..40 {
            let x: Vec<f32> = (0..len).map(|i| i as f32 - 7.5).collect();
            let mean_square = x.iter().map(|x| f64::from(x * x)).sum::<f64>() / len as f64;
            let normed = |x: &f32| (f64::from(*x) / mean_square.sqrt()) as f32;
            let expected: Vec<f32> = x.iter().map(normed).collect();
            check(&x, &vec![1.0; len], 0.0, &expected);
        }
    }
}

/// 05.2 Rotary embedding: turn pairs of numbers by an angle that grows with the position.
mod ex_05_2_rotary {
    use super::{expect_row, written};
    use generation::kernels::apply_rope;

    #[track_caller]
    fn check(heads: &[f32], head_dim: usize, cos: &[f32], sin: &[f32], expected: &[f32]) {
        let mut turned = heads.to_vec();
        apply_rope(&mut turned, head_dim, cos, sin);
        expect_row(
            format!(
                "apply_rope of {} with head_dim {head_dim}, cos = {}, sin = {}",
                written(heads),
                written(cos),
                written(sin)
            ),
            &turned,
            expected,
        );
    }

    #[test]
    fn no_angle_changes_nothing() {
        check(&[1.0, 2.0, 3.0, 4.0], 4, &[1.0; 2], &[0.0; 2], &[1.0, 2.0, 3.0, 4.0]);
    }

    /// Number `i` is paired with number `i + head_dim / 2`. Here the first pair makes a quarter turn and the second
    /// pair none, so the numbers 1 and 3 stay. Pairing neighbours is another convention, for which these weights were
    /// not trained.
    #[test]
    fn pairs_are_half_a_head_apart() {
        let mut head = [1.0, 2.0, 3.0, 4.0];
        apply_rope(&mut head, 4, &[0.0, 1.0], &[1.0, 0.0]);
        assert!(
            head[1] == 2.0 && head[3] == 4.0,
            "apply_rope of [1, 2, 3, 4] with head_dim 4, cos = [0, 1], sin = [1, 0]\n  expected [-3, 2, 1, 4]: a quarter turn for the pair of \
             the numbers 0 and 2, none for that of 1 and 3\n  found    {}",
            written(&head)
        );
    }

    /// (3, 4) turned by an angle with cosine 0.6 and sine 0.8 is (3 · 0.6 - 4 · 0.8, 4 · 0.6 + 3 · 0.8), again of
    /// length 5. If the first number is overwritten too early, the second is computed with -1.4 instead of 3 and
    /// becomes 1.28.
    #[test]
    fn a_turn_keeps_the_length_of_a_pair() {
        let mut pair = [3.0f32, 4.0];
        apply_rope(&mut pair, 2, &[0.6], &[0.8]);
        let length = pair[0].hypot(pair[1]);
        assert!(
            (length - 5.0).abs() < 1e-4,
            "apply_rope of [3, 4] with head_dim 2, cos = [0.6], sin = [0.8]\n  expected [-1.4, 4.8], of length 5 as before\n  found    {}, \
             of length {length:.4}",
            written(&pair)
        );
    }

    #[test]
    fn a_pair_is_turned_by_its_angle() {
        check(&[3.0, 4.0], 2, &[0.6], &[0.8], &[-1.4, 4.8]);
        check(
            &[1.0, 2.0, 3.0, 4.0],
            4,
            &[0.0, 0.6],
            &[1.0, 0.8],
            &[-3.0, -2.0, 1.0, 4.0],
        );
    }

    /// (1, 0) goes to (0, 1), not to (0, -1).
    #[test]
    fn the_turn_leads_from_the_first_number_towards_the_second() {
        check(&[1.0, 0.0], 2, &[0.0], &[1.0], &[0.0, 1.0]);
    }

    #[test]
    fn every_head_of_the_row_is_turned() {
        check(
            &[1.0, 0.0, 2.0, 0.0, 3.0, 0.0],
            2,
            &[0.0],
            &[1.0],
            &[0.0, 1.0, 0.0, 2.0, 0.0, 3.0],
        );
    }

    /// The purpose of the rotation: a score depends only on the distance of query and key.
    #[test]
    fn scores_depend_on_distance_alone() {
        let angles = [1.0f32, 0.1, 0.01, 0.001];
        let turned = |x: [f32; 8], position: f32| {
            let cos = angles.map(|angle| (angle * position).cos());
            let sin = angles.map(|angle| (angle * position).sin());
            let mut x = x;
            apply_rope(&mut x, 8, &cos, &sin);
            x
        };
        let q = [0.3, -1.0, 0.5, 2.0, -0.7, 0.1, 0.9, -0.2];
        let k = [1.0, 0.4, -0.6, 0.3, 0.8, -1.1, 0.2, 0.5];
        let score = |m, n| -> f32 {
            let pairs = turned(q, m).into_iter().zip(turned(k, n));
            pairs.map(|(a, b)| a * b).sum()
        };
        expect_row(
            "scores of a query and a key two positions before it, at 5 and 3 and at 102 and 100, against 2 and 0",
            &[score(5.0, 3.0), score(102.0, 100.0)],
            &[score(2.0, 0.0); 2],
        );
        assert!(
            (score(5.0, 3.0) - score(3.0, 5.0)).abs() > 1e-3,
            "a key two positions before the query and one two positions after it give the same score: order is lost"
        );
    }
}

/// 05.3 Grouped attention: scores, softmax, weighted values; several query heads share one key and value head.
mod ex_05_3_attention {
    use super::{expect_row, written};
    use generation::kernels::attend_row;

    /// The sizes of one call.
    #[derive(Clone, Copy)]
    struct Heads {
        num_heads: usize,
        num_kv_heads: usize,
        context_len: usize,
    }

    /// `num_heads` query heads on `num_kv_heads` key heads, `context_len` positions.
    fn heads(num_heads: usize, num_kv_heads: usize, context_len: usize) -> Heads {
        Heads {
            num_heads,
            num_kv_heads,
            context_len,
        }
    }

    fn attend(q: &[f32], k: &[f32], v: &[f32], kv_stride: usize, heads: Heads) -> Vec<f32> {
        let group_size = heads.num_heads / heads.num_kv_heads;
        // Scratch and output hold the numbers of an earlier call.
        let mut scores = vec![f32::NAN; group_size * heads.context_len];
        let mut out = vec![f32::NAN; q.len()];
        attend_row(
            q,
            k,
            v,
            kv_stride,
            heads.context_len,
            heads.num_heads,
            heads.num_kv_heads,
            q.len() / heads.num_heads,
            &mut scores,
            &mut out,
        );
        out
    }

    /// Row-major `[positions, num_kv_heads * head_dim]`.
    #[track_caller]
    fn check(q: &[f32], k: &[f32], v: &[f32], heads: Heads, expected: &[f32]) {
        let head_dim = q.len() / heads.num_heads;
        let found = attend(q, k, v, heads.num_kv_heads * head_dim, heads);
        let call = format!(
            "attend_row: {} query heads, {} key heads, head_dim {head_dim}, {} positions, q = {}, k = {}, v = {}",
            heads.num_heads,
            heads.num_kv_heads,
            heads.context_len,
            written(q),
            written(k),
            written(v)
        );
        expect_row(call, &found, expected);
    }

    /// The caller uses `out` again and again: before the call it holds another row.
    #[test]
    fn what_stood_in_out_does_not_matter() {
        let with = |before: f32| {
            let mut out = [before; 2];
            let (q, k, v) = ([1.0, 0.0], [0.0, 0.0], [5.0, 6.0]);
            attend_row(&q, &k, &v, 2, 1, 1, 1, 2, &mut [0.0], &mut out);
            out
        };
        super::expect(
            "attend_row with out = [100, 100] before the call, compared with out = [0, 0]",
            with(100.0),
            with(0.0),
        );
    }

    /// One position has the whole weight, whatever its score.
    #[test]
    fn one_position_gives_its_value() {
        check(&[9.0, -9.0], &[1.0, 1.0], &[5.0, 6.0], heads(1, 1, 1), &[5.0, 6.0]);
    }

    #[test]
    fn equal_scores_give_the_mean() {
        check(
            &[1.0, 1.0],
            &[0.0; 4],
            &[1.0, 2.0, 3.0, 6.0],
            heads(1, 1, 2),
            &[2.0, 4.0],
        );
    }

    /// Scores are divided by the root of head_dim: with four numbers the root is 2, so scores of 2 ln 3 and 0 weigh 3
    /// to 1.
    #[test]
    fn scores_are_divided_by_the_root_of_head_dim() {
        check(
            &[2.0 * 3f32.ln(), 0.0, 0.0, 0.0],
            &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            &[4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0],
            heads(1, 1, 2),
            &[3.0, 0.0, 0.0, 2.0],
        );
    }

    /// Positions from `context_len` on are the future. They are not read, not even to be multiplied by zero. Here they
    /// hold NaN.
    #[test]
    fn the_future_is_not_read() {
        check(
            &[1.0, 1.0],
            &[0.0, 0.0, f32::NAN, f32::NAN],
            &[1.0, 2.0, f32::NAN, f32::NAN],
            heads(1, 1, 1),
            &[1.0, 2.0],
        );
    }

    /// Four query heads, two key heads: heads 0 and 1 use the first, 2 and 3 the second. (`head % num_kv_heads` is the
    /// common mistake.)
    #[test]
    fn neighbouring_query_heads_share_a_key_head() {
        check(
            &[1.0; 4],
            &[0.0; 2],
            &[10.0, 20.0],
            heads(4, 2, 1),
            &[10.0, 10.0, 20.0, 20.0],
        );
    }

    /// Each query head has scores of its own, even when it shares the keys: head 0 looks at position 0, head 1 at
    /// position 1.
    #[test]
    fn heads_of_a_group_do_not_share_their_scores() {
        check(&[50.0, -50.0], &[1.0, -1.0], &[3.0, 4.0], heads(2, 1, 2), &[3.0, 4.0]);
    }

    /// Scores of hundreds are ordinary in a trained model, and e^700 is larger than every f32.
    #[test]
    fn large_scores_do_not_overflow() {
        check(
            &[1000.0, 0.0],
            &[1.0, 0.0, -1.0, 0.0],
            &[1.0, 2.0, 3.0, 4.0],
            heads(1, 1, 2),
            &[1.0, 2.0],
        );
    }

    /// In the forward pass q, k and v of one position stand in one row, so the key of the next position is further away
    /// than a key is wide. `kv_stride` is the distance. Between two keys stand other numbers (here: NaN).
    #[test]
    fn the_next_position_is_kv_stride_away() {
        let nan = f32::NAN;
        let k = [0.0, 0.0, nan, nan, nan, 0.0, 0.0];
        let v = [1.0, 2.0, nan, nan, nan, 3.0, 6.0];
        let found = attend(&[1.0, 1.0], &k, &v, 5, heads(1, 1, 2));
        expect_row(
            "attend_row: one head of two numbers, two positions with kv_stride 5, equal scores",
            &found,
            &[2.0, 4.0],
        );
    }

    /// Against the definition in f64, over widths and lengths that are not multiples of a vector's length.
    #[test]
    fn the_definition_holds_for_every_shape() {
        for (num_heads, num_kv_heads, head_dim, context_len) in [
            (1, 1, 2, 1),
            (2, 1, 2, 3),
            (4, 4, 6, 5),
            (4, 2, 16, 17),
            (6, 2, 32, 33),
            (9, 3, 64, 40),
            (8, 1, 10, 3),
            (3, 1, 24, 50),
        ] {
            let wave = |len: usize, pace: f32| -> Vec<f32> { (0..len).map(|i| (i as f32 * pace).sin()).collect() };
            let q = wave(num_heads * head_dim, 0.37);
            let k = wave(context_len * num_kv_heads * head_dim, 0.11);
            let v = wave(context_len * num_kv_heads * head_dim, 0.23);
            let mut expected = vec![0.0f32; q.len()];
            for head in 0..num_heads {
                let kv_head = head * num_kv_heads / num_heads;
                let at = |m: &[f32], j: usize, d: usize| f64::from(m[(j * num_kv_heads + kv_head) * head_dim + d]);
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
            check(&q, &k, &v, heads(num_heads, num_kv_heads, context_len), &expected);
        }
    }
}

/// 05.4 The greedy loop: call the model with the whole text, append its token, call again.
mod ex_05_4_greedy_loop {
    use super::expect;
    use generation::generate::generate;
    use generation::{FinishReason, GenerateError, Generation, Limits};
    use training::TokenId;

    fn ids(tokens: &[u32]) -> Vec<TokenId> {
        tokens.iter().copied().map(TokenId).collect()
    }

    fn numbers(tokens: &[TokenId]) -> Vec<u32> {
        tokens.iter().map(|token| token.0).collect()
    }

    /// Ten positions; the tokens 0 and 9 end a text.
    fn limits(max_new_tokens: usize) -> Limits {
        Limits {
            max_new_tokens,
            max_seq_len: 10,
            end_of_text: ids(&[0, 9]),
        }
    }

    /// The result of a run of the loop, and its calls.
    struct Run {
        result: Result<Generation, GenerateError>,
        /// The tokens that the model was called with, call by call.
        shown: Vec<Vec<u32>>,
        /// The tokens that `on_token` was called with.
        announced: Vec<u32>,
    }

    impl Run {
        #[track_caller]
        fn generation(&self) -> &Generation {
            let refused = |error| panic!("generate returned an error: {error}");
            self.result.as_ref().unwrap_or_else(refused)
        }
    }

    /// Runs the loop with a model that counts: after n tokens it returns n.
    fn count(prompt: &[u32], limits: &Limits) -> Run {
        let (mut shown, mut announced) = (Vec::new(), Vec::new());
        let result = generate(
            &ids(prompt),
            limits,
            &mut |tokens| {
                assert!(
                    shown.len() < 100,
                    "the loop called the model 100 times and goes on; it missed a limit of {limits:?}"
                );
                shown.push(tokens.iter().map(|t| t.0).collect());
                Ok(TokenId(tokens.len() as u32))
            },
            &mut |token| announced.push(token.0),
        );
        Run {
            result,
            shown,
            announced,
        }
    }

    /// The model remembers nothing. If it gets only the newest token, it continues that token alone.
    #[test]
    fn no_step_gets_the_newest_token_alone() {
        let mut shown: Vec<Vec<u32>> = Vec::new();
        let mut model = |tokens: &[TokenId]| {
            shown.push(tokens.iter().map(|t| t.0).collect());
            Ok(TokenId(if shown.len() == 1 { 4 } else { 0 }))
        };
        let _ = generate(&ids(&[5, 6]), &limits(3), &mut model, &mut |_| {});
        assert!(
            shown.get(1).is_none_or(|tokens| tokens.len() > 1),
            "prompt [5, 6], first new token 4: the model is called the second time\n  expected with [5, 6, 4]\n  found    with {:?}",
            shown[1]
        );
    }

    #[test]
    fn each_step_sees_the_whole_sequence_so_far() {
        expect(
            "prompt [5, 6], three new tokens: the tokens of each call of the model",
            count(&[5, 6], &limits(3)).shown,
            vec![vec![5, 6], vec![5, 6, 2], vec![5, 6, 2, 3]],
        );
    }

    #[test]
    fn the_answer_holds_the_new_tokens_only() {
        let run = count(&[5, 6], &limits(3));
        let generation = run.generation();
        expect(
            "prompt [5, 6], the model returns 2, 3, 4: the answer's tokens",
            numbers(&generation.tokens),
            vec![2, 3, 4],
        );
        expect("prompt [5, 6]: prompt_tokens", generation.prompt_tokens, 2usize);
        expect(
            "three tokens were asked for and returned: the finish reason",
            generation.finish_reason,
            FinishReason::Length,
        );
    }

    #[test]
    fn each_token_is_announced_once_and_in_order() {
        expect(
            "prompt [5, 6], the model returns 2, 3, 4: the tokens that on_token gets",
            count(&[5, 6], &limits(3)).announced,
            vec![2, 3, 4],
        );
    }

    /// The model returns 5, 6, 7, and 7 ends the text.
    #[test]
    fn the_end_of_text_is_no_part_of_the_answer() {
        let limits = Limits {
            end_of_text: ids(&[7]),
            ..limits(5)
        };
        let run = count(&[1; 5], &limits);
        expect(
            "the model returns 5, 6 and 7, and 7 ends the text: the answer's tokens",
            numbers(&run.generation().tokens),
            vec![5, 6],
        );
        expect(
            "the model returns 5, 6 and 7, and 7 ends the text: the tokens that on_token gets",
            &run.announced,
            &vec![5, 6],
        );
        expect(
            "the model ended its text: the finish reason",
            run.generation().finish_reason,
            FinishReason::Stop,
        );
    }

    /// Two ids end a text here, 0 and 9. A loop that knows only one of them does not stop at the other.
    #[test]
    fn any_of_the_end_of_text_ids_ends_the_text() {
        for end in [0, 9] {
            let mut calls = 0;
            let result = generate(
                &ids(&[1, 2]),
                &limits(4),
                &mut |_| {
                    calls += 1;
                    Ok(TokenId(if calls == 2 { end } else { 5 }))
                },
                &mut |_| {},
            );
            let generation = result.unwrap_or_else(|error| panic!("{error}"));
            expect(
                &format!("0 and 9 end a text, and the model returns 5, then {end}, then 5: answer and finish reason"),
                (numbers(&generation.tokens), generation.finish_reason),
                (vec![5], FinishReason::Stop),
            );
        }
    }

    #[test]
    fn zero_tokens_compute_nothing() {
        let run = count(&[1], &limits(0));
        expect("zero new tokens: number of calls of the model", run.shown.len(), 0usize);
        expect(
            "zero new tokens: answer and finish reason",
            (numbers(&run.generation().tokens), run.generation().finish_reason),
            (vec![], FinishReason::Length),
        );
    }

    #[test]
    fn prompt_and_answer_never_exceed_the_context() {
        let limits = Limits {
            end_of_text: Vec::new(),
            ..limits(usize::MAX)
        };
        let run = count(&[1; 7], &limits);
        expect(
            "a context of 10 positions, a prompt of 7, no other limit: answer and finish reason",
            (numbers(&run.generation().tokens), run.generation().finish_reason),
            (vec![7, 8, 9], FinishReason::Context),
        );
        expect("three tokens: number of calls of the model", run.shown.len(), 3usize);
    }

    /// A prompt as long as the context is allowed. It leaves no room for an answer, so nothing is computed.
    #[test]
    fn a_prompt_that_fills_the_context_is_no_error() {
        let run = count(&[1; 10], &limits(5));
        expect(
            "a context of 10 positions, a prompt of 10: finish reason, and number of calls of the model",
            (run.generation().finish_reason, run.shown.len()),
            (FinishReason::Context, 0),
        );
    }

    #[test]
    fn prompts_that_can_not_be_continued_are_errors() {
        let empty = count(&[], &limits(5)).result;
        assert!(
            matches!(empty, Err(GenerateError::EmptyPrompt)),
            "an empty prompt: expected EmptyPrompt, found {empty:?}"
        );
        let long = count(&[1; 11], &limits(5)).result;
        assert!(
            matches!(
                long,
                Err(GenerateError::PromptTooLong {
                    prompt_tokens: 11,
                    max_seq_len: 10
                })
            ),
            "a prompt of 11 tokens for 10 positions: expected PromptTooLong, found {long:?}"
        );
    }

    #[test]
    fn an_error_of_the_model_ends_the_loop() {
        let result = generate(
            &ids(&[1]),
            &limits(5),
            &mut |_| Err(GenerateError::NotANumber { token_id: 3 }),
            &mut |_| {},
        );
        assert!(
            matches!(result, Err(GenerateError::NotANumber { token_id: 3 })),
            "the model failed with NotANumber: expected that error, found {result:?}"
        );
    }
}

/// 05.5 Characters that are split over tokens: an unfinished character waits, an invalid one is replaced.
mod ex_05_5_characters {
    use generation::characters::take_complete_characters;

    #[track_caller]
    fn check(bytes: &[u8], expected: &str, expected_taken: usize) {
        let mut text = String::new();
        let taken = take_complete_characters(bytes, &mut text);
        assert!(
            text == expected && taken == expected_taken,
            "the bytes {bytes:02x?}\n  expected {expected:?}, {expected_taken} of {} bytes taken\n  found    {text:?}, {taken} taken",
            bytes.len()
        );
    }

    #[test]
    fn whole_characters_pass() {
        check("story".as_bytes(), "story", 5);
        check("你好 🦊".as_bytes(), "你好 🦊", 11);
        check(b"", "", 0);
    }

    /// 你 has three bytes and 🦊 four. A token may end inside them: the beginning waits for its end, and nothing of it is
    /// shown.
    #[test]
    fn the_beginning_of_a_character_waits() {
        for character in ["é", "你", "🦊"] {
            let bytes = character.as_bytes();
            for cut in 1..bytes.len() {
                check(&bytes[..cut], "", 0);
                check(&[b"ab", &bytes[..cut]].concat(), "ab", 2);
            }
        }
    }

    /// The loop of the caller: keep the bytes that were not taken, add those of the next token, call again.
    #[test]
    fn a_character_in_three_tokens_comes_out_once_and_whole() {
        let (mut waiting, mut text) = (Vec::new(), String::new());
        for token in [b"\xe4".as_slice(), b"\xbd", b"\xa0"] {
            waiting.extend_from_slice(token);
            let taken = take_complete_characters(&waiting, &mut text);
            waiting.drain(..taken);
        }
        super::expect("你 in three tokens of one byte each: the text", text, "你");
    }

    /// If bytes that can never become a character waited, they would hold the text back for ever.
    #[test]
    fn bytes_that_can_not_become_a_character_are_replaced_at_once() {
        check(b"a\xffb", "a\u{fffd}b", 3);
        // A middle without a beginning, and a beginning followed by another letter.
        check(b"\x80", "\u{fffd}", 1);
        check(b"\xe4\xbda", "\u{fffd}a", 3);
        // An invalid byte first, then the beginning of a character.
        check(b"\xff\xe4\xbd", "\u{fffd}", 1);
    }

    /// `text` may hold text already: the characters are appended.
    #[test]
    fn text_is_appended() {
        let mut text = "so ".to_owned();
        take_complete_characters(b"far", &mut text);
        super::expect("\"far\" added to \"so \"", text, "so far");
    }
}

/// 05.6 Angles for long contexts: how much each pair turns from one position to the next.
mod ex_05_6_inverse_frequencies {
    use super::expect_row;
    use generation::kernels::inverse_frequencies;
    use loading::RopeScaling;

    /// With theta 10 000 and four pairs each angle is a tenth of the one before.
    #[test]
    fn angles_fall_from_one_by_powers_of_theta() {
        expect_row(
            "inverse_frequencies(8, 10000, None)",
            &inverse_frequencies(8, 10_000.0, &RopeScaling::None),
            &[1.0, 0.1, 0.01, 0.001],
        );
    }

    #[test]
    fn linear_scaling_divides_every_angle() {
        expect_row(
            "inverse_frequencies(4, 100, Linear { factor: 4 })",
            &inverse_frequencies(4, 100.0, &RopeScaling::Linear { factor: 4.0 }),
            &[0.25, 0.025],
        );
    }

    /// A context of 63 positions is about ten times 2π: with an angle of 1 a pair turns 10.03 times in it, with 0.1
    /// once, with 0.01 a tenth.
    fn small(low_freq_factor: f64, high_freq_factor: f64) -> RopeScaling {
        RopeScaling::Llama3 {
            factor: 8.0,
            low_freq_factor,
            high_freq_factor,
            original_max_position_embeddings: 63,
        }
    }

    /// 10.03 turns are more than 4: this pair tells neighbours apart and keeps its angle.
    #[test]
    fn llama3_scaling_keeps_fast_angles() {
        expect_row(
            "inverse_frequencies(8, 10000, Llama3) with factor 8, low 2, high 4, original context 63: the first angle",
            &inverse_frequencies(8, 10_000.0, &small(2.0, 4.0))[..1],
            &[1.0],
        );
    }

    /// One turn or less is below 2, so these angles are divided. Without the scaling short texts look right and long
    /// texts degrade.
    #[test]
    fn llama3_scaling_divides_slow_angles() {
        expect_row(
            "inverse_frequencies(8, 10000, Llama3) with factor 8, low 2, high 4, original context 63: all but the first angle",
            &inverse_frequencies(8, 10_000.0, &small(2.0, 4.0))[1..],
            &[0.1 / 8.0, 0.01 / 8.0, 0.001 / 8.0],
        );
    }

    /// An angle of 0.1 turns 63 · 0.1 / 2π = 1.0027 times. Here that is halfway between the two factors.
    #[test]
    fn llama3_scaling_mixes_linearly_between_the_two() {
        let turns = 63.0 * 0.1 / std::f64::consts::TAU;
        expect_row(
            "inverse_frequencies(8, 10000, Llama3) with 0.1 halfway between low and high",
            &inverse_frequencies(8, 10_000.0, &small(turns - 0.5, turns + 0.5))[..2],
            &[1.0, (0.1 + 0.1 / 8.0) / 2.0],
        );
    }

    /// The rule as Llama 3.1's reference code writes it, by wavelengths; ours is written by turns.
    #[test]
    fn llama3_scaling_agrees_with_the_reference_rule() {
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
        for (pair, (scaled, plain)) in scaled.iter().zip(plain).enumerate() {
            let wavelength = std::f64::consts::TAU / f64::from(plain);
            let original = original as f64;
            let (band, expected) = if wavelength < original / high {
                (0, f64::from(plain))
            } else if wavelength > original / low {
                (2, f64::from(plain) / factor)
            } else {
                let smooth = (original / wavelength - low) / (high - low);
                let mixed = (1.0 - smooth) * f64::from(plain) / factor + smooth * f64::from(plain);
                (1, mixed)
            };
            bands[band] += 1;
            assert!(
                (f64::from(*scaled) / expected - 1.0).abs() < 1e-5,
                "pair {pair}, wavelength {wavelength:.1} of {original} positions: expected {expected}, found {scaled}"
            );
        }
        assert!(bands.iter().all(|pairs| *pairs > 3), "each band is met: {bands:?}");
    }
}

/// All functions together: a small model generates the tokens of another program with the same weights.
mod whole {
    use generation::Model;
    use layout::pool::Pool;
    use training::TokenId;

    /// The tokens were computed by `transformers`.
    #[test]
    fn a_small_model_continues_as_the_reference_does() {
        let golden = fixtures::golden("some-kv-tied-bf16");
        let folder = fixtures::model("some-kv-tied-bf16");
        let mut model = Model::open(folder.to_str().unwrap()).unwrap();
        model.config.eos_token_ids.clear();
        let pool = Pool::new(2);
        let mut state = generation::State::new(&model.config, 1);
        for case in &golden.cases {
            let ids = |tokens: &[u32]| -> Vec<TokenId> { tokens.iter().copied().map(TokenId).collect() };
            let generation = model
                .generate(
                    &mut state,
                    &pool,
                    &ids(&case.prompt_tokens),
                    case.greedy_tokens.len(),
                    &mut |_| {},
                )
                .unwrap();
            assert_eq!(
                generation.tokens,
                ids(&case.greedy_tokens),
                "{}, prompt {:?}: tokens found (left) and those of transformers (right)",
                golden.model,
                case.name
            );
        }
    }
}
