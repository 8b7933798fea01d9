//! Properties that hold for every tape and every shape, on random ones.

use autograd::exercises::{sum_to_shape, topological_order};
use autograd::gradcheck::{check, relative_error};
use autograd::memory::live;
use autograd::wrong::{Walk, backward_by};
use autograd::{Result, Tensor};
use ndarray::{ArrayD, Dimension, IxDyn};
use proptest::prelude::*;

/// A random tape of numbers: each line uses two earlier lines (perhaps one of them twice).
fn tapes() -> impl Strategy<Value = Vec<(u8, usize, usize)>> {
    proptest::collection::vec((0..4_u8, any::<usize>(), any::<usize>()), 1..14)
}

fn play(lines: &[(u8, usize, usize)], leaf: &Tensor<f64>) -> Result<Tensor<f64>> {
    let mut values = vec![leaf.clone()];
    for &(operation, left, right) in lines {
        let (left, right) = (&values[left % values.len()], &values[right % values.len()]);
        values.push(match operation {
            0 => left.add(right)?,
            1 => left.mul(right)?.tanh(),
            2 => left.sub(&right.scale(0.5))?,
            _ => left.tanh(),
        });
    }
    Ok(values.last().expect("the leaf").clone().scale(1.0))
}

fn small_shape() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1..4_usize, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_tape_agrees_with_finite_differences(lines in tapes()) {
        let at = ArrayD::from_shape_vec(IxDyn(&[2]), vec![0.3, -0.7]).expect("two values");
        let comparison = &check(|x| Ok(play(&lines, &x[0])?.sum()), &[at]).expect("numbers always fit")[0];
        let size = comparison.numeric.iter().map(|x| x * x).sum::<f64>().sqrt();
        let error = (&comparison.tape - &comparison.numeric).iter().map(|x| x * x).sum::<f64>().sqrt();
        prop_assert!(error <= 1e-7 * (1.0 + size), "{:?}", comparison);
    }

    #[test]
    fn a_share_per_path_gives_the_same_gradient(lines in tapes()) {
        let leaf = Tensor::parameter(ArrayD::from_elem(IxDyn(&[]), 0.4));
        let output = play(&lines, &leaf).expect("numbers always fit");
        let right = backward_by(Walk::Correct, &output).expect("a fresh tape");
        let expected = leaf.take_grad();
        let paths = backward_by(Walk::PerPath, &output).expect("the tape is kept");
        prop_assert!(paths.visits >= right.visits && right.visits == right.nodes as u64);
        if let (Some(found), Some(expected)) = (leaf.take_grad(), expected) {
            prop_assert!(relative_error(&found, &expected) < 1e-9 || (&found - &expected).iter().all(|d| d.abs() < 1e-12));
        }
    }

    #[test]
    fn nothing_stays_alive_after_a_tape_is_dropped(lines in tapes(), walk_back in any::<bool>()) {
        let before = live();
        {
            let leaf = Tensor::parameter(ArrayD::from_elem(IxDyn(&[]), 0.4));
            let output = play(&lines, &leaf).expect("numbers always fit");
            if walk_back {
                output.backward().expect("a fresh tape");
            }
        }
        let after = live();
        prop_assert_eq!((after.values, after.value_bytes, after.nodes), (before.values, before.value_bytes, before.nodes));
    }

    #[test]
    fn an_order_holds_each_node_once_and_after_its_inputs(lines in tapes()) {
        let graph: Vec<Vec<usize>> = std::iter::once(vec![])
            .chain(lines.iter().enumerate().map(|(i, &(_, l, r))| vec![l % (i + 1), r % (i + 1)]))
            .collect();
        let order = topological_order(graph.len() - 1, |&n| n, |&n| graph[n].clone());
        let mut place = vec![None; graph.len()];
        for (i, &node) in order.iter().enumerate() {
            prop_assert_eq!(place[node].replace(i), None);
            for &input in &graph[node] {
                prop_assert!(place[input].is_some());
            }
        }
    }

    /// Broadcasting and summing back are each other's transpose: `⟨broadcast(x), g⟩ = ⟨x, sum_to_shape(g)⟩`.
    #[test]
    fn summing_back_is_the_transpose_of_broadcasting(full in small_shape(), keep in any::<[bool; 4]>(), cut in 0..4_usize) {
        let mut shape: Vec<usize> = full.iter().zip(keep).map(|(&n, keep)| if keep { n } else { 1 }).collect();
        shape.drain(..cut.min(shape.len()));
        let x = ArrayD::from_shape_fn(IxDyn(&shape), |i| 1.0 + i.as_array_view().iter().sum::<usize>() as f64);
        let g = ArrayD::from_shape_fn(IxDyn(&full), |i| 2.0 * i.as_array_view().iter().product::<usize>() as f64 - 1.0);
        let wide = (x.broadcast(full.as_slice()).expect("shape was cut from full").to_owned() * &g).sum();
        let narrow = (x * sum_to_shape(g, &shape)).sum();
        prop_assert_eq!(wide, narrow);
    }

    /// Shapes from outside never panic: an operation succeeds or says what is wrong.
    #[test]
    fn any_pair_of_shapes_gives_a_value_or_an_error(left in small_shape(), right in small_shape(), axis in 0..5_usize) {
        let (x, y) = (Tensor::parameter(ArrayD::<f64>::ones(IxDyn(&left))), Tensor::new(ArrayD::<f64>::ones(IxDyn(&right))));
        let results = [
            x.add(&y), x.mul(&y), x.div(&y), x.matmul(&y), x.reshape(&right), x.permute(&right), x.sum_axis(axis),
            x.max_axis(axis), x.softmax(axis), x.slice(axis, 1..2), Tensor::concat(&[&x, &y], axis),
            x.gather_rows(&right), x.cross_entropy(&right), x.transpose(axis, 0),
        ];
        for result in results {
            match result {
                Ok(output) => output.backward_with(ArrayD::ones(output.shape())).expect("a fresh tape"),
                Err(error) => prop_assert!(error.to_string().contains("expected") && error.to_string().contains("found")),
            }
        }
    }
}
