//! The exercises of this lesson, one group each, and at the end the functions together.

use std::cell::{Cell, RefCell};

use autograd::exercises::{
    accumulate, gradients_are_right, matmul_backward, numeric_gradient, sum_to_shape, topological_order,
};
use ndarray::{Array2, ArrayD, IxDyn, arr1, arr2};

/// Exercise 01.1: the gradient of any function, from its values alone.
mod ex_01_1_numeric_gradient {
    use ndarray::Dimension;

    use super::*;

    #[track_caller]
    fn expect(found: &ArrayD<f64>, expected: &ArrayD<f64>, why: &str) {
        assert_eq!(
            found.shape(),
            expected.shape(),
            "the gradient has the shape of the point: expected {:?}, found {:?}",
            expected.shape(),
            found.shape()
        );
        for (place, expected) in expected.indexed_iter() {
            let found = found[&place];
            assert!(
                (found - expected).abs() < 1e-9,
                "element {:?}: expected {expected}, found {found}. {why}",
                place.slice()
            );
        }
    }

    /// `3x` at 2 with a step of 0.25: the value grows from 5.25 to 6.75, by 1.5 over a distance of 0.5.
    #[test]
    fn the_two_points_are_2h_apart() {
        let gradient = numeric_gradient(|x| 3.0 * x[0], &arr1(&[2.0]).into_dyn(), 0.25);
        let why =
            "f(x) = 3x at x = 2, step 0.25: f(2.25) - f(1.75) = 6.75 - 5.25 = 1.5, and from 1.75 to 2.25 it is 0.5";
        expect(&gradient, &arr1(&[3.0]).into_dyn(), why);
    }

    /// `x²` at 1 with a step of 0.5. Central: (2.25 - 0.25) / 1 = 2, exact for a parabola. From one side: 2.5 or 1.5.
    #[test]
    fn the_difference_is_central() {
        let gradient = numeric_gradient(|x| x[0] * x[0], &arr1(&[1.0]).into_dyn(), 0.5);
        let why = "f(x) = x² at x = 1, step 0.5: the slope between 0.5 and 1.5 is 2; between 1 and 1.5 it is 2.5, between 0.5 and 1 it is 1.5";
        expect(&gradient, &arr1(&[2.0]).into_dyn(), why);
    }

    /// The function must be asked half a unit away from 1, because that is the step it was given.
    #[test]
    fn the_given_step_is_used() {
        let asked = RefCell::new(Vec::new());
        let cube = |x: &ArrayD<f64>| {
            asked.borrow_mut().push(x[0]);
            x[0].powi(3)
        };
        numeric_gradient(cube, &arr1(&[1.0]).into_dyn(), 0.5);
        let farthest = |far: f64, x: &f64| far.max((x - 1.0).abs());
        let far = asked.borrow().iter().fold(0.0, farthest);
        let found = if far < 0.1 {
            "a much smaller step"
        } else {
            "another step"
        };
        assert!(
            (far - 0.5).abs() < 1e-9,
            "at x = 1 with step 0.5 the function is asked at 0.5 and 1.5; found {found}: {:?}",
            asked.borrow()
        );
    }

    /// `x₀x₁ + 10 x₂x₃` at `[[1, 2], [3, 4]]`: each slope is its neighbour's value, as long as the neighbour is in
    /// place.
    #[test]
    fn every_element_is_moved_alone_and_put_back() {
        let at = arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn();
        let function = |x: &ArrayD<f64>| x[[0, 0]] * x[[0, 1]] + 10.0 * x[[1, 0]] * x[[1, 1]];
        let gradient = numeric_gradient(function, &at, 0.5);
        let why = "f = x00·x01 + 10·x10·x11 at [[1, 2], [3, 4]], step 0.5: while one element moves, the others stand where they were given";
        expect(&gradient, &arr2(&[[2.0, 1.0], [40.0, 30.0]]).into_dyn(), why);
    }

    /// Two calls per element, not more: the function may be a whole forward pass.
    #[test]
    fn the_function_is_called_twice_per_element() {
        let calls = Cell::new(0);
        let count = |x: &ArrayD<f64>| {
            calls.set(calls.get() + 1);
            x.sum()
        };
        numeric_gradient(count, &ArrayD::zeros(IxDyn(&[2, 3])), 0.5);
        assert_eq!(
            calls.get(),
            12,
            "6 elements: expected 12 calls of the function, found {}",
            calls.get()
        );
    }

    /// A transposed array lies in memory in another order than its indices count.
    #[test]
    fn a_transposed_point_keeps_its_places() {
        let at = arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).reversed_axes().into_dyn();
        let gradient = numeric_gradient(|x| x[[0, 1]] * 7.0, &at, 0.5);
        let mut expected = ArrayD::zeros(IxDyn(&[3, 2]));
        expected[[0, 1]] = 7.0;
        let why = "f = 7·x01 at a point [3, 2] that is a transposed [2, 3]: only element [0, 1] has a slope; walk values and gradient in one order";
        expect(&gradient, &expected, why);
    }
}

/// Exercise 01.2: how a gradient goes back through a matrix product.
mod ex_01_2_matmul_backward {
    use super::*;

    #[track_caller]
    fn expect(name: &str, found: &Array2<f64>, expected: &Array2<f64>, why: &str) {
        assert_eq!(
            found.shape(),
            expected.shape(),
            "the gradient of {name} has the shape of {name}: expected {:?}, found {:?}",
            expected.shape(),
            found.shape()
        );
        for ((i, j), expected) in expected.indexed_iter() {
            let found = found[[i, j]];
            assert_eq!(
                found, *expected,
                "gradient of {name}, element [{i}, {j}]: expected {expected}, found {found}. {why}"
            );
        }
    }

    /// `c = a b`, all by hand: `[1, 2] · [[3], [4]]` is 11; its gradient 10 gives `[30, 40]` and `[[10], [20]]`.
    #[test]
    fn one_row_times_one_column() {
        let (for_a, for_b) = matmul_backward(
            arr2(&[[1.0, 2.0]]).view(),
            arr2(&[[3.0], [4.0]]).view(),
            arr2(&[[10.0]]).view(),
        );
        let why = "c = 1·3 + 2·4, upstream 10: a's elements get 10·3 and 10·4, b's get 10·1 and 10·2";
        expect("a", &for_a, &arr2(&[[30.0, 40.0]]), why);
        expect("b", &for_b, &arr2(&[[10.0], [20.0]]), why);
    }

    /// Square matrices hide a forgotten transpose from the shapes, not from the numbers.
    #[test]
    fn a_transpose_is_not_forgotten() {
        let a = arr2(&[[1.0, 2.0], [3.0, 4.0]]);
        let b = arr2(&[[5.0, 6.0], [7.0, 8.0]]);
        let upstream = arr2(&[[1.0, 0.0], [0.0, 0.0]]);
        let (for_a, for_b) = matmul_backward(a.view(), b.view(), upstream.view());
        let why = "Only c[0, 0] = a00·b00 + a01·b10 has a gradient, 1: so a00 gets b00 = 5, a01 gets b10 = 7, b00 gets a00 = 1 and b10 gets a01 = 2";
        expect("a", &for_a, &arr2(&[[5.0, 7.0], [0.0, 0.0]]), why);
        expect("b", &for_b, &arr2(&[[1.0, 0.0], [2.0, 0.0]]), why);
    }

    /// `[2, 3]` times `[3, 4]`, each element by its sum.
    #[test]
    fn every_element_agrees_with_its_sum() {
        let a = Array2::from_shape_fn((2, 3), |(i, j)| (i * 3 + j) as f64 - 2.0);
        let b = Array2::from_shape_fn((3, 4), |(i, j)| (i * 4 + j) as f64 * 0.5 - 3.0);
        let upstream = Array2::from_shape_fn((2, 4), |(i, j)| (i + 2 * j) as f64 - 1.5);
        let (for_a, for_b) = matmul_backward(a.view(), b.view(), upstream.view());
        let sum_for_a = |(i, k)| (0..4).map(|j| upstream[[i, j]] * b[[k, j]]).sum::<f64>();
        let sum_for_b = |(k, j)| (0..2).map(|i| upstream[[i, j]] * a[[i, k]]).sum::<f64>();
        let why = "a [2, 3] times b [3, 4]: a[i, k] gets the sum over j of upstream[i, j]·b[k, j]";
        expect("a", &for_a, &Array2::from_shape_fn((2, 3), sum_for_a), why);
        let why = "a [2, 3] times b [3, 4]: b[k, j] gets the sum over i of a[i, k]·upstream[i, j]";
        expect("b", &for_b, &Array2::from_shape_fn((3, 4), sum_for_b), why);
    }
}

/// Exercise 01.3: an operand that was repeated gets the sum over its repetitions.
mod ex_01_3_sum_to_shape {
    use super::*;

    #[track_caller]
    fn expect(gradient: ArrayD<f64>, to: &[usize], expected: &[f64]) {
        let from = gradient.shape().to_vec();
        let numbers: Vec<f64> = gradient.iter().copied().collect();
        let found = sum_to_shape(gradient, to);
        assert_eq!(
            found.shape(),
            to,
            "an operand {to:?} was repeated to {from:?}: its gradient has shape {to:?}, found {:?}",
            found.shape()
        );
        let found: Vec<f64> = found.iter().copied().collect();
        assert_eq!(
            found, expected,
            "an operand {to:?} was repeated to {from:?}, where the gradient is {numbers:?} (row-major): expected {expected:?}, found {found:?}"
        );
    }

    fn two_by_two() -> ArrayD<f64> {
        arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn()
    }

    /// `[2]` is added to each row of `[2, 2]`: its first element gets 1 + 3, not 1 + 2.
    #[test]
    fn a_missing_axis_is_an_outer_one() {
        expect(two_by_two(), &[2], &[4.0, 6.0]);
        let three = ArrayD::from_shape_fn(IxDyn(&[2, 2, 3]), |index| index[2] as f64);
        expect(three, &[3], &[0.0, 4.0, 8.0]);
    }

    /// `[2, 1]` is added to each column of `[2, 2]`: 1 + 2 and 3 + 4, and the axis stays.
    #[test]
    fn a_stretched_axis_keeps_size_1() {
        expect(two_by_two(), &[2, 1], &[3.0, 7.0]);
        expect(two_by_two(), &[1, 2], &[4.0, 6.0]);
    }

    /// Four ones for a single number are 4. A mean would be 1.
    #[test]
    fn nothing_is_averaged() {
        expect(ArrayD::ones(IxDyn(&[4])), &[], &[4.0]);
        expect(ArrayD::ones(IxDyn(&[2, 2])), &[], &[4.0]);
    }

    /// `[2, 2, 2]` to `[2, 1]`: the outer axis is missing and the inner one was stretched.
    #[test]
    fn both_kinds_at_once() {
        let gradient = ArrayD::from_shape_fn(IxDyn(&[2, 2, 2]), |i| (4 * i[0] + 2 * i[1] + i[2]) as f64);
        expect(
            gradient.clone(),
            &[2, 1],
            &[0.0 + 1.0 + 4.0 + 5.0, 2.0 + 3.0 + 6.0 + 7.0],
        );
        expect(gradient, &[1, 1], &[28.0]);
    }

    /// An axis of size 1 on both sides was not repeated, and an equal shape needs nothing.
    #[test]
    fn an_axis_that_was_not_repeated_stays() {
        expect(two_by_two(), &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        expect(arr2(&[[1.0], [2.0]]).into_dyn(), &[2, 1], &[1.0, 2.0]);
        expect(arr2(&[[5.0]]).into_dyn(), &[1], &[5.0]);
    }
}

/// Exercise 01.4: every node once, after its inputs, without recursion.
mod ex_01_4_topological_order {
    use super::*;

    /// `graph[node]` lists what `node` was computed from.
    fn order(graph: &[Vec<usize>], root: usize) -> Vec<usize> {
        topological_order(root, |&node| node, |&node| graph[node].clone())
    }

    #[track_caller]
    fn check(graph: &[Vec<usize>], root: usize, num_nodes: usize) {
        let order = order(graph, root);
        let tape: Vec<String> = (graph.iter().enumerate())
            .map(|(node, inputs)| format!("{node} from {inputs:?}"))
            .collect();
        let tape = tape.join(", ");
        assert_eq!(
            order.len(),
            num_nodes,
            "{tape}: expected {num_nodes} nodes that lead to {root}, each once, found {order:?}"
        );
        for (place, node) in order.iter().enumerate() {
            for input in &graph[*node] {
                assert!(
                    order[..place].contains(input),
                    "{tape}: {node} uses {input}, so {input} comes before {node}, found {order:?}"
                );
            }
        }
        assert_eq!(
            order.last(),
            Some(&root),
            "{tape}: the root {root} is the last, found {order:?}"
        );
    }

    /// A node without inputs is its own order.
    #[test]
    fn a_leaf_alone() {
        check(&[vec![]], 0, 1);
    }

    /// `b = a + a` names `a` twice; it is still one node.
    #[test]
    fn an_input_used_twice_by_one_node() {
        check(&[vec![], vec![0, 0]], 1, 2);
    }

    /// Two nodes use 0, and 3 uses both.
    #[test]
    fn a_diamond() {
        check(&[vec![], vec![0], vec![0], vec![1, 2]], 3, 4);
        check(&[vec![], vec![0], vec![0], vec![2, 1]], 3, 4);
    }

    /// Node 2 uses 0, but nothing that leads to 1 uses 2.
    #[test]
    fn nodes_that_do_not_lead_to_the_root_are_left_out() {
        check(&[vec![], vec![0], vec![0]], 1, 2);
    }

    /// 3 uses 1 directly and through 2. Written down at first sight, or nearest first, 1 comes out behind 2, which
    /// needs it.
    #[test]
    fn a_short_path_and_a_long_one_to_the_same_node() {
        let graph = [vec![], vec![0], vec![1], vec![1, 2]];
        check(&graph, 3, 4);
        let other_way = [vec![], vec![0], vec![1], vec![2, 1]];
        check(&other_way, 3, 4);
        let longer = [vec![], vec![0], vec![1], vec![1, 2], vec![0, 3]];
        check(&longer, 4, 5);
        let other_way = [vec![], vec![0], vec![1], vec![2, 1], vec![3, 0]];
        check(&other_way, 4, 5);
    }

    /// `x = x + x`, sixteen times: 17 nodes, 65 536 paths from the last to the first.
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
        let num_nodes = topological_order(16, |&node| node, inputs).len();
        assert_eq!(num_nodes, 17, "sixteen doublings: expected 17 nodes, found {num_nodes}");
        assert!(
            asked.get() <= 2 * 17,
            "sixteen doublings: expected one look at the inputs of each of the 17 nodes, found {} looks",
            asked.get()
        );
    }

    /// The same function is called for each node of a chain. In a loop it always finds the stack equally deep.
    #[test]
    fn the_stack_does_not_grow_with_the_depth() {
        let places = RefCell::new(Vec::new());
        let inputs = |&node: &usize| {
            let here = 0_u8;
            (places.borrow_mut()).push(std::ptr::from_ref(std::hint::black_box(&here)) as usize);
            if node == 0 { vec![] } else { vec![node - 1] }
        };
        let num_nodes = topological_order(1_999_usize, |&node| node, inputs).len();
        assert_eq!(num_nodes, 2_000, "a chain of 2 000 nodes, found {num_nodes}");
        let places = places.borrow();
        let lowest = places.iter().min().expect("the inputs were asked for");
        let highest = places.iter().max().expect("the inputs were asked for");
        let grown = highest - lowest;
        assert!(
            grown < 16 * 1024,
            "a chain of 2 000 nodes: the stack grew by {} KiB, so this is a recursion; a tape of 200 000 nodes would end the program",
            grown / 1024
        );
    }
}

/// Exercise 01.5: mend the function that keeps only the last contribution.
mod ex_01_5_accumulate {
    use super::*;

    /// Three shares of `[1, 2]`.
    #[test]
    fn later_shares_are_added() {
        let mut slot = None;
        for sum in 1..=3 {
            accumulate(&mut slot, arr1(&[1.0, 2.0]).into_dyn());
            let expected = arr1(&[1.0, 2.0]).into_dyn() * f64::from(sum);
            let found = slot.clone().expect("the slot is filled after a share");
            assert_eq!(
                found, expected,
                "after {sum} shares of [1, 2]: expected {expected}, found {found}"
            );
        }
    }

    /// A value that is used once costs no copy.
    #[test]
    fn the_first_share_is_moved() {
        let share = arr1(&[1.0, 2.0]).into_dyn();
        let address = share.as_ptr();
        let mut slot = None;
        accumulate(&mut slot, share);
        let found = slot.expect("the slot is filled after a share");
        assert_eq!(
            found.as_ptr(),
            address,
            "the first share [1, 2] is moved into the empty slot, found a copy {found}"
        );
    }
}

/// The answer that course.toml gives for a prediction.
fn answer_of(id: &str) -> String {
    let course: toml::Table = include_str!("../course.toml").parse().expect("TOML");
    let exercises = course["exercises"].as_array().expect("a list");
    let exercise = (exercises.iter())
        .find(|exercise| exercise["id"].as_str() == Some(id))
        .expect("the exercise is in course.toml");
    let answer = exercise["answer"].as_integer().expect("an index") as usize;
    exercise["options"][answer].as_str().expect("text").into()
}

/// Exercise 01.6: the answer, computed. Ten steps down `x·x` by a gradient that keeps only its last share.
mod ex_01_6_falling_loss {
    use autograd::scalar::{Arrival, Line, Order, Walk};

    fn loss_after_ten_steps(arrival: Arrival) -> f64 {
        let mut x = 3.0;
        for _ in 0..10 {
            let tape = [Line::Leaf(x), Line::Mul(0, 0)];
            x -= 0.1 * Walk::new(&tape, Order::Reverse, arrival).gradients[0];
        }
        x * x
    }

    /// 9 · 0.9²⁰ against 9 · 0.8²⁰.
    #[test]
    fn the_wrong_gradient_trains_more_slowly() {
        let wrong = loss_after_ten_steps(Arrival::Replace);
        let right = loss_after_ten_steps(Arrival::Add);
        let answer = format!("near {wrong:.1}: it falls, and stays above the {right:.1} of the right gradient");
        assert_eq!(super::answer_of("01.6"), answer);
    }
}

/// Exercise 01.7: the answer, computed. Three doublings, walked by the recursion that sends its sum.
mod ex_01_7_recursion {
    use autograd::scalar::{Arrival, Line, Order, Walk};

    /// 26 instead of 8.
    #[test]
    fn three_doublings_by_the_recursion_that_sends_its_sum() {
        let tape = [Line::Leaf(1.0), Line::Add(0, 0), Line::Add(1, 1), Line::Add(2, 2)];
        let by = |order| Walk::new(&tape, order, Arrival::Add).gradients[0];
        assert_eq!(by(Order::Reverse), 8.0);
        assert_eq!(by(Order::PerPath), 8.0);
        assert_eq!(super::answer_of("01.7"), by(Order::Resend).to_string());
    }
}

/// Exercise 01.8: the reader's test, on right backward passes and on each planted fault.
mod ex_01_8_catch {
    use autograd::scalar::{Arrival, Order, Walk, backward};
    use autograd::wrong::PLANTED;

    use super::gradients_are_right;

    #[track_caller]
    fn sees(number: usize) {
        let (what, faulty) = PLANTED[number];
        assert!(
            !gradients_are_right(&faulty),
            "your test let a backward pass through that {what}"
        );
    }

    /// A right backward pass must not be refused.
    #[test]
    fn the_right_one_passes() {
        assert!(
            gradients_are_right(&backward),
            "your test refuses the right backward pass: one of the gradients that it expects is not right"
        );
    }

    /// A recursion along every path is slow and gives the right gradients.
    #[test]
    fn a_slow_one_passes() {
        let slow = |tape: &[_]| Walk::new(tape, Order::PerPath, Arrival::Add).gradients;
        assert!(
            gradients_are_right(&slow),
            "your test refuses a backward pass that is slow but right: it walks each path by itself"
        );
    }

    /// Needs a value that is used twice.
    #[test]
    fn overwriting_is_seen() {
        sees(0);
    }

    /// Needs a value that is used twice and is no leaf.
    #[test]
    fn re_sending_is_seen() {
        sees(1);
    }

    /// Needs a short and a long path to a value that is no leaf.
    #[test]
    fn nearest_first_is_seen() {
        sees(2);
    }

    /// Needs two different factors.
    #[test]
    fn a_wrong_factor_is_seen() {
        sees(3);
    }
}

/// All together, through the tape.
mod whole {
    use autograd::gradcheck::check;

    use super::*;

    #[test]
    fn a_layer_with_a_bias_and_a_residual() {
        let x = Array2::from_shape_fn((3, 2), |(i, j)| 0.3 * i as f64 - 0.4 * j as f64).into_dyn();
        let w = Array2::from_shape_fn((2, 2), |(i, j)| 0.5 - 0.7 * i as f64 + 0.2 * j as f64).into_dyn();
        let b = arr1(&[0.1, -0.2]).into_dyn();
        let comparisons = check(
            |t| Ok(t[0].matmul(&t[1])?.add(&t[2])?.tanh().add(&t[0])?.sum()),
            &[x, w, b],
        )
        .expect("shapes fit");
        for (name, comparison) in ["x", "w", "b"].into_iter().zip(comparisons) {
            let error = comparison.error();
            assert!(
                error < 1e-8,
                "the tape's gradient of {name} differs from finite differences by {error:.1e} of its norm"
            );
        }
    }
}
