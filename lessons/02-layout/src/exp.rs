//! The exponential function, in two accuracies: plain arithmetic, so that a loop over it can become vector
//! instructions, which a call into the C library can not, and so that the bits are the same on every machine.
//!
//! Both split x into n ln 2 + r, with whole n and |r| <= ln 2 / 2. A polynomial gives e^r, and 2^n is made by writing n
//! into the exponent bits.

/// Splits x; returns r and 2^n.
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    // Adding 1.5 * 2^23 leaves no bit for a fraction: the sum's low bits are x / ln 2 rounded to the nearest whole
    // number.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts. The first has few bits, so that n * LN2_HIGH is exact.
    const LN2_HIGH: f32 = 355.0 / 512.0;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = (-n).mul_add(LN2_LOW, (-n).mul_add(LN2_HIGH, x));
    let power_of_two = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    (r, power_of_two)
}

/// e^x for x <= 0; the exponential function of the workbook's inference.
///
/// e^r by its Taylor series to the seventh power, whose remainder (5e-9) is below half a unit in the last place.
/// Relative error at most 1.5e-7 (tested over the whole range). Returns exactly 1 for 0, 0 below -87 (e^-87 is 1.6e-38,
/// the end of the normal numbers), NaN for NaN. Positive arguments up to 88 work too; no caller needs them.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const FLOOR: f32 = -87.0;
    let (r, power_of_two) = split(x);
    let mut sum = 1.0 / 5040.0;
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = r.mul_add(sum, coefficient);
    }
    if x < FLOOR { 0.0 } else { sum * power_of_two }
}

/// e^x for x of both signs, clamped to [-87, 88]; the exponential function of the workbook's training.
///
/// e^r by a polynomial of degree 6, within 2 units in the last place. The committed checkpoint was trained with it:
/// another polynomial trains another one. Source: Cephes `expf`, Moshier 1989.
#[inline(always)]
pub fn exp_clamped(x: f32) -> f32 {
    let x = if x < 88.0 { x } else { 88.0 };
    let x = if x > -87.0 { x } else { -87.0 };
    let (r, power_of_two) = split(x);
    let mut p = 1.987_569_1e-4_f32;
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p.mul_add(r, coefficient);
    }
    let y = (p * r).mul_add(r, r) + 1.0;
    y * power_of_two
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest relative error over arguments `from`, `from + 1/per_one`, … up to `to`.
    fn worst(exp: impl Fn(f32) -> f32, per_one: i32, from: i32, to: i32) -> f64 {
        let arguments = (from * per_one..=to * per_one).map(|step| step as f32 / per_one as f32);
        let errors = arguments.map(|x| (f64::from(exp(x)) / f64::from(x).exp() - 1.0).abs());
        errors.fold(0.0, f64::max)
    }

    #[test]
    fn exp_is_within_one_and_a_half_e_minus_7_everywhere() {
        let worst = worst(exp, 10_000, -87, 0);
        assert!(worst < 1.5e-7, "relative error {worst:e}");
    }

    #[test]
    fn exp_keeps_its_edges() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        assert_eq!(exp(-87.1), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(f32::MIN), 0.0);
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(-87.0) > 0.0);
    }

    #[test]
    fn exp_clamped_is_within_two_units_in_the_last_place() {
        let worst = worst(exp_clamped, 100, -87, 88);
        assert!(worst < 2.0 * f64::from(f32::EPSILON), "relative error {worst:e}");
        assert_eq!(exp_clamped(0.0), 1.0);
        assert!(exp_clamped(1e9).is_finite() && exp_clamped(-1e9) >= 0.0);
    }
}
