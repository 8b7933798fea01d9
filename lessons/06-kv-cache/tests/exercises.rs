//! What each exercise must do, smallest case first. One group an exercise, each with its own function and nothing that another one
//! writes; `whole` at the end plays all of them together.

use fixtures::expect;

/// The options of a question in `course.toml`, and which of them it calls right.
fn question(id: &str) -> (Vec<String>, usize) {
    fixtures::question(include_str!("../course.toml"), id)
}

/// 06.6 Rows and time: rows are counted, and what they cost is lesson 02's table, so that the answer can not be wrong.
mod ex_06_6_rows_and_time {
    use super::{expect, question};
    use generation::limits::rows_of_naive_loop;
    use kv_cache::work::rows_of_cached_loop;

    /// Rows, and what they cost together, in the time of one row: the number of this book, measured in lesson 02.
    const COSTS: [(f64, f64); 6] = [
        (1.0, 1.0),
        (4.0, 1.2),
        (8.0, 1.3),
        (12.0, 1.4),
        (32.0, 2.4),
        (128.0, 7.3),
    ];

    /// On a line between the two neighbours in the table; beyond it, on its last line.
    fn cost(rows: f64) -> f64 {
        let segment = COSTS.windows(2).find(|w| rows <= w[1].0);
        let segment = segment.unwrap_or(&COSTS[COSTS.len() - 2..]);
        let ((x0, y0), (x1, y1)) = (segment[0], segment[1]);
        y0 + (rows - x0) * (y1 - y0) / (x1 - x0)
    }

    #[test]
    fn seventy_one_times_fewer_rows_are_about_five_times_less_time() {
        let steps: Vec<f64> = (0..128).map(|step| f64::from(16 + step)).collect();
        let naive: f64 = steps.iter().copied().map(cost).sum();
        let cached = cost(16.0) + 127.0;
        let times = naive / cached;
        let (options, answer) = question("06.6");
        expect(
            &format!("the right option is lesson 02's table added up, {times:.2} times"),
            options[answer].as_str(),
            format!("about {times:.0} times"),
        );
    }

    /// The wrong options: as fast as rows are fewer, and no faster because the weights are read as often.
    #[test]
    fn the_wrong_options_are_the_wrong_ideas() {
        let (naive, cached) = (rows_of_naive_loop(16, 128), rows_of_cached_loop(16, 128));
        expect("rows of both loops", (naive, cached), (10_176, 143));
        let (options, answer) = question("06.6");
        let fewer = naive as f64 / cached as f64;
        expect(
            "the first option is the number of rows",
            options[0].as_str(),
            format!("about {fewer:.0} times"),
        );
        assert!(answer != 0 && options.len() >= 3);
    }
}

/// 06.7 What is kept: what a later row reads is found out by changing it.
mod ex_06_7_what_is_kept {
    use super::{expect, question};
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
        let mut read = Vec::new();
        for (part, name) in ["queries", "keys", "values"].into_iter().enumerate() {
            let mut changed = rows;
            changed[0][part * HEAD_DIM] += 1.0;
            if last_row(&changed) != before {
                read.push(name);
            }
        }
        let (options, answer) = question("06.7");
        expect(
            "the right option names what row 2 reads of row 0",
            options[answer].as_str(),
            format!("the {} of each layer", read.join(" and ")),
        );
    }

    /// The text itself is there anyway: the loop has it. It is what the rows were computed *from*.
    #[test]
    fn the_wrong_options_are_the_wrong_ideas() {
        let (options, answer) = question("06.7");
        expect("the first option", options[0].as_str(), "the text so far");
        assert!(options.iter().any(|option| option.contains("queries")));
        assert_ne!(answer, 0);
    }
}

/// 06.8 The first token: the work of a prompt, with and without a cache.
mod ex_06_8_first_token {
    use super::{expect, question};
    use generation::work::Work;
    use kv_cache::work::of_chunk;

    #[test]
    fn a_prompt_costs_the_same_with_and_without_a_cache() {
        let llama = loading::open("stories").unwrap().config.llama;
        let naive = Work::of_shape(&llama, 400).multiply_adds();
        let cached = of_chunk(&llama, 0, 400).multiply_adds();
        let (options, answer) = question("06.8");
        let times = naive as f64 / cached as f64;
        expect(
            &format!("{naive} multiply-adds without a cache, {cached} with one: the right option"),
            options[answer].as_str(),
            match times {
                1.0 => "not at all".to_owned(),
                times => format!("about {times:.0} times"),
            },
        );
    }
}

/// 06.9 Two orders: lines and runs of one head, counted by lesson 02's model of a cache.
mod ex_06_9_two_orders {
    use super::{expect, question};
    use kv_cache::place::CacheOrder;
    use layout::lines::Cache;

    /// Lines and runs that are fetched for the keys of head 1: 512 positions, 4 key heads of 32 numbers.
    fn lines_and_runs(order: CacheOrder) -> (u64, u64) {
        let strides = order.strides(512, 4, 32);
        let mut cache = Cache::default();
        for position in 0..512 {
            for number in 0..32 {
                cache.read(4 * (position * strides.position + strides.head + number));
            }
        }
        (cache.lines_fetched(), cache.runs_fetched())
    }

    #[test]
    fn both_orders_read_the_same_lines_in_another_number_of_runs() {
        let (lines, runs) = lines_and_runs(CacheOrder::PositionMajor);
        let (same_lines, one_run) = lines_and_runs(CacheOrder::HeadMajor);
        expect("lines of both orders", lines, same_lines);
        let (options, answer) = question("06.9");
        expect(
            "the right option has the counted runs",
            options[answer].as_str(),
            format!("the same lines; {runs} runs against {one_run}"),
        );
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
        let names = [
            "num_layers",
            "num_kv_heads",
            "head_dim",
            "seq_len",
            "batch_size",
            "bytes_per_value",
        ];
        for (factor, name) in names.into_iter().enumerate() {
            let mut doubled = base;
            doubled[factor] *= 2;
            expect(
                &format!("{base:?} gives {}; with {name} doubled", bytes(base)),
                bytes(doubled),
                2 * bytes(base),
            );
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
        expect(
            "kv_bytes(3, 2, 8, 10, 1, 2), three times kv_bytes(1, 2, 8, 10, 1, 2)",
            kv_bytes(3, 2, 8, 10, 1, 2),
            3 * kv_bytes(1, 2, 8, 10, 1, 2),
        );
    }

    /// Llama-3-8B has 32 query heads on 8 key heads: a quarter of Llama-7B.
    #[test]
    fn a_grouped_model_takes_a_quarter() {
        expect(
            "Llama-3-8B: 32 layers, 8 key heads of 128, 2048 positions, fp16",
            kv_bytes(32, 8, 128, 2048, 1, 2),
            1 << 28,
        );
    }

    /// 80 layers, 64 key heads, 128 000 positions, 64 sequences: 21 TB are no 32-bit number.
    #[test]
    fn large_products_do_not_wrap() {
        expect(
            "kv_bytes(80, 64, 128, 128000, 64, 2)",
            kv_bytes(80, 64, 128, 128_000, 64, 2),
            21_474_836_480_000,
        );
    }

    #[test]
    fn no_position_takes_no_memory() {
        expect("kv_bytes(32, 32, 128, 0, 1, 2)", kv_bytes(32, 32, 128, 0, 1, 2), 0);
    }
}

/// 06.2 Append: copy keys and values of new rows to their places.
mod ex_06_2_append {
    use super::expect;
    use kv_cache::append::append_rows;
    use kv_cache::place::{CacheOrder, Strides};

    /// What stood in the cache before.
    const OLD: f32 = -1.0;

    /// Appends rows of `[2 query heads, 2 key heads]` with `head_dim` 1 to a cache of four positions. Returns keys and values.
    fn append(qkv: &[f32], first_position: usize, order: CacheOrder) -> [Vec<f32>; 2] {
        let strides = order.strides(4, 2, 1);
        let (mut k, mut v) = (vec![OLD; 8], vec![OLD; 8]);
        append_rows(qkv, 2, 2, 1, first_position, strides, &mut k, &mut v);
        [k, v]
    }

    /// One row: two queries, two keys, two values.
    const ROW: [f32; 6] = [1.0, 2.0, 30.0, 31.0, 500.0, 501.0];

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

    /// A cache of queries would look right until somebody reads it.
    #[test]
    fn queries_are_not_kept() {
        let [k, v] = append(&ROW, 0, CacheOrder::PositionMajor);
        let kept: Vec<f32> = k.into_iter().chain(v).filter(|x| *x != OLD).collect();
        expect(
            "the row [1, 2 | 30, 31 | 500, 501]: all numbers that were kept",
            kept,
            [30.0, 31.0, 500.0, 501.0],
        );
    }

    #[test]
    fn new_rows_stand_behind_the_old_ones() {
        expect(
            "the row [1, 2 | 30, 31 | 500, 501] at position 2 of [positions, heads]: keys",
            &append(&ROW, 2, CacheOrder::PositionMajor)[0],
            &vec![OLD, OLD, OLD, OLD, 30.0, 31.0, OLD, OLD],
        );
    }

    /// In the other order the two heads are four positions apart. A copy of the whole key part at once would put head 1 at position 1 of
    /// head 0.
    #[test]
    fn each_head_goes_to_its_own_place() {
        expect(
            "the row [1, 2 | 30, 31 | 500, 501] at position 0 of [heads, positions]: keys",
            &append(&ROW, 0, CacheOrder::HeadMajor)[0],
            &vec![30.0, OLD, OLD, OLD, 31.0, OLD, OLD, OLD],
        );
        expect(
            "the same at position 3: values",
            &append(&ROW, 3, CacheOrder::HeadMajor)[1],
            &vec![OLD, OLD, OLD, 500.0, OLD, OLD, OLD, 501.0],
        );
    }

    #[test]
    fn every_row_of_a_chunk_is_kept() {
        let second = ROW.map(|x| x + 0.5);
        let chunk = [ROW, second].concat();
        expect(
            "two rows, the second half a number larger, from position 1 of [positions, heads]: keys",
            &append(&chunk, 1, CacheOrder::PositionMajor)[0],
            &vec![OLD, OLD, 30.0, 31.0, 30.5, 31.5, OLD, OLD],
        );
        expect(
            "the same in [heads, positions]: values",
            &append(&chunk, 1, CacheOrder::HeadMajor)[1],
            &vec![OLD, 500.0, 500.5, OLD, OLD, 501.0, 501.5, OLD],
        );
    }

    /// More query heads than key heads, heads of three numbers, and strides with gaps: the places are what the strides say, whatever order
    /// that is.
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
            expect(
                &format!("row {row}, key head {head}, number {number}: key and value at place {place}"),
                [k[place], v[place]],
                [key as f32, value as f32],
            );
        }
        let written = k.iter().filter(|x| **x != OLD).count();
        expect("numbers written to k: 2 rows of 2 heads of 3", written, 12usize);
    }
}

/// 06.3 Offset mask: where a row of a chunk stands, and what it sees.
mod ex_06_3_offset_mask {
    use super::expect;
    use kv_cache::offset::row_place;
    use kv_cache::place::RowPlace;

    #[track_caller]
    fn check(num_cached: usize, row: usize, position: usize, context_len: usize) {
        expect(
            &format!("row {row} of a chunk that comes after {num_cached} positions"),
            row_place(num_cached, row),
            RowPlace { position, context_len },
        );
    }

    /// The first row of a text sees one position: itself. Whoever counts only the others leaves it with nothing to read.
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

    /// A second chunk of several rows. Without the offset its first row would see one position: this is the fault that a prompt in one
    /// chunk and token by token both hide.
    #[test]
    fn a_row_of_a_second_chunk_sees_what_is_cached() {
        let found = row_place(4, 2).context_len;
        expect(
            "row 2 of a chunk after 4 positions: context_len (4 cached, 2 rows of the chunk, itself)",
            found,
            7usize,
        );
    }

    /// The rotary embedding turns by the position in the text. Keys in the cache were turned by theirs.
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
                expect(
                    &format!("position {} as row {} after {cut}", len - 1, len - 1 - cut),
                    row_place(cut, len - 1 - cut),
                    whole,
                );
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

    /// What a run of the loop did.
    struct Run {
        result: Result<Generation, CacheError>,
        /// What the model was called with, call by call.
        shown: Vec<Vec<u32>>,
        /// What `on_token` was called with.
        announced: Vec<u32>,
    }

    impl Run {
        #[track_caller]
        fn generation(&self) -> &Generation {
            let refused = |error| panic!("generate returned an error: {error}");
            self.result.as_ref().unwrap_or_else(refused)
        }
    }

    /// A model with a memory that counts: it keeps all tokens that it was ever shown, and after n of them it says n.
    fn count(prompt: &[u32], limits: &Limits) -> Run {
        let (mut shown, mut announced) = (Vec::new(), Vec::new());
        let mut kept = 0;
        let result = generate(
            &ids(prompt),
            limits,
            &mut |tokens| {
                assert!(
                    shown.len() < 100,
                    "the loop called the model 100 times and goes on: which limit did it miss? {limits:?}"
                );
                kept += tokens.len();
                shown.push(tokens.iter().map(|t| t.0).collect());
                Ok(TokenId(kept as u32))
            },
            &mut |token| announced.push(token.0),
        );
        Run {
            result,
            shown,
            announced,
        }
    }

    /// Prefill is one call. A prompt that is shown token by token gives the same text and waits for the weights at each token.
    #[test]
    fn the_prompt_is_shown_once_and_whole() {
        let shown = count(&[5, 6, 7], &limits(1)).shown;
        expect("prompt [5, 6, 7], one new token: the calls", shown, vec![vec![5, 6, 7]]);
    }

    /// The model keeps what it was shown. Shown the whole text again, it would keep it twice, and compute it twice.
    #[test]
    fn a_decode_step_shows_the_new_token_only() {
        expect(
            "prompt [5, 6], three new tokens: what the model is called with",
            count(&[5, 6], &limits(3)).shown,
            vec![vec![5, 6], vec![2], vec![3]],
        );
    }

    /// n new tokens after p: p + n - 1 rows. Nobody asks what follows the last token, so it is shown to nobody.
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
        let generation = run.generation();
        expect(
            "a model that says 2, 3, 4: the answer",
            &generation.tokens,
            &ids(&[2, 3, 4]),
        );
        expect("prompt [5, 6]: prompt_tokens", generation.prompt_tokens, 2usize);
        expect(
            "three tokens were asked for and came: why it ended",
            generation.finish_reason,
            FinishReason::Length,
        );
        expect("what on_token gets", &run.announced, &vec![2, 3, 4]);
    }

    /// The model says 7, 8, 9, and 9 ends the text.
    #[test]
    fn the_end_of_text_is_no_part_of_the_answer() {
        let run = count(&[1; 7], &limits(5));
        expect(
            "the model says 7, 8 and 9, and 9 ends the text: answer and reason",
            (&run.generation().tokens, run.generation().finish_reason),
            (&ids(&[7, 8]), FinishReason::Stop),
        );
        expect("what on_token gets", &run.announced, &vec![7, 8]);
    }

    #[test]
    fn zero_tokens_compute_nothing() {
        let run = count(&[1], &limits(0));
        expect("zero new tokens: calls of the model", run.shown.len(), 0usize);
        expect(
            "zero new tokens: answer and reason",
            (&run.generation().tokens, run.generation().finish_reason),
            (&ids(&[]), FinishReason::Length),
        );
    }

    /// A full context is a reason to end, not an error.
    #[test]
    fn prompt_and_answer_never_exceed_the_context() {
        let limits = Limits {
            end_of_text: Vec::new(),
            ..limits(usize::MAX)
        };
        let run = count(&[1; 7], &limits);
        expect(
            "a context of 10 positions, a prompt of 7, no other limit: answer and reason",
            (&run.generation().tokens, run.generation().finish_reason),
            (&ids(&[7, 8, 9]), FinishReason::Context),
        );
        let run = count(&[1; 10], &limits);
        expect(
            "a context of 10 positions, a prompt of 10: reason and calls",
            (run.generation().finish_reason, run.shown.len()),
            (FinishReason::Context, 0),
        );
    }

    #[test]
    fn prompts_that_can_not_be_continued_are_errors() {
        let empty = count(&[], &limits(5)).result;
        assert!(
            matches!(empty, Err(CacheError::Generate(GenerateError::EmptyPrompt))),
            "an empty prompt: expected EmptyPrompt, found {empty:?}"
        );
        let long = count(&[1; 11], &limits(5)).result;
        assert!(
            matches!(
                long,
                Err(CacheError::Generate(GenerateError::PromptTooLong {
                    prompt_tokens: 11,
                    max_seq_len: 10
                }))
            ),
            "a prompt of 11 tokens for 10 positions: expected PromptTooLong, found {long:?}"
        );
    }

    #[test]
    fn an_error_of_the_model_ends_the_loop() {
        let full = || CacheError::Full {
            len: 3,
            new: 1,
            capacity: 3,
        };
        let result = generate(&ids(&[1]), &limits(5), &mut |_| Err(full()), &mut |_| {});
        assert!(
            matches!(result, Err(CacheError::Full { .. })),
            "the cache is full: expected that error, found {result:?}"
        );
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
        expect(
            &format!("the mask of {num_rows} rows after {num_cached} of {capacity} positions (x: seen)"),
            picture(num_cached, num_rows, capacity),
            expected,
        );
    }

    /// A prompt in one chunk: the triangle.
    #[test]
    fn a_prompt_in_one_chunk_is_a_triangle() {
        check(0, 3, 4, &["x...", "xx..", "xxx."]);
    }

    /// One new token sees everything cached and itself, and no place that nobody has written.
    #[test]
    fn a_decode_step_sees_all_that_is_cached() {
        check(3, 1, 6, &["xxxx.."]);
    }

    /// The fault: two rows after three cached ones see the prefix and then the triangle. A plain triangle hides the prefix from them.
    #[test]
    fn a_second_chunk_sees_the_cached_prefix() {
        check(3, 2, 6, &["xxxx..", "xxxxx."]);
    }

    /// Whoever shows the whole chunk to each of its rows lets row 0 read the future.
    #[test]
    fn a_row_does_not_see_the_rows_after_it() {
        let rows = picture(2, 3, 5);
        let seen: Vec<usize> = rows.iter().map(|row| row.matches('x').count()).collect();
        assert!(
            seen[0] < 5,
            "row 0 of 3 rows after 2 positions sees all 5: rows 1 and 2 of its chunk are its future"
        );
        expect("positions that each row sees", seen, vec![3, 4, 5]);
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

    /// The tokens were computed by `transformers`, once and for all.
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
