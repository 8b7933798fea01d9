//! One group of tests for each exercise. A group uses only its own function.

/// 02.1: permuting a layout reorders its shape and its strides, and moves no element.
mod exercise_1_permuted_strides {
    use layout::exercises::permute;

    #[track_caller]
    fn check(shape: &[usize], strides: &[usize], order: &[usize], expected: (&[usize], &[usize])) {
        let (new_shape, new_strides) = permute(shape, strides, order);
        assert_eq!(
            (new_shape.as_slice(), new_strides.as_slice()),
            expected,
            "{shape:?} by {order:?}"
        );
    }

    #[test]
    fn axis_i_of_the_result_is_axis_order_i_of_the_input() {
        check(&[2, 3], &[3, 1], &[1, 0], (&[3, 2], &[1, 3]));
        check(
            &[2, 3, 4],
            &[12, 4, 1],
            &[0, 2, 1],
            (&[2, 4, 3], &[12, 1, 4]),
        );
        check(&[5], &[7], &[0], (&[5], &[7]));
        check(&[], &[], &[], (&[], &[]));
    }

    /// A common slip puts axis i at place order[i]: right for a swap of two axes, wrong for a rotation of three.
    #[test]
    fn a_rotation_of_three_axes_is_not_its_inverse() {
        check(
            &[2, 3, 4],
            &[12, 4, 1],
            &[1, 2, 0],
            (&[3, 4, 2], &[4, 1, 12]),
        );
    }

    #[test]
    #[should_panic(expected = "twice")]
    fn an_axis_named_twice_is_refused() {
        permute(&[2, 3], &[3, 1], &[0, 0]);
    }
}

/// 02.2: contiguous means that row-major order visits neighbours.
mod exercise_2_contiguity {
    use layout::exercises::is_contiguous;

    #[test]
    fn dense_row_major_is_contiguous() {
        assert!(is_contiguous(&[2, 3, 4], &[12, 4, 1]));
        assert!(is_contiguous(&[7], &[1]));
        assert!(is_contiguous(&[], &[]));
    }

    #[test]
    fn permuted_gapped_and_broadcast_layouts_are_not() {
        assert!(!is_contiguous(&[3, 2], &[1, 3]));
        assert!(!is_contiguous(&[2, 3], &[4, 1]));
        assert!(!is_contiguous(&[3], &[2]));
        assert!(!is_contiguous(&[2, 3], &[0, 1]));
    }

    /// Reshaping a permuted view as if it were contiguous reads the wrong elements; this is the check that prevents it.
    #[test]
    fn a_last_stride_of_one_is_not_enough() {
        assert!(!is_contiguous(&[2, 2, 3], &[3, 6, 1]));
    }

    #[test]
    fn the_stride_of_an_axis_of_length_one_does_not_matter() {
        assert!(is_contiguous(&[1, 3], &[100, 1]));
        assert!(is_contiguous(&[3, 1], &[1, 100]));
    }

    #[test]
    fn nothing_is_contiguous_whatever_its_strides() {
        assert!(is_contiguous(&[0, 3], &[9, 9]));
    }
}

/// 02.3: a block of the weights is fetched once and used for all rows.
mod exercise_3_blocked_loop {
    use layout::exercises::matmul_blocked;
    use layout::gemm::MatRef;
    use layout::grid::Counted;
    use layout::lines::Cache;
    use std::cell::RefCell;

    fn numbers(n: usize) -> Vec<f32> {
        (0..n).map(|i| (i * 31 % 89) as f32 / 44.0 - 1.0).collect()
    }

    fn product(m: usize, k: usize, n: usize, k_block: usize, j_block: usize) -> (Vec<f32>, Cache) {
        let (a, b) = (numbers(m * k), numbers(k * n));
        let cache = RefCell::new(Cache::default());
        let mut c = vec![f32::NAN; m * n];
        let a = Counted::new(MatRef::row_major(&a, m, k), &cache, 0);
        let b = Counted::new(MatRef::row_major(&b, k, n), &cache, 1 << 30);
        matmul_blocked(&a, &b, &mut c, k_block, j_block);
        (c, cache.into_inner())
    }

    #[test]
    fn blocks_that_do_not_divide_the_shape_lose_nothing() {
        for (m, k, n) in [(1, 1, 1), (3, 10, 7), (5, 33, 70)] {
            let (a, b) = (numbers(m * k), numbers(k * n));
            for (k_block, j_block) in [(1, 1), (4, 16), (100, 100)] {
                let (c, _) = product(m, k, n, k_block, j_block);
                for (place, sum) in c.iter().enumerate() {
                    let expected = (0..k).fold(0.0f32, |sum, kk| {
                        a[place / n * k + kk].mul_add(b[kk * n + place % n], sum)
                    });
                    assert_eq!(
                        sum.to_bits(),
                        expected.to_bits(),
                        "[{m}, {k}] x [{k}, {n}] in blocks of {k_block} x {j_block}, output {place}"
                    );
                }
            }
        }
    }

    /// A loop that only looks blocked, with the rows outside, reads all weights again for each row.
    #[test]
    fn the_weights_are_fetched_once_for_all_rows() {
        let (_, cache) = product(12, 64, 512, 8, 512);
        let (weights, x) = (64 * 512 / 16, 12 * 64 / 16);
        assert!(
            cache.lines_fetched() <= weights + 9 * x,
            "{} lines; the weights have {weights}",
            cache.lines_fetched()
        );
    }
}

/// 02.4: a panel is one line of 32 outputs for each step of k.
mod exercise_4_pack_a_panel {
    use layout::exercises::pack_panel;

    #[track_caller]
    fn check(out_features: usize, in_features: usize, first: usize, order: [usize; 32]) {
        let weights: Vec<u32> = (0..(out_features * in_features) as u32)
            .map(|w| w + 1)
            .collect();
        let mut panel = vec![u32::MAX; in_features * 32];
        pack_panel(&weights, in_features, first, &order, 0, &mut panel);
        for k in 0..in_features {
            for place in 0..32 {
                let output = first + order[place];
                let expected = if output < out_features {
                    weights[output * in_features + k]
                } else {
                    0
                };
                assert_eq!(panel[k * 32 + place], expected, "step {k}, place {place}");
            }
        }
    }

    #[test]
    fn place_p_of_step_k_is_the_weight_of_output_p() {
        check(32, 5, 0, std::array::from_fn(|p| p));
        check(100, 3, 64, std::array::from_fn(|p| p));
    }

    #[test]
    fn outputs_that_do_not_exist_are_zero() {
        check(40, 3, 32, std::array::from_fn(|p| p));
        check(1, 1, 0, std::array::from_fn(|p| p));
    }

    #[test]
    fn the_order_of_the_outputs_is_followed() {
        check(64, 4, 32, std::array::from_fn(|p| p / 2 + p % 2 * 16));
        check(50, 4, 32, std::array::from_fn(|p| 31 - p));
    }
}

/// 02.5: a length that is no multiple of the step has a tail.
mod exercise_5_mend_the_tail {
    use layout::exercises::add_scaled;

    #[test]
    fn tail_numbers_are_not_dropped_for_any_length() {
        for length in 0..=70 {
            let x: Vec<f32> = (0..length).map(|i| i as f32 + 1.0).collect();
            let mut sums = vec![0.5; length];
            add_scaled(&mut sums, 2.0, &x);
            for (i, sum) in sums.iter().enumerate() {
                assert_eq!(*sum, 2.0 * (i as f32 + 1.0) + 0.5, "number {i} of {length}");
            }
        }
    }

    /// A product that is rounded before it is added has other bits than the rest of the lesson.
    #[test]
    fn the_tail_is_fused_like_the_body() {
        let (x, start) = (1.0 + f32::EPSILON, -1.0f32);
        let mut sums = vec![start; 17];
        add_scaled(&mut sums, x, &[x; 17]);
        assert!(
            sums.iter()
                .all(|sum| sum.to_bits() == x.mul_add(x, start).to_bits()),
            "{sums:?}"
        );
    }
}
