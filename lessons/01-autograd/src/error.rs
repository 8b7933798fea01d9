//! What can go wrong on a tape: always the operation, what it expected, what it found and what to do.

use thiserror::Error;

/// An error of an operation or of the backward pass.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AutogradError {
    /// Two shapes that do not broadcast to a common one.
    #[error(
        "{operation}: expected shapes that broadcast (sizes equal from the right, or one of them 1), \
         found {left:?} and {right:?}; reshape one of them or sum it first"
    )]
    Broadcast {
        /// The operation that was called.
        operation: &'static str,
        /// Shape of the left operand.
        left: Vec<usize>,
        /// Shape of the right operand.
        right: Vec<usize>,
    },

    /// A shape that the operation can not take.
    #[error("{operation}: expected {expected}, found {found}; {advice}")]
    Shape {
        /// The operation that was called.
        operation: &'static str,
        /// What it takes.
        expected: String,
        /// What it got.
        found: String,
        /// What to do.
        advice: &'static str,
    },

    /// An axis that the tensor does not have.
    #[error("{operation}: expected an axis below {num_axes}, found {axis}; axes count from 0, outermost first")]
    Axis {
        /// The operation that was called.
        operation: &'static str,
        /// The axis asked for.
        axis: usize,
        /// How many axes the tensor has.
        num_axes: usize,
    },

    /// An index, a class or a token outside its axis.
    #[error(
        "{operation}: expected indices below {size}, found {index} at place {place}; check the ids against the table they index"
    )]
    Index {
        /// The operation that was called.
        operation: &'static str,
        /// The first index that is too large.
        index: usize,
        /// Where it stands in the list of indices.
        place: usize,
        /// Size of the axis it indexes.
        size: usize,
    },

    /// `backward()` on something that is not one number.
    #[error(
        "backward: expected a tensor with one element, found shape {found:?}; reduce it with sum() or mean(), or give a seed to backward_with()"
    )]
    NotScalar {
        /// Shape of the tensor.
        found: Vec<usize>,
    },

    /// `backward()` on a tensor that no parameter reaches.
    #[error(
        "backward: expected a tensor computed from a parameter, found one without a tape; create the inputs with Tensor::parameter() and compute outside no_grad()"
    )]
    NoTape,

    /// A second backward pass over one tape.
    #[error(
        "backward: expected a fresh tape, found that the rule of `{operation}` was already used up; run the forward pass again before each backward()"
    )]
    TapeUsed {
        /// The first operation found without its rule.
        operation: &'static str,
    },

    /// A value changed in place between the forward pass that saved it and the backward pass that reads it.
    #[error(
        "backward of `{operation}`: expected the value of shape {shape:?} as it was saved (version {saved}), found it changed in place \
         (version {found}); call backward() before the update, or let the operation work on a copy"
    )]
    ChangedInPlace {
        /// The operation whose backward rule needs the value.
        operation: &'static str,
        /// Shape of the value.
        shape: Vec<usize>,
        /// Version when it was saved.
        saved: u64,
        /// Version now.
        found: u64,
    },

    /// A backward rule that returned the wrong number of gradients, or a gradient of the wrong shape.
    #[error(
        "backward of `{operation}`: expected {expected}, found {found}; its rule must return one gradient (or None) per input, shaped like the input"
    )]
    Rule {
        /// The operation whose rule it is.
        operation: &'static str,
        /// What the tape needs.
        expected: String,
        /// What the rule returned.
        found: String,
    },

    /// Saved optimizer state that belongs to other parameters.
    #[error("optimizer state: expected {expected}, found {found}; load the state that was saved for these parameters")]
    State {
        /// What the parameters need.
        expected: String,
        /// What the state holds.
        found: String,
    },
}

impl AutogradError {
    /// Fills in the operation: a saved value can tell that it changed, and only the tape knows which operation reads
    /// it.
    pub(crate) fn in_backward_of(mut self, name: &'static str) -> Self {
        if let AutogradError::ChangedInPlace { operation, .. } = &mut self {
            *operation = name;
        }
        self
    }
}

/// Shorthand for results of this crate.
pub type Result<R, E = AutogradError> = std::result::Result<R, E>;
