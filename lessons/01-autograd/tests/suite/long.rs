//! Long sums in `f32`, and shapes whose sizes multiply to too much.

use autograd::{AutogradError, Result, Tensor};
use ndarray::{ArrayD, IxDyn};
use proptest::prelude::*;

/// Twice as many ones as a running `f32` sum can count.
const MANY: usize = 1 << 25;
const COUNT: f32 = 33_554_432.0;

fn filled(shape: &[usize], value: f32) -> ArrayD<f32> {
    ArrayD::from_elem(IxDyn(shape), value)
}

fn first(tensor: &Tensor<f32>) -> f32 {
    tensor.value().first().copied().expect("an element")
}

/// The gradient of one number after a backward pass from the sum of an output.
fn gradient_of(x: &Tensor<f32>, output: &Tensor<f32>) -> Result<f32> {
    output.sum().backward()?;
    Ok(x.take_grad().expect("a gradient").sum())
}

#[test]
fn two_to_the_25_ones_are_counted_along_each_axis() -> Result<()> {
    let ones = Tensor::new(filled(&[MANY], 1.0));
    assert_eq!(ones.sum().item()?, COUNT);
    assert_eq!(ones.mean().item()?, 1.0);
    assert_eq!(first(&ones.sum_axis(0)?), COUNT);
    assert_eq!(first(&ones.mean_axis(0)?), 1.0);
    for shape in [[MANY, 1], [1, MANY]] {
        let matrix = ones.reshape(&shape)?;
        let axis = usize::from(shape[0] == 1);
        assert_eq!(first(&matrix.sum_axis(axis)?), COUNT, "{shape:?}");
    }
    Ok(())
}

#[test]
fn a_softmax_over_2_to_the_25_equal_scores_adds_up_to_1() -> Result<()> {
    let scores = Tensor::new(filled(&[1, MANY], 0.5));
    assert_eq!(first(&scores.softmax(1)?), 1.0 / COUNT);
    let loss = scores.cross_entropy(&[7])?.item()?;
    assert!((loss - COUNT.ln()).abs() < 1e-5, "{loss}");
    Ok(())
}

#[test]
fn an_operand_that_is_repeated_2_to_the_25_times_gets_all_shares() -> Result<()> {
    let ones = Tensor::new(filled(&[MANY], 1.0));
    for shape in [&[1][..], &[]] {
        let bias = Tensor::parameter(filled(shape, 2.0));
        assert_eq!(gradient_of(&bias, &ones.add(&bias)?)?, COUNT);
        assert_eq!(gradient_of(&bias, &ones.mul(&bias)?)?, COUNT);
    }
    Ok(())
}

/// Shares that a running `f32` sum would lose: 2^24, and then ones.
#[test]
fn a_row_that_is_picked_often_gets_its_small_shares_too() -> Result<()> {
    let picks = 2001;
    let mut shares = filled(&[picks], 1.0);
    shares[0] = 16_777_216.0;
    let expected = 16_777_216.0 + 2000.0;
    let table = Tensor::parameter(filled(&[2, 1], 1.0));
    let rows = shares.clone().into_shape_with_order(IxDyn(&[picks, 1])).expect("fits");
    table.gather_rows(&vec![1; picks])?.backward_with(rows)?;
    assert_eq!(table.take_grad().expect("a gradient")[[1, 0]], expected);
    let flat = Tensor::parameter(filled(&[2], 1.0));
    let picked = ArrayD::from_elem(IxDyn(&[picks]), 0_usize);
    flat.gather(0, &picked)?.backward_with(shares)?;
    assert_eq!(flat.take_grad().expect("a gradient")[[0]], expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each sum is within a few roundings of one block of the `f64` sum, at any length and along any axis.
    #[test]
    fn a_sum_is_as_good_as_one_block_however_long(len in 0..6000_usize, seed in any::<u32>()) {
        let term = |i: usize| 1.0 + (i as u32 ^ seed).wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32;
        let terms: Vec<f32> = (0..len).map(term).collect();
        let exact: f64 = terms.iter().map(|&x| f64::from(x)).sum();
        let tensor = |shape: &[usize]| Tensor::new(ArrayD::from_shape_vec(IxDyn(shape), terms.clone()).expect("fits"));
        let sums = [
            tensor(&[len]).sum().item().expect("one"),
            first(&tensor(&[len, 1]).sum_axis(0).expect("an axis")),
            first(&tensor(&[1, len]).sum_axis(1).expect("an axis")),
        ];
        for sum in sums {
            prop_assert!((f64::from(sum) - exact).abs() <= 64.0 * f64::from(f32::EPSILON) * exact.max(1.0), "{sum} {exact}");
        }
    }

    /// A short sum has the bits of the plain one: results do not change with the length of other sums.
    #[test]
    fn a_sum_of_one_block_has_the_bits_of_a_plain_sum(terms in proptest::collection::vec(-1e3_f32..1e3, 0..1024)) {
        let array = ArrayD::from_shape_vec(IxDyn(&[terms.len()]), terms).expect("fits");
        prop_assert_eq!(Tensor::new(array.clone()).sum().item().expect("one"), array.sum());
    }

    /// Sizes that no memory holds give an error, with or without a zero among them.
    #[test]
    fn sizes_beyond_memory_are_an_error(shape in proptest::collection::vec(prop_oneof![
        Just(0), Just(1), Just(3), Just(usize::MAX), Just(usize::MAX / 2), Just(1_usize << 32), Just(1_usize << 62),
    ], 0..5)) {
        for tensor in [Tensor::<f32>::new(ArrayD::zeros(IxDyn(&[0]))), Tensor::new(ArrayD::zeros(IxDyn(&[3])))] {
            match tensor.reshape(&shape) {
                Ok(reshaped) => prop_assert_eq!(reshaped.shape(), shape.clone()),
                Err(error) => prop_assert!(matches!(error, AutogradError::Shape { operation: "reshape", .. }), "{error}"),
            }
        }
    }
}

#[test]
fn a_reshape_to_sizes_beyond_memory_is_the_documented_error() -> Result<()> {
    let empty = Tensor::<f32>::new(ArrayD::zeros(IxDyn(&[0])));
    for shape in [[usize::MAX, 0], [0, usize::MAX]] {
        let error = empty.reshape(&shape).expect_err("too large");
        assert!(
            matches!(
                &error,
                AutogradError::Shape {
                    operation: "reshape",
                    ..
                }
            ),
            "{error}"
        );
    }
    let error = empty.reshape(&[1 << 63, 2]).expect_err("its product wraps to 0");
    assert!(
        error
            .to_string()
            .starts_with("reshape: expected sizes that multiply to at most"),
        "{error}"
    );
    Ok(())
}

/// The same for operations that make a larger shape out of empty tensors.
#[test]
fn a_result_beyond_memory_is_an_error() {
    let large = 1 << 40;
    let empty = |shape: &[usize]| Tensor::<f32>::new(ArrayD::zeros(IxDyn(shape)));
    let results = [
        empty(&[large, 1, 0]).add(&empty(&[1, large, 0])),
        empty(&[large, 0]).matmul(&empty(&[0, large])),
        Tensor::concat(
            &[&empty(&[1 << 59, 0]), &empty(&[1 << 59, 0]), &empty(&[1 << 59, 0])],
            0,
        ),
    ];
    for result in results {
        let error = result.expect_err("too large");
        assert!(matches!(error, AutogradError::Shape { .. }), "{error}");
    }
}
