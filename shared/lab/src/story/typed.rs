//! Reading what a reader types: full-width characters, brackets, commas and suffixes are accepted.

/// What a Chinese keyboard types (ａ, １, ，, the wide blank) as plain ASCII; without blanks around it.
pub fn half_width(text: &str) -> String {
    let narrow = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        '。' => '.',
        _ => c,
    };
    text.chars().map(narrow).collect::<String>().trim().to_string()
}

/// `b`, `B`, `b)`, `(b)`, `2`, `2.`: the index of an option.
pub fn parse_option(typed: &str, num_options: usize) -> Option<usize> {
    let core = typed
        .trim_matches(['(', ')', '[', ']', '.', ':', ' ', '"', '\''])
        .to_ascii_lowercase();
    let index = match core.as_bytes() {
        [letter @ b'a'..=b'z'] => (letter - b'a') as usize,
        _ => core.parse::<usize>().ok()?.checked_sub(1)?,
    };
    (index < num_options).then_some(index)
}

/// `2784`, `2,784`, `2 784`, `2.5`, `2,5`, `10k`, `1.2M`, `×2.5`, `2.5x`, `1e3`.
pub fn parse_number(typed: &str) -> Option<f64> {
    let core: String = typed
        .chars()
        .filter(|c| !matches!(c, ' ' | '_' | '×' | '~' | '\''))
        .collect();
    let core = core.trim_matches(|c| matches!(c, 'x' | 'X'));
    let (digits, factor) = match core.chars().last()? {
        'k' | 'K' => (&core[..core.len() - 1], 1e3),
        'm' | 'M' => (&core[..core.len() - 1], 1e6),
        'g' | 'G' => (&core[..core.len() - 1], 1e9),
        _ => (core, 1.0),
    };
    let number: f64 = without_commas(digits).parse().ok()?;
    number.is_finite().then_some(number * factor)
}

/// Commas before groups of three digits separate thousands; any other comma is a decimal point.
fn without_commas(digits: &str) -> String {
    let groups: Vec<&str> = digits.split(',').collect();
    let thousands = groups.len() > 1
        && !groups[0].is_empty()
        && groups[1..]
            .iter()
            .all(|group| group.split('.').next().is_some_and(|whole| whole.len() == 3));
    if thousands {
        groups.concat()
    } else {
        digits.replacen(',', ".", 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_however_they_are_typed() {
        for typed in [
            "b",
            "B",
            " b ",
            "b)",
            "(b)",
            "2",
            "2.",
            "ｂ",
            "Ｂ",
            "２",
            "（ｂ）",
            "　ｂ　",
        ] {
            assert_eq!(parse_option(&half_width(typed), 3), Some(1), "{typed:?}");
        }
        for typed in ["d", "4", "0", "ab", "?", "-1", "一"] {
            assert_eq!(parse_option(&half_width(typed), 3), None, "{typed:?}");
        }
    }

    #[test]
    fn numbers_are_read_however_they_are_typed() {
        for (typed, number) in [
            ("2784", 2784.0),
            ("2,784", 2784.0),
            ("２，７８４", 2784.0),
            ("2 784", 2784.0),
            ("1,234,567.5", 1_234_567.5),
            ("2.5", 2.5),
            ("2,5", 2.5),
            ("10k", 10_000.0),
            ("1.2M", 1_200_000.0),
            ("×2.5", 2.5),
            ("5x", 5.0),
            ("1e3", 1000.0),
        ] {
            assert_eq!(parse_number(&half_width(typed)), Some(number), "{typed:?}");
        }
        for typed in ["many", "", "1/5", "inf", "k", "七"] {
            assert_eq!(parse_number(&half_width(typed)), None, "{typed:?}");
        }
    }
}
