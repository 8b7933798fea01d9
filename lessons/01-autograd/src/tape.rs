//! Recording: how an operation gets onto the tape, what it may save for later, and how to record nothing.

use std::cell::{Cell, Ref};
use std::rc::Rc;

use ndarray::ArrayD;

use crate::error::{AutogradError, Result};
use crate::node::{Node, Rule};
use crate::real::Real;
use crate::storage::Storage;
use crate::tensor::Tensor;

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(true) };
}

/// Runs `work` without a tape: results are constants and nothing is saved, so each value is freed as soon as the
/// program drops it. For evaluation and generation.
pub fn no_grad<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            RECORDING.set(self.0);
        }
    }
    // A guard, so that a panic inside `work` does not leave recording off.
    let _restore = Restore(RECORDING.replace(false));
    work()
}

/// A value that a backward rule will read, with the version it had.
///
/// Holds the value alive, not the tape, so a rule may save its own operation's output without making a cycle.
pub struct Saved<T: Real = f32> {
    storage: Rc<Storage<T>>,
    version: u64,
}

impl<T: Real> Saved<T> {
    /// Saves the tensor's present value: a reference count, no copy.
    pub fn new(tensor: &Tensor<T>) -> Self {
        Self {
            storage: Rc::clone(&tensor.storage),
            version: tensor.version(),
        }
    }

    /// The value as it was when it was saved.
    ///
    /// # Errors
    /// [`AutogradError::ChangedInPlace`] when it was changed since.
    // ANCHOR: read
    pub fn read(&self) -> Result<Ref<'_, ArrayD<T>>> {
        let found = self.storage.version.get();
        if found != self.version {
            return Err(AutogradError::ChangedInPlace {
                operation: "", // the backward pass knows which one is running and fills it in
                shape: self.storage.value.borrow().shape().to_vec(),
                saved: self.version,
                found,
            });
        }
        Ok(self.storage.value.borrow())
    }
    // ANCHOR_END: read
}

/// Puts an operation on the tape, or makes a constant when nothing needs a gradient. `rule` is only called, and
/// therefore only saves anything, when the operation is recorded; it gets the output in case it wants to save that.
// ANCHOR: record
pub(crate) fn record<T: Real>(
    name: &'static str,
    inputs: &[&Tensor<T>],
    value: ArrayD<T>,
    rule: impl FnOnce(&Tensor<T>) -> Rule<T>,
) -> Tensor<T> {
    let mut output = Tensor::new(value);
    if RECORDING.get() && inputs.iter().any(|input| input.is_recorded()) {
        let nodes = inputs.iter().map(|input| input.node.clone()).collect();
        let rule = rule(&output);
        output.node = Some(Node::operation(name, output.shape(), nodes, rule));
    }
    output
}
// ANCHOR_END: record

/// The door for fused operations: you computed `value` from `inputs` by whatever means, and `backward` turns the
/// gradient of `value` into one gradient per input, or `None` for an input that needs none.
///
/// - `backward` gets the upstream gradient, row-major, in the shape of `value`, and returns gradients in the shapes of
///   the inputs. The first contribution to an input's gradient is moved into place, not added, so a fused operation
///   costs no copy.
/// - What `backward` needs from the inputs it captures as [`Saved`] handles (not as tensors, or a change in place stays
///   unnoticed, and not as copies). Buffers that only this operation needs may be captured as they are.
/// - It runs at most once, and is dropped with everything it captured as soon as it has run.
/// - Under [`no_grad`], or when no input needs a gradient, it is dropped at once and the result is a constant.
///
/// ```
/// use autograd::{Saved, Tensor, custom_op};
/// use ndarray::arr1;
///
/// let x = Tensor::parameter(arr1(&[1.0_f64, 2.0, 3.0]).into_dyn());
/// let value = x.value().mapv(|x| x * x);
/// let saved = Saved::new(&x);
/// let square = custom_op("square", &[&x], value, move |upstream| {
///     let x = saved.read()?;
///     Ok(vec![Some(upstream * &*x * 2.0)])
/// });
/// square.sum().backward()?;
/// assert_eq!(*x.grad().unwrap(), arr1(&[2.0, 4.0, 6.0]).into_dyn());
/// # Ok::<(), autograd::AutogradError>(())
/// ```
pub fn custom_op<T: Real>(
    name: &'static str,
    inputs: &[&Tensor<T>],
    value: ArrayD<T>,
    backward: impl FnOnce(&ArrayD<T>) -> Result<Vec<Option<ArrayD<T>>>> + 'static,
) -> Tensor<T> {
    record(name, inputs, value, |_| {
        let mut backward = Some(backward);
        Box::new(move |upstream| match backward.take() {
            Some(backward) => backward(&upstream),
            None => Err(AutogradError::TapeUsed { operation: name }),
        })
    })
}

/// [`custom_op`] whose `backward` also reads its own output, given first, as softmax and tanh do: the output is saved
/// without a copy and under the same check of its version.
pub fn custom_op_with_output<T: Real>(
    name: &'static str,
    inputs: &[&Tensor<T>],
    value: ArrayD<T>,
    backward: impl FnOnce(&ArrayD<T>, &ArrayD<T>) -> Result<Vec<Option<ArrayD<T>>>> + 'static,
) -> Tensor<T> {
    record(name, inputs, value, |output| {
        let output = Saved::new(output);
        let mut backward = Some(backward);
        Box::new(move |upstream| match backward.take() {
            Some(backward) => backward(&*output.read()?, &upstream),
            None => Err(AutogradError::TapeUsed { operation: name }),
        })
    })
}
