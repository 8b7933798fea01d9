//! Refuses a measured figure that is typed into a page: it would stay when its record changes.
//!
//! Most numbers of a page are counted, given or computed by hand, and no program can tell them from measured ones. Two
//! forms are always measured:
//!
//! | form | example | right |
//! |---|---|---|
//! | a decimal factor that compares two times | 1.3 times as long | `{{#rows 8}} times as long`, `{{#recorded 06 …}} times faster` |
//! | a decimal with a unit of time, rate or share, in a sentence that says measured or recorded | recorded: 0.45 ms | `{{#recorded 05 …}} ms` |
//!
//! A figure in such a form that is not measured stands in `{{#given "1.3 times"}}`. Placeholders, formulas and code are
//! not looked at.

/// Words after "1.3 times" that make it a comparison of two times.
const COMPARED: [&str; 8] = ["as", "one", "faster", "slower", "longer", "less", "that", "the"];
const UNITS: [&str; 7] = ["ms", "µs", "s", "seconds", "%", "GB/s", "GFLOP/s"];
const SAID: [&str; 2] = ["measured", "recorded"];

/// The first measured figure that is typed into a line outside of code, and what to write instead.
pub fn figure(line: &str) -> Option<String> {
    let text = without_marks(line);
    let words: Vec<&str> = text.split_whitespace().map(plain).collect();
    // A sentence ends behind a word with a full stop; a decimal has its point inside.
    let mut sentence = 0;
    for (at, word) in text.split_whitespace().enumerate() {
        let ends = word.ends_with(['.', '?', '!']) || at + 1 == words.len();
        if !ends {
            continue;
        }
        if let Some(found) = in_sentence(&words[sentence..=at]) {
            return Some(format!(
                "{found:?} is a measured figure typed by hand; fill it from a record with {{{{#recorded …}}}} or {{{{#rows …}}}}, or \
                 write {{{{#given \"{found}\"}}}} if it is not measured"
            ));
        }
        sentence = at + 1;
    }
    None
}

fn in_sentence(words: &[&str]) -> Option<String> {
    let is_measured = words.iter().any(|word| SAID.contains(word));
    words.windows(2).enumerate().find_map(|(at, pair)| {
        let after = words.get(at + 2).copied().unwrap_or_default();
        let is_factor = pair[1] == "times" && COMPARED.contains(&after);
        let is_quantity = is_measured && UNITS.contains(&pair[1]);
        (is_decimal(pair[0]) && (is_factor || is_quantity)).then(|| format!("{} {}", pair[0], pair[1]))
    })
}

fn is_decimal(word: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once('.')
        .is_some_and(|(whole, part)| is_digits(whole) && is_digits(part))
}

/// A word without the punctuation around it.
fn plain(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '%')
}

/// The line with placeholders, formulas and code replaced by a letter.
fn without_marks(line: &str) -> String {
    let mut out = line.to_owned();
    for (open, close) in [("{{#", "}}"), ("$", "$"), ("`", "`")] {
        let mut kept = String::new();
        let mut rest = out.as_str();
        while let Some((before, from)) = rest.split_once(open) {
            let Some((_, after)) = from.split_once(close) else {
                break;
            };
            kept += before;
            kept += " x ";
            rest = after;
        }
        out = kept + rest;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_measured_figure_is_refused() {
        for line in [
            "8, 32 and 128 rows cost about 1.3, 2.4 and 7.3 times as much as one.",
            "A batch of eight takes **1.3 times** as long.",
            "128 new tokens came 5.8 times faster, near what we calculated.",
            "By hand 2. On the recorded machine a token took 0.45 ms.",
        ] {
            assert!(figure(line).is_some(), "{line}");
        }
        let said = figure("They cost 1.3 times one row.").expect("it is typed");
        assert!(
            said.starts_with("\"1.3 times\" is a measured figure") && said.contains("{{#rows …}}"),
            "{said}"
        );
    }

    #[test]
    fn counted_given_and_filled_figures_pass() {
        for line in [
            "71 times fewer rows, and nowhere near 71 times as fast.",
            "They cost {{#rows 8}} and {{#rows 128}} times as much as one.",
            "By hand: 46.1 MB / 48 GB/s = 0.96 ms, once.",
            "On the recorded machine it took {{#recorded 05 steps.Opening.values.first_ms:.2}} ms.",
            "By hand 0.96 ms. What was measured is in the chart.",
            "The claim is {{#given \"2.3 times\"}} as many.",
            "$1.3$ times as long, `2.4 times as`",
        ] {
            assert_eq!(figure(line), None, "{line}");
        }
    }
}
