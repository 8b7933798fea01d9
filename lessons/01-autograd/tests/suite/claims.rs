//! The lesson's claims, counted. T4: accumulate. T5: topological order. T6: in-place change is detected. T7: a forgotten
//! `no_grad`.

use autograd::deep::Deep;
use autograd::fit::{Variant, first_gradient, fit};
use autograd::gradcheck::relative_error;
use autograd::memory::held;
use autograd::network::Wiring;
use autograd::spiral::Spiral;
use autograd::wrong::{Visits, Walk, backward_by, unchecked_mul};
use autograd::{AutogradError, Result, Tensor, checkpoint, no_grad};
use lab::ledger::measure;
use ndarray::ArrayD;

use crate::common::{number, take_gradient};

/// The gradient of `c` with respect to `a` for `b = a + a; c = b + b`, by a walk.
fn doubled_twice(walk: Walk) -> Result<f64> {
    let a = number(3.0);
    let b = a.add(&a)?;
    backward_by(walk, &b.add(&b)?)?;
    Ok(take_gradient(&a))
}

/// T4. `dc/da` is 4; keeping only the last share at each node leaves 1.
#[test]
fn t4_overwriting_loses_shares() -> Result<()> {
    assert_eq!(doubled_twice(Walk::Correct)?, 4.0);
    assert_eq!(doubled_twice(Walk::Overwrite)?, 1.0);
    Ok(())
}

/// T5, first wrong recursion: it sends on what has accumulated, and the first share goes out twice.
#[test]
fn t5_resending_the_accumulated_gradient_gives_6_instead_of_4() -> Result<()> {
    assert_eq!(doubled_twice(Walk::Resend)?, 6.0);
    Ok(())
}

/// T5, second wrong recursion: right, after a visit for each path.
#[test]
fn t5_a_share_per_path_is_right_and_visits_131_071_times_for_17_nodes() -> Result<()> {
    assert_eq!(doubled_twice(Walk::PerPath)?, 4.0);
    let a = number(1.0);
    let mut x = a.clone();
    for _ in 0..16 {
        x = x.add(&x)?;
    }
    assert_eq!(
        backward_by(Walk::PerPath, &x)?,
        Visits {
            nodes: 17,
            visits: 131_071
        }
    );
    assert_eq!(take_gradient(&a), 65_536.0);
    assert_eq!(backward_by(Walk::Correct, &x)?, Visits { nodes: 17, visits: 17 });
    assert_eq!(take_gradient(&a), 65_536.0);
    Ok(())
}

/// T6. Without the check the gradient of `x·x` at 3 comes out as that at 4; with it, there is an error and no gradient.
#[test]
fn t6_a_change_in_place_is_silent_without_a_version_and_an_error_with_it() -> Result<()> {
    let x = number(3.0);
    let silent = unchecked_mul(&x, &x)?;
    x.update(|x| *x += 1.0);
    silent.backward()?;
    assert_eq!(take_gradient(&x), 8.0, "6 was right");

    let x = number(3.0);
    let checked = x.mul(&x)?;
    x.update(|x| *x += 1.0);
    let expected = AutogradError::ChangedInPlace {
        operation: "mul",
        shape: vec![],
        saved: 0,
        found: 1,
    };
    assert_eq!(checked.backward(), Err(expected));
    assert!(x.grad().is_none());
    Ok(())
}

/// T5, what the claim leaves out: a leaf sends nothing on, so a leaf that is used twice survives a plain recursion.
#[test]
fn t5_a_reused_leaf_alone_does_not_show_a_wrong_recursion() -> Result<()> {
    let a = number(3.0);
    backward_by(Walk::Resend, &a.add(&a)?)?;
    assert_eq!(take_gradient(&a), 2.0);
    Ok(())
}

/// T7. The tape keeps one value for each layer; without it there are three at a time. Weights and values together about
/// double when there are as many rows as the width, and at no other scale.
#[test]
fn t7_a_forgotten_no_grad_doubles_memory_where_the_rows_are_as_many_as_the_width() -> Result<()> {
    let (layers, width) = (32, 32);
    let mut ratios = Vec::new();
    for rows in [1, width, 16 * width] {
        let (deep, value_bytes) = (Deep::new(layers, rows, width), 4 * rows * width);
        let (tape, none) = (held(|| deep.forward())?, held(|| no_grad(|| deep.forward()))?);
        assert_eq!((tape.values, tape.value_bytes), (layers, layers * value_bytes));
        assert_eq!((none.values, none.value_bytes, none.nodes), (1, value_bytes, 0));
        assert_eq!(tape.peak_bytes, (layers + 1) * value_bytes);
        assert_eq!(none.peak_bytes, 3 * value_bytes);
        let total = |values: usize| (deep.weight_bytes() + values) as f64;
        ratios.push(total(tape.peak_bytes) / total(none.peak_bytes));
    }
    assert!(
        ratios[0] < 1.1 && (1.8..2.0).contains(&ratios[1]) && ratios[2] > 5.0,
        "{ratios:?}"
    );
    Ok(())
}

/// Keep or recompute: the same bits, a fourth forward pass, and the values of one segment instead of all.
#[test]
fn recomputing_segments_gives_the_same_bits_for_one_more_forward_pass() -> Result<()> {
    let (layers, rows, width) = (16, 8, 32);
    let deep = Deep::new(layers, rows, width);
    let (passed, kept_all) = measure(|| held(|| deep.forward()?.sum().backward()));
    let (peak_of_all, expected) = (passed?.peak_bytes, deep.take_gradients());
    let one_pass = (layers * rows * width * width) as u64;
    // The first layer's input is a constant, but its product computes both gradients.
    assert_eq!(kept_all.multiply_adds, 3 * one_pass);
    assert_eq!(expected.len(), layers);
    for segment in [1, 4, 5, 16] {
        let kept = held(|| deep.forward_in_segments(segment))?;
        assert_eq!(kept.value_bytes, layers.div_ceil(segment) * 4 * rows * width);
        let (passed, work) = measure(|| held(|| deep.forward_in_segments(segment)?.sum().backward()));
        let peak = passed?.peak_bytes;
        assert!(
            deep.take_gradients() == expected,
            "segments of {segment}: other gradients"
        );
        assert_eq!(work.multiply_adds, 4 * one_pass, "segments of {segment}");
        assert!(
            segment != 4 || 4 * peak < 3 * peak_of_all,
            "{peak} of {peak_of_all} bytes"
        );
    }
    Ok(())
}

#[test]
fn a_segment_whose_weight_changed_in_between_is_an_error() -> Result<()> {
    let (x, w) = (number(3.0), number(2.0));
    let inner = w.clone();
    let y = checkpoint(&x, &[&w], move |x| x.mul(&inner))?;
    w.update(|w| *w += 1.0);
    assert!(matches!(
        y.backward(),
        Err(AutogradError::ChangedInPlace {
            operation: "checkpoint",
            ..
        })
    ));
    let constant = Tensor::new(x.value().clone());
    let inner = w.clone();
    checkpoint(&constant, &[&w], move |x| x.mul(&inner))?.backward()?;
    assert_eq!(
        take_gradient(&w),
        3.0,
        "a constant input does not hide the weight's gradient"
    );
    Ok(())
}

const SEED: u64 = 42;

fn gradients(wiring: Wiring) -> Result<Vec<(Variant, ArrayD<f64>)>> {
    let spiral = Spiral::new(20, SEED);
    Variant::ALL
        .into_iter()
        .map(|v| Ok((v, first_gradient::<f64>(v, wiring, &spiral, SEED)?)))
        .collect()
}

/// Each value is used once, so overwriting and both recursions give the same bits as the right walk.
#[test]
fn on_a_plain_network_no_walk_can_be_told_from_the_right_one() -> Result<()> {
    let gradients = gradients(Wiring::Plain)?;
    let (_, right) = &gradients[0];
    for (variant, gradient) in &gradients {
        if let Variant::Walk(_) = variant {
            assert_eq!(gradient, right, "{variant:?}");
        }
    }
    Ok(())
}

/// The residual uses one value twice, and that is enough.
#[test]
fn on_a_residual_network_overwriting_and_resending_are_far_off() -> Result<()> {
    let gradients = gradients(Wiring::Residual)?;
    let (_, right) = &gradients[0];
    for (variant, gradient) in &gradients {
        let error = relative_error(gradient, right);
        match variant {
            Variant::Walk(Walk::Correct) => assert_eq!(error, 0.0),
            Variant::Walk(Walk::PerPath) => {
                assert!(error < 1e-14, "right up to the order of additions: {error}")
            }
            Variant::Walk(Walk::Overwrite | Walk::Resend) => {
                assert!(error > 0.3, "{variant:?}: {error}")
            }
            Variant::StepBeforeBackward => assert!(error > 1e-4, "{variant:?}: {error}"),
        }
    }
    Ok(())
}

/// The lesson's point: a falling loss proves nothing.
#[test]
fn wrong_gradients_still_train() -> Result<()> {
    let spiral = Spiral::new(60, SEED);
    for variant in Variant::ALL {
        let run = fit::<f32>(variant, Wiring::Residual, &spiral, 300, SEED)?;
        let (first, last) = (run.losses[0], run.losses[300]);
        assert!(first > 0.5 && last < 0.1, "{variant:?}: from {first} to {last}");
        assert!(run.accuracy > 0.95, "{variant:?}: {}", run.accuracy);
    }
    Ok(())
}

/// Same loss to the last bit at every step.
#[test]
fn a_plain_network_trains_alike_by_every_walk() -> Result<()> {
    let spiral = Spiral::new(20, SEED);
    let losses = |walk| Ok(fit::<f32>(Variant::Walk(walk), Wiring::Plain, &spiral, 30, SEED)?.losses);
    let right: Vec<f64> = losses(Walk::Correct)?;
    for walk in Walk::ALL {
        let found: Result<Vec<f64>> = losses(walk);
        assert_eq!(found?, right, "{walk:?}");
    }
    Ok(())
}
