//! Waiting makes a request more urgent.

use crate::meta::Class;
use std::time::Duration;

/// The class that a request counts as after it has waited: one class more urgent for each full `step` of waiting, up to
/// class 0.
///
/// So a request of class c is in class 0 after `c * step`, and from then on it is only behind those of class 0 that
/// came before it. That is the bound on its waiting: with pure priority there is none. A `step` of zero means that
/// waiting counts for nothing.
pub fn effective_class(class: Class, waited: Duration, step: Duration) -> Class {
    // ANCHOR: ex_11_2
    if step.is_zero() {
        return class;
    }
    let steps = waited.as_nanos() / step.as_nanos();
    // More steps than a class can count stay at 255; a plain conversion would begin at 0 again.
    Class(class.0.saturating_sub(u8::try_from(steps).unwrap_or(u8::MAX)))
    // ANCHOR_END: ex_11_2
}
