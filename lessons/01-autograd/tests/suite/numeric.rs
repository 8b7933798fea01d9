//! Every operation against finite differences in `f64`: the check that needs no other library.

use autograd::gradcheck::check;
use autograd::{Result, Saved, Tensor, custom_op, custom_op_with_output};
use ndarray::{ArrayD, IxDyn};

/// Deterministic values between -1 and 1 with different neighbours, none near 0 (where relu has no derivative).
fn values(shape: &[usize], seed: u64) -> ArrayD<f64> {
    let mut place = seed << 20;
    ArrayD::from_shape_fn(IxDyn(shape), |_| {
        place += 1;
        let x = autograd::spiral::uniform(17, place);
        if x.abs() < 0.05 { x + 0.1 } else { x }
    })
}

/// Weights of different sizes, so that a gradient with its elements exchanged is noticed.
fn weighted(x: &Tensor<f64>) -> Result<Tensor<f64>> {
    Ok(x.mul(&Tensor::new(values(&x.shape(), 99)))?.sum())
}

#[track_caller]
fn assert_gradients(shapes: &[&[usize]], function: impl Fn(&[Tensor<f64>]) -> Result<Tensor<f64>>) {
    let inputs: Vec<_> = shapes
        .iter()
        .zip(1..)
        .map(|(shape, seed)| values(shape, seed))
        .collect();
    let comparisons = check(|x| weighted(&function(x)?), &inputs).expect("the function can be computed");
    for (place, comparison) in comparisons.iter().enumerate() {
        let error = comparison.error();
        assert!(
            error < 1e-7,
            "gradient of input {place} is off by {error:e} of its norm: {comparison:?}"
        );
    }
}

#[test]
fn arithmetic_on_equal_shapes() {
    assert_gradients(&[&[2, 3], &[2, 3]], |x| x[0].add(&x[1]));
    assert_gradients(&[&[2, 3], &[2, 3]], |x| x[0].sub(&x[1]));
    assert_gradients(&[&[2, 3], &[2, 3]], |x| x[0].mul(&x[1]));
    assert_gradients(&[&[2, 3], &[2, 3]], |x| x[0].div(&x[1].exp()));
}

#[test]
fn arithmetic_with_broadcasting_in_each_direction() {
    for shapes in [
        [&[4, 3][..], &[3]],
        [&[3], &[4, 3]],
        [&[4, 1], &[1, 3]],
        [&[2, 1, 3], &[4, 1]],
        [&[], &[2, 2]],
        [&[1, 1], &[3]],
    ] {
        assert_gradients(&shapes, |x| x[0].add(&x[1]));
        assert_gradients(&shapes, |x| x[0].sub(&x[1]));
        assert_gradients(&shapes, |x| x[0].mul(&x[1]));
        assert_gradients(&shapes, |x| x[0].div(&x[1].exp()));
    }
}

#[test]
fn arithmetic_with_one_operand_constant() {
    let constant = Tensor::new(values(&[3], 7).mapv(|x| x + 2.0));
    assert_gradients(&[&[2, 3]], |x| {
        x[0].add(&constant)?.mul(&constant)?.sub(&constant)?.div(&constant)
    });
    assert_gradients(&[&[2, 3]], |x| {
        constant
            .add(&x[0])?
            .mul(&constant.sub(&x[0])?)?
            .add(&constant.div(&x[0].exp())?)
    });
}

#[test]
fn functions_of_one_element() {
    assert_gradients(&[&[3, 4]], |x| Ok(x[0].exp()));
    assert_gradients(&[&[3, 4]], |x| Ok(x[0].exp().ln()));
    assert_gradients(&[&[3, 4]], |x| Ok(x[0].add_scalar(3.0).ln()));
    assert_gradients(&[&[3, 4]], |x| Ok(x[0].relu()));
    assert_gradients(&[&[3, 4]], |x| Ok(x[0].scale(4.0).silu()));
    assert_gradients(&[&[3, 4]], |x| Ok(x[0].tanh()));
    assert_gradients(&[&[3, 4]], |x| Ok(x[0].neg().scale(0.3)));
}

#[test]
fn products_of_matrices_and_of_batches() {
    assert_gradients(&[&[2, 3], &[3, 4]], |x| x[0].matmul(&x[1]));
    assert_gradients(&[&[1, 1], &[1, 1]], |x| x[0].matmul(&x[1]));
    assert_gradients(&[&[2, 2, 3], &[2, 3, 4]], |x| x[0].matmul(&x[1]));
    assert_gradients(&[&[2, 3, 2, 3], &[3, 2]], |x| x[0].matmul(&x[1]));
    assert_gradients(&[&[2, 3], &[4, 3, 2]], |x| x[0].matmul(&x[1]));
    assert_gradients(&[&[2, 1, 2, 3], &[3, 3, 2]], |x| x[0].matmul(&x[1]));
}

#[test]
fn products_with_an_empty_axis_have_gradients_of_zero() {
    assert_gradients(&[&[2, 0], &[0, 3]], |x| x[0].matmul(&x[1]));
    assert_gradients(&[&[0, 2], &[2, 3]], |x| x[0].matmul(&x[1]));
}

#[test]
fn reductions() {
    assert_gradients(&[&[2, 3, 4]], |x| Ok(x[0].sum()));
    assert_gradients(&[&[2, 3, 4]], |x| Ok(x[0].mean()));
    for axis in 0..3 {
        assert_gradients(&[&[2, 3, 4]], |x| x[0].sum_axis(axis));
        assert_gradients(&[&[2, 3, 4]], |x| x[0].mean_axis(axis));
        assert_gradients(&[&[2, 3, 4]], |x| x[0].max_axis(axis));
    }
}

#[test]
fn shapes() {
    assert_gradients(&[&[2, 3, 4]], |x| x[0].reshape(&[6, 4]));
    assert_gradients(&[&[2, 3, 4]], |x| x[0].permute(&[2, 0, 1]));
    assert_gradients(&[&[2, 3, 4]], |x| x[0].transpose(0, 2));
    assert_gradients(&[&[2, 3, 4]], |x| {
        x[0].permute(&[1, 2, 0])?
            .reshape(&[4, 6])?
            .transpose(0, 1)?
            .reshape(&[24])
    });
    for axis in 0..3 {
        assert_gradients(&[&[3, 3, 4]], |x| x[0].slice(axis, 1..3));
        assert_gradients(&[&[3, 2, 4], &[3, 2, 4]], |x| {
            Tensor::concat(&[&x[0], &x[1], &x[0]], axis)
        });
    }
}

#[test]
fn indices() {
    assert_gradients(&[&[4, 3]], |x| x[0].gather_rows(&[3, 0, 3, 1, 3]));
    assert_gradients(&[&[4]], |x| x[0].gather_rows(&[2, 2]));
    let index = ArrayD::from_shape_vec(IxDyn(&[2, 2]), vec![2, 2, 0, 1]).expect("four indices");
    assert_gradients(&[&[2, 3]], |x| x[0].gather(1, &index));
    assert_gradients(&[&[3, 2]], |x| x[0].gather(0, &index));
}

#[test]
fn softmax_and_cross_entropy() {
    for axis in 0..3 {
        assert_gradients(&[&[2, 3, 4]], |x| x[0].softmax(axis));
    }
    assert_gradients(&[&[3, 5]], |x| x[0].scale(3.0).cross_entropy(&[4, 0, 4]));
}

#[test]
fn values_used_more_than_once() {
    assert_gradients(&[&[2, 3]], |x| x[0].mul(&x[0]));
    assert_gradients(&[&[2, 3]], |x| x[0].add(&x[0])?.mul(&x[0])?.sub(&x[0]));
    assert_gradients(&[&[3, 3]], |x| x[0].matmul(&x[0])?.matmul(&x[0].transpose(0, 1)?));
    assert_gradients(&[&[3]], |x| {
        // The same value reaches the output over a short path and over a long one.
        let long = x[0].tanh().exp().mul(&x[0])?.tanh();
        x[0].add(&long)?.mul(&long)
    });
}

#[test]
fn custom_operations() {
    let cube = |x: &Tensor<f64>| {
        let saved = Saved::new(x);
        let value = x.value().mapv(|x| x * x * x);
        custom_op("cube", &[x], value, move |upstream| {
            Ok(vec![Some(upstream * saved.read()?.mapv(|x| 3.0 * x * x))])
        })
    };
    let sigmoid = |x: &Tensor<f64>| {
        let value = x.value().mapv(|x| 1.0 / (1.0 + (-x).exp()));
        custom_op_with_output("sigmoid", &[x], value, |y, upstream| {
            Ok(vec![Some(upstream * y.mapv(|y| y * (1.0 - y)))])
        })
    };
    assert_gradients(&[&[2, 3]], |x| Ok(cube(&x[0])));
    assert_gradients(&[&[2, 3]], |x| sigmoid(&x[0]).mul(&cube(&sigmoid(&x[0]))));
}

/// A wrong idea: the smaller the step, the better. Below about 6e-6 the subtraction's rounding error takes over.
#[test]
fn a_smaller_step_is_not_always_better() {
    let at = values(&[5], 3);
    let exact = at.mapv(f64::exp);
    let error_at = |step: f64| {
        let numeric = autograd::exercises::numeric_gradient(|x| x.mapv(f64::exp).sum(), &at, step);
        autograd::gradcheck::relative_error(&numeric, &exact)
    };
    assert!(error_at(autograd::gradcheck::STEP) < 1e-9);
    assert!(error_at(1e-2) > 1e-6, "the formula's own error");
    assert!(error_at(1e-13) > 1e-5, "the rounding of the subtraction");
}
