//! Predictions as they were written in code, until every lesson has them in its `course.toml`.

use super::{Answer, Asked, Guess, Story, questions};

/// One option of a [`Prediction`].
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// What the reader chooses.
    pub text: &'a str,
    /// For a wrong option: the answer to the idea behind it.
    pub answer_to_wrong: Option<&'a str>,
}

/// A question with options.
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
    /// Its unit.
    pub unit: &'a str,
    /// A guess counts as right within this factor.
    pub within: f64,
    /// Why it is right, in a sentence or two.
    pub because: &'a str,
}

/// What [`Story::predict`] takes: the id of a prediction in `course.toml`, or for now a [`Prediction`].
pub trait Predictable {
    /// Asks and answers it.
    fn predict(self, story: &mut Story) -> Guess;
}

impl Predictable for &str {
    #[track_caller]
    fn predict(self, story: &mut Story) -> Guess {
        story.predict_with(self, &[])
    }
}

impl Predictable for Prediction<'_> {
    fn predict(self, story: &mut Story) -> Guess {
        let guess = story.ask_old(&self);
        story.reveal_old(&self, guess);
        guess
    }
}

impl Prediction<'_> {
    fn texts(&self) -> questions::Prediction {
        let words = |option: &Choice<'_>| option.answer_to_wrong.unwrap_or_default().to_string();
        questions::Prediction {
            id: self.id.into(),
            question: self.question.into(),
            options: self.options.iter().map(|option| option.text.into()).collect(),
            answer: Some(self.answer as f64),
            because: self.because.into(),
            answers: self.options.iter().map(words).collect(),
            ..Default::default()
        }
    }
}

impl Story {
    /// Asks a prediction that is written in code.
    pub fn ask_old(&mut self, prediction: &Prediction<'_>) -> Guess {
        self.ask_texts(prediction.texts()).guess
    }

    /// Answers a prediction that is written in code.
    pub fn reveal_old(&mut self, prediction: &Prediction<'_>, guess: Guess) {
        let prediction = prediction.texts();
        self.reveal_texts(Asked { prediction, guess }, Answer::Stated);
    }

    /// Asks and answers a number that is written in code.
    pub fn predict_number(&mut self, prediction: NumberPrediction<'_>) -> Guess {
        let asked = self.ask_texts(questions::Prediction {
            id: prediction.id.into(),
            question: prediction.question.into(),
            unit: prediction.unit.into(),
            within: prediction.within,
            answer: Some(prediction.answer),
            because: prediction.because.into(),
            ..Default::default()
        });
        self.reveal_texts(asked, Answer::Stated)
    }
}
