//! Exercise 02.5: mend the tail.

/// Adds `factor * x` to `sums`, element by element, with a fused multiply-add. Both slices have the same length,
/// whatever it is.
///
/// The body goes in steps of 16 numbers, a length that the compiler knows and turns into vector instructions. What is
/// left at the end, 0 to 15 numbers, is the tail.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub fn add_scaled(sums: &mut [f32], factor: f32, x: &[f32]) {
    assert_eq!(sums.len(), x.len(), "sums and x have the same length");
    // ANCHOR: ex_02_5
    //~ fault 02.5
    //~ | let (sum_steps, _) = sums.as_chunks_mut::<16>();
    //~ | let (x_steps, _) = x.as_chunks::<16>();
    let (sum_steps, sum_tail) = sums.as_chunks_mut::<16>();
    let (x_steps, x_tail) = x.as_chunks::<16>();
    //~ end
    for (sums, x) in sum_steps.iter_mut().zip(x_steps) {
        // All sixteen are read before the first is written, so that one vector instruction may do it.
        *sums = std::array::from_fn(|i| factor.mul_add(x[i], sums[i]));
    }
    //~ fault 02.5
    //~ | // The rest is shorter than a step.
    for (sum, x) in sum_tail.iter_mut().zip(x_tail) {
        *sum = factor.mul_add(*x, *sum);
    }
    //~ end
    // ANCHOR_END: ex_02_5
}
