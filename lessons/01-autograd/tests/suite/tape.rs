//! How the tape behaves: what accumulates, what is freed, what is refused.

use autograd::memory::live;
use autograd::{AutogradError, Result, Saved, Tensor, custom_op, no_grad};
use ndarray::{ArrayD, IxDyn, arr1, arr2};

use crate::common::{gradient, number, ones, take_gradient};

type Operation = fn(&Tensor<f64>) -> Result<Tensor<f64>>;

#[test]
fn a_value_used_twice_gets_both_gradients() -> Result<()> {
    let a = number(3.0);
    let b = a.add(&a)?;
    b.add(&b)?.backward()?;
    assert_eq!(gradient(&a), 4.0);
    Ok(())
}

#[test]
fn gradients_accumulate_over_backward_passes_until_zeroed() -> Result<()> {
    let a = number(3.0);
    a.mul(&a)?.backward()?;
    a.mul(&a)?.backward()?;
    assert_eq!(gradient(&a), 12.0);
    a.zero_grad();
    assert!(a.grad().is_none());
    a.mul(&a)?.backward()?;
    assert_eq!(take_gradient(&a), 6.0);
    assert!(a.grad().is_none());
    Ok(())
}

#[test]
fn only_leaves_keep_a_gradient_unless_asked() -> Result<()> {
    let a = number(3.0);
    let (b, c) = (a.scale(2.0), a.scale(3.0));
    c.retain_grad();
    b.mul(&c)?.backward()?;
    assert!(b.grad().is_none());
    assert_eq!(gradient(&c), 6.0);
    assert_eq!(gradient(&a), 36.0);
    Ok(())
}

/// A chain far deeper than the stack: neither order, nor backward, nor drop may recurse.
#[test]
fn a_chain_of_200_000_nodes_fits_a_small_stack() {
    let run = || -> Result<f64> {
        let a = number(1.0);
        let mut x = a.clone();
        for _ in 0..200_000 {
            x = x.add_scalar(1.0);
        }
        let second = x.scale(2.0);
        x.add(&second)?.backward()?;
        let found = gradient(&a);
        // A second chain is dropped with its rules still on it.
        let mut y = a.clone();
        for _ in 0..200_000 {
            y = y.tanh();
        }
        drop(y);
        Ok(found)
    };
    let small = std::thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(run)
        .expect("a thread");
    assert_eq!(small.join().expect("no overflow"), Ok(3.0));
}

/// Rules may hold tensors, and through them their tapes; a drop that only walks along inputs would recurse there.
#[test]
fn a_deep_chain_held_by_closures_fits_a_small_stack() {
    let run = || {
        let mut x = number(1.0);
        for _ in 0..50_000 {
            let held = x.clone();
            let value = x.value().clone();
            x = custom_op("hold", &[&x], value, move |upstream| {
                drop(held);
                Ok(vec![Some(upstream.clone())])
            });
        }
        drop(x);
    };
    let small = std::thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(run)
        .expect("a thread");
    small.join().expect("no overflow");
}

#[test]
fn a_value_changed_in_place_after_it_was_saved_is_an_error_that_names_the_operation() -> Result<()> {
    let cases: [(&str, Operation); 7] = [
        ("mul", |x| x.mul(x)),
        ("div", |x| {
            Tensor::new(arr2(&[[1.0, 1.0], [1.0, 1.0]]).into_dyn()).div(x)
        }),
        ("matmul", |x| x.matmul(x)),
        ("ln", |x| Ok(x.ln())),
        ("silu", |x| Ok(x.silu())),
        ("cross_entropy", |x| x.cross_entropy(&[0, 1])),
        ("mine", |x| {
            let saved = Saved::new(x);
            let value = x.value().clone();
            Ok(custom_op("mine", &[x], value, move |upstream| {
                Ok(vec![Some(upstream * &*saved.read()?)])
            }))
        }),
    ];
    for (operation, function) in cases {
        let x = Tensor::parameter(arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn());
        let y = function(&x)?;
        x.update(|x| *x += 1.0);
        let seed = ArrayD::ones(y.shape());
        let expected = AutogradError::ChangedInPlace {
            operation: name(operation),
            shape: vec![2, 2],
            saved: 0,
            found: 1,
        };
        assert_eq!(y.backward_with(seed), Err(expected));
        assert!(
            x.grad().is_none(),
            "{operation}: no gradient is better than a wrong one"
        );
    }
    Ok(())
}

fn name(operation: &str) -> &'static str {
    ["mul", "div", "matmul", "ln", "silu", "cross_entropy", "mine"]
        .into_iter()
        .find(|n| *n == operation)
        .expect("listed")
}

#[test]
fn an_output_changed_in_place_is_noticed_where_the_rule_reads_the_output() -> Result<()> {
    let cases: [(&str, Operation); 4] = [
        ("exp", |x| Ok(x.exp())),
        ("tanh", |x| Ok(x.tanh())),
        ("relu", |x| Ok(x.relu())),
        ("softmax", |x| x.softmax(0)),
    ];
    for (operation, function) in cases {
        let x = Tensor::parameter(arr1(&[1.0, 2.0]).into_dyn());
        let y = function(&x)?;
        y.update(|y| *y *= 0.5);
        let error = y.sum().backward().expect_err("changed");
        assert!(
            error.to_string().starts_with(&format!("backward of `{operation}`")),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn a_change_in_place_is_fine_when_no_rule_reads_the_value() -> Result<()> {
    let (a, b) = (number(3.0), number(4.0));
    let sum = a.add(&b)?;
    a.update(|a| *a += 1.0);
    sum.update(|s| *s = s.clone() + 1.0);
    sum.scale(2.0).backward()?;
    assert_eq!((gradient(&a), gradient(&b)), (2.0, 2.0));
    // A constant factor's own gradient is not wanted, so its partner is not saved.
    let x = number(3.0);
    let y = x.mul(&Tensor::scalar(5.0))?;
    x.update(|x| *x += 1.0);
    y.backward()?;
    assert_eq!(gradient(&x), 5.0);
    Ok(())
}

#[test]
fn a_detached_tensor_shares_the_value_and_its_version() -> Result<()> {
    let a = number(3.0);
    let square = a.mul(&a)?;
    a.detach().update(|a| *a += 1.0);
    assert!(matches!(
        square.backward(),
        Err(AutogradError::ChangedInPlace { operation: "mul", .. })
    ));
    assert!(!a.detach().is_recorded());
    Ok(())
}

#[test]
fn no_grad_records_nothing_and_saves_nothing() -> Result<()> {
    let w = ones(&[64, 64]);
    let x = Tensor::new(ArrayD::<f64>::ones(IxDyn(&[64, 64])));
    let layers = |num_layers: usize| -> Result<Tensor<f64>> {
        (0..num_layers).try_fold(x.clone(), |x, _| Ok(x.matmul(&w)?.tanh()))
    };
    let before = live();
    let y = no_grad(|| layers(10))?;
    assert!(!y.is_recorded());
    assert_eq!(live().nodes, before.nodes);
    assert_eq!(
        live().value_bytes - before.value_bytes,
        64 * 64 * 8,
        "the result, and nothing else"
    );
    drop(y);
    let y = layers(10)?;
    assert!(y.is_recorded(), "recording is on again");
    assert_eq!(live().nodes - before.nodes, 20);
    assert_eq!(
        live().value_bytes - before.value_bytes,
        10 * 64 * 64 * 8,
        "the output of each tanh; no matmul's own"
    );
    drop(y);
    assert_eq!(live().value_bytes, before.value_bytes);
    Ok(())
}

#[test]
fn no_grad_ends_with_a_panic_too() {
    let caught = std::panic::catch_unwind(|| no_grad(|| panic!("inside")));
    assert!(caught.is_err());
    assert!(number(1.0).scale(2.0).is_recorded());
}

#[test]
fn backward_frees_what_rules_saved() -> Result<()> {
    let w = ones(&[8, 8]);
    let before = live();
    let loss = w.tanh().tanh().tanh().sum();
    assert_eq!(live().values - before.values, 4);
    loss.backward()?;
    assert_eq!(live().values - before.values, 1, "the loss itself");
    drop(loss);
    assert_eq!(live().values, before.values);
    assert_eq!(live().nodes, before.nodes);
    Ok(())
}

#[test]
fn a_tape_serves_one_backward_pass() -> Result<()> {
    let a = number(3.0);
    let square = a.mul(&a)?;
    let twice = square.scale(2.0);
    twice.backward()?;
    assert_eq!(twice.backward(), Err(AutogradError::TapeUsed { operation: "scale" }));
    // A new operation on top of a used one: the parameter's gradient stays what it was.
    assert_eq!(
        square.scale(3.0).backward(),
        Err(AutogradError::TapeUsed { operation: "mul" })
    );
    assert_eq!(gradient(&a), 12.0);
    Ok(())
}

#[test]
fn after_an_error_no_inner_gradient_is_left_to_be_added_to() -> Result<()> {
    let (a, b) = (number(3.0), number(5.0));
    let shared = a.scale(2.0);
    let broken = shared.mul(&b)?;
    let loss = shared.add(&broken)?;
    let version = b.value().clone();
    b.update(|b| *b += 1.0);
    assert!(loss.backward().is_err());
    b.update(|b| *b = version);
    shared.scale(1.0).backward()?;
    assert_eq!(gradient(&a), 2.0, "not 2 more from the pass that failed");
    Ok(())
}

#[test]
fn the_first_contribution_is_moved_into_place() -> Result<()> {
    let x = Tensor::parameter(ArrayD::<f32>::ones(IxDyn(&[4])));
    let made = std::rc::Rc::new(std::cell::Cell::new(std::ptr::null()));
    let seen = std::rc::Rc::clone(&made);
    let y = custom_op("moved", &[&x], x.value().clone(), move |_| {
        let gradient = ArrayD::<f32>::ones(IxDyn(&[4]));
        seen.set(gradient.as_ptr());
        Ok(vec![Some(gradient)])
    });
    y.sum().backward()?;
    assert_eq!(
        x.grad().expect("a gradient").as_ptr(),
        made.get(),
        "the same memory: no copy was made"
    );
    Ok(())
}

#[test]
fn a_rule_that_returns_a_wrong_shape_or_count_is_refused() -> Result<()> {
    let x = ones(&[2, 3]);
    let value = ArrayD::ones(IxDyn(&[2, 3]));
    let wide = custom_op("wide", &[&x], value.clone(), |_| {
        Ok(vec![Some(ArrayD::ones(IxDyn(&[3])))])
    });
    let error = wide.sum().backward().expect_err("a wrong shape");
    assert!(
        matches!(&error, AutogradError::Rule { operation: "wide", .. }),
        "{error}"
    );
    let none = custom_op("none", &[&x], value, |_| Ok(vec![]));
    assert!(matches!(
        none.sum().backward(),
        Err(AutogradError::Rule { operation: "none", .. })
    ));
    Ok(())
}

#[test]
fn values_and_gradients_are_row_major_whatever_was_given() -> Result<()> {
    let columns = arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).reversed_axes().into_dyn();
    assert!(!columns.is_standard_layout());
    let x = Tensor::parameter(columns.clone());
    assert_eq!(x.value().as_slice(), Some(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0][..]));
    let y = custom_op("pass", &[&x], columns.clone(), |upstream| {
        Ok(vec![Some(upstream.clone())])
    });
    y.backward_with(columns.clone())?;
    assert_eq!(*x.grad().expect("a gradient"), columns);
    assert!(x.grad().expect("a gradient").is_standard_layout());
    x.update(|x| *x = columns);
    assert!(x.value().is_standard_layout());
    Ok(())
}

#[test]
fn a_constant_has_no_gradient_and_no_tape() {
    let constant = Tensor::new(arr1(&[1.0]).into_dyn());
    assert_eq!(constant.scale(2.0).sum().backward(), Err(AutogradError::NoTape));
    assert!(constant.grad().is_none());
    assert_eq!(
        Tensor::parameter(arr1(&[1.0, 2.0]).into_dyn()).backward(),
        Err(AutogradError::NotScalar { found: vec![2] })
    );
}

/// For `c = a b` go back `g bᵀ` and `aᵀ g`: two products of the same size.
#[test]
fn backward_costs_twice_the_multiply_adds_of_forward() -> Result<()> {
    let a = ones(&[5, 2, 3]);
    let b = ones(&[5, 3, 4]);
    let (loss, forward) = lab::ledger::measure(|| Ok(a.matmul(&b)?.sum()));
    let loss: Result<Tensor<f64>> = loss;
    let (done, backward) = lab::ledger::measure(|| loss?.backward());
    done?;
    assert_eq!(
        (forward.multiply_adds, backward.multiply_adds),
        (5 * 2 * 3 * 4, 2 * 5 * 2 * 3 * 4)
    );
    Ok(())
}

#[test]
fn a_broadcast_operands_gradient_has_the_operands_shape() -> Result<()> {
    let matrix = ones(&[4, 3]);
    for shape in [&[3][..], &[1, 3], &[4, 1], &[1], &[]] {
        let small = Tensor::parameter(ArrayD::<f64>::ones(IxDyn(shape)));
        matrix.mul(&small)?.add(&small)?.sum().backward()?;
        let gradient = small.take_grad().expect("a gradient");
        assert_eq!(gradient.shape(), shape);
        assert_eq!(gradient.sum(), 24.0, "every repetition counts, in both operations");
    }
    Ok(())
}

#[test]
fn a_reshape_of_a_permuted_tensor_reads_the_permuted_order() -> Result<()> {
    let x = Tensor::parameter(arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).into_dyn());
    let flat = x.permute(&[1, 0])?.reshape(&[6])?;
    assert_eq!(*flat.value(), arr1(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]).into_dyn());
    flat.backward_with(arr1(&[10.0, 40.0, 20.0, 50.0, 30.0, 60.0]).into_dyn())?;
    assert_eq!(
        *x.grad().expect("a gradient"),
        arr2(&[[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]).into_dyn()
    );
    Ok(())
}
