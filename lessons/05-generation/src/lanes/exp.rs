//! The exponential function.

/// Below this exponential function returns 0: e^-87 is 1.6e-38, the end of the normal numbers.
const EXP_FLOOR: f32 = -87.0;

/// e^x for x <= 0; the one exponential function of the workbook's inference.
///
/// x = n ln 2 + r with whole n and |r| <= ln 2 / 2; e^r by its Taylor series to the seventh power, whose remainder (5e-9) is
/// below half a unit in the last place; 2^n by writing n into the exponent bits. Relative error at most 1.5e-7 (tested over
/// the whole range). Returns exactly 1 for 0, 0 below -87, NaN for NaN. Positive arguments up to 88 work too, but nobody here
/// needs them.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Adding 1.5 * 2^23 leaves no bit for a fraction: the sum's low bits are x / ln 2 rounded to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts. The first has few bits, so that n * LN2_HIGH is exact.
    const LN2_HIGH: f32 = 355.0 / 512.0;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = (-n).mul_add(LN2_LOW, (-n).mul_add(LN2_HIGH, x));
    let mut sum = 1.0 / 5040.0;
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = r.mul_add(sum, coefficient);
    }
    let power_of_two = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    if x < EXP_FLOOR { 0.0 } else { sum * power_of_two }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_one_and_a_half_e_minus_7_everywhere() {
        let mut worst = 0.0f64;
        for step in 0..=870_000 {
            let x = -(step as f32) * 1e-4;
            let right = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - right).abs() / right);
        }
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
}
