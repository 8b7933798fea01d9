//! Whose turn is it: `cargo bench -p ladder -- decode batch` starts every bench with the same words, and each takes its
//! own.

use criterion::Criterion;
use std::process::{Command, exit};

/// The benches. A word that begins with one of these names is for that bench alone.
const BENCHES: [&str; 6] = ["matmul", "decode", "batch", "sampler", "allocator", "schedule"];

/// Criterion's flags that are followed by a value.
const WITH_VALUE: [&str; 17] = [
    "-c",
    "--color",
    "-s",
    "--save-baseline",
    "-b",
    "--baseline",
    "--baseline-lenient",
    "--load-baseline",
    "--format",
    "--output-format",
    "--plotting-backend",
    "--profile-time",
    "--sample-size",
    "--warm-up-time",
    "--measurement-time",
    "--nresamples",
    "--noise-threshold",
];

/// What a bench does with the words that it was started with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Turn {
    /// Other benches are meant.
    Skip,
    /// Criterion understands the words as they are.
    Run,
    /// Criterion takes one filter; these words say the same with one.
    Again(Vec<String>),
}

/// How a bench runs.
pub struct Bench {
    /// With the reader's flags.
    pub criterion: Criterion,
    /// Each measurement once, to see that it works: `--test`. (`--list` measures nothing at all.)
    pub is_trial: bool,
    /// Whether criterion only lists its measurements.
    pub is_list: bool,
}

/// Takes this bench's turn; `None` when others are meant.
///
/// ```no_run
/// let Some(bench) = ladder::turn::take("matmul") else { return };
/// ```
pub fn take(name: &str) -> Option<Bench> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match turn(name, &words) {
        Turn::Skip => None,
        Turn::Again(words) => {
            let program = std::env::current_exe().expect("the path of this program");
            let status = Command::new(program).args(words).status();
            exit(status.ok().and_then(|status| status.code()).unwrap_or(1));
        }
        Turn::Run => {
            // Criterion's report draws with plotters, which needs a font.
            lab::chart::font::register();
            let has = |flag: &str| words.iter().any(|word| word == flag);
            Some(Bench {
                criterion: Criterion::default().configure_from_args(),
                is_trial: has("--test"),
                is_list: has("--list"),
            })
        }
    }
}

fn turn(name: &str, words: &[String]) -> Turn {
    let (mut flags, mut filters) = (Vec::new(), Vec::new());
    let mut is_value = false;
    for word in words {
        if is_value || word.starts_with('-') {
            is_value = !is_value && WITH_VALUE.contains(&word.as_str());
            flags.push(word.clone());
        } else {
            filters.push(word.as_str());
        }
    }
    let is_for = |filter: &&str, bench: &str| filter.starts_with(bench);
    let named = |filter: &&str| BENCHES.iter().any(|bench| is_for(filter, bench));
    let mine: Vec<&str> = filters
        .iter()
        .filter(|filter| is_for(filter, name) || !named(filter))
        .copied()
        .collect();
    if mine.is_empty() && !filters.is_empty() {
        Turn::Skip
    } else if filters.len() <= 1 {
        Turn::Run
    } else {
        // A filter is a regular expression.
        flags.push(mine.join("|"));
        Turn::Again(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn_of(name: &str, words: &str) -> Turn {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        turn(name, &words)
    }

    fn again(words: &str) -> Turn {
        Turn::Again(words.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn one_name_selects_one_bench() {
        assert_eq!(turn_of("decode", "decode --bench"), Turn::Run);
        assert_eq!(turn_of("batch", "decode --bench"), Turn::Skip);
        assert_eq!(turn_of("matmul", "--bench"), Turn::Run);
    }

    #[test]
    fn two_names_select_two_benches() {
        assert_eq!(turn_of("decode", "decode batch --bench"), again("--bench decode"));
        assert_eq!(turn_of("batch", "decode batch --bench"), again("--bench batch"));
        assert_eq!(turn_of("matmul", "decode batch --bench"), Turn::Skip);
    }

    #[test]
    fn three_names_select_three_benches() {
        for name in ["sampler", "allocator", "schedule"] {
            let flags_and_name = format!("--bench {name}");
            let turn = turn_of(name, "sampler allocator schedule --bench");
            assert_eq!(turn, again(&flags_and_name));
        }
        assert_eq!(turn_of("decode", "sampler allocator schedule --bench"), Turn::Skip);
    }

    #[test]
    fn other_words_are_filters_for_all_and_values_are_no_words() {
        assert_eq!(turn_of("matmul", "135m"), Turn::Run);
        assert_eq!(turn_of("batch", "batch/1 batch/8"), again("batch/1|batch/8"));
        assert_eq!(turn_of("batch", "--save-baseline decode"), Turn::Run);
        assert_eq!(turn_of("batch", "--test decode"), Turn::Skip);
    }
}
