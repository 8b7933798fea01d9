//! Predictions: asked before the answer, compared, stored.

use crate::term::{Tone, WIDTH, wrap};

use super::head::{INDENT, paragraph};
use super::screen::Screen;
use super::typed::{half_width, parse_number, parse_option};

/// One option of a [`Prediction`].
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// What the reader chooses.
    pub text: &'a str,
    /// For a wrong option: the answer to the idea behind it.
    pub answer_to_wrong: Option<&'a str>,
}

/// A question with options a, b, c, … and one right answer. Ask for counts, orders and factors, never for milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Prediction<'a> {
    /// Stable name within the lesson.
    pub id: &'a str,
    /// The question.
    pub question: &'a str,
    /// The options, in the order shown.
    pub options: &'a [Choice<'a>],
    /// Index of the right option.
    pub answer: usize,
    /// Why it is right, in a sentence or two.
    pub because: &'a str,
}

/// A question whose answer is a count or a factor.
#[derive(Clone, Copy, Debug)]
pub struct NumberPrediction<'a> {
    /// Stable name within the lesson.
    pub id: &'a str,
    /// The question.
    pub question: &'a str,
    /// The right number.
    pub answer: f64,
    /// Its unit: "rows", "times".
    pub unit: &'a str,
    /// A guess counts as right within this factor (1.0: exactly).
    pub within: f64,
    /// Why it is right, in a sentence or two.
    pub because: &'a str,
}

/// What the reader answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// The index of an option.
    Option(usize),
    /// Enter without an answer.
    Skipped,
    /// No terminal, or `--no-pause`: nobody was asked.
    NotAsked,
}

/// How often a reader may mistype before the story goes on.
const TRIES: usize = 3;

fn letter(index: usize) -> char {
    (b'a' + index as u8) as char
}

pub(super) fn ask(screen: &mut Screen, prediction: &Prediction<'_>) -> Guess {
    question(screen, prediction.question);
    for (index, option) in prediction.options.iter().enumerate() {
        for (at, part) in wrap(option.text, WIDTH - INDENT.len() - 7).into_iter().enumerate() {
            let mark = if at == 0 {
                format!("{}) ", letter(index))
            } else {
                "   ".into()
            };
            let line = format!("{INDENT}    {}{part}", screen.paint(Tone::Accent, &mark));
            screen.line(&line);
        }
    }
    let last = letter(prediction.options.len().saturating_sub(1));
    let prompt = format!("{INDENT}  Your answer, a to {last} (Enter: skip) > ");
    for _ in 0..TRIES {
        let Some(typed) = screen.ask(&prompt) else {
            return Guess::NotAsked;
        };
        let typed = half_width(&typed);
        if typed.is_empty() {
            return Guess::Skipped;
        }
        if let Some(index) = parse_option(&typed, prediction.options.len()) {
            return Guess::Option(index);
        }
        paragraph(screen, &format!("Type one letter, a to {last}."), Tone::Warn);
    }
    Guess::Skipped
}

pub(super) fn reveal(screen: &mut Screen, prediction: &Prediction<'_>, guess: Guess) {
    let right = prediction.options[prediction.answer].text;
    let answer = format!("{}) {right}", letter(prediction.answer));
    match guess {
        Guess::Option(index) if index == prediction.answer => {
            verdict(screen, Tone::Good, &format!("✓ You said {answer}. Right."))
        }
        Guess::Option(index) => {
            verdict(
                screen,
                Tone::Bad,
                &format!(
                    "✗ You said {}) {}. It is {answer}.",
                    letter(index),
                    prediction.options[index].text
                ),
            );
            if let Some(words) = prediction.options[index].answer_to_wrong {
                paragraph(screen, words, Tone::Plain);
            }
        }
        Guess::Skipped | Guess::NotAsked => verdict(screen, Tone::Strong, &format!("→ {answer}")),
    }
    paragraph(screen, prediction.because, Tone::Plain);
}

pub(super) fn ask_number(screen: &mut Screen, prediction: &NumberPrediction<'_>) -> Option<f64> {
    question(screen, prediction.question);
    let prompt = format!("{INDENT}  Your number, in {} (Enter: skip) > ", prediction.unit);
    for _ in 0..TRIES {
        let typed = half_width(&screen.ask(&prompt)?);
        if typed.is_empty() {
            return None;
        }
        if let Some(number) = parse_number(&typed) {
            return Some(number);
        }
        paragraph(screen, "Type a number, like 75 or 2.5 or 10k.", Tone::Warn);
    }
    None
}

pub(super) fn reveal_number(screen: &mut Screen, prediction: &NumberPrediction<'_>, guess: Option<f64>) {
    let shown = |value: f64| format!("{} {}", exact(value), prediction.unit);
    let answer = shown(prediction.answer);
    match guess {
        Some(number) if is_within(number, prediction) => verdict(
            screen,
            Tone::Good,
            &format!("✓ You said {}. It is {answer}.", shown(number)),
        ),
        Some(number) => {
            let factor = prediction.answer / number;
            let far = match factor {
                _ if !factor.is_finite() || factor <= 0.0 => String::new(),
                _ if factor >= 1.0 => format!(" You were too low by a factor of {}.", crate::number::short(factor)),
                _ => format!(
                    " You were too high by a factor of {}.",
                    crate::number::short(1.0 / factor)
                ),
            };
            verdict(
                screen,
                Tone::Bad,
                &format!("✗ You said {}. It is {answer}.{far}", shown(number)),
            );
        }
        None => verdict(screen, Tone::Strong, &format!("→ {answer}")),
    }
    paragraph(screen, prediction.because, Tone::Plain);
}

/// A count in full, anything else in three digits.
fn exact(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        return crate::number::grouped(value as u64);
    }
    crate::number::short(value)
}

/// Whether a guess counts as right.
pub(super) fn is_within(guess: f64, prediction: &NumberPrediction<'_>) -> bool {
    let slack = prediction.within.max(1.0) * (1.0 + 1e-9);
    let (low, high) = (prediction.answer / slack, prediction.answer * slack);
    (low.min(high)..=low.max(high)).contains(&guess)
}

fn question(screen: &mut Screen, text: &str) {
    screen.line("");
    for (index, part) in wrap(text, WIDTH - INDENT.len() - 2).into_iter().enumerate() {
        let mark = if index == 0 { "?" } else { " " };
        let line = format!(
            "{INDENT}{} {}",
            screen.paint(Tone::Accent, mark),
            screen.paint(Tone::Strong, &part)
        );
        screen.line(&line);
    }
}

fn verdict(screen: &mut Screen, tone: Tone, text: &str) {
    paragraph(screen, text, tone);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_right_within_its_factor() {
        let of = |within| NumberPrediction {
            id: "",
            question: "",
            answer: 100.0,
            unit: "",
            within,
            because: "",
        };
        assert!(is_within(100.0, &of(1.0)) && !is_within(99.0, &of(1.0)));
        assert!(is_within(50.0, &of(2.0)) && is_within(200.0, &of(2.0)));
        assert!(!is_within(49.0, &of(2.0)) && !is_within(201.0, &of(2.0)) && !is_within(-100.0, &of(2.0)));
    }
}
