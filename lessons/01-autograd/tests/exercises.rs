//! The five functions of the exercises, each by itself, and at the end the whole.

use std::cell::Cell;

use autograd::exercises::{
    accumulate, matmul_backward, numeric_gradient, sum_to_shape, topological_order,
};
use ndarray::{Array2, ArrayD, IxDyn, arr1, arr2};

/// Exercise 01.1: the gradient of any function, from its values alone.
mod ex_01_1_numeric_gradient {
    use super::*;

    #[test]
    fn the_slope_of_a_square() {
        let at = arr1(&[1.0, -2.0, 0.5]).into_dyn();
        let gradient = numeric_gradient(|x| x.mapv(|x| x * x).sum(), &at, 1e-5);
        for (found, expected) in gradient.iter().zip([2.0, -4.0, 1.0]) {
            assert!(
                (found - expected).abs() < 1e-8,
                "{found} instead of {expected}"
            );
        }
    }

    #[test]
    fn every_element_is_moved_alone_and_put_back() {
        let at = arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn();
        let gradient = numeric_gradient(
            |x| x[[0, 0]] * x[[0, 1]] + 10.0 * x[[1, 0]] * x[[1, 1]],
            &at,
            1e-5,
        );
        let expected = arr2(&[[2.0, 1.0], [40.0, 30.0]]).into_dyn();
        assert!(
            gradient
                .iter()
                .zip(&expected)
                .all(|(f, e)| (f - e).abs() < 1e-6),
            "{gradient} instead of {expected}"
        );
    }

    /// A one-sided difference is off by half the curvature times the step, 5e-6 here.
    #[test]
    fn the_difference_is_central() {
        let at = arr1(&[1.0]).into_dyn();
        let gradient = numeric_gradient(|x| x[0] * x[0], &at, 1e-5);
        assert!(
            (gradient[0] - 2.0).abs() < 1e-9,
            "{} instead of 2",
            gradient[0]
        );
    }

    #[test]
    fn the_function_is_called_twice_per_element() {
        let calls = Cell::new(0);
        let count = |x: &ArrayD<f64>| {
            calls.set(calls.get() + 1);
            x.sum()
        };
        numeric_gradient(count, &ArrayD::zeros(IxDyn(&[2, 3])), 1e-5);
        assert_eq!(calls.get(), 12);
    }

    #[test]
    fn a_transposed_point_keeps_its_places() {
        let at = arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            .reversed_axes()
            .into_dyn();
        let gradient = numeric_gradient(|x| x[[0, 1]] * 7.0, &at, 1e-5);
        assert!(
            (gradient[[0, 1]] - 7.0).abs() < 1e-6 && gradient[[1, 0]].abs() < 1e-6,
            "{gradient}"
        );
    }
}

/// Exercise 01.2: how a gradient goes back through a matrix product.
mod ex_01_2_matmul_backward {
    use super::*;

    /// `c = a b`, all by hand: `[1, 2] · [[3], [4]]` is 11; its gradient 10 gives `[30, 40]` and `[[10], [20]]`.
    #[test]
    fn one_row_times_one_column() {
        let (for_a, for_b) = matmul_backward(
            arr2(&[[1.0, 2.0]]).view(),
            arr2(&[[3.0], [4.0]]).view(),
            arr2(&[[10.0]]).view(),
        );
        assert_eq!(for_a, arr2(&[[30.0, 40.0]]));
        assert_eq!(for_b, arr2(&[[10.0], [20.0]]));
    }

    /// Square matrices hide a forgotten transpose from the shapes, not from the numbers.
    #[test]
    fn a_transpose_is_not_forgotten() {
        let (a, b) = (
            arr2(&[[1.0, 2.0], [3.0, 4.0]]),
            arr2(&[[5.0, 6.0], [7.0, 8.0]]),
        );
        let upstream = arr2(&[[1.0, 0.0], [0.0, 0.0]]);
        let (for_a, for_b) = matmul_backward(a.view(), b.view(), upstream.view());
        assert_eq!(for_a, arr2(&[[5.0, 7.0], [0.0, 0.0]]));
        assert_eq!(for_b, arr2(&[[1.0, 0.0], [2.0, 0.0]]));
    }

    #[test]
    fn every_element_agrees_with_its_definition() {
        let a = Array2::from_shape_fn((2, 3), |(i, j)| (i * 3 + j) as f64 - 2.0);
        let b = Array2::from_shape_fn((3, 4), |(i, j)| (i * 4 + j) as f64 * 0.5 - 3.0);
        let upstream = Array2::from_shape_fn((2, 4), |(i, j)| (i + 2 * j) as f64 - 1.5);
        let (for_a, for_b) = matmul_backward(a.view(), b.view(), upstream.view());
        for ((i, k), found) in for_a.indexed_iter() {
            assert_eq!(
                *found,
                (0..4).map(|j| upstream[[i, j]] * b[[k, j]]).sum::<f64>()
            );
        }
        for ((k, j), found) in for_b.indexed_iter() {
            assert_eq!(
                *found,
                (0..2).map(|i| upstream[[i, j]] * a[[i, k]]).sum::<f64>()
            );
        }
    }
}

/// Exercise 01.3: an operand that was repeated gets the sum over its repetitions.
mod ex_01_3_sum_to_shape {
    use super::*;

    #[track_caller]
    fn check(from: &[usize], to: &[usize]) {
        let gradient =
            ArrayD::from_shape_fn(IxDyn(from), |index| 1.0 + index[from.len() - 1] as f64);
        let total = gradient.sum();
        let sum = sum_to_shape(gradient, to);
        assert_eq!(sum.shape(), to);
        assert_eq!(
            sum.sum(),
            total,
            "nothing is lost and nothing counted twice"
        );
    }

    #[test]
    fn a_missing_axis() {
        check(&[4, 3], &[3]);
        check(&[5, 4, 3], &[3]);
        assert_eq!(
            sum_to_shape(arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn(), &[2]),
            arr1(&[4.0, 6.0]).into_dyn()
        );
    }

    #[test]
    fn a_stretched_axis() {
        check(&[4, 3], &[4, 1]);
        check(&[4, 3], &[1, 3]);
        assert_eq!(
            sum_to_shape(arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn(), &[2, 1]),
            arr2(&[[3.0], [7.0]]).into_dyn()
        );
    }

    #[test]
    fn both_kinds_at_once() {
        check(&[2, 4, 3], &[4, 1]);
        check(&[2, 4, 3], &[1, 1]);
        check(&[2, 4, 3], &[]);
    }

    #[test]
    fn an_axis_that_was_not_repeated_stays() {
        check(&[4, 3], &[4, 3]);
        check(&[4, 1], &[4, 1]);
        check(&[1, 1], &[1]);
    }
}

/// Exercise 01.4: every node once, after its inputs, without recursion.
mod ex_01_4_topological_order {
    use super::*;

    fn order(graph: &[Vec<usize>], root: usize) -> Vec<usize> {
        topological_order(root, |&node| node, |&node| graph[node].clone())
    }

    #[track_caller]
    fn check(graph: &[Vec<usize>], root: usize, expected_nodes: usize) {
        let order = order(graph, root);
        assert_eq!(
            order.len(),
            expected_nodes,
            "each node that leads to the root, once: {order:?}"
        );
        for (place, node) in order.iter().enumerate() {
            for input in &graph[*node] {
                assert!(
                    order[..place].contains(input),
                    "{input} comes before {node}, which uses it: {order:?}"
                );
            }
        }
        assert_eq!(order.last(), Some(&root));
    }

    #[test]
    fn a_leaf_alone() {
        check(&[vec![]], 0, 1);
    }

    #[test]
    fn a_diamond() {
        check(&[vec![], vec![0], vec![0], vec![1, 2]], 3, 4);
        check(&[vec![], vec![0], vec![0], vec![2, 1]], 3, 4);
    }

    #[test]
    fn an_input_used_twice_by_one_node() {
        check(&[vec![], vec![0, 0]], 1, 2);
    }

    #[test]
    fn nodes_that_do_not_lead_to_the_root_are_left_out() {
        check(&[vec![], vec![0], vec![0]], 1, 2);
    }

    /// Marking a node as done when it is first *seen* puts 1 behind 2 here, although 2 uses 1.
    #[test]
    fn a_short_path_and_a_long_one_to_the_same_node() {
        let graph = [vec![], vec![0], vec![1], vec![1, 2], vec![0, 3]];
        check(&graph, 4, 5);
        let other_way = [vec![], vec![0], vec![1], vec![2, 1], vec![3, 0]];
        check(&other_way, 4, 5);
    }

    #[test]
    fn sixteen_doublings_are_seventeen_nodes() {
        let graph: Vec<Vec<usize>> = (0..17)
            .map(|i: usize| if i == 0 { vec![] } else { vec![i - 1, i - 1] })
            .collect();
        let asked = Cell::new(0);
        let inputs = |node: &usize| {
            asked.set(asked.get() + 1);
            graph[*node].clone()
        };
        assert_eq!(topological_order(16, |&node| node, inputs).len(), 17);
        assert!(
            asked.get() <= 2 * 17,
            "asked {} times for the inputs of 17 nodes",
            asked.get()
        );
    }

    #[test]
    fn a_chain_deeper_than_the_stack() {
        let run = || {
            topological_order(
                300_000_usize,
                |&n| n,
                |&n| if n == 0 { vec![] } else { vec![n - 1] },
            )
            .len()
        };
        let small = std::thread::Builder::new()
            .stack_size(64 * 1024)
            .spawn(run)
            .expect("a thread");
        assert_eq!(small.join().expect("no overflow"), 300_001);
    }
}

/// Exercise 01.5: mend the function that keeps only the last contribution.
mod ex_01_5_accumulate {
    use super::*;

    #[test]
    fn the_first_contribution_is_moved() {
        let contribution = arr1(&[1.0, 2.0]).into_dyn();
        let address = contribution.as_ptr();
        let mut slot = None;
        accumulate(&mut slot, contribution);
        assert_eq!(slot.expect("filled").as_ptr(), address, "moved, not copied");
    }

    #[test]
    fn later_ones_are_added() {
        let mut slot = None;
        for _ in 0..3 {
            accumulate(&mut slot, arr1(&[1.0, 2.0]).into_dyn());
        }
        assert_eq!(slot, Some(arr1(&[3.0, 6.0]).into_dyn()));
    }
}

/// All together, through the tape.
mod whole {
    use autograd::gradcheck::check;

    use super::*;

    #[test]
    fn a_layer_with_a_bias_and_a_residual() {
        let x = Array2::from_shape_fn((3, 2), |(i, j)| 0.3 * i as f64 - 0.4 * j as f64).into_dyn();
        let w = Array2::from_shape_fn((2, 2), |(i, j)| 0.5 - 0.7 * i as f64 + 0.2 * j as f64)
            .into_dyn();
        let b = arr1(&[0.1, -0.2]).into_dyn();
        let comparisons = check(
            |t| Ok(t[0].matmul(&t[1])?.add(&t[2])?.tanh().add(&t[0])?.sum()),
            &[x, w, b],
        )
        .expect("shapes fit");
        for comparison in comparisons {
            assert!(comparison.error() < 1e-8, "{comparison:?}");
        }
    }
}
