//! The optimizers: against formulas written out and against PyTorch's numbers, and over an interruption.

use autograd::optim::{AdamW, AdamWConfig, AdamWState, Sgd, clip_grad_norm};
use autograd::{AutogradError, Result, Tensor};
use ndarray::{ArrayD, IxDyn, arr1};

const CONFIG: AdamWConfig = AdamWConfig {
    learning_rate: 0.1,
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    weight_decay: 0.05,
};

fn parameter(values: &[f64]) -> Tensor<f64> {
    Tensor::parameter(arr1(values).into_dyn())
}

fn descend(x: &Tensor<f64>) -> Result<()> {
    x.zero_grad();
    x.mul(x)?.mul(x)?.sum().backward()
}

#[test]
fn sgd_steps_against_the_gradient() -> Result<()> {
    let x = parameter(&[1.0, -2.0]);
    let optimizer_step = |optimizer: &mut Sgd<f64>| descend(&x).map(|()| optimizer.step());
    let mut plain = Sgd::new(vec![x.clone()], 0.1);
    optimizer_step(&mut plain)?;
    assert!((x.value()[0] - 0.7).abs() < 1e-12 && (x.value()[1] + 3.2).abs() < 1e-12);
    plain.zero_grad();
    plain.step();
    assert_eq!(x.version(), 1, "without a gradient nothing moves");
    Ok(())
}

#[test]
fn momentum_keeps_a_velocity() -> Result<()> {
    let x = parameter(&[0.0]);
    let mut optimizer = Sgd::new(vec![x.clone()], 0.5).with_momentum(0.5);
    for _ in 0..3 {
        x.set_grad(arr1(&[1.0]).into_dyn())?;
        optimizer.step();
    }
    assert_eq!(x.value()[0], -0.5 * (1.0 + 1.5 + 1.75));
    Ok(())
}

/// The values of `torch.optim.AdamW` for the same cube, rate, betas and decay (see `golden/adamw.py`).
#[test]
fn adamw_gives_the_numbers_of_pytorch() -> Result<()> {
    let golden: serde_json::Value = serde_json::from_str(include_str!("../golden/adamw.json")).expect("JSON");
    let x = parameter(&[1.0, -2.0, 0.5]);
    let mut optimizer = AdamW::new(vec![x.clone()], CONFIG);
    for expected in golden["values"].as_array().expect("one row per step") {
        descend(&x)?;
        optimizer.step();
        for (found, expected) in x.value().iter().zip(expected.as_array().expect("a row")) {
            let expected = expected.as_f64().expect("a number");
            assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
        }
    }
    Ok(())
}

#[test]
fn adamw_resumes_to_the_same_bits() -> Result<()> {
    let run = |steps: std::ops::Range<usize>, x: &Tensor<f64>, optimizer: &mut AdamW<f64>| -> Result<()> {
        for _ in steps {
            descend(x)?;
            optimizer.step();
        }
        Ok(())
    };
    let whole = parameter(&[1.0, -2.0, 0.5]);
    run(0..10, &whole, &mut AdamW::new(vec![whole.clone()], CONFIG))?;

    let first = parameter(&[1.0, -2.0, 0.5]);
    let mut optimizer = AdamW::new(vec![first.clone()], CONFIG);
    run(0..4, &first, &mut optimizer)?;
    let second = Tensor::parameter(first.value().clone());
    let mut resumed = AdamW::new(vec![second.clone()], CONFIG);
    resumed.load_state(optimizer.state().clone())?;
    run(4..10, &second, &mut resumed)?;
    assert_eq!(*second.value(), *whole.value());
    Ok(())
}

#[test]
fn decay_spares_the_parameters_that_are_left_out() -> Result<()> {
    let (matrix, bias) = (
        Tensor::parameter(ArrayD::<f64>::ones(IxDyn(&[2, 2]))),
        parameter(&[1.0, 1.0]),
    );
    let decays = |p: &Tensor<f64>| p.shape().len() > 1;
    let mut optimizer = AdamW::with_decay(vec![matrix.clone(), bias.clone()], CONFIG, decays);
    for p in [&matrix, &bias] {
        p.set_grad(ArrayD::zeros(p.shape()))?;
    }
    optimizer.step();
    assert!(matrix.value().iter().all(|&x| (x - 0.995).abs() < 1e-15));
    assert!(bias.value().iter().all(|&x| x == 1.0));
    Ok(())
}

#[test]
fn a_state_of_other_parameters_is_refused_and_changes_nothing() {
    let mut optimizer = AdamW::new(vec![parameter(&[1.0, 2.0])], CONFIG);
    let zeros = |sizes: &[usize]| {
        sizes
            .iter()
            .map(|&n| ArrayD::<f64>::zeros(IxDyn(&[n])))
            .collect::<Vec<_>>()
    };
    for wrong in [zeros(&[3]), zeros(&[2, 2]), zeros(&[])] {
        let state = AdamWState {
            steps: 7,
            first_moments: zeros(&[2]),
            second_moments: wrong,
        };
        assert!(matches!(optimizer.load_state(state), Err(AutogradError::State { .. })));
    }
    assert_eq!(optimizer.state().steps, 0);
}

#[test]
fn clipping_keeps_the_direction_and_returns_the_norm_from_before() -> Result<()> {
    let (a, b, idle) = (parameter(&[0.0]), parameter(&[0.0]), parameter(&[0.0]));
    a.set_grad(arr1(&[3.0]).into_dyn())?;
    b.set_grad(arr1(&[4.0]).into_dyn())?;
    let all = [a.clone(), b.clone(), idle.clone()];
    assert_eq!(clip_grad_norm(&all, 10.0), 5.0);
    assert_eq!(a.grad().expect("kept")[0], 3.0, "small enough: untouched");
    assert_eq!(clip_grad_norm(&all, 1.0), 5.0);
    assert!((a.grad().expect("kept")[0] - 0.6).abs() < 1e-15 && (b.grad().expect("kept")[0] - 0.8).abs() < 1e-15);
    assert!(idle.grad().is_none());
    Ok(())
}

/// Twenty elements: two groups of eight and a tail of four, none of them left out.
#[test]
fn the_norm_counts_every_element() -> Result<()> {
    let x = parameter(&[1.0; 20]);
    x.set_grad(ArrayD::ones(IxDyn(&[20])))?;
    assert!((clip_grad_norm(std::slice::from_ref(&x), 1e9) - 20.0_f64.sqrt()).abs() < 1e-15);
    Ok(())
}
