//! One group of tests for each exercise, smallest case first. A group uses only its own function.

/// 02.1: permuting a layout reorders its shape and its strides, and moves no element.
mod ex_02_1_permuted_strides {
    use layout::exercises::permute;

    #[track_caller]
    fn check(shape: &[usize], strides: &[usize], order: &[usize], expected: (&[usize], &[usize])) {
        let (new_shape, new_strides) = permute(shape, strides, order);
        assert!(
            (new_shape.as_slice(), new_strides.as_slice()) == expected,
            "shape {shape:?}, strides {strides:?}, order {order:?}:\n  expected shape {:?}, strides {:?}\n  found    shape \
             {new_shape:?}, strides {new_strides:?}",
            expected.0,
            expected.1
        );
    }

    /// Keeping the order keeps everything.
    #[test]
    fn the_same_order_changes_nothing() {
        check(&[], &[], &[], (&[], &[]));
        check(&[5], &[1], &[0], (&[5], &[1]));
        check(&[2, 3], &[3, 1], &[0, 1], (&[2, 3], &[3, 1]));
    }

    /// A transposed matrix still lies in memory as before: from one new row to the next is one number. Strides 2 and 1
    /// would be those of a copy.
    #[test]
    fn each_stride_moves_with_its_axis() {
        check(&[2, 3], &[3, 1], &[1, 0], (&[3, 2], &[1, 3]));
        check(&[2, 3, 4], &[12, 4, 1], &[0, 2, 1], (&[2, 4, 3], &[12, 1, 4]));
    }

    /// A layout with gaps, or one that repeats numbers, keeps its gaps and its zeros.
    #[test]
    fn gaps_and_repetitions_stay() {
        check(&[5], &[7], &[0], (&[5], &[7]));
        check(&[2, 3], &[10, 2], &[1, 0], (&[3, 2], &[2, 10]));
        check(&[4, 3], &[0, 1], &[1, 0], (&[3, 4], &[1, 0]));
    }

    /// Putting axis i at place order[i] is right for a swap of two axes and wrong for a rotation of three.
    #[test]
    fn a_rotation_of_three_axes_is_not_its_inverse() {
        check(&[2, 3, 4], &[12, 4, 1], &[1, 2, 0], (&[3, 4, 2], &[4, 1, 12]));
    }
}

/// 02.2: contiguous means that row-major order visits neighbours.
mod ex_02_2_contiguity {
    use layout::exercises::is_contiguous;

    #[track_caller]
    fn check(expected: bool, shape: &[usize], strides: &[usize]) {
        let word = |contiguous| if contiguous { "contiguous" } else { "strided" };
        let found = is_contiguous(shape, strides);
        assert!(
            found == expected,
            "shape {shape:?}, strides {strides:?}: expected {}, found {}; row-major order visits the places {:?}",
            word(expected),
            word(found),
            places(shape, strides)
        );
    }

    /// The places of all elements, in row-major order of their indices.
    fn places(shape: &[usize], strides: &[usize]) -> Vec<usize> {
        let axes = shape.iter().zip(strides);
        axes.fold(vec![0], |places, (&length, &stride)| {
            let steps = move |&place: &usize| (0..length).map(move |i| place + i * stride);
            places.iter().flat_map(steps).collect()
        })
    }

    /// What a fresh tensor looks like.
    #[test]
    fn dense_row_major_is_contiguous() {
        check(true, &[7], &[1]);
        check(true, &[2, 3], &[3, 1]);
        check(true, &[2, 3, 4], &[12, 4, 1]);
        check(true, &[], &[]);
        check(true, &[0, 3], &[3, 1]);
    }

    /// Every other number, a transposed matrix, and one row shown twice.
    #[test]
    fn steps_transposes_and_repetitions_are_not() {
        check(false, &[3], &[2]);
        check(false, &[3, 2], &[1, 3]);
        check(false, &[2, 3], &[0, 1]);
    }

    /// Two rows of three out of rows of four: the last stride is 1 and the strides fall, and yet one number is skipped.
    #[test]
    fn a_gap_between_rows_breaks_it() {
        check(false, &[2, 3], &[4, 1]);
        check(false, &[2, 2, 2], &[8, 2, 1]);
    }

    /// Whole rows in another order. Reshaping such a view as if it were contiguous reads the wrong elements.
    #[test]
    fn a_last_stride_of_one_is_not_enough() {
        check(false, &[2, 2, 3], &[3, 6, 1]);
    }

    /// An axis of length 1 has no second index, so its stride is never used.
    #[test]
    fn the_stride_of_an_axis_of_length_one_does_not_matter() {
        check(true, &[1, 3], &[100, 1]);
        check(true, &[3, 1], &[1, 100]);
        check(true, &[2, 1, 3], &[3, 77, 1]);
    }

    /// No element can be out of order.
    #[test]
    fn a_tensor_without_elements_is_contiguous_whatever_its_strides() {
        check(true, &[0, 3], &[9, 9]);
        check(true, &[2, 0], &[5, 4]);
    }
}

/// 02.3: a block of the weights is fetched once and used for all rows.
mod ex_02_3_blocked_loop {
    use layout::exercises::matmul_blocked;
    use layout::gemm::MatRef;
    use layout::grid::Counted;
    use layout::lines::Cache;
    use std::cell::RefCell;

    /// The product of a `[m, k]` and b `[k, n]`, each read through a cache of its own. `c` begins as given.
    fn product(
        a: &[f32],
        b: &[f32],
        (m, k, n): (usize, usize, usize),
        (k_block, j_block): (usize, usize),
        mut c: Vec<f32>,
    ) -> (Vec<f32>, Cache, Cache) {
        let (a_cache, b_cache) = (RefCell::default(), RefCell::default());
        let a = Counted::new(MatRef::row_major(a, m, k), &a_cache, 0);
        let b = Counted::new(MatRef::row_major(b, k, n), &b_cache, 0);
        matmul_blocked(&a, &b, &mut c, k_block, j_block);
        (c, a_cache.into_inner(), b_cache.into_inner())
    }

    /// Compares with the textbook's loop, on small whole numbers: every order of adding gives the same.
    #[track_caller]
    fn check(shape: (usize, usize, usize), blocks: (usize, usize), old: f32) {
        let (m, k, n) = shape;
        let a: Vec<f32> = (0..m * k).map(|i| (i + 1) as f32).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i % 7 + 1) as f32).collect();
        let (c, ..) = product(&a, &b, shape, blocks, vec![old; m * n]);
        for (place, &found) in c.iter().enumerate() {
            let (i, j) = (place / n, place % n);
            let expected: f32 = (0..k).map(|kk| a[i * k + kk] * b[kk * n + j]).sum();
            assert!(
                found == expected,
                "[{m}, {k}] x [{k}, {n}] in blocks of {} steps x {} columns, c began as {old}s: c[{i}, {j}] is {found}, \
                 expected {expected}{}",
                blocks.0,
                blocks.1,
                if k * n <= 6 {
                    format!("; a = {a:?}, b = {b:?}")
                } else {
                    String::new()
                }
            );
        }
    }

    /// A block larger than b: nothing is cut.
    #[test]
    fn one_block_is_the_whole_product() {
        check((2, 2, 2), (8, 8), 0.0);
        check((3, 5, 4), (8, 8), 0.0);
    }

    /// c is overwritten, not added to.
    #[test]
    fn the_old_content_of_c_does_not_count() {
        check((2, 2, 2), (8, 8), 100.0);
    }

    /// A block holds only some of the steps of k, so it adds to the sums of the blocks above it. A loop that sets the
    /// sums to zero in each block, or overwrites them, keeps the last block only.
    #[test]
    fn each_block_adds_to_the_sums_of_the_blocks_above() {
        check((2, 2, 2), (1, 2), 0.0);
        check((2, 2, 2), (1, 1), 0.0);
        check((3, 8, 4), (2, 2), 0.0);
    }

    /// The last block of a row or column of blocks is smaller.
    #[test]
    fn blocks_that_do_not_divide_the_shape_lose_nothing() {
        check((1, 3, 2), (2, 2), 0.0);
        check((1, 2, 3), (2, 2), 0.0);
        check((3, 10, 7), (4, 3), 0.0);
        check((5, 33, 70), (8, 16), 0.0);
    }

    /// All products of this workbook add in one order, so that they agree to the bit. 1 + 1e8 - 1e8 is 0 in this order
    /// (the 1 is lost in the large number) and 1 from the back.
    #[test]
    fn each_output_adds_its_products_with_k_ascending() {
        let (c, ..) = product(&[1.0, 1e8, -1e8], &[1.0; 3], (1, 3, 1), (1, 1), vec![0.0; 1]);
        assert!(
            c[0] == 0.0,
            "1 + 1e8 - 1e8 in f32, added from k = 0 on, is 0; found {}, another order of the blocks or steps",
            c[0]
        );
    }

    /// A fused multiply-add rounds once, `sum + a * b` twice.
    #[test]
    fn a_product_is_not_rounded_before_it_is_added() {
        let x = 1.0 + 1.0 / 4096.0;
        let (c, ..) = product(&[-1.0, x], &[1.0, x], (1, 2, 1), (2, 1), vec![0.0; 1]);
        let expected = x.mul_add(x, -1.0);
        assert!(
            c[0] == expected,
            "-1 + {x} * {x}: fused it is {expected:e}, rounded twice {:e}; found {:e}",
            x * x - 1.0,
            c[0]
        );
    }

    /// The point of it. A loop that only looks blocked, with the rows outside, fetches all weights again for each row.
    #[test]
    fn the_weights_are_fetched_once_for_all_rows() {
        let shape @ (m, k, n) = (12, 64, 512);
        let (a, b) = (vec![1.0; m * k], vec![1.0; k * n]);
        let (_, _, b_cache) = product(&a, &b, shape, (8, 512), vec![0.0; m * n]);
        let (fetched, lines) = (b_cache.lines_fetched(), (k * n / 16) as u64);
        assert!(
            fetched == lines,
            "[{m}, {k}] x [{k}, {n}] in blocks of 8 steps x 512 columns: b is {lines} lines of 64 bytes, {fetched} were fetched, {} times \
             each; which loop is outside the one over the rows?",
            fetched.div_ceil(lines)
        );
    }

    /// Loads from near memory are counted too: b once for each row and nothing of a inside the innermost loop.
    #[test]
    fn a_number_of_a_is_loaded_once_for_a_whole_block_of_columns() {
        let shape @ (m, k, n) = (3, 8, 64);
        let (a, b) = (vec![1.0; m * k], vec![1.0; k * n]);
        let (_, a_cache, b_cache) = product(&a, &b, shape, (4, 32), vec![0.0; m * n]);
        let (a_loads, b_loads) = ((m * k * 2) as u64, (m * k * n) as u64);
        assert!(
            a_cache.reads() <= a_loads && b_cache.reads() <= b_loads,
            "[{m}, {k}] x [{k}, {n}] in blocks of 4 steps x 32 columns: a was loaded {} times (expected at most {a_loads}: each number once \
             for each of 2 blocks of columns), b {} times (expected at most {b_loads})",
            a_cache.reads(),
            b_cache.reads()
        );
    }
}

/// 02.4: a panel is one line of 32 outputs for each step of k.
mod ex_02_4_pack_a_panel {
    use layout::exercises::pack_panel;

    /// The weight of output o at step k is 100 (o + 1) + k, so that a number says where it comes from.
    fn weight(output: usize, k: usize) -> u32 {
        (100 * (output + 1) + k) as u32
    }

    fn name(number: u32) -> String {
        match number {
            0 => "0".into(),
            u32::MAX => "nothing written".into(),
            w => format!("{w} (output {}, step {})", w / 100 - 1, w % 100),
        }
    }

    #[track_caller]
    fn check(out_features: usize, in_features: usize, first: usize, order: [usize; 32]) {
        let weights: Vec<u32> = (0..out_features * in_features)
            .map(|i| weight(i / in_features, i % in_features))
            .collect();
        let mut panel = vec![u32::MAX; in_features * 32];
        pack_panel(&weights, in_features, first, &order, 0, &mut panel);
        for (at, &found) in panel.iter().enumerate() {
            let (k, place) = (at / 32, at % 32);
            let output = first + order[place];
            let expected = if output < out_features { weight(output, k) } else { 0 };
            assert!(
                found == expected,
                "weights [{out_features}, {in_features}], first = {first}, order = {:?}…: line {k}, place {place} belongs to output {output}; \
                 expected {}, found {}",
                &order[..4],
                name(expected),
                name(found)
            );
        }
    }

    const AS_STORED: [usize; 32] = {
        let mut order = [0; 32];
        let mut p = 0;
        while p < 32 {
            order[p] = p;
            p += 1;
        }
        order
    };

    /// Two steps of 32 outputs: copying rows of the weights one behind the other is wrong from place 1 on.
    #[test]
    fn a_line_holds_one_step_of_32_outputs() {
        check(32, 1, 0, AS_STORED);
        check(32, 2, 0, AS_STORED);
        check(32, 5, 0, AS_STORED);
    }

    /// A later panel begins at a later output, wherever that is.
    #[test]
    fn a_panel_begins_with_output_first() {
        check(64, 3, 32, AS_STORED);
        check(100, 3, 65, AS_STORED);
        check(70, 3, 64, AS_STORED);
    }

    /// The panel is not empty when it comes: what does not exist must be written too.
    #[test]
    fn outputs_that_do_not_exist_become_zero() {
        check(1, 1, 0, AS_STORED);
        check(20, 3, 0, AS_STORED);
    }

    /// order[p] says which output place p shows. A mirrored order is its own reverse, so it only tells whether the
    /// order is used; the order of bf16, dealt from two halves, also tells in which direction.
    #[test]
    fn place_p_shows_output_order_p_and_not_the_reverse() {
        check(32, 2, 0, std::array::from_fn(|p| 31 - p));
        check(32, 2, 0, std::array::from_fn(|p| p / 2 + p % 2 * 16));
        check(25, 4, 0, std::array::from_fn(|p| p / 2 + p % 2 * 16));
    }
}

/// 02.5: a length that is no multiple of the step has a tail.
mod ex_02_5_mend_the_tail {
    use layout::exercises::add_scaled;

    /// Whole steps were right from the start and stay so.
    #[test]
    fn whole_steps_are_added() {
        check(0);
        check(16);
        check(48);
    }

    /// 18 numbers are one step and two numbers more.
    #[test]
    fn tail_numbers_are_not_dropped_for_any_length() {
        check(18);
        (0..=70).for_each(check);
    }

    #[track_caller]
    fn check(length: usize) {
        let x: Vec<f32> = (0..length).map(|i| i as f32 + 1.0).collect();
        let mut sums = vec![0.5; length];
        add_scaled(&mut sums, 2.0, &x);
        let kept = sums.iter().filter(|&&sum| sum == 0.5).count();
        for (i, &found) in sums.iter().enumerate() {
            let expected = 2.0 * x[i] + 0.5;
            assert!(
                found == expected,
                "{length} numbers: number {i} should be 0.5 + 2 * {} = {expected}, found {found}; {kept} of {length} numbers keep their \
                 old value",
                x[i]
            );
        }
    }

    /// A product that is rounded before it is added has other bits than the rest of the lesson.
    #[test]
    fn the_tail_is_fused_like_the_body() {
        let (x, start) = (1.0 + 1.0 / 4096.0, -1.0f32);
        let mut sums = vec![start; 17];
        add_scaled(&mut sums, x, &[x; 17]);
        let expected = x.mul_add(x, start);
        let wrong = sums.iter().position(|&sum| sum != expected);
        assert!(
            wrong.is_none(),
            "17 numbers, each -1 + {x} * {x}: rounded once this is {expected:e}, rounded twice {:e}; the last numbers are {:?}",
            x * x + start,
            &sums[14..]
        );
    }
}

/// The option that course.toml calls right.
fn right_option(id: &str) -> String {
    let course: toml::Table = toml::from_str(include_str!("../course.toml")).expect("course.toml is TOML");
    let exercises = course["exercises"].as_array().expect("a list");
    let exercise = exercises
        .iter()
        .find(|exercise| exercise["id"].as_str() == Some(id))
        .unwrap_or_else(|| panic!("course.toml has no exercise {id}"));
    let answer = exercise["answer"].as_integer().expect("an index") as usize;
    exercise["options"][answer].as_str().expect("text").into()
}

/// 02.6: a view whose rows are whole is read as well as a copy, and the copy comes on top.
mod ex_02_6_copy_first {
    use layout::gemm::MatRef;
    use layout::grid::{Counted, Grid};
    use layout::ladder;
    use layout::lines::Cache;
    use std::cell::RefCell;

    /// Lines of x that a loop fetches through an empty cache.
    fn lines(x: MatRef, read: impl Fn(&Counted)) -> u64 {
        let cache = RefCell::new(Cache::default());
        read(&Counted::new(x, &cache, 0));
        cache.into_inner().lines_fetched()
    }

    /// Every second row of a stored `[16, 256]`, times `[256, 64]`, by the reordered loop.
    #[test]
    fn the_counted_lines_are_those_of_the_answer() {
        let (stored, w) = (vec![1.0; 16 * 256], vec![1.0; 256 * 64]);
        let dense = MatRef::row_major(&stored, 8, 256);
        let view = MatRef {
            row_stride: 2 * 256,
            ..dense
        };
        let product = |x: &Counted| {
            let w = MatRef::row_major(&w, 256, 64);
            ladder::reordered(x, &w, &mut [0.0; 8 * 64]);
        };
        let copy = |x: &Counted| {
            let elements = (0..8 * 256).map(|e| x.at(e / 256, e % 256));
            assert_eq!(elements.count(), 8 * 256);
        };
        let (from_view, copied_first) = (lines(view, product), lines(view, copy) + lines(dense, product));
        assert_eq!(
            super::right_option("02.6"),
            format!("view {from_view}, copied first {copied_first}")
        );
    }
}

/// 02.7: a sixteenth of the additions can cost all of the lines.
mod ex_02_7_fewer_operations {
    use layout::lines::Cache;

    /// The first 64 columns of a row-major `[1024, 1024]`, one column after the other, downwards.
    #[test]
    fn the_counted_lines_are_those_of_the_answer() {
        let mut cache = Cache::default();
        for column in 0..64 {
            for row in 0..1024 {
                cache.read(4 * (1024 * row + column));
            }
        }
        assert_eq!(cache.reads(), 1024 * 1024 / 16);
        assert_eq!(super::right_option("02.7"), cache.lines_fetched().to_string());
    }

    /// The whole matrix, row by row: sixteen times the additions, the same lines, and one run instead of one a line.
    #[test]
    fn the_whole_matrix_in_order_fetches_no_more() {
        let mut cache = Cache::default();
        (0..1024 * 1024).for_each(|place| cache.read(4 * place));
        assert_eq!(super::right_option("02.7"), cache.lines_fetched().to_string());
        assert_eq!(cache.runs_fetched(), 1);
    }
}
