//! The story runner: a lesson's binary as numbered steps.
//!
//! What a step looks like on a terminal or a pipe (80 columns; colours only on a terminal, never with `NO_COLOR`):
//!
//! ```text
//!  1  Count the rows ────────────────────────────────────────────────────────────
//!    Every token recomputes all the rows before it.
//!    prompt tokens:             12
//!
//!    ? 64 new tokens after these: how many rows are computed?
//!        a) 64
//!        b) 75
//!        c) 2784
//!    → c) 2784
//!    The loop keeps nothing: 12 + 13 + … + 75.
//! ```
//!
//! ```no_run
//! # use lab::{chart::Chart, race::{Disturbance, Race}, story::{Answer, Claim, LessonInfo, Story, Verdict}};
//! # fn tell(story: &mut Story, race: Race<'_>) -> anyhow::Result<()> {
//! // Texts and answers of predictions stand in the lesson's course.toml.
//! story.recall("If you begin here, skip them with Enter.", &["recall-rows", "recall-memory"]);
//! story.predict("rows");                                       // the answer stands in course.toml, too
//! story.predict_with("rows-of", &[("tokens", &64)]);           // {tokens} in its texts
//! let asked = story.ask("faster", &[("rows", &2784)]);         // asks now …
//! let result = story.race(race)?;
//! let times = result.ratio("cached", "naive");
//! let right = if times < 2.0 { 0 } else { 1 };
//! story.reveal(asked, Answer::Option(right), &[("times", &format!("{times:.1}"))]);   // … and answers with what was measured
//! // A table with a row for each item; a chart with a line for each entry.
//! story.rows(&["length", "naive, ms"], [16.0, 128.0].map(|x| [x.to_string(), format!("{:.2}", result.median_at("naive", x))]));
//! story.chart(&Chart::lines("loops", "Two loops").race(&result, &["naive", "cached"]))?;
//! // No verdict on a busy machine.
//! let claim = Claim { id: "G1", claimed: "…", value: times, unit: "times", verdict: Verdict::of(times > 2.0, times > 1.2), note: "" };
//! story.claim_if_quiet(claim, [result.disturbance("cached", "naive"), Disturbance::of_share("the read bandwidth", 0.8)]);
//! # Ok(()) }
//! ```
//!
//! All text goes to stdout, or to stderr with `--json`, which leaves stdout to one document ([`crate::record`]).
//! Between steps the story waits for Enter, but only where stdin and stdout are terminals and `--no-pause` is not
//! given.

mod finish;
mod head;
mod memory;
mod predict;
mod questions;
mod screen;
mod tell;
mod typed;

use std::path::PathBuf;

use crate::args::CommonArgs;
use crate::machine::Machine;
use crate::record::{Document, StepRecord};
use crate::term::Tone;

pub use crate::record::Verdict;
use memory::Memory;
pub use memory::{Predictions, Remembered};
pub use predict::{Answer, Guess};
use questions::Texts;
pub use questions::{Values, check_predictions};
pub use screen::Screen;

/// Which lesson a story belongs to.
#[derive(Clone, Copy, Debug)]
pub struct LessonInfo {
    /// Folder under `lessons/`: "05-generation".
    pub folder: &'static str,
    /// The text of the lesson's `course.toml`, which holds its title, its question and its predictions:
    /// `include_str!("../../course.toml")`.
    pub course: &'static str,
}

impl LessonInfo {
    /// Number of the lesson, two digits: "05".
    pub fn number(&self) -> &'static str {
        self.folder.split('-').next().unwrap_or_default()
    }
}

/// A prediction that waits for its answer. Hand it to [`Story::reveal`].
#[derive(Debug)]
#[must_use = "the reader was asked and waits for the answer"]
pub struct Asked {
    prediction: questions::Prediction,
    guess: Guess,
}

impl Asked {
    /// What the reader answered.
    pub fn guess(&self) -> Guess {
        self.guess
    }
}

/// A claim and what this run found.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Id of the claim: "G1".
    pub id: &'a str,
    /// What is claimed, in words.
    pub claimed: &'a str,
    /// What was measured (NaN for [`Verdict::NotMeasured`]).
    pub value: f64,
    /// Unit of the value.
    pub unit: &'a str,
    /// Verdict of this run.
    pub verdict: Verdict,
    /// Condition or reason; may be empty.
    pub note: &'a str,
}

/// A story that is being told.
pub struct Story {
    info: LessonInfo,
    texts: Texts,
    args: CommonArgs,
    document: Document,
    screen: Screen,
    memory: Memory,
    num_steps: usize,
}

impl Story {
    /// Begins a story on this process's terminal: prints its head, three lines.
    ///
    /// What comes before the first [`Story::step`] is the opening, which shows the lesson's result or its problem at
    /// once.
    pub fn begin(info: LessonInfo, args: &CommonArgs) -> Self {
        let predictions = crate::paths::work_dir().join("predictions.json");
        // The machine is asked after the head is shown: git takes a moment and the reader should not wait for it.
        Self::on(info, args, Screen::of_process(args), Machine::detect, predictions)
    }

    /// Begins a story on any screen, for tests: predictions are kept in `predictions`, the machine is as told.
    pub fn begin_with(
        info: LessonInfo,
        args: &CommonArgs,
        screen: Screen,
        machine: Machine,
        predictions: PathBuf,
    ) -> Self {
        Self::on(info, args, screen, || machine, predictions)
    }

    fn on(
        info: LessonInfo,
        args: &CommonArgs,
        mut screen: Screen,
        machine: impl FnOnce() -> Machine,
        predictions: PathBuf,
    ) -> Self {
        let texts = Texts::read(info.course);
        head::head(&mut screen, &info, &texts);
        Self {
            info,
            texts,
            args: args.clone(),
            document: Document::new(info.number(), machine()),
            screen,
            memory: Memory(predictions),
            num_steps: 0,
        }
    }

    /// The flags of this run.
    pub fn args(&self) -> &CommonArgs {
        &self.args
    }

    /// What was recorded so far.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Whether the story runs on a terminal and may ask: a lesson may then stream slower, or offer "type your own
    /// prompt".
    pub fn is_interactive(&self) -> bool {
        self.screen.is_interactive()
    }

    /// Where this story writes its charts.
    pub fn out_dir(&self) -> PathBuf {
        crate::paths::out_dir(self.info.number(), &self.args)
    }

    /// Records which model runs, and shows it.
    pub fn model(&mut self, name: &str) {
        self.document.model = Some(name.into());
        let line = format!("{}model {name}", head::INDENT);
        let line = self.screen.paint(Tone::Dim, &line);
        self.screen.line(&line);
    }

    /// Begins the next numbered step: a title and a sentence of why. On a terminal the step before waits for Enter.
    pub fn step(&mut self, title: &str, why: &str) {
        if self.num_steps > 0 || !self.document.steps.is_empty() {
            self.pause();
        }
        self.num_steps += 1;
        self.document.steps.push(StepRecord {
            title: title.into(),
            ..StepRecord::default()
        });
        head::step(&mut self.screen, self.num_steps, title, why);
    }

    /// Waits for Enter on a terminal; `r` runs through the rest, `q` ends the story.
    fn pause(&mut self) {
        if !self.screen.is_interactive() {
            return;
        }
        self.screen.line("");
        let prompt = format!("{}Enter: go on   r: run through   q: quit > ", head::INDENT);
        let prompt = self.screen.paint(Tone::Dim, &prompt);
        let typed = self
            .screen
            .ask(&prompt)
            .map(|typed| typed::half_width(&typed).to_lowercase());
        self.screen.clear_line_above();
        match typed.as_deref() {
            Some("q") => std::process::exit(0),
            Some("r") => self.screen.stop_asking(),
            _ => {}
        }
    }

    /// Waits for this long on a terminal, so that streamed text can be watched.
    pub fn linger(&self, duration: std::time::Duration) {
        if self.is_interactive() {
            std::thread::sleep(duration);
        }
    }

    /// A paragraph, wrapped to 80 columns. A line that begins with a blank is laid out by its author and kept.
    pub fn say(&mut self, text: impl AsRef<str>) {
        head::paragraph(&mut self.screen, text.as_ref(), Tone::Plain);
    }

    /// A paragraph in a tone.
    pub fn say_as(&mut self, tone: Tone, text: impl AsRef<str>) {
        head::paragraph(&mut self.screen, text.as_ref(), tone);
    }

    /// `text` in a tone where the screen has colours: a piece for [`Story::print`].
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        self.screen.paint(tone, text)
    }

    /// Prints `text` as it is, without a line end, at once: for text that streams. No indent, no wrapping.
    pub fn print(&mut self, text: impl AsRef<str>) {
        self.screen.stream(text.as_ref());
    }

    /// Asks the reader for a line of text; `None` without a reader, or where Enter alone is typed.
    pub fn ask_line(&mut self, question: &str) -> Option<String> {
        let prompt = format!("{}{question} > ", head::INDENT);
        let prompt = self.screen.paint(Tone::Accent, &prompt);
        self.screen.ask(&prompt).filter(|typed| !typed.trim().is_empty())
    }
}
