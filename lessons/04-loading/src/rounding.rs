//! The effect of the rule for dropping 16 bits on a value that passes through many layers.
//!
//! ```text
//! f32    s eeeeeeee fffffff|ffffffffffffffff     value between two bf16 neighbours:
//! bf16   s eeeeeeee fffffff                      a ----x---------- b
//!                                                cut off      -> a, always the one nearer to zero
//!                                                to nearest   -> a here, b equally often elsewhere
//! ```

use crate::exercises::bf16_bits;
use crate::random::hash;

/// A rule to make 16 bits of 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Cut the lower half off.
    Truncate,
    /// [`bf16_bits`].
    NearestEven,
}

impl Rule {
    /// The value after it was stored in bf16 by this rule.
    pub fn apply(self, value: f32) -> f32 {
        let bits = match self {
            Self::Truncate => (value.to_bits() >> 16) as u16,
            Self::NearestEven => bf16_bits(value),
        };
        f32::from_bits(u32::from(bits) << 16)
    }
}

/// Mean of `stored / exact` over many values. Each value is multiplied `num_steps` times by a factor around 1 and
/// stored in bf16 each time; `exact` is the same in f64. A mean of 1 means that the errors cancel.
///
/// Cost: `num_values * num_steps` products.
pub fn mean_ratio(rule: Rule, num_steps: usize, num_values: usize) -> f64 {
    let unit = |counter: usize| f64::from(hash(counter as u32)) / f64::from(u32::MAX);
    let ratio = |value: usize| {
        let start = (1.0 + unit(value)) as f32;
        let (mut stored, mut exact) = (rule.apply(start), f64::from(start));
        for step in 0..num_steps {
            let factor = (0.75 + 0.5 * unit(value * 8191 + step + 1_000_003)) as f32;
            stored = rule.apply(stored * factor);
            exact *= f64::from(factor);
        }
        f64::from(stored) / exact
    };
    (0..num_values).map(ratio).sum::<f64>() / num_values as f64
}
