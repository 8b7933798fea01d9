//! The lesson's claims, counted. T4: accumulate. T5: topological order. T6: in-place change is detected.

use autograd::fit::{Variant, first_gradient, fit};
use autograd::gradcheck::relative_error;
use autograd::network::Wiring;
use autograd::spiral::Spiral;
use autograd::wrong::{Visits, Walk, backward_by, unchecked_mul};
use autograd::{AutogradError, Result};
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
