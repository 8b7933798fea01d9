//! Texts that readers see: errors and traces.

use autograd::network::{Network, Wiring};
use autograd::optim::{AdamW, AdamWConfig, AdamWState};
use autograd::spiral::Spiral;
use autograd::trace::Trace;
use autograd::{Result, Tensor};
use ndarray::{ArrayD, IxDyn};

use crate::common::ones;

#[test]
fn every_error_says_what_was_expected_what_was_found_and_what_to_do() -> Result<()> {
    let x = ones(&[2, 3]);
    let used = x.sum();
    used.backward()?;
    let changed = x.tanh();
    changed.update(|y| *y *= 2.0);
    let rule = autograd::custom_op("mine", &[&x], ArrayD::ones(IxDyn(&[2, 3])), |_| Ok(vec![]));
    let mut optimizer = AdamW::new(vec![x.clone()], AdamWConfig::default());
    let state = AdamWState {
        steps: 1,
        first_moments: vec![],
        second_moments: vec![],
    };
    let errors = [
        x.add(&ones(&[4])).expect_err("add"),
        x.matmul(&ones(&[2, 3])).expect_err("matmul"),
        x.matmul(&ones(&[3])).expect_err("matmul"),
        ones(&[2, 2, 3]).matmul(&ones(&[3, 3, 2])).expect_err("matmul"),
        x.reshape(&[4, 2]).expect_err("reshape"),
        x.permute(&[0, 0]).expect_err("permute"),
        x.slice(1, 2..4).expect_err("slice"),
        x.sum_axis(2).expect_err("sum_axis"),
        ones(&[2, 0]).max_axis(1).expect_err("max_axis"),
        Tensor::concat(&[&x, &ones(&[3, 3])], 1).expect_err("concat"),
        Tensor::<f64>::concat(&[], 0).expect_err("concat"),
        x.gather_rows(&[0, 2]).expect_err("gather_rows"),
        x.gather(1, &ArrayD::zeros(IxDyn(&[3, 1]))).expect_err("gather"),
        x.cross_entropy(&[0]).expect_err("cross_entropy"),
        x.cross_entropy(&[0, 3]).expect_err("cross_entropy"),
        Tensor::<f64>::from_vec(&[2, 2], vec![1.0]).expect_err("from_vec"),
        x.item().expect_err("item"),
        x.set_grad(ArrayD::ones(IxDyn(&[3]))).expect_err("set_grad"),
        x.backward().expect_err("not a number"),
        x.detach().sum().backward().expect_err("no tape"),
        used.backward().expect_err("used"),
        changed.sum().backward().expect_err("changed"),
        rule.sum().backward().expect_err("rule"),
        x.backward_with(ArrayD::ones(IxDyn(&[1]))).expect_err("seed"),
        optimizer.load_state(state).expect_err("state"),
    ];
    let text: Vec<_> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!("errors", text.join("\n"));
    Ok(())
}

#[test]
fn the_tape_of_the_network() -> Result<()> {
    let spiral = Spiral::new(10, 1);
    let tape = |wiring| -> Result<String> {
        let network = Network::<f64>::new(wiring, 4, 1);
        Ok(Trace::of(&network.forward(&spiral.inputs())?.cross_entropy(&spiral.arms)?).to_string())
    };
    insta::assert_snapshot!("tape_plain", tape(Wiring::Plain)?);
    insta::assert_snapshot!("tape_residual", tape(Wiring::Residual)?);
    Ok(())
}
