//! Functions of one element.

use ndarray::Zip;

use crate::real::Real;
use crate::tape::{Saved, record};
use crate::tensor::Tensor;

impl<T: Real> Tensor<T> {
    /// `eˣ`. The tape saves the output, which is its own derivative.
    pub fn exp(&self) -> Self {
        self.by_output("exp", T::exp, |y| y)
    }

    /// The natural logarithm; NaN below 0, as for floats. The tape saves the input.
    pub fn ln(&self) -> Self {
        self.by_input("ln", T::ln, |x| T::one() / x)
    }

    /// `max(x, 0)`. Its derivative at 0 is taken as 0, as PyTorch does. The tape saves the output.
    pub fn relu(&self) -> Self {
        let zero = T::zero();
        // `if` instead of `max`: a NaN stays a NaN, so that a broken run is seen.
        let relu = move |x: T| if x < zero { zero } else { x };
        self.by_output("relu", relu, move |y| if y > zero { T::one() } else { zero })
    }

    /// `x · sigmoid(x)`. The tape saves the input. Source: Elfwing et al. 2017, arXiv:1702.03118.
    pub fn silu(&self) -> Self {
        let sigmoid = |x: T| T::one() / (T::one() + (-x).exp());
        let derivative = move |x: T| {
            let s = sigmoid(x);
            s * (T::one() + x * (T::one() - s))
        };
        self.by_input("silu", move |x| x * sigmoid(x), derivative)
    }

    /// The hyperbolic tangent. The tape saves the output.
    pub fn tanh(&self) -> Self {
        self.by_output("tanh", T::tanh, |y| T::one() - y * y)
    }

    /// An operation whose derivative is computed from its input.
    fn by_input(&self, name: &'static str, f: impl Fn(T) -> T, derivative: impl Fn(T) -> T + 'static) -> Self {
        let value = self.value().mapv(f);
        record(name, &[self], value, |_| chain(Saved::new(self), derivative))
    }

    /// An operation whose derivative is computed from its output.
    fn by_output(&self, name: &'static str, f: impl Fn(T) -> T, derivative: impl Fn(T) -> T + 'static) -> Self {
        let value = self.value().mapv(f);
        record(name, &[self], value, |output| chain(Saved::new(output), derivative))
    }
}

/// The chain rule for one element: upstream times the derivative at the saved value, in the upstream's own memory.
fn chain<T: Real>(saved: Saved<T>, derivative: impl Fn(T) -> T + 'static) -> crate::node::Rule<T> {
    Box::new(move |mut upstream| {
        Zip::from(&mut upstream)
            .and(&*saved.read()?)
            .for_each(|g, &x| *g *= derivative(x));
        Ok(vec![Some(upstream)])
    })
}
