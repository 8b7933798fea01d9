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
//! All text goes to stdout, or to stderr with `--json`, which leaves stdout to one document ([`crate::record`]).
//! Between steps the story waits for Enter, but only where stdin and stdout are terminals and `--no-pause` is not given.

mod head;
mod memory;
mod predict;
mod screen;

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::args::CommonArgs;
use crate::chart::Chart;
use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::race::{Race, RaceResult, WallClock};
use crate::record::{ClaimRecord, Document, Measured, StepRecord};
use crate::table::Table;
use crate::term::{Tone, WIDTH};

pub use crate::record::Verdict;
use memory::Memory;
pub use memory::{Predictions, Remembered};
pub use predict::{Choice, Guess, NumberPrediction, Prediction};
pub use screen::Screen;

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
    screen: Screen,
    memory: Memory,
    num_steps: usize,
}

impl Story {
    /// Begins a story on this process's terminal: prints its head, three lines.
    ///
    /// What comes before the first [`Story::step`] is the opening: the place for something worth seeing at once.
    pub fn begin(info: LessonInfo, args: &CommonArgs) -> Self {
        let memory = Memory(crate::paths::work_dir().join("predictions.json"));
        Self::begin_on(
            info,
            args,
            Screen::of_process(args),
            Machine::detect(),
            memory,
        )
    }

    /// Begins a story on any screen, for tests: predictions are kept in `predictions`, the machine is as told.
    pub fn begin_with(
        info: LessonInfo,
        args: &CommonArgs,
        screen: Screen,
        machine: Machine,
        predictions: PathBuf,
    ) -> Self {
        Self::begin_on(info, args, screen, machine, Memory(predictions))
    }

    fn begin_on(
        info: LessonInfo,
        args: &CommonArgs,
        mut screen: Screen,
        machine: Machine,
        memory: Memory,
    ) -> Self {
        head::head(&mut screen, &info);
        let document = Document::new(info.number, machine);
        Self {
            info,
            args: args.clone(),
            document,
            screen,
            memory,
            num_steps: 0,
        }
    }

    /// The flags that the story was begun with.
    pub fn args(&self) -> &CommonArgs {
        &self.args
    }

    /// The machine that it runs on.
    pub fn machine(&self) -> &Machine {
        &self.document.machine
    }

    /// What was recorded so far.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Whether a reader sits at a terminal: a lesson may then stream slower, or offer "type your own prompt".
    pub fn is_interactive(&self) -> bool {
        self.screen.is_interactive()
    }

    /// Where this story writes its charts.
    pub fn out_dir(&self) -> PathBuf {
        crate::paths::out_dir(self.info.number, &self.args)
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

    /// Waits for Enter where a reader sits at a terminal; `r` runs through the rest, `q` ends the story.
    pub fn pause(&mut self) {
        if !self.screen.is_interactive() {
            return;
        }
        self.screen.line("");
        let prompt = format!("{}Enter: go on   r: run through   q: quit > ", head::INDENT);
        let prompt = self.screen.paint(Tone::Dim, &prompt);
        let typed = self
            .screen
            .ask(&prompt)
            .map(|typed| predict::half_width(&typed).to_lowercase());
        self.screen.clear_line_above();
        match typed.as_deref() {
            Some("q") => std::process::exit(0),
            Some("r") => self.screen.stop_asking(),
            _ => {}
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

    /// Asks the reader for a line of text; `None` where nobody is asked or Enter alone is typed.
    pub fn ask_line(&mut self, question: &str) -> Option<String> {
        let prompt = format!("{}{question} > ", head::INDENT);
        let prompt = self.screen.paint(Tone::Accent, &prompt);
        self.screen
            .ask(&prompt)
            .filter(|typed| !typed.trim().is_empty())
    }

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
            let line = format!(
                "({}: not stored: {error})",
                crate::paths::shown(&self.memory.0)
            );
            self.say_as(Tone::Dim, line);
        }
    }

    /// Runs a race under a progress bar, shows its table with bars, and records it.
    pub fn race<O>(&mut self, race: Race<'_, O>) -> anyhow::Result<RaceResult> {
        let bar = self.progress(race.num_calls() as u64, race.title());
        let result = race.run_with(&mut WallClock::default(), &mut |done, name| {
            bar.set_position(done as u64);
            bar.set_message(name.to_string());
        });
        bar.finish_and_clear();
        let result = result?;
        self.race_result(&result);
        Ok(result)
    }

    /// Shows and records the result of a race that ran elsewhere.
    pub fn race_result(&mut self, result: &RaceResult) {
        self.screen.line("");
        for line in result.lines_painted(&|tone, text| self.screen.paint(tone, text)) {
            self.screen.line(&format!("{}{line}", head::INDENT));
        }
        self.screen.line("");
        self.document.races.push(result.clone());
    }

    /// Records a claim and shows its verdict.
    pub fn claim(&mut self, claim: Claim<'_>) {
        let record = ClaimRecord {
            id: claim.id.into(),
            claimed: claim.claimed.into(),
            measured: Measured {
                value: claim.value.is_finite().then_some(claim.value),
                unit: claim.unit.into(),
            },
            verdict: claim.verdict,
            note: claim.note.into(),
        };
        head::claim(&mut self.screen, &record);
        self.document.claims.push(record);
    }

    /// Draws a chart (`ID.svg`, `ID.png`, `ID.chart.json`), says where it lies and returns the path of the SVG.
    /// With `--record` the picture for reading only, the PNG, goes to `target/course/` and stays out of the tree.
    pub fn chart(&mut self, chart: &Chart) -> anyhow::Result<PathBuf> {
        let folder = self.out_dir();
        let pictures = if self.args.record && self.args.out.is_none() {
            crate::paths::out_dir(self.info.number, &CommonArgs::default())
        } else {
            folder.clone()
        };
        let path = chart.write_svg(&folder)?;
        chart.write_png(&pictures)?;
        let shown = crate::paths::shown(&path);
        head::value(&mut self.screen, "chart", &shown);
        self.document.charts.push(shown);
        Ok(path)
    }

    /// A progress bar on stderr; hidden where stderr is not a terminal. Finish it with `finish_and_clear` before the
    /// story goes on. Its message (`set_message`) stands at its end.
    pub fn progress(&self, len: u64, label: &str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr_with_hz(10));
        let template = "   {prefix} {bar:24} {pos}/{len} {elapsed} (left {eta}) {wide_msg}";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        bar.set_prefix(label.to_string());
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        bar
    }

    /// Ends the story: the claims, where the charts and figures lie, and the document for machines.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let figures = self.document.write(&self.out_dir())?;
        self.screen.line("");
        head::rule(&mut self.screen, "━");
        if !self.document.claims.is_empty() {
            let said =
                |claim: &ClaimRecord| format!("{} {}", claim.id, head::verdict(claim.verdict).0);
            let claims = self
                .document
                .claims
                .iter()
                .map(said)
                .collect::<Vec<_>>()
                .join(", ");
            head::value(&mut self.screen, "claims", &claims);
        }
        if !self.document.charts.is_empty() {
            head::value(&mut self.screen, "charts", &self.document.charts.join("\n"));
        }
        head::value(&mut self.screen, "figures", &crate::paths::shown(&figures));
        head::value(
            &mut self.screen,
            "read on",
            &format!("lessons/{}/README.md", self.info.folder),
        );
        if self.args.json {
            crate::outln!("{}", serde_json::to_string_pretty(&self.document)?);
        }
        Ok(())
    }
}
