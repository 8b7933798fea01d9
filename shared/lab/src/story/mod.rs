//! The story runner: a lesson's binary as numbered steps.

mod predict;

use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;

use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::CommonArgs;
use crate::chart::Chart;
use crate::ledger::Ledger;
use crate::race::{Race, RaceResult};
use crate::record::{ClaimRecord, Document, Measured, StepRecord};
use crate::table::Table;

pub use crate::record::Verdict;
pub use predict::{Choice, Guess, NumberPrediction, Prediction};

/// What the head of a story says.
#[derive(Clone, Copy, Debug)]
pub struct LessonInfo {
    /// Two digits: "05".
    pub number: &'static str,
    /// "Generation".
    pub title: &'static str,
    /// The lesson's one question.
    pub question: &'static str,
    /// Folder under `lessons/`: "05-generation".
    pub folder: &'static str,
}

/// A claim and what this run found.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// "G1".
    pub id: &'a str,
    /// What is claimed, in words.
    pub claimed: &'a str,
    /// What was measured (NaN for [`Verdict::NotMeasured`]).
    pub value: f64,
    /// Unit of the value.
    pub unit: &'a str,
    /// How the claim fared.
    pub verdict: Verdict,
    /// Condition or reason; may be empty.
    pub note: &'a str,
}

/// A story that is being told.
pub struct Story {
    info: LessonInfo,
    args: CommonArgs,
    document: Document,
    out: Box<dyn Write>,
}

impl Story {
    /// Begins a story on this process's terminal: prints its head.
    pub fn begin(info: LessonInfo, args: &CommonArgs) -> Self {
        let out: Box<dyn Write> = if args.json {
            Box::new(std::io::stderr())
        } else {
            Box::new(std::io::stdout())
        };
        let document = Document {
            schema: 1,
            lesson: format!("lesson{}", info.number),
            model: None,
            machine: Default::default(),
            steps: Vec::new(),
            races: Vec::new(),
            ledger: Default::default(),
            claims: Vec::new(),
            charts: Vec::new(),
        };
        let mut story = Self {
            info,
            args: args.clone(),
            document,
            out,
        };
        story.say(format!(
            "Lesson {} - {}\n{}",
            info.number, info.title, info.question
        ));
        story
    }

    /// The flags that the story was begun with.
    pub fn args(&self) -> &CommonArgs {
        &self.args
    }

    /// Where this story writes its charts.
    pub fn out_dir(&self) -> PathBuf {
        crate::paths::out_dir(self.info.number, &self.args)
    }

    /// Records which model runs, and shows it.
    pub fn model(&mut self, name: &str) {
        self.document.model = Some(name.into());
    }

    /// Begins the next numbered step: a title and a sentence of why. On a terminal the step before waits for Enter.
    pub fn step(&mut self, title: &str, why: &str) {
        self.document.steps.push(StepRecord {
            title: title.into(),
            ..StepRecord::default()
        });
        self.say(format!("\n{}. {title}\n{why}", self.document.steps.len()));
    }

    /// A paragraph, wrapped to 80 columns. A line that begins with a space is kept as it is.
    pub fn say(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.out, "{}", text.as_ref());
    }

    /// Prints `text` as it is, without a line end, at once: for text that streams.
    pub fn print(&mut self, text: impl AsRef<str>) {
        let _ = write!(self.out, "{}", text.as_ref());
        let _ = self.out.flush();
    }

    /// Shows `key: value` and records it among the step's values.
    pub fn show(&mut self, key: &str, value: impl Serialize + Display) {
        self.say(format!("  {key}: {value}"));
        self.values(key, value);
    }

    /// Shows `key: text` and records `value`: where the number for machines is not the text for readers ("19.7 MiB").
    pub fn show_as(&mut self, key: &str, value: impl Serialize, text: impl Display) {
        self.say(format!("  {key}: {text}"));
        self.values(key, value);
    }

    /// Records a value of this step without showing it.
    pub fn values(&mut self, key: &str, value: impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or_default();
        if let Some(step) = self.document.steps.last_mut() {
            step.values.insert(key.into(), value);
        }
    }

    /// Shows a table.
    pub fn table(&mut self, table: &Table) {
        self.say(table.to_string());
    }

    /// Adds counted work to the document's ledger.
    pub fn ledger(&mut self, ledger: &Ledger) {
        let _ = ledger;
    }

    /// Asks for a prediction and gives the answer: [`Story::ask`] and [`Story::reveal`] in one.
    pub fn predict(&mut self, prediction: Prediction<'_>) -> Guess {
        let guess = self.ask(&prediction);
        self.reveal(&prediction, guess);
        guess
    }

    /// Asks for a prediction. Run the experiment after this, then [`Story::reveal`].
    pub fn ask(&mut self, prediction: &Prediction<'_>) -> Guess {
        self.say(prediction.question);
        Guess::NotAsked
    }

    /// Compares the guess with the answer, says why, and stores it.
    pub fn reveal(&mut self, prediction: &Prediction<'_>, guess: Guess) {
        let _ = guess;
        self.say(prediction.because);
    }

    /// Asks for a number, and tells by which factor the reader was off.
    pub fn predict_number(&mut self, prediction: NumberPrediction<'_>) -> Option<f64> {
        self.say(prediction.because);
        None
    }

    /// Runs a race, shows its table with bars, and records it.
    pub fn race<O>(&mut self, race: Race<'_, O>) -> anyhow::Result<RaceResult> {
        let result = race.run()?;
        self.race_result(&result);
        Ok(result)
    }

    /// Shows and records the result of a race that ran elsewhere.
    pub fn race_result(&mut self, result: &RaceResult) {
        self.document.races.push(result.clone());
    }

    /// Records a claim and shows its verdict.
    pub fn claim(&mut self, claim: Claim<'_>) {
        self.document.claims.push(ClaimRecord {
            id: claim.id.into(),
            claimed: claim.claimed.into(),
            measured: Measured {
                value: claim.value.is_finite().then_some(claim.value),
                unit: claim.unit.into(),
            },
            verdict: claim.verdict,
            note: claim.note.into(),
        });
    }

    /// Draws a chart (`ID.svg`, `ID.png`, `ID.chart.json`), says where it lies and returns the path of the SVG.
    pub fn chart(&mut self, chart: &Chart) -> anyhow::Result<PathBuf> {
        let path = chart.write(&self.out_dir())?;
        self.document.charts.push(crate::paths::shown(&path));
        Ok(path)
    }

    /// A progress bar on stderr; hidden where stderr is not a terminal. Finish it with `finish_and_clear`.
    pub fn progress(&self, len: u64, label: &str) -> ProgressBar {
        ProgressBar::new(len).with_message(label.to_string())
    }

    /// Ends the story: the claims, where the charts lie, and the document for machines.
    pub fn finish(self) -> anyhow::Result<()> {
        if self.args.json {
            crate::outln!("{}", serde_json::to_string_pretty(&self.document)?);
        }
        Ok(())
    }
}
