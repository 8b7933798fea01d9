//! What each exercise must do, smallest case first. One group an exercise; a group uses its own function and none of
//! another exercise. `whole` at the end runs all of them together.

use fixtures::expect;

/// Compares the right option of a question in `course.toml` with `expected`. Returns all options.
#[track_caller]
fn right_option(id: &str, why: &str, expected: &str) -> Vec<String> {
    let (options, answer) = fixtures::question(include_str!("../course.toml"), id);
    expect(
        &format!("{id}, the right option: {why}"),
        options[answer].as_str(),
        expected,
    );
    options
}

/// Checks that the question contains the numbers that a test computes with.
#[track_caller]
fn question_has(id: &str, parts: &[&str]) {
    let course: toml::Table = include_str!("../course.toml").parse().unwrap();
    let mut exercises = course["exercises"].as_array().unwrap().iter();
    let exercise = exercises.find(|e| e["id"].as_str() == Some(id)).unwrap();
    let text = exercise["question"].as_str().unwrap();
    for part in parts {
        assert!(text.contains(part), "the question of {id} does not contain {part:?}");
    }
}

/// 07.6 Eight rows: bytes and multiply-adds of the step are counted. The answer lies between full overlap of reading
/// and arithmetic and none.
mod ex_07_6_eight_rows {
    use super::expect;
    use generation::roofline::MachineLimits;
    use generation::work::Work;
    use static_batching::work;
    use training::LlamaConfig;

    /// A step over rows that see 64 positions each; four bytes a weight, as the products read them. The model has about
    /// 135 M weights.
    fn step(rows: usize) -> Work {
        let llama = LlamaConfig {
            vocab_size: 49_152,
            hidden_size: 576,
            intermediate_size: 1536,
            num_layers: 30,
            num_heads: 9,
            num_kv_heads: 3,
            head_dim: 64,
            max_seq_len: 2048,
            ..LlamaConfig::stories()
        };
        let weights = Work::of_shape(&llama, 1).linear_multiply_adds;
        work::of_step(&llama, 4 * weights, &vec![64; rows])
    }

    #[test]
    fn the_bytes_stay_and_the_multiply_adds_grow() {
        let (one, eight) = (step(1), step(8));
        expect("bytes of weights", eight.weight_bytes, one.weight_bytes);
        expect(
            "multiply-adds of eight rows",
            eight.multiply_adds(),
            8 * one.multiply_adds(),
        );
        assert!((500e6..560e6).contains(&(one.weight_bytes as f64)));
    }

    /// A machine that does 10.5 floating-point operations for each byte that it reads, as two cores with wide registers
    /// do. At best arithmetic hides behind reading (the roofline), at worst one follows the other. The answer lies
    /// between; eight times is far above.
    #[test]
    fn the_time_lies_between_hidden_and_added_arithmetic() {
        let machine = MachineLimits {
            flops_per_second: 358e9,
            bytes_per_second: 34.4e9,
        };
        let hidden = machine.shortest(&step(8)).0 / machine.shortest(&step(1)).0;
        let in_turn = |work: Work| {
            2.0 * work.multiply_adds() as f64 / machine.flops_per_second
                + work.weight_bytes as f64 / machine.bytes_per_second
        };
        let added = in_turn(step(8)) / in_turn(step(1));
        assert!(hidden == 1.0 && (1.25..1.45).contains(&added), "{hidden} to {added}");
        let options = super::right_option("07.6", "between both", "a little longer: less than twice as long");
        expect("the first option", options[0].as_str(), "8 times as long");
    }
}

/// 07.9 Bigger is better? The rates follow from the numbers of the question.
mod ex_07_9_bigger_is_better {
    #[test]
    fn four_times_the_rows_bring_a_third_more() {
        super::question_has("07.9", &["over 1, 8, 32 and 128 rows takes 1, 1.3, 2.4 and 7.3 times"]);
        let rate = (128.0 / 7.3) / (32.0 / 2.4);
        let expected = format!(
            "{rate:.1} times the tokens a second, each step {:.0} times as long",
            7.3 / 2.4
        );
        super::right_option("07.9", "rows over time", &expected);
    }
}

/// 07.1 Pad and ranges: prompts into the rows of a rectangle.
mod ex_07_1_pad {
    use static_batching::Padding;
    use static_batching::padding::pad;
    use static_batching::parts::Span;
    use training::TokenId;

    const FILLER: u32 = 0;

    fn padded(prompts: &[&[u32]], width: usize, side: Padding) -> (Vec<u32>, Vec<Span>) {
        let prompts: Vec<Vec<TokenId>> = prompts
            .iter()
            .map(|prompt| prompt.iter().copied().map(TokenId).collect())
            .collect();
        let slices: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
        let mut tokens = vec![TokenId(99); prompts.len() * width];
        let mut spans = vec![Span { start: 77, len: 77 }; prompts.len()];
        pad(&slices, width, side, TokenId(FILLER), &mut tokens, &mut spans);
        (tokens.into_iter().map(|token| token.0).collect(), spans)
    }

    #[track_caller]
    fn check(prompts: &[&[u32]], width: usize, side: Padding, tokens: &[u32], spans: &[(usize, usize)]) {
        let (found, found_spans) = padded(prompts, width, side);
        let call = format!("pad of {prompts:?}, {width} cells wide, padding {side:?}, filler {FILLER}");
        super::expect(&format!("{call}: the cells"), &found[..], tokens);
        let found_spans: Vec<_> = found_spans.iter().map(|span| (span.start, span.len)).collect();
        super::expect(&format!("{call}: (start, len) of each row"), &found_spans[..], spans);
    }

    #[test]
    fn a_prompt_as_wide_as_the_batch_fills_its_row() {
        for side in [Padding::Left, Padding::Right] {
            check(&[&[5, 6, 7]], 3, side, &[5, 6, 7], &[(0, 3)]);
        }
    }

    #[test]
    fn padding_behind_starts_all_prompts_in_the_first_column() {
        let (tokens, spans) = ([5, 6, 0, 7, 0, 0], [(0, 2), (0, 1)]);
        check(&[&[5, 6], &[7]], 3, Padding::Right, &tokens, &spans);
    }

    /// Then the next tokens of all rows stand in one new column.
    #[test]
    fn padding_in_front_ends_all_prompts_in_the_last_column() {
        let (tokens, spans) = ([0, 5, 6, 0, 0, 7], [(1, 2), (2, 1)]);
        check(&[&[5, 6], &[7]], 3, Padding::Left, &tokens, &spans);
    }

    /// The second row begins with cell 4, but its span with a column.
    #[test]
    fn a_span_counts_columns_of_its_own_row() {
        let (_, spans) = padded(&[&[1, 1, 1], &[5, 6]], 4, Padding::Left);
        let what = "pad of prompts of 3 and 2 tokens, 4 cells wide, padding in front: the second span";
        super::expect(what, (spans[1].start, spans[1].len), (2, 2));
    }

    /// The cells held an earlier batch.
    #[test]
    fn what_stood_in_the_cells_does_not_matter() {
        let (tokens, _) = padded(&[&[5], &[6, 7]], 4, Padding::Left);
        assert!(
            !tokens.contains(&99),
            "pad of prompts of 1 and 2 tokens, 4 cells wide\n  expected {:?}\n  found    {tokens:?}: 99 are tokens of \
             the earlier batch",
            [0, 0, 0, 5, 0, 0, 6, 7]
        );
    }

    #[test]
    fn a_row_without_a_prompt_is_all_padding() {
        check(&[&[], &[5]], 2, Padding::Right, &[0, 0, 5, 0], &[(0, 0), (0, 1)]);
    }
}

/// 07.2 Left-pad positions: the position of each token in its own sequence.
mod ex_07_2_positions {
    use super::expect;
    use static_batching::padding::positions;
    use static_batching::parts::Span;

    /// Positions of rows with (start, len), as `[batch_size, width]`.
    fn found(spans: &[(usize, usize)], width: usize, cached: &[usize]) -> Vec<Option<usize>> {
        let spans: Vec<Span> = spans.iter().map(|&(start, len)| Span { start, len }).collect();
        let mut out = vec![Some(999); spans.len() * width];
        positions(&spans, width, cached, &mut out);
        out
    }

    #[track_caller]
    fn check(spans: &[(usize, usize)], width: usize, cached: &[usize], expected: &[Option<usize>]) {
        let rows = format!("rows with tokens at (start, len) {spans:?}, {width} cells wide");
        let what = format!("positions of {rows}, {cached:?} tokens cached");
        expect(&what, &found(spans, width, cached)[..], expected);
    }

    #[test]
    fn a_full_row_counts_from_0() {
        check(&[(0, 3)], 3, &[0], &[Some(0), Some(1), Some(2)]);
    }

    /// Two cells of padding in front: the first token is in column 2, and no token comes before it.
    #[test]
    fn the_first_token_is_at_position_0_wherever_it_stands() {
        let first = found(&[(2, 3)], 5, &[0])[2];
        expect("position of the first token, in column 2 of 5", first, Some(0));
    }

    #[test]
    fn padding_has_no_position() {
        let (left, right) = (found(&[(2, 1)], 3, &[0]), found(&[(0, 1)], 3, &[0]));
        for (cell, place) in [(0, left[0]), (1, left[1]), (1, right[1]), (2, right[2])] {
            let what = format!("position of cell {cell}, which is padding, in a row of 3 cells");
            expect(&what, place, None);
        }
    }

    #[test]
    fn rows_are_independent() {
        let expected = [None, None, Some(0), Some(0), Some(1), Some(2)];
        check(&[(2, 1), (0, 3)], 3, &[0, 0], &expected);
    }

    /// One column, five tokens before it.
    #[test]
    fn positions_go_on_after_what_is_cached() {
        check(&[(0, 1)], 1, &[5], &[Some(5)]);
    }

    /// Both rows were padded to the same width in the first pass. The next positions do not depend on that width.
    #[test]
    fn each_row_counts_its_own_tokens() {
        check(&[(0, 1), (0, 1)], 1, &[2, 5], &[Some(2), Some(5)]);
    }

    /// A finished row has no token in the step.
    #[test]
    fn a_row_that_is_done_has_no_position() {
        check(&[(0, 0), (0, 1)], 1, &[4, 7], &[None, Some(7)]);
    }
}

/// 07.5 The padding leak: no keys of padding are stored, and padding sees nothing.
mod ex_07_5_padding_leak {
    use super::expect;
    use static_batching::padding::mask;
    use static_batching::parts::Span;
    use std::ops::Range;

    /// (stored, context_len) of rows with (start, len).
    fn found(spans: &[(usize, usize)], width: usize, cached: &[usize]) -> (Vec<Range<usize>>, Vec<usize>) {
        let spans: Vec<Span> = spans.iter().map(|&(start, len)| Span { start, len }).collect();
        let mut stored = vec![99..99; spans.len()];
        let mut context_len = vec![99; spans.len() * width];
        mask(&spans, width, cached, &mut stored, &mut context_len);
        (stored, context_len)
    }

    /// No padding at all: the plain causal mask.
    #[test]
    fn a_full_row_sees_itself_and_what_came_before() {
        let (stored, context_len) = found(&[(0, 3)], 3, &[0]);
        expect("context_len of a full row of 3", context_len, [1, 2, 3]);
        expect("cells whose keys are kept", stored[0].clone(), 0..3);
    }

    /// Columns 0 and 1 are padding. The token in column 2 is the first of its sequence: it sees itself, 1 position, not
    /// 3.
    #[test]
    fn padding_in_front_is_not_seen() {
        let (stored, context_len) = found(&[(2, 2)], 4, &[0]);
        let what = "two tokens behind two cells of padding";
        expect(
            &format!("{what}: positions that the tokens attend to"),
            &context_len[2..],
            [1, 2],
        );
        expect(&format!("{what}: cells whose keys are kept"), stored[0].clone(), 2..4);
    }

    /// The first token after the prompt is right even with the fault; the second one attends to the stored padding.
    #[test]
    fn padding_behind_leaves_no_keys() {
        let (stored, _) = found(&[(0, 2), (0, 4)], 4, &[0, 0]);
        let what = "two tokens in front of two cells of padding, and a full row: cells whose keys are kept";
        expect(what, stored, [0..2, 4..8]);
    }

    #[test]
    fn padding_attends_to_nothing() {
        let (_, behind) = found(&[(0, 1)], 3, &[0]);
        let (_, front) = found(&[(2, 1)], 3, &[0]);
        expect("context_len of padding behind", &behind[1..], [0, 0]);
        expect("context_len of padding in front", &front[..2], [0, 0]);
    }

    /// A step of decoding: one column, some tokens in each cache, the row in the middle done.
    #[test]
    fn a_step_sees_its_own_cache_and_itself() {
        let (stored, context_len) = found(&[(0, 1), (0, 0), (0, 1)], 1, &[2, 9, 5]);
        expect(
            "context_len with 2, 9 and 5 cached, the second row done",
            context_len,
            [3, 0, 6],
        );
        expect("cells whose keys are kept", stored, [0..1, 1..1, 2..3]);
    }
}

/// 07.7 Masked is free? Counted on the default model's shape.
mod ex_07_7_masked_is_free {
    use static_batching::work;
    use training::LlamaConfig;

    #[test]
    fn a_cell_of_padding_is_nearly_as_much_work_as_any_other() {
        let llama = LlamaConfig::stories();
        super::question_has("07.7", &["256 wide, 6 layers"]);
        super::expect("width and layers", (llama.hidden_size, llama.num_layers), (256, 6));
        let work = |lengths: &[usize], width| work::of_prefill(&llama, 0, lengths, width).multiply_adds();
        let padding = (work(&[8, 64], 64) - work(&[8], 8) - work(&[64], 64)) as f64 / 56.0;
        let head = (llama.vocab_size * llama.hidden_size) as u64;
        let average = (work(&[64], 64) - head) as f64 / 64.0;
        let expected = format!("about {:.0} %", 100.0 * padding / average);
        super::right_option("07.7", "multiply-adds, counted", &expected);
    }
}

/// 07.3 Buckets: prompts of similar length together.
mod ex_07_3_buckets {
    use static_batching::buckets::into_buckets;

    /// Widths and prompts of the buckets.
    fn found(lengths: &[usize], percents: &[f64]) -> Vec<(usize, Vec<usize>)> {
        let buckets = into_buckets(lengths, percents).into_iter();
        buckets.map(|bucket| (bucket.width, bucket.prompts)).collect()
    }

    #[track_caller]
    fn check(lengths: &[usize], percents: &[f64], expected: &[(usize, &[usize])]) {
        let expected = expected.iter().map(|(width, prompts)| (*width, prompts.to_vec()));
        let what = format!("into_buckets of lengths {lengths:?} at {percents:?} %: (width, prompts)");
        super::expect(&what, found(lengths, percents), expected.collect::<Vec<_>>());
    }

    #[test]
    fn without_percentiles_there_is_one_bucket_as_wide_as_the_longest() {
        check(&[3, 9, 4], &[], &[(9, &[0, 1, 2])]);
    }

    /// Half of the four lengths are at most 4.
    #[test]
    fn a_percentile_cuts_the_lengths_in_two() {
        check(&[9, 3, 4, 10], &[50.0], &[(4, &[1, 2]), (10, &[0, 3])]);
    }

    /// A bucket of width 4 has room for 4 tokens.
    #[test]
    fn a_length_equal_to_a_border_stays_below_it() {
        let buckets = found(&[4, 2, 8, 7], &[50.0]);
        let what = "into_buckets of lengths [4, 2, 8, 7] at 50 %: the prompts of the bucket of width 4";
        super::expect(what, buckets[0].1.as_slice(), [0, 1]);
    }

    /// Nine short prompts and one of 512: half of the range is 256, but half of the prompts have at most 5 tokens.
    #[test]
    fn borders_follow_the_lengths_and_not_their_range() {
        let lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 512];
        let widths: Vec<usize> = found(&lengths, &[50.0, 80.0]).iter().map(|b| b.0).collect();
        let what = "into_buckets of lengths 1 to 9 and 512 at 50 and 80 %: the widths";
        super::expect(what, widths, [5, 8, 512]);
    }

    #[test]
    fn the_longest_prompt_has_a_place() {
        let lengths: Vec<usize> = (1..=20).collect();
        let last = found(&lengths, &[50.0, 95.0]).pop();
        let what = "into_buckets of lengths 1 to 20 at 50 and 95 %: the last bucket";
        super::expect(what, last, Some((20, vec![19])));
    }

    /// Equal lengths: P50, P80 and the longest are the same border.
    #[test]
    fn equal_borders_are_one_bucket() {
        check(&[7, 7, 7], &[50.0, 80.0], &[(7, &[0, 1, 2])]);
    }

    #[test]
    fn percentages_may_come_in_any_order() {
        check(&[1, 2, 3, 4], &[75.0, 25.0], &[(1, &[0]), (3, &[1, 2]), (4, &[3])]);
    }

    #[test]
    fn no_prompts_need_no_bucket() {
        check(&[], &[50.0], &[]);
    }
}

/// 07.4 The wait window: start now, or wait for more requests?
mod ex_07_4_wait_window {
    use static_batching::parts::{Decision, Window};
    use static_batching::window::decide;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    #[track_caller]
    fn check_with(max_batch: usize, max_wait: u32, now: u32, waiting: &[u32], expected: Decision) {
        let window = Window::new(max_batch, max_wait * MS).unwrap();
        let arrivals: Vec<Duration> = waiting.iter().map(|at| *at * MS).collect();
        let limits = format!("at most {max_batch} requests and {max_wait} ms");
        let what = format!("decide at {now} ms, arrivals at {waiting:?} ms, {limits}");
        super::expect(&what, decide(now * MS, &arrivals, &window), expected);
    }

    /// Times in milliseconds; a window of three requests and 20 ms.
    #[track_caller]
    fn check(now: u32, waiting: &[u32], expected: Decision) {
        check_with(3, 20, now, waiting, expected);
    }

    #[test]
    fn without_requests_the_machine_is_idle() {
        check(7, &[], Decision::Idle);
    }

    /// The deadline is the same in every call.
    #[test]
    fn one_waits_until_its_deadline() {
        check(100, &[100], Decision::WaitUntil(120 * MS));
        check(113, &[100], Decision::WaitUntil(120 * MS));
    }

    #[test]
    fn a_batch_that_is_not_full_starts_at_its_deadline() {
        check(120, &[100], Decision::Start(1));
        check(120, &[100, 119], Decision::Start(2));
        // The machine was busy, and the deadline has passed.
        check(500, &[100, 119], Decision::Start(2));
    }

    /// The second request arrived at 115. Its own 20 ms do not count.
    #[test]
    fn the_oldest_sets_the_deadline() {
        check(116, &[100, 115], Decision::WaitUntil(120 * MS));
        check(121, &[100, 115], Decision::Start(2));
    }

    #[test]
    fn a_full_batch_does_not_wait() {
        check(103, &[101, 102, 103], Decision::Start(3));
    }

    #[test]
    fn no_more_than_the_batch_holds() {
        check(103, &[101, 101, 102, 102, 103], Decision::Start(3));
        check(500, &[101, 101, 102, 102, 103], Decision::Start(3));
    }

    #[test]
    fn a_window_of_no_time_starts_at_once() {
        check_with(8, 0, 100, &[100], Decision::Start(1));
    }
}

/// 07.8 Sooner together? The plan's steps, times the time of a step in the question.
mod ex_07_8_sooner_together {
    use static_batching::plan::{StepRequest, static_plan};

    #[test]
    fn the_short_one_is_handed_back_with_the_longest() {
        super::question_has(
            "07.8",
            &["one asks for 2 tokens, seven for 16", "takes 1.3 times as long"],
        );
        let requests = [2, 16, 16, 16, 16, 16, 16, 16].map(|new_tokens| StepRequest {
            arrives: 0,
            prompt_tokens: 4,
            new_tokens,
        });
        let short = static_plan(&requests, 8).outcomes[0];
        let text = |steps: f64| format!("after {:.1} single steps", steps * 1.3);
        let options = super::right_option("07.8", "the steps of the plan", &text(short.returned as f64));
        // The wrong options: its own steps, and its own steps divided by eight.
        assert!(options[1].contains(&text(short.finished as f64)));
        assert!(options[0].contains(&text(short.finished as f64 / 8.0)));
    }
}

/// All functions together: the tokens of `transformers`, row by row in one batch, and a stream that is served.
mod whole {
    use generation::Model;
    use layout::pool::Pool;
    use static_batching::clock::VirtualClock;
    use static_batching::rules::{Rule, cells};
    use static_batching::serve::{Window, serve};
    use static_batching::{BatchState, Pad, Padding, Width, generate_batch};
    use std::convert::Infallible;
    use std::time::Duration;
    use training::TokenId;

    /// `transformers` computed the expected tokens, each prompt by itself.
    #[test]
    fn a_batch_continues_each_prompt_as_the_reference_does() {
        let golden = fixtures::golden("some-kv-tied-bf16");
        let folder = fixtures::model("some-kv-tied-bf16");
        let mut model = Model::open(folder.to_str().unwrap()).unwrap();
        model.config.eos_token_ids.clear();
        let ids = |tokens: &[u32]| -> Vec<TokenId> { tokens.iter().copied().map(TokenId).collect() };
        let prompts: Vec<_> = golden.cases.iter().map(|c| ids(&c.prompt_tokens)).collect();
        let prompts: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
        let max: Vec<usize> = golden.cases.iter().map(|c| c.greedy_tokens.len()).collect();
        let (mut state, pool) = (BatchState::new(&model.config), Pool::new(2));
        for side in [Padding::Left, Padding::Right] {
            let rule = Pad {
                side,
                width: Width::Longest,
            };
            let run = generate_batch(&model, &mut state, &pool, &prompts, &max, rule, &mut |_, _| {});
            for (case, generation) in golden.cases.iter().zip(run.unwrap().generations) {
                assert_eq!(
                    generation.tokens,
                    ids(&case.greedy_tokens),
                    "{}, prompt {:?}, padding {side:?}: tokens found (left) and those of transformers (right)",
                    golden.model,
                    case.name
                );
            }
        }
    }

    #[test]
    fn a_stream_is_served_and_buckets_save_cells() {
        let stream: Vec<Duration> = (0..40).map(|i| Duration::from_millis(i * 3)).collect();
        let window = Window::new(4, Duration::from_millis(10)).unwrap();
        let served = serve(&mut VirtualClock::new(), &stream, &window, &mut |clock, _| {
            clock.advance(Duration::from_millis(11));
            Ok::<(), Infallible>(())
        });
        assert_eq!(served.unwrap().len(), 40);
        let lengths: Vec<usize> = (1..=64).collect();
        let global = cells(&lengths, 8, &Rule::Global(64));
        let buckets = cells(&lengths, 8, &Rule::Buckets(vec![50.0, 80.0, 95.0]));
        assert!(buckets.computed < global.computed);
    }
}
