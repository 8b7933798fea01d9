//! Numbers for readers: three significant digits, with a suffix or a power of ten where they are large or small.

/// At most three significant digits (four before a suffix begins): `0.0123`, `1.23`, `123`, `1234`, `12.3k`, `1.23M`,
/// `1.2e-7`.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let size = value.abs();
    let scaled = |by: f64, suffix: &str| format!("{}{suffix}", three_digits(value / by));
    match size {
        0.0 => "0".into(),
        _ if size >= 999.5e12 => format!("{value:.1e}"),
        _ if size >= 999.5e9 => scaled(1e12, "T"),
        _ if size >= 999.5e6 => scaled(1e9, "G"),
        _ if size >= 999.5e3 => scaled(1e6, "M"),
        _ if size >= 9999.5 => scaled(1e3, "k"),
        _ if size >= 1e-4 => three_digits(value),
        _ => format!("{value:.1e}"),
    }
}

/// At most three significant digits, or all that stand before the point; no zeros at the end of a fraction.
fn three_digits(value: f64) -> String {
    let size = value.abs();
    // The digits before the point once the value is rounded to three: 9.996 has two.
    let before = if size == 0.0 { 1 } else { rounded_exponent(size) + 1 };
    let decimals = (3 - before).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// Power of ten of the first digit after rounding to three significant digits.
fn rounded_exponent(size: f64) -> i32 {
    let exponent = size.log10().floor() as i32;
    let rounded = (size / 10f64.powi(exponent - 2)).round();
    if rounded >= 1000.0 { exponent + 1 } else { exponent }
}

/// A whole number with its digits in groups: `2 784 000`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Bytes with a binary unit (KiB = 1024): `19.7 MiB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(scaled), UNITS[unit])
}

/// Seconds with the unit that fits: `1.23 s`, `12.3 ms`, `456 µs`, `78 ns`; two minutes and more as `3 min 20 s`.
pub fn seconds(value: f64) -> String {
    match value {
        _ if value >= 7200.0 => {
            format!("{} h {} min", value as u64 / 3600, value as u64 % 3600 / 60)
        }
        _ if value >= 120.0 => format!("{} min {} s", value as u64 / 60, value as u64 % 60),
        _ if value >= 0.9995 => format!("{} s", three_digits(value)),
        _ if value >= 0.9995e-3 => format!("{} ms", three_digits(value * 1e3)),
        _ if value >= 0.9995e-6 => format!("{} µs", three_digits(value * 1e6)),
        _ => format!("{} ns", three_digits(value * 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_that_matter() {
        let shown = |value: f64| short(value);
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (1.234, "1.23"),
            (-1.234, "-1.23"),
            (9.996, "10"),
            (12.34, "12.3"),
            (123.4, "123"),
            (1234.0, "1234"),
            (1234.5, "1234"),
            (9999.6, "10k"),
            (12_345.0, "12.3k"),
            (1.5e6, "1.5M"),
            (0.5, "0.5"),
            (2e9, "2G"),
            (3e12, "3T"),
            (1e16, "1.0e16"),
            (0.012_34, "0.0123"),
            (0.000_012, "1.2e-5"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(shown(value), text, "{value}");
        }
    }

    #[test]
    fn whole_numbers_are_grouped_from_five_digits_on() {
        assert_eq!(
            [0, 2784, 10_176, 2_784_000].map(grouped),
            ["0", "2784", "10 176", "2 784 000"]
        );
    }

    #[test]
    fn bytes_have_binary_units() {
        assert_eq!(
            [0, 512, 1024, 20_656_947, 5 << 30].map(bytes),
            ["0 bytes", "512 bytes", "1 KiB", "19.7 MiB", "5 GiB"]
        );
    }

    #[test]
    fn seconds_choose_their_unit() {
        assert_eq!(
            [200.0, 8000.0, 1.0, 0.012_34, 45.6e-6, 7e-9].map(seconds),
            ["3 min 20 s", "2 h 13 min", "1 s", "12.3 ms", "45.6 µs", "7 ns"]
        );
    }
}
