//! The lesson's texts in its `course.toml`: title, question and predictions.
//!
//! ```toml
//! [[predictions]]
//! id = "rows"                      # unique in the lesson
//! question = "How many rows does the loop compute for {tokens} tokens?"
//! options = ["64", "75", "2784"]
//! answer = 2                       # left out when the story measures which option is right
//! because = "The loop keeps nothing: 12 + 13 + … + 75."
//! answers = ["…", "…", ""]         # one text for each wrong option
//!
//! [[predictions]]
//! id = "speed"
//! question = "By which factor is the cache faster?"
//! unit = "times"                   # a number instead of options
//! within = 1.5                     # a guess within this factor is right; left out: 1, the exact number
//! answer = 12                      # left out when the story measures it
//! because = "…"
//! ```
//!
//! Every text may hold placeholders (`{tokens}`: small letters, digits and `_`), which the story fills.

use std::fmt::Display;

use serde::Deserialize;

/// The parts of a `course.toml` that the story shows.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Texts {
    pub(super) title: String,
    pub(super) question: String,
    #[serde(default)]
    pub(super) predictions: Vec<Prediction>,
}

/// One prediction, with its placeholders or filled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prediction {
    pub(super) id: String,
    pub(super) question: String,
    /// Empty where a number is asked.
    #[serde(default)]
    pub(super) options: Vec<String>,
    /// Unit of the number; empty where options are given.
    #[serde(default)]
    pub(super) unit: String,
    /// Factor within which a guessed number is right.
    #[serde(default = "exact")]
    pub(super) within: f64,
    /// The right number, or the index of the right option.
    pub(super) answer: Option<f64>,
    pub(super) because: String,
    /// For each option, what is said to a reader that chose it wrongly.
    #[serde(default)]
    pub(super) answers: Vec<String>,
}

fn exact() -> f64 {
    1.0
}

impl Texts {
    /// Reads the text of a `course.toml`.
    ///
    /// # Panics
    /// If it is not valid: the file is compiled into the lesson, so this is a fault of the lesson.
    pub(super) fn read(course_toml: &str) -> Self {
        toml::from_str(course_toml).unwrap_or_else(|error| panic!("course.toml: {error}"))
    }

    /// The prediction with this id.
    ///
    /// # Panics
    /// If there is none: a fault of the lesson.
    #[track_caller]
    pub(super) fn prediction(&self, id: &str) -> Prediction {
        let found = self.predictions.iter().find(|prediction| prediction.id == id);
        found
            .unwrap_or_else(|| panic!("course.toml has no prediction {id:?}"))
            .clone()
    }
}

impl Prediction {
    /// The same with all placeholders of `question` and `options` filled: what the reader sees before the answer.
    #[track_caller]
    pub(super) fn asked(mut self, values: Values<'_>) -> Self {
        self.question = fill(&self.id, &self.question, values);
        for option in &mut self.options {
            *option = fill(&self.id, option, values);
        }
        self
    }

    /// The same with all placeholders of `because` and `answers` filled: what the reader sees with the answer.
    #[track_caller]
    pub(super) fn answered(mut self, values: Values<'_>) -> Self {
        self.because = fill(&self.id, &self.because, values);
        for answer in &mut self.answers {
            *answer = fill(&self.id, answer, values);
        }
        self
    }

    /// What is wrong with this prediction, if anything is.
    fn fault(&self) -> Option<String> {
        let is_number = self.options.is_empty();
        let index = self.answer.map(|answer| answer as usize);
        let is_index = |answer: f64| answer.fract() == 0.0 && (0.0..self.options.len() as f64).contains(&answer);
        let unanswered = |(at, answer): (usize, &String)| answer.is_empty() && index != Some(at);
        if self.question.is_empty() || self.because.is_empty() {
            Some("expected texts in `question` and `because`".into())
        } else if is_number && (self.unit.is_empty() || self.within < 1.0 || !self.answers.is_empty()) {
            Some("expected `options`, or a `unit` with `within` of at least 1 and no `answers`".into())
        } else if is_number {
            None
        } else if self.options.len() < 2 || !self.unit.is_empty() {
            Some("expected at least two `options` and no `unit`".into())
        } else if self.answer.is_some_and(|answer| !is_index(answer)) {
            Some(format!("expected an `answer` below {}", self.options.len()))
        } else if self.answers.len() != self.options.len() || self.answers.iter().enumerate().any(unanswered) {
            Some("expected one text in `answers` for each option (empty for the right one)".into())
        } else {
            None
        }
    }
}

/// Values for the placeholders of a prediction, by name: `&[("rows", &2784)]`.
pub type Values<'a> = &'a [(&'a str, &'a dyn Display)];

/// `text` with each placeholder replaced by its value.
///
/// # Panics
/// If a placeholder has no value: a fault of the lesson.
#[track_caller]
fn fill(id: &str, text: &str, values: Values<'_>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = next_placeholder(rest) {
        let value = values.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        let value = value.unwrap_or_else(|| panic!("prediction {id:?}: the story gives no value for {{{name}}}"));
        filled.push_str(before);
        filled.push_str(&value.to_string());
        rest = after;
    }
    filled + rest
}

/// The text before the first placeholder, its name, and the text after it. Other braces are text.
fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.match_indices('{').find_map(|(at, _)| {
        let (name, after) = text[at + 1..].split_once('}')?;
        let is_placeholder = !name.is_empty() && name.chars().all(is_name);
        is_placeholder.then_some((&text[..at], name, after))
    })
}

/// Checks the predictions of a `course.toml`; a test of this crate calls it for every lesson.
///
/// # Panics
/// If the file can not be read, an id stands twice, or a prediction is not complete. The message names the prediction.
#[track_caller]
pub fn check_predictions(course_toml: &str) {
    let texts = Texts::read(course_toml);
    for (at, prediction) in texts.predictions.iter().enumerate() {
        let id = &prediction.id;
        let is_repeated = texts.predictions[..at].iter().any(|earlier| earlier.id == *id);
        assert!(
            !id.is_empty() && !is_repeated,
            "prediction {}: expected an id of its own, found {id:?}",
            at + 1
        );
        if let Some(fault) = prediction.fault() {
            panic!("prediction {id:?}: {fault}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "title = \"T\"\nquestion = \"Q?\"\n";

    fn prediction(keys: &str) -> String {
        format!("{HEAD}[[predictions]]\nid = \"rows\"\nquestion = \"How many?\"\nbecause = \"Counted.\"\n{keys}")
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_stay() {
        let values: Values<'_> = &[("rows", &75), ("name_2", &"x")];
        assert_eq!(fill("id", "{rows} of {name_2}, {rows}", values), "75 of x, 75");
        assert_eq!(fill("id", "{} {A} { {rows}", values), "{} {A} { 75");
    }

    #[test]
    #[should_panic(expected = "prediction \"rows\": the story gives no value for {rows}")]
    fn a_placeholder_without_a_value_is_a_fault() {
        fill("rows", "{rows}", &[]);
    }

    #[test]
    #[should_panic(expected = "course.toml has no prediction \"columns\"")]
    fn an_unknown_id_is_a_fault() {
        Texts::read(HEAD).prediction("columns");
    }

    #[test]
    fn complete_predictions_pass() {
        check_predictions(&prediction(
            "options = [\"1\", \"2\"]\nanswer = 1\nanswers = [\"No.\", \"\"]\n",
        ));
        check_predictions(&prediction("options = [\"1\", \"2\"]\nanswers = [\"No.\", \"No.\"]\n"));
        check_predictions(&prediction("unit = \"rows\"\nwithin = 1.5\n"));
        check_predictions(&prediction("unit = \"rows\"\nanswer = 12\n"));
    }

    #[test]
    fn incomplete_predictions_are_refused_with_a_reason() {
        let refused = |keys: &str, expected: &str| {
            let text = prediction(keys);
            let fault = Texts::read(&text).prediction("rows").fault().unwrap_or_default();
            assert!(fault.contains(expected), "{keys}: {fault}");
        };
        refused("", "expected `options`, or a `unit`");
        refused("unit = \"rows\"\nwithin = 0.5\n", "at least 1");
        refused("options = [\"1\"]\nanswers = [\"\"]\nanswer = 0\n", "at least two");
        refused(
            "options = [\"1\", \"2\"]\nanswers = [\"No.\", \"\"]\nanswer = 2\n",
            "below 2",
        );
        refused(
            "options = [\"1\", \"2\"]\nanswers = [\"No.\", \"\"]\nanswer = 0\n",
            "one text",
        );
        refused("options = [\"1\", \"2\"]\nanswers = [\"No.\", \"\"]\n", "one text");
    }

    #[test]
    #[should_panic(expected = "prediction 2: expected an id of its own, found \"rows\"")]
    fn an_id_stands_once() {
        let one = prediction("unit = \"rows\"\n");
        check_predictions(&(one.clone() + &one[HEAD.len()..]));
    }
}
