//! Predictions: asked before the answer, stored, compared.

/// One option of a [`Prediction`].
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// What the reader chooses.
    pub text: &'a str,
    /// For a wrong option: the answer to the idea behind it.
    pub answer_to_wrong: Option<&'a str>,
}

/// A question with options a, b, c, … and one right answer.
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
