//! Inside a step: values, tables, predictions.

use std::fmt::Display;

use serde::Serialize;

use super::questions::Values;
use super::{Answer, Asked, Guess, Story, head, predict};
use crate::ledger::Ledger;
use crate::record::StepRecord;
use crate::table::Table;
use crate::term::{Tone, WIDTH};

impl Story {
    /// Shows `key: value` and records it among the step's values.
    pub fn show(&mut self, key: &str, value: impl Serialize + Display) {
        head::value(&mut self.screen, key, &value.to_string());
        self.values(key, value);
    }

    /// Shows `key: text` and records `value`: where the number for machines is not the text for readers ("19.7 MiB").
    pub fn show_as(&mut self, key: &str, value: impl Serialize, text: impl Display) {
        head::value(&mut self.screen, key, &text.to_string());
        self.values(key, value);
    }

    /// Records a value of this step without showing it. Before the first step, it belongs to a step named "Opening".
    pub fn values(&mut self, key: &str, value: impl Serialize) {
        if self.document.steps.is_empty() {
            self.document.steps.push(StepRecord {
                title: "Opening".into(),
                ..StepRecord::default()
            });
        }
        let value = serde_json::to_value(value).unwrap_or_default();
        if let Some(step) = self.document.steps.last_mut() {
            step.values.insert(key.into(), value);
        }
    }

    /// Shows a table, indented where it fits.
    pub fn table(&mut self, table: &Table) {
        let indent = if table.width() + head::INDENT.len() <= WIDTH {
            head::INDENT
        } else {
            ""
        };
        self.screen.line("");
        for (index, row) in table.to_string().lines().enumerate() {
            let tone = if index < 2 { Tone::Dim } else { Tone::Plain };
            let line = format!("{indent}{}", self.screen.paint(tone, row));
            self.screen.line(&line);
        }
        self.screen.line("");
    }

    /// Shows a table with these column names and a row for each item.
    #[track_caller]
    pub fn rows<C: Display, R: IntoIterator<Item = C>>(&mut self, header: &[&str], rows: impl IntoIterator<Item = R>) {
        self.table(&Table::of(header, rows));
    }

    /// Adds counted work to the document's ledger.
    pub fn ledger(&mut self, ledger: &Ledger) {
        ledger.add_to(&mut self.document.ledger);
    }

    /// Asks a prediction of `course.toml` and gives the answer that stands there.
    ///
    /// # Panics
    /// As [`Story::ask`] and [`Story::reveal`].
    #[track_caller]
    pub fn predict(&mut self, id: &str) -> Guess {
        self.predict_with(id, &[])
    }

    /// [`Story::predict`] for texts with placeholders.
    #[track_caller]
    pub fn predict_with(&mut self, id: &str, values: Values<'_>) -> Guess {
        self.predict_measured(id, Answer::Stated, values)
    }

    /// Asks a prediction whose answer was measured before, and gives that answer.
    #[track_caller]
    pub fn predict_measured(&mut self, id: &str, answer: Answer, values: Values<'_>) -> Guess {
        let asked = self.ask(id, values);
        self.reveal(asked, answer, values)
    }

    /// A step that asks predictions on earlier lessons, "Two questions from before". `why` says what to do
    /// for readers that begin with this lesson.
    #[track_caller]
    pub fn recall(&mut self, why: &str, ids: &[&str]) {
        const COUNTS: [&str; 4] = ["One question", "Two questions", "Three questions", "Four questions"];
        self.step(&format!("{} from before", COUNTS[ids.len() - 1]), why);
        for id in ids {
            self.predict(id);
        }
    }

    /// Asks a prediction of `course.toml`. Run the experiment after this, then call [`Story::reveal`].
    ///
    /// # Panics
    /// If `course.toml` has no such prediction, or a placeholder of its question or options has no value.
    #[track_caller]
    pub fn ask(&mut self, id: &str, values: Values<'_>) -> Asked {
        let prediction = self.texts.prediction(id).asked(values);
        let guess = predict::ask(&mut self.screen, &prediction);
        Asked { prediction, guess }
    }

    /// Compares the reader's guess with the answer, says why, and stores the guess. `values` fills the texts of the
    /// answer.
    ///
    /// # Panics
    /// If the answer is of another kind than the question, or a placeholder of its texts has no value.
    #[track_caller]
    pub fn reveal(&mut self, asked: Asked, answer: Answer, values: Values<'_>) -> Guess {
        let guess = asked.guess;
        let prediction = asked.prediction.answered(values);
        let is_number = prediction.options.is_empty();
        let answer = match (answer, prediction.answer) {
            (Answer::Stated, Some(answer)) => answer,
            (Answer::Option(index), None) if index < prediction.options.len() => index as f64,
            (Answer::Number(number), None) if is_number => number,
            (answer, stated) => panic!(
                "prediction {:?}: {} options, answer {stated:?} in course.toml, and the story gives {answer:?}",
                prediction.id,
                prediction.options.len()
            ),
        };
        let is_right = predict::reveal(&mut self.screen, &prediction, answer, guess);
        let said = match guess {
            Guess::Option(index) => prediction.options[index].clone(),
            Guess::Number(number) => number.to_string(),
            Guess::Skipped | Guess::NotAsked => String::new(),
        };
        if let Some(is_right) = is_right {
            self.remember(&prediction.id, &said, is_right);
        }
        guess
    }

    fn remember(&mut self, id: &str, answer: &str, right: bool) {
        let key = format!("{}.{id}", self.info.number());
        if let Err(error) = self.memory.store(&key, answer, right) {
            // A story does not stop because an answer can not be stored.
            let line = format!("({}: not stored: {error})", crate::paths::shown(&self.memory.0));
            self.say_as(Tone::Dim, line);
        }
    }
}
