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

/// 06.6 Rows and time: rows are counted and priced by the rule of the question, so the answer follows from numbers.
mod ex_06_6_rows_and_time {
    use generation::limits::rows_of_naive_loop;
    use kv_cache::work::rows_of_cached_loop;

    /// Time of a pass in times of one row: reading the weights up to 20 rows, arithmetic from there on.
    fn cost(rows: u32) -> f64 {
        f64::from(rows).max(20.0) / 20.0
    }

    #[test]
    fn seventy_one_times_fewer_rows_are_about_four_times_less_time() {
        let naive: f64 = (16..144).map(cost).sum();
        let times = naive / (cost(16) + 127.0 * cost(1));
        let why = format!("the costs of all passes added up, {times:.2} times");
        let options = super::right_option("06.6", &why, &format!("about {times:.0} times"));
        // The first option: as many times faster as the rows are fewer.
        let (naive, cached) = (rows_of_naive_loop(16, 128), rows_of_cached_loop(16, 128));
        super::expect("rows of both loops", (naive, cached), (10_176, 143));
        let fewer = naive as f64 / cached as f64;
        super::expect(
            "the number of rows",
            options[0].as_str(),
            format!("about {fewer:.0} times"),
        );
    }
}

/// 06.7 What is kept: a number that a later row reads changes its output.
mod ex_06_7_what_is_kept {
    use generation::kernels::attend_row;

    const HEAD_DIM: usize = 4;

    /// The last of three rows attends to all. Each row is `[query, key, value]`.
    fn last_row(rows: &[[f32; 3 * HEAD_DIM]; 3]) -> [f32; HEAD_DIM] {
        let part = |part: usize| -> Vec<f32> {
            let numbers = rows.iter().flat_map(|row| &row[part * HEAD_DIM..][..HEAD_DIM]);
            numbers.copied().collect()
        };
        let (q, k, v) = (part(0), part(1), part(2));
        let (mut scores, mut out) = ([0.0; 3], [0.0; HEAD_DIM]);
        let q = &q[2 * HEAD_DIM..];
        attend_row(q, &k, &v, HEAD_DIM, 3, 1, 1, HEAD_DIM, &mut scores, &mut out);
        out
    }

    #[test]
    fn a_later_row_reads_keys_and_values_of_earlier_rows_and_no_query() {
        let mut rows = [[0.0; 3 * HEAD_DIM]; 3];
        for (i, x) in rows.iter_mut().flatten().enumerate() {
            *x = (i as f32 * 0.37).sin();
        }
        let before = last_row(&rows);
        let is_read = |part: &usize| {
            let mut changed = rows;
            changed[0][part * HEAD_DIM] += 1.0;
            last_row(&changed) != before
        };
        let names = ["queries", "keys", "values"];
        let read: Vec<&str> = (0..3).filter(is_read).map(|part| names[part]).collect();
        let expected = format!("the {} of each layer", read.join(" and "));
        let options = super::right_option("06.7", "the parts of row 0 that row 2 reads", &expected);
        super::expect("the first option", options[0].as_str(), "the text so far");
        assert!(options.iter().any(|option| option.contains("queries")));
    }
}

/// 06.8 The first token: the work of a prompt, with and without a cache.
mod ex_06_8_first_token {
    use generation::work::Work;
    use kv_cache::work::of_chunk;

    #[test]
    fn a_prompt_costs_the_same_with_and_without_a_cache() {
        let llama = loading::open("stories").unwrap().config.llama;
        let (naive, cached) = (Work::of_shape(&llama, 400), of_chunk(&llama, 0, 400));
        super::expect("the work of both passes", cached, naive);
        super::right_option("06.8", "both passes do the same multiply-adds", "not at all");
    }
}

/// 06.9 Two orders: lines and runs of one head, counted by lesson 02's model of a cache.
mod ex_06_9_two_orders {
    use kv_cache::place::CacheOrder;
    use kv_cache::work::lines_and_runs;

    /// The keys of head 1: 512 positions, 4 key heads of 32 numbers.
    #[test]
    fn both_orders_read_the_same_lines_in_another_number_of_runs() {
        let counted = CacheOrder::ALL.map(|order| lines_and_runs(order, 512, 4, 32, 1));
        let [(lines, runs), (same_lines, one_run)] = counted;
        super::expect("lines of both orders", lines, same_lines);
        let expected = format!("the same lines; {runs} runs against {one_run}");
        super::right_option("06.9", "lines and runs, counted", &expected);
    }
}

/// 06.1 Memory formula: how many bytes keys and values take.
mod ex_06_1_memory {
    use super::expect;
    use kv_cache::memory::kv_bytes;

    /// One layer, one head of four numbers, one position, one byte each: four of the key, four of the value.
    #[test]
    fn keys_and_values_are_counted() {
        expect("kv_bytes(1, 1, 4, 1, 1, 1)", kv_bytes(1, 1, 4, 1, 1, 1), 8);
    }

    /// Each factor doubled by itself doubles the bytes.
    #[test]
    fn every_factor_counts() {
        let base = [3, 2, 8, 10, 1, 2];
        let bytes = |f: [usize; 6]| kv_bytes(f[0], f[1], f[2], f[3], f[4], f[5]);
        let names = "num_layers num_kv_heads head_dim seq_len batch_size bytes_per_value";
        for (factor, name) in names.split(' ').enumerate() {
            let mut doubled = base;
            doubled[factor] *= 2;
            let what = format!("{base:?} gives {}; with {name} doubled", bytes(base));
            expect(&what, bytes(doubled), 2 * bytes(base));
        }
    }

    /// The number that practitioners quote: 2 · 32 · 32 · 128 · 2048 · 1 · 2 bytes.
    #[test]
    fn llama_7b_at_2048_tokens_in_fp16_takes_one_gib() {
        expect("Llama-7B", kv_bytes(32, 32, 128, 2048, 1, 2), 1 << 30);
    }

    /// Each layer has keys and values of its own, made from its own rows.
    #[test]
    fn every_layer_has_keys_of_its_own() {
        let (one, three) = (kv_bytes(1, 2, 8, 10, 1, 2), kv_bytes(3, 2, 8, 10, 1, 2));
        expect("three layers, against three times one layer", three, 3 * one);
    }

    /// Llama-3-8B has 32 query heads on 8 key heads: a quarter of Llama-7B.
    #[test]
    fn a_grouped_model_takes_a_quarter() {
        let what = "Llama-3-8B: 32 layers, 8 key heads of 128, 2048 positions, fp16";
        expect(what, kv_bytes(32, 8, 128, 2048, 1, 2), 1 << 28);
    }

    /// 80 layers, 64 key heads, 128 000 positions, 64 sequences: 21 TB do not fit a 32-bit number.
    #[test]
    fn large_products_do_not_wrap() {
        let found = kv_bytes(80, 64, 128, 128_000, 64, 2);
        expect("kv_bytes(80, 64, 128, 128000, 64, 2)", found, 21_474_836_480_000);
    }

    #[test]
    fn no_position_takes_no_memory() {
        expect("kv_bytes(32, 32, 128, 0, 1, 2)", kv_bytes(32, 32, 128, 0, 1, 2), 0);
    }
}

/// 06.10 Largest batch: memory less a fifth, less weights and scratch, over the cache of one sequence.
mod ex_06_10_largest_batch {
    use super::expect;
    use kv_cache::batch::largest_batch;

    /// 100 bytes: 80 may be used, 50 are weights and 6 scratch, so 24 are left for sequences of 8.
    #[test]
    fn what_is_left_is_divided_by_one_sequence() {
        expect("largest_batch(100, 50, 6, 8)", largest_batch(100, 50, 6, 8), 3);
    }

    /// A fifth stays free even where nothing else is in memory.
    #[test]
    fn a_fifth_of_the_memory_stays_free() {
        expect("largest_batch(100, 0, 0, 10)", largest_batch(100, 0, 0, 10), 8);
    }

    /// The free fifth is a fifth of the memory, and not of what the weights leave: 80 - 50, and not 50 - 10.
    #[test]
    fn the_fifth_is_one_of_the_whole_memory() {
        expect("largest_batch(100, 50, 0, 10)", largest_batch(100, 50, 0, 10), 3);
    }

    #[test]
    fn scratch_takes_memory_too() {
        expect("largest_batch(100, 0, 40, 10)", largest_batch(100, 0, 40, 10), 4);
    }

    /// 79 bytes of room hold seven sequences of 10 and not an eighth.
    #[test]
    fn a_part_of_a_sequence_does_not_fit() {
        expect("largest_batch(100, 1, 0, 10)", largest_batch(100, 1, 0, 10), 7);
    }

    /// Weights of 120 in a memory of 100: no room, and no panic.
    #[test]
    fn weights_larger_than_the_memory_leave_no_room() {
        expect("largest_batch(100, 120, 0, 10)", largest_batch(100, 120, 0, 10), 0);
    }

    /// Llama-7B in fp16 on a card of 24 GiB, with 1 GiB of scratch: 19.2 - 12.55 - 1 GiB hold five texts of 2048.
    #[test]
    fn llama_7b_on_a_card_of_24_gib_serves_five_texts() {
        let found = largest_batch(24 << 30, 2 * 6_738_415_616, 1 << 30, 1 << 30);
        expect("24 GiB, Llama-7B in fp16, texts of 2048", found, 5);
    }
}

/// 06.2 Append: copy keys and values of new rows to their places.
mod ex_06_2_append {
    use super::expect;
    use kv_cache::append::append_rows;
    use kv_cache::place::{CacheOrder, Strides};

    /// A number that was in the cache before.
    const OLD: f32 = -1.0;

    /// Appends rows of `[2 query heads, 2 key heads]` with `head_dim` 1 to a cache of four positions. Returns keys and
    /// values.
    fn append(qkv: &[f32], first_position: usize, order: CacheOrder) -> [Vec<f32>; 2] {
        let strides = order.strides(4, 2, 1);
        let (mut k, mut v) = (vec![OLD; 8], vec![OLD; 8]);
        append_rows(qkv, 2, 2, 1, first_position, strides, &mut k, &mut v);
        [k, v]
    }

    /// One row: two queries, two keys, two values.
    const ROW: [f32; 6] = [1.0, 2.0, 30.0, 31.0, 500.0, 501.0];

    /// Compares keys (`part` 0) or values (1) after the row, and a second row half a number larger where `rows` is 2.
    #[track_caller]
    fn check(rows: usize, first_position: usize, order: CacheOrder, part: usize, expected: [f32; 8]) {
        let chunk = [ROW, ROW.map(|x| x + 0.5)].concat();
        let second = if rows == 2 { " and one half a number larger" } else { "" };
        let name = ["keys", "values"][part];
        let what = format!(
            "the row [1, 2 | 30, 31 | 500, 501]{second} at position {first_position} of {}: {name}",
            order.name()
        );
        let found = &append(&chunk[..rows * ROW.len()], first_position, order)[part];
        expect(&what, &found[..], &expected[..]);
    }

    #[test]
    fn keys_and_values_of_a_row_are_copied() {
        expect(
            "the row [1, 2 | 30, 31 | 500, 501] at position 0 of [positions, heads]: keys and values",
            append(&ROW, 0, CacheOrder::PositionMajor),
            [
                [30.0, 31.0, OLD, OLD, OLD, OLD, OLD, OLD],
                [500.0, 501.0, OLD, OLD, OLD, OLD, OLD, OLD],
            ],
        );
    }

    /// A cache of queries has the right size and the wrong numbers.
    #[test]
    fn queries_are_not_kept() {
        let [k, v] = append(&ROW, 0, CacheOrder::PositionMajor);
        let kept: Vec<f32> = k.into_iter().chain(v).filter(|x| *x != OLD).collect();
        let what = "the row [1, 2 | 30, 31 | 500, 501]: all numbers that were kept";
        expect(what, kept, [30.0, 31.0, 500.0, 501.0]);
    }

    #[test]
    fn new_rows_stand_behind_the_old_ones() {
        check(
            1,
            2,
            CacheOrder::PositionMajor,
            0,
            [OLD, OLD, OLD, OLD, 30.0, 31.0, OLD, OLD],
        );
    }

    /// In the other order the two heads are four positions apart. One copy of the whole key part would put head 1 at
    /// position 1 of head 0.
    #[test]
    fn each_head_goes_to_its_own_place() {
        check(
            1,
            0,
            CacheOrder::HeadMajor,
            0,
            [30.0, OLD, OLD, OLD, 31.0, OLD, OLD, OLD],
        );
        check(
            1,
            3,
            CacheOrder::HeadMajor,
            1,
            [OLD, OLD, OLD, 500.0, OLD, OLD, OLD, 501.0],
        );
    }

    #[test]
    fn every_row_of_a_chunk_is_kept() {
        check(
            2,
            1,
            CacheOrder::PositionMajor,
            0,
            [OLD, OLD, 30.0, 31.0, 30.5, 31.5, OLD, OLD],
        );
        check(
            2,
            1,
            CacheOrder::HeadMajor,
            1,
            [OLD, 500.0, 500.5, OLD, OLD, 501.0, 501.5, OLD],
        );
    }

    /// More query heads than key heads, heads of three numbers, and strides with gaps: the strides alone give the
    /// places.
    #[test]
    fn the_strides_say_where_a_head_begins() {
        const HEAD_DIM: usize = 3;
        let width = (4 + 2 * 2) * HEAD_DIM;
        let qkv: Vec<f32> = (0..2 * width).map(|i| i as f32).collect();
        let strides = Strides { position: 5, head: 40 };
        let (mut k, mut v) = (vec![OLD; 80], vec![OLD; 80]);
        append_rows(&qkv, 4, 2, HEAD_DIM, 3, strides, &mut k, &mut v);
        for (row, head, number) in [(0, 0, 0), (0, 1, 2), (1, 0, 1), (1, 1, 2)] {
            let place = (3 + row) * 5 + head * 40 + number;
            let key = row * width + (4 + head) * HEAD_DIM + number;
            let value = key + 2 * HEAD_DIM;
            let what = format!("row {row}, key head {head}, number {number}: key and value at place {place}");
            expect(&what, [k[place], v[place]], [key as f32, value as f32]);
        }
        let written = k.iter().filter(|x| **x != OLD).count();
        expect("numbers written to k: 2 rows of 2 heads of 3", written, 12usize);
    }
}

/// 06.3 Offset mask: the position of a row of a chunk, and what it sees.
mod ex_06_3_offset_mask {
    use super::expect;
    use kv_cache::offset::row_place;

    #[track_caller]
    fn check(num_cached: usize, row: usize, position: usize, context_len: usize) {
        let place = row_place(num_cached, row);
        let row = format!("row {row} of a chunk that comes after {num_cached} positions");
        expect(&format!("{row}: position"), place.position, position);
        expect(&format!("{row}: context_len"), place.context_len, context_len);
    }

    /// The first row of a text sees one position: itself.
    #[test]
    fn a_row_sees_itself() {
        check(0, 0, 0, 1);
    }

    /// A prompt in one chunk: lesson 05's triangle.
    #[test]
    fn a_row_sees_the_rows_before_it_and_none_after_it() {
        check(0, 1, 1, 2);
        check(0, 5, 5, 6);
    }

    /// A decode step: one row, and everything before it is cached.
    #[test]
    fn one_row_sees_all_that_is_cached() {
        check(10, 0, 10, 11);
    }

    /// A second chunk of several rows. Without the offset its first row would see one position. A prompt in one chunk
    /// and token by token both hide this fault.
    #[test]
    fn a_row_of_a_second_chunk_sees_what_is_cached() {
        let what = "row 2 of a chunk after 4 positions: context_len (4 cached, 2 rows of the chunk, itself)";
        expect(what, row_place(4, 2).context_len, 7usize);
    }

    /// The rotary embedding turns a row by its position in the text, and so were the cached keys turned.
    #[test]
    fn positions_go_on_where_the_cache_ends() {
        expect("row 0 after 4 positions: position", row_place(4, 0).position, 4usize);
        expect("row 2 after 4 positions: position", row_place(4, 2).position, 6usize);
    }

    /// However a text is cut, each of its positions is the same row with the same view.
    #[test]
    fn the_cut_does_not_matter() {
        for len in 1..20 {
            for cut in 0..len {
                let whole = row_place(0, len - 1);
                check(cut, len - 1 - cut, whole.position, whole.context_len);
            }
        }
    }
}

/// 06.4 Prefill and decode: the prompt once, then each new token by itself.
mod ex_06_4_prefill_decode {
    use super::expect;
    use generation::{FinishReason, GenerateError, Generation, Limits};
    use kv_cache::CacheError;
    use kv_cache::generate::generate;
    use training::TokenId;

    fn ids(tokens: &[u32]) -> Vec<TokenId> {
        tokens.iter().copied().map(TokenId).collect()
    }

    /// Ten positions; the tokens 0 and 9 end a text.
    fn limits(max_new_tokens: usize) -> Limits {
        Limits {
            max_new_tokens,
            max_seq_len: 10,
            end_of_text: ids(&[0, 9]),
        }
    }

    /// The result of the loop and the calls that it made.
    struct Run {
        result: Result<Generation, CacheError>,
        /// The tokens of each call of the model.
        shown: Vec<Vec<u32>>,
        /// The tokens that `on_token` got.
        announced: Vec<u32>,
    }

    impl Run {
        /// The tokens of the answer, and the reason to end.
        #[track_caller]
        fn answer(&self) -> (Vec<u32>, FinishReason) {
            let refused = |error| panic!("generate returned an error: {error}");
            let generation = self.result.as_ref().unwrap_or_else(refused);
            (
                generation.tokens.iter().map(|token| token.0).collect(),
                generation.finish_reason,
            )
        }
    }

    /// A model that counts: after n tokens that it was shown, in all calls together, it says n.
    fn count(prompt: &[u32], limits: &Limits) -> Run {
        let (mut shown, mut announced) = (Vec::new(), Vec::new());
        let mut kept = 0;
        let mut model = |tokens: &[TokenId]| {
            assert!(
                shown.len() < 100,
                "100 calls of the model and no end: which limit is missed? {limits:?}"
            );
            kept += tokens.len();
            shown.push(tokens.iter().map(|t| t.0).collect());
            Ok(TokenId(kept as u32))
        };
        let result = generate(&ids(prompt), limits, &mut model, &mut |token| announced.push(token.0));
        Run {
            result,
            shown,
            announced,
        }
    }

    /// Prefill is one call. A prompt that is shown token by token gives the same text and waits for the weights at each
    /// token.
    #[test]
    fn the_prompt_is_shown_once_and_whole() {
        let shown = count(&[5, 6, 7], &limits(1)).shown;
        expect("prompt [5, 6, 7], one new token: the calls", shown, vec![vec![5, 6, 7]]);
    }

    /// The model keeps what it was shown. Shown the whole text again, it would compute and keep it twice.
    #[test]
    fn a_decode_step_shows_the_new_token_only() {
        let shown = count(&[5, 6], &limits(3)).shown;
        expect(
            "prompt [5, 6], three new tokens: the calls",
            shown,
            vec![vec![5, 6], vec![2], vec![3]],
        );
    }

    /// n new tokens after p: p + n - 1 rows. The successor of the last token is not needed.
    #[test]
    fn the_last_token_is_never_computed() {
        let limits = Limits {
            max_seq_len: 1000,
            end_of_text: Vec::new(),
            ..limits(8)
        };
        let rows: usize = count(&[1; 16], &limits).shown.iter().map(Vec::len).sum();
        expect("prompt of 16, 8 new tokens: rows computed", rows, 16usize + 8 - 1);
    }

    #[test]
    fn the_answer_holds_the_new_tokens_only() {
        let run = count(&[5, 6], &limits(3));
        let expected = (vec![2, 3, 4], FinishReason::Length);
        expect(
            "the model says 2, 3, 4, and three tokens were asked for: answer and reason",
            run.answer(),
            expected,
        );
        let prompt_tokens = run.result.as_ref().map(|generation| generation.prompt_tokens).ok();
        expect("prompt [5, 6]: prompt_tokens", prompt_tokens, Some(2usize));
        expect("the tokens that on_token gets", &run.announced, &vec![2, 3, 4]);
    }

    /// The model says 7, 8, 9, and 9 ends the text.
    #[test]
    fn the_end_of_text_is_no_part_of_the_answer() {
        let run = count(&[1; 7], &limits(5));
        let expected = (vec![7, 8], FinishReason::Stop);
        expect(
            "the model says 7, 8 and 9, and 9 ends the text: answer and reason",
            run.answer(),
            expected,
        );
        expect("the tokens that on_token gets", &run.announced, &vec![7, 8]);
    }

    #[test]
    fn zero_tokens_compute_nothing() {
        let run = count(&[1], &limits(0));
        expect("zero new tokens: calls of the model", run.shown.len(), 0usize);
        expect(
            "zero new tokens: answer and reason",
            run.answer(),
            (vec![], FinishReason::Length),
        );
    }

    /// A full context is a reason to end, not an error.
    #[test]
    fn prompt_and_answer_never_exceed_the_context() {
        let limits = Limits {
            end_of_text: Vec::new(),
            ..limits(usize::MAX)
        };
        let context = "a context of 10 positions, no other limit";
        let expected = (vec![7, 8, 9], FinishReason::Context);
        let found = count(&[1; 7], &limits).answer();
        expect(&format!("{context}, a prompt of 7: answer and reason"), found, expected);
        let run = count(&[1; 10], &limits);
        expect(
            &format!("{context}, a prompt of 10: answer and reason"),
            run.answer(),
            (vec![], FinishReason::Context),
        );
        expect(&format!("{context}, a prompt of 10: calls"), run.shown.len(), 0usize);
    }

    #[test]
    fn prompts_that_can_not_be_continued_are_errors() {
        let empty = count(&[], &limits(5)).result;
        let is_right = matches!(empty, Err(CacheError::Generate(GenerateError::EmptyPrompt)));
        assert!(is_right, "an empty prompt: expected EmptyPrompt, found {empty:?}");
        let long = count(&[1; 11], &limits(5)).result;
        let numbers = match long {
            Err(CacheError::Generate(GenerateError::PromptTooLong {
                prompt_tokens,
                max_seq_len,
            })) => Some((prompt_tokens, max_seq_len)),
            _ => None,
        };
        expect(
            "a prompt of 11 tokens for 10 positions: the numbers of PromptTooLong",
            numbers,
            Some((11, 10)),
        );
    }

    #[test]
    fn an_error_of_the_model_ends_the_loop() {
        let (len, new, capacity) = (3, 1, 3);
        let mut full = |_: &[TokenId]| Err(CacheError::Full { len, new, capacity });
        let result = generate(&ids(&[1]), &limits(5), &mut full, &mut |_| {});
        let is_right = matches!(result, Err(CacheError::Full { .. }));
        assert!(is_right, "the cache is full: expected that error, found {result:?}");
    }
}

/// 06.5 The chunk mask: mend it for a chunk that comes after a cached prefix.
mod ex_06_5_chunk_mask {
    use super::expect;
    use kv_cache::mask::chunk_mask;

    /// The mask as a picture: one line a row, `x` for a position that is seen.
    fn picture(num_cached: usize, num_rows: usize, capacity: usize) -> Vec<String> {
        let mut mask = vec![f32::NAN; num_rows * capacity];
        chunk_mask(num_cached, num_rows, capacity, &mut mask);
        let sign = |x: &f32| match *x {
            0.0 => 'x',
            f32::NEG_INFINITY => '.',
            _ => '?',
        };
        mask.chunks_exact(capacity)
            .map(|row| row.iter().map(sign).collect())
            .collect()
    }

    #[track_caller]
    fn check(num_cached: usize, num_rows: usize, capacity: usize, expected: &[&str]) {
        let what = format!("the mask of {num_rows} rows after {num_cached} of {capacity} positions (x: seen)");
        expect(&what, picture(num_cached, num_rows, capacity), expected);
    }

    /// A prompt in one chunk: the triangle.
    #[test]
    fn a_prompt_in_one_chunk_is_a_triangle() {
        check(0, 3, 4, &["x...", "xx..", "xxx."]);
    }

    /// One new token sees everything cached and itself, and no place that is not written yet.
    #[test]
    fn a_decode_step_sees_all_that_is_cached() {
        check(3, 1, 6, &["xxxx.."]);
    }

    /// The fault: two rows after three cached positions see the prefix and then the triangle. A plain triangle hides
    /// the prefix.
    #[test]
    fn a_second_chunk_sees_the_cached_prefix() {
        check(3, 2, 6, &["xxxx..", "xxxxx."]);
    }

    /// A mask that shows the whole chunk to each of its rows lets row 0 read the future.
    #[test]
    fn a_row_does_not_see_the_rows_after_it() {
        let rows = picture(2, 3, 5);
        let seen: Vec<usize> = rows.iter().map(|row| row.matches('x').count()).collect();
        expect(
            "3 rows after 2 positions: the number of positions that each row sees",
            seen,
            vec![3, 4, 5],
        );
    }

    /// However a text of eight is cut, the rows of all chunks together are the rows of one.
    #[test]
    fn cut_or_not_the_rows_are_the_same() {
        let whole = picture(0, 8, 9);
        for first in 1..8 {
            let cut = [picture(0, first, 9), picture(first, 8 - first, 9)].concat();
            expect(&format!("a text of 8 cut after {first}"), &cut, &whole);
        }
    }
}

/// All functions together, on a model.
mod whole {
    use generation::{Model, State};
    use kv_cache::{cache_for, session};
    use layout::pool::Pool;
    use training::TokenId;

    /// `transformers` computed the expected tokens.
    #[test]
    fn a_small_model_continues_as_the_reference_does() {
        let golden = fixtures::golden("some-kv-tied-bf16");
        let folder = fixtures::model("some-kv-tied-bf16");
        let mut model = Model::open(folder.to_str().unwrap()).unwrap();
        model.config.eos_token_ids.clear();
        let pool = Pool::new(2);
        let mut state = State::new(&model.config, 0);
        let ids = |tokens: &[u32]| -> Vec<TokenId> { tokens.iter().copied().map(TokenId).collect() };
        for case in &golden.cases {
            let (prompt, new_tokens) = (ids(&case.prompt_tokens), case.greedy_tokens.len());
            let mut cache = cache_for(&model, prompt.len(), new_tokens);
            let timed =
                session::generate(&model, &mut state, &mut cache, &pool, &prompt, new_tokens, &mut |_| {}).unwrap();
            assert_eq!(
                timed.generation.tokens,
                ids(&case.greedy_tokens),
                "{}, prompt {:?}: tokens found (left) and those of transformers (right)",
                golden.model,
                case.name
            );
        }
    }
}
