//! Inside a step: values, tables, predictions.

use std::fmt::Display;

use serde::Serialize;

use super::{Guess, NumberPrediction, Prediction, Story, head, predict};
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

    /// Adds counted work to the document's ledger.
    pub fn ledger(&mut self, ledger: &Ledger) {
        ledger.add_to(&mut self.document.ledger);
    }

    /// Asks for a prediction and gives the answer: [`Story::ask`] and [`Story::reveal`] in one.
    pub fn predict(&mut self, prediction: Prediction<'_>) -> Guess {
        let guess = self.ask(&prediction);
        self.reveal(&prediction, guess);
        guess
    }

    /// Asks for a prediction. Run the experiment after this, then [`Story::reveal`].
    ///
    /// # Panics
    /// If `answer` is not the index of an option: a slip in the lesson.
    #[track_caller]
    pub fn ask(&mut self, prediction: &Prediction<'_>) -> Guess {
        assert!(
            prediction.answer < prediction.options.len(),
            "prediction {}: the answer is one of the options",
            prediction.id
        );
        predict::ask(&mut self.screen, prediction)
    }

    /// Compares the guess with the answer, says why, and stores it.
    pub fn reveal(&mut self, prediction: &Prediction<'_>, guess: Guess) {
        predict::reveal(&mut self.screen, prediction, guess);
        if let Guess::Option(index) = guess {
            self.remember(
                prediction.id,
                prediction.options[index].text,
                index == prediction.answer,
            );
        }
    }

    /// Asks for a number, and tells by which factor the reader was off. `None`: nobody answered.
    pub fn predict_number(&mut self, prediction: NumberPrediction<'_>) -> Option<f64> {
        let guess = predict::ask_number(&mut self.screen, &prediction);
        predict::reveal_number(&mut self.screen, &prediction, guess);
        if let Some(number) = guess {
            self.remember(
                prediction.id,
                &number.to_string(),
                predict::is_within(number, &prediction),
            );
        }
        guess
    }

    fn remember(&mut self, id: &str, answer: &str, right: bool) {
        let key = format!("{}.{id}", self.info.number);
        if let Err(error) = self.memory.store(&key, answer, right) {
            // The story matters more than its notebook: say it once and go on.
            let line = format!("({}: not stored: {error})", crate::paths::shown(&self.memory.0));
            self.say_as(Tone::Dim, line);
        }
    }
}
