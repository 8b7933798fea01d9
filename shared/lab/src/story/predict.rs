//! How a prediction is asked and answered on a screen.

use crate::term::{Tone, WIDTH, wrap};

use super::head::{INDENT, paragraph};
use super::questions::Prediction;
use super::screen::Screen;
use super::typed::{half_width, parse_number, parse_option};

/// What the reader answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guess {
    /// The index of an option.
    Option(usize),
    /// A number.
    Number(f64),
    /// Enter without an answer.
    Skipped,
    /// The story runs without a terminal or with `--no-pause`, so it did not ask.
    NotAsked,
}

/// The right answer of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The answer that stands in `course.toml`.
    Stated,
    /// The index of the option that the story found to be right.
    Option(usize),
    /// The number that the story measured.
    Number(f64),
}

/// Number of answers that can not be read before the story goes on.
const TRIES: usize = 3;

fn letter(index: usize) -> char {
    (b'a' + index as u8) as char
}

/// Shows the question with its options and reads a guess.
pub(super) fn ask(screen: &mut Screen, prediction: &Prediction) -> Guess {
    question(screen, prediction);
    let num_options = prediction.options.len();
    let last = letter(num_options.saturating_sub(1));
    let (wanted, correction) = match num_options {
        0 => (
            format!("Your number, in {}", prediction.unit),
            "Type a number, like 75 or 2.5 or 10k.".to_string(),
        ),
        _ => (
            format!("Your answer, a to {last}"),
            format!("Type one letter, a to {last}."),
        ),
    };
    for _ in 0..TRIES {
        let Some(typed) = screen.ask(&format!("{INDENT}  {wanted} (Enter: skip) > ")) else {
            return Guess::NotAsked;
        };
        let typed = half_width(&typed);
        let guess = match num_options {
            _ if typed.is_empty() => Some(Guess::Skipped),
            0 => parse_number(&typed).map(Guess::Number),
            _ => parse_option(&typed, num_options).map(Guess::Option),
        };
        if let Some(guess) = guess {
            return guess;
        }
        paragraph(screen, &correction, Tone::Warn);
    }
    Guess::Skipped
}

fn question(screen: &mut Screen, prediction: &Prediction) {
    screen.line("");
    marked(screen, "? ", &prediction.question, 0, Tone::Strong);
    for (index, option) in prediction.options.iter().enumerate() {
        marked(screen, &format!("{}) ", letter(index)), option, 4, Tone::Plain);
    }
}

/// Text behind a mark, `indent` columns inside the step; its further lines begin below its first.
fn marked(screen: &mut Screen, mark: &str, text: &str, indent: usize, tone: Tone) {
    let columns = WIDTH - INDENT.len() - indent - mark.len();
    for (at, part) in wrap(text, columns).into_iter().enumerate() {
        let mark = if at == 0 { mark } else { &" ".repeat(mark.len()) };
        let line = format!(
            "{INDENT}{}{}{}",
            " ".repeat(indent),
            screen.paint(Tone::Accent, mark),
            screen.paint(tone, &part)
        );
        screen.line(&line);
    }
}

/// Compares the guess with the answer and says why. Whether the guess was right; `None` without a guess.
pub(super) fn reveal(screen: &mut Screen, prediction: &Prediction, answer: f64, guess: Guess) -> Option<bool> {
    let right = shown(prediction, answer);
    let is_right = match guess {
        Guess::Option(index) => Some(index as f64 == answer),
        Guess::Number(number) => Some(is_within(number, answer, prediction.within)),
        Guess::Skipped | Guess::NotAsked => None,
    };
    match (guess, is_right) {
        (Guess::Option(_), Some(true)) => paragraph(screen, &format!("✓ You said {right}. Right."), Tone::Good),
        (Guess::Option(index), _) => {
            let said = shown(prediction, index as f64);
            paragraph(screen, &format!("✗ You said {said}. It is {right}."), Tone::Bad);
            if let Some(words) = prediction.answers.get(index).filter(|words| !words.is_empty()) {
                paragraph(screen, words, Tone::Plain);
            }
        }
        (Guess::Number(number), Some(true)) => {
            let said = shown(prediction, number);
            paragraph(screen, &format!("✓ You said {said}. It is {right}."), Tone::Good);
        }
        (Guess::Number(number), _) => {
            let said = shown(prediction, number);
            let far = distance(number, answer);
            paragraph(screen, &format!("✗ You said {said}. It is {right}.{far}"), Tone::Bad);
        }
        _ => paragraph(screen, &format!("→ {right}"), Tone::Strong),
    }
    paragraph(screen, &prediction.because, Tone::Plain);
    is_right
}

/// An answer as the reader sees it: `b) 75`, or `75 rows`.
fn shown(prediction: &Prediction, answer: f64) -> String {
    match prediction.options.get(answer as usize) {
        Some(option) => format!("{}) {option}", letter(answer as usize)),
        // A count in full, anything else in three digits.
        None if answer.fract() == 0.0 && (0.0..1e15).contains(&answer) => {
            format!("{} {}", crate::number::grouped(answer as u64), prediction.unit)
        }
        None => format!("{} {}", crate::number::short(answer), prediction.unit),
    }
}

/// The factor between guess and answer, in words; empty where it has no meaning.
fn distance(guess: f64, answer: f64) -> String {
    let factor = answer / guess;
    match factor {
        _ if !factor.is_finite() || factor <= 0.0 => String::new(),
        _ if factor >= 1.0 => format!(" You were too low by a factor of {}.", crate::number::short(factor)),
        _ => format!(
            " You were too high by a factor of {}.",
            crate::number::short(1.0 / factor)
        ),
    }
}

/// Whether a guess is within a factor of the answer.
fn is_within(guess: f64, answer: f64, factor: f64) -> bool {
    let slack = factor.max(1.0) * (1.0 + 1e-9);
    let (low, high) = (answer / slack, answer * slack);
    (low.min(high)..=low.max(high)).contains(&guess)
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn a_guess_is_right_within_its_factor() {
        assert!(is_within(100.0, 100.0, 1.0) && !is_within(99.0, 100.0, 1.0));
        assert!(is_within(50.0, 100.0, 2.0) && is_within(200.0, 100.0, 2.0));
        assert!(!is_within(49.0, 100.0, 2.0) && !is_within(201.0, 100.0, 2.0) && !is_within(-100.0, 100.0, 2.0));
    }
}
