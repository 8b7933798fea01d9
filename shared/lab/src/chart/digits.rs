//! How ticks and values are written.

/// `512`, `4096`, then `16Ki`, `1Mi`: powers of two stay whole numbers.
pub fn doubling_text(value: f64) -> String {
    let kibi = 1024.0;
    match value {
        _ if value >= kibi * kibi * kibi => format!("{}Gi", value / (kibi * kibi * kibi)),
        _ if value >= kibi * kibi => format!("{}Mi", value / (kibi * kibi)),
        _ if value >= 16.0 * kibi => format!("{}Ki", value / kibi),
        _ => format!("{value}"),
    }
}

/// A value beside its bar: three digits, and a power of ten where it is very small or very large.
pub fn value_text(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-3..1e15).contains(&value.abs());
    if is_plain || !value.is_finite() {
        crate::number::short(value).replace('-', "−")
    } else {
        scientific(value, value / 10.0)
    }
}

/// One tick of a linear axis, with as many digits as its step asks for; all ticks of an axis share their suffix.
pub fn linear_text(value: f64, step: f64, largest: f64) -> String {
    if value.abs() < step * 1e-6 {
        return "0".into();
    }
    let (divisor, suffix) = match largest {
        _ if !(1e-3..1e15).contains(&largest) => return scientific(value, step),
        _ if largest >= 1e12 => (1e12, "T"),
        _ if largest >= 1e9 => (1e9, "G"),
        _ if largest >= 1e6 => (1e6, "M"),
        _ if largest >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let decimals = (-(step / divisor * 1.000_001).log10().floor()).max(0.0) as usize;
    format!("{:.decimals$}{suffix}", value / divisor).replace('-', "−")
}

/// One tick of a logarithmic axis.
pub fn log_text(value: f64) -> String {
    if (1e-3..1e15).contains(&(value * 1.000_001)) {
        return crate::number::short(value).replace('-', "−");
    }
    scientific(value, value)
}

/// `2×10⁻⁵`, with the digits that `step` asks for; `10⁻⁵` for a bare power.
fn scientific(value: f64, step: f64) -> String {
    let power = (value.abs() * 1.000_001).log10().floor();
    let decimals = (power - (step.abs() * 1.000_001).log10().floor()).max(0.0) as usize;
    let mantissa = format!("{:.decimals$}", value / 10f64.powf(power));
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        &mantissa
    };
    let raised: String = format!("{power}").chars().map(superscript).collect();
    if mantissa == "1" {
        format!("10{raised}")
    } else {
        format!("{}×10{raised}", mantissa.replace('-', "−"))
    }
}

fn superscript(digit: char) -> char {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).map_or('⁻', |digit| RAISED[digit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_and_powers_where_they_are_extreme() {
        let shown = [0.0, 1.234, -12.0, 0.000_25, 1e-9, 3.21e-9, 4e16, 123_456.0].map(value_text);
        assert_eq!(
            shown,
            ["0", "1.23", "−12", "2.5×10⁻⁴", "10⁻⁹", "3.2×10⁻⁹", "4×10¹⁶", "123k"]
        );
    }

    #[test]
    fn doublings_are_shortened_by_1024() {
        assert_eq!(
            [1.0, 0.5, 4096.0, 16_384.0, 1048576.0].map(doubling_text),
            ["1", "0.5", "4096", "16Ki", "1Mi"]
        );
    }
}
