//! The functions of this lesson's exercises. The tape calls every one of them.

use std::collections::HashSet;

use ndarray::{Array2, ArrayD, ArrayView2, Axis};

use crate::real::Real;
use crate::scalar::Line;

/// Exercise 01.1. The gradient of `function` at `at` by central differences: element `i` is
/// `(f(x + h e_i) - f(x - h e_i)) / 2h`, with `step` for `h`.
///
/// Two errors pull in opposite directions: the formula's own falls with `step²`, and the rounding of the subtraction
/// grows with `1 / step`. In `f64` the best step is near the cube root of the machine's epsilon, about 6e-6.
///
/// Shapes: the result has the shape of `at`. Cost: two calls of `function` per element. `f64` only, because in `f32`
/// the subtraction leaves three digits.
pub fn numeric_gradient(mut function: impl FnMut(&ArrayD<f64>) -> f64, at: &ArrayD<f64>, step: f64) -> ArrayD<f64> {
    // ANCHOR: ex_01_1
    // Row-major, so that element i of `moved` is element i of `gradient`.
    let mut moved = at.as_standard_layout().into_owned();
    let mut gradient = ArrayD::zeros(at.shape());
    for (i, slope) in gradient.iter_mut().enumerate() {
        let mut value_at = |offset: f64| {
            let place = &mut moved.as_slice_mut().expect("row-major")[i];
            let original = *place;
            *place = original + offset;
            let value = function(&moved);
            moved.as_slice_mut().expect("row-major")[i] = original;
            value
        };
        *slope = (value_at(step) - value_at(-step)) / (2.0 * step);
    }
    gradient
    // ANCHOR_END: ex_01_1
}

/// Exercise 01.2. The gradients of `a` and `b` for `c = a b`, from the gradient of `c`.
///
/// Shapes: `a` `[m, k]`, `b` `[k, n]`, `upstream` `[m, n]`; results `[m, k]` and `[k, n]`. Cost: 2·m·k·n
/// multiply-adds, twice the forward product.
///
/// # Panics
/// When the shapes do not fit; the tape has checked them before.
pub fn matmul_backward<T: Real>(
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    upstream: ArrayView2<'_, T>,
) -> (Array2<T>, Array2<T>) {
    // ANCHOR: ex_01_2
    (upstream.dot(&b.t()), a.t().dot(&upstream))
    // ANCHOR_END: ex_01_2
}

/// Exercise 01.3. Sums a gradient over every axis along which an operand was repeated by broadcasting, so that it has
/// the operand's `shape` again.
///
/// Two kinds of axis were repeated: those that `shape` does not have (the outermost ones), and those where `shape` has
/// size 1 and the gradient does not. Moved through when nothing was repeated.
///
/// Shapes: `gradient` is what `shape` broadcasts to. Cost: at most one addition per element and summed axis.
///
/// # Panics
/// When `shape` does not broadcast to the gradient's shape; the tape has checked it before.
pub fn sum_to_shape<T: Real>(gradient: ArrayD<T>, shape: &[usize]) -> ArrayD<T> {
    // ANCHOR: ex_01_3
    let mut sum = gradient;
    while sum.ndim() > shape.len() {
        sum = sum.sum_axis(Axis(0));
    }
    for (axis, &size) in shape.iter().enumerate() {
        if size == 1 && sum.shape()[axis] != 1 {
            sum = sum.sum_axis(Axis(axis)).insert_axis(Axis(axis));
        }
    }
    assert_eq!(sum.shape(), shape);
    sum
    // ANCHOR_END: ex_01_3
}

/// Exercise 01.4. All nodes that `root` was computed from, each exactly once, every node after all of its inputs, so
/// `root` is the last. `id` tells nodes apart and `inputs` lists what a node was computed from.
///
/// Walked backwards, each node comes after everything that consumed it, so its gradient is complete when its turn
/// comes. No recursion: a network's tape may be deeper than the stack.
///
/// Cost: each node and each edge once.
pub fn topological_order<N: Clone>(root: N, id: impl Fn(&N) -> usize, inputs: impl Fn(&N) -> Vec<N>) -> Vec<N> {
    // ANCHOR: ex_01_4
    let mut order = Vec::new();
    let mut seen = HashSet::from([id(&root)]);
    // Each entry: a node, and those of its inputs that were not looked at yet.
    let mut path = vec![(root.clone(), inputs(&root))];
    while let Some((node, waiting)) = path.last_mut() {
        match waiting.pop() {
            Some(input) => {
                if seen.insert(id(&input)) {
                    let next = inputs(&input);
                    path.push((input, next));
                }
            }
            None => {
                order.push(node.clone());
                path.pop();
            }
        }
    }
    order
    // ANCHOR_END: ex_01_4
}

/// Exercise 01.5. Adds one more contribution to a gradient. The first one is moved into the empty slot, so a value
/// that is used once costs no addition and no copy.
///
/// Shapes: `contribution` has the shape of what the slot holds. Cost: one addition per element from the second
/// contribution on.
pub fn accumulate<T: Real>(slot: &mut Option<ArrayD<T>>, contribution: ArrayD<T>) {
    // ANCHOR: ex_01_5
    match slot {
        None => *slot = Some(contribution),
        //~ fault 01.5
        //~ | Some(sum) => *sum = contribution,
        Some(sum) => *sum += &contribution,
        //~ end
    }
    // ANCHOR_END: ex_01_5
}

/// Exercise 01.8. A test for backward passes: true when `backward` gave the right gradients on tapes of your choice.
///
/// A [`Line`] is a number, a sum or a product of two earlier lines. `backward` takes a tape and returns, for each of
/// its lines, how the last line changes with it. The subject may be right or have one of the faults in
/// [`wrong::PLANTED`](crate::wrong::PLANTED). Choose small tapes whose gradients you know, by hand or by moving a leaf
/// and asking [`values`](crate::scalar::values).
pub fn gradients_are_right(backward: &dyn Fn(&[Line]) -> Vec<f64>) -> bool {
    // ANCHOR: ex_01_8
    use Line::{Add, Leaf, Mul};
    // b = a + a; c = b + b: two shares must meet, and b must wait for both of its own.
    let used_twice = [Leaf(3.0), Add(0, 0), Add(1, 1)];
    // x y with x = 2 and y = 5: each gets the other, not itself.
    let product = [Leaf(2.0), Leaf(5.0), Mul(0, 1)];
    // h = a + a; k = h h; g = h + k: the short path to h must wait for the long one. g = 2a + 4a², g' = 2 + 8a.
    let short_and_long = [Leaf(3.0), Add(0, 0), Mul(1, 1), Add(1, 2)];
    backward(&used_twice) == [4.0, 2.0, 1.0]
        && backward(&product) == [5.0, 2.0, 1.0]
        && backward(&short_and_long) == [26.0, 13.0, 1.0, 1.0]
    // ANCHOR_END: ex_01_8
}
