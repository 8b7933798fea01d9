//! What an exercise costs: the learner's function against the reference's, counted and timed.
//!
//! A lesson lists one [`Task`] for each function whose cost is counted. The learner's crate and the reference compile
//! the same list, each against its own functions, and a small program calls [`main`] with both. `cargo course check`
//! reads the counts after a pass, `cargo course run` shows the race.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::chart::Chart;
use crate::ledger;
use crate::number;
use crate::race::{Race, RaceResult};
use crate::table::Table;

/// A small piece of work that calls the function of one exercise.
pub struct Task {
    /// Id of the exercise: `05.1`.
    pub exercise: &'static str,
    /// Description of the work: "one row of 256".
    pub what: String,
    /// Does the work once. Each further call costs the same.
    pub work: Box<dyn FnMut() + Send>,
}

impl Task {
    /// A task of the exercise with this id.
    pub fn new(exercise: &'static str, what: impl Into<String>, work: impl FnMut() + Send + 'static) -> Self {
        Self {
            exercise,
            what: what.into(),
            work: Box::new(work),
        }
    }
}

/// The counts of one task. `None`: the work panicked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Id of the exercise.
    pub exercise: String,
    /// Description of the work.
    pub what: String,
    /// The learner's counters by name; those that are zero are left out.
    pub yours: Option<BTreeMap<String, u64>>,
    /// The reference's counters by name.
    pub reference: Option<BTreeMap<String, u64>>,
}

impl Counts {
    /// A row for each counter that either side has: name, yours, the reference's. Allocations are always among them,
    /// because "allocates nothing" is a result. Empty when the work panicked.
    pub fn rows(&self) -> Vec<(&str, u64, u64)> {
        let (Some(yours), Some(reference)) = (&self.yours, &self.reference) else {
            return Vec::new();
        };
        let mut names: Vec<&str> = yours.keys().chain(reference.keys()).map(String::as_str).collect();
        names.push("allocations");
        names.sort_unstable();
        names.dedup();
        let value = |of: &BTreeMap<String, u64>, name: &str| of.get(name).copied().unwrap_or_default();
        names
            .into_iter()
            .map(|name| (name, value(yours, name), value(reference, name)))
            .collect()
    }
}

/// Counts every task of both lists. Tasks are paired by exercise and text; one that the other list lacks is left out.
pub fn count(yours: Vec<Task>, reference: Vec<Task>) -> Vec<Counts> {
    let pairs = pairs(yours, reference).into_iter();
    pairs
        .map(|(mut mine, mut theirs)| Counts {
            exercise: mine.exercise.to_owned(),
            what: mine.what.clone(),
            yours: counted(&mut mine),
            reference: counted(&mut theirs),
        })
        .collect()
}

fn counted(task: &mut Task) -> Option<BTreeMap<String, u64>> {
    // The first time may fill tables and start threads that every later call uses.
    catch_unwind(AssertUnwindSafe(|| (task.work)())).ok()?;
    let measured = catch_unwind(AssertUnwindSafe(|| ledger::measure(|| (task.work)())));
    let mut flat = BTreeMap::new();
    measured.ok()?.1.add_to(&mut flat);
    Some(flat)
}

fn pairs(yours: Vec<Task>, reference: Vec<Task>) -> Vec<(Task, Task)> {
    let mut reference: Vec<Option<Task>> = reference.into_iter().map(Some).collect();
    let mut found = Vec::new();
    for mine in yours {
        let is_same = |theirs: &&mut Option<Task>| {
            theirs
                .as_ref()
                .is_some_and(|theirs| theirs.exercise == mine.exercise && theirs.what == mine.what)
        };
        if let Some(theirs) = reference.iter_mut().find(is_same).and_then(Option::take) {
            found.push((mine, theirs));
        }
    }
    found
}

/// Races every task, yours against the reference, one race for each.
///
/// # Errors
/// When a task panics: its time means nothing.
pub fn race(yours: Vec<Task>, reference: Vec<Task>) -> anyhow::Result<Vec<(String, String, RaceResult)>> {
    let mut results = Vec::new();
    for (mut mine, mut theirs) in pairs(yours, reference) {
        let (exercise, what) = (mine.exercise.to_owned(), mine.what.clone());
        let race = Race::new(&exercise, &what)
            .unit("µs")
            .at_least(Duration::from_millis(2))
            .entry("reference", None, || (theirs.work)())
            .entry("yours", None, || (mine.work)());
        let Ok(result) = catch_unwind(AssertUnwindSafe(|| race.run())) else {
            bail!("{exercise}, {what}: the work panicked; `cargo course check {exercise}` says why");
        };
        results.push((exercise, what, result?));
    }
    Ok(results)
}

/// Two bars for each task, yours and the reference's.
pub fn chart(results: &[(String, String, RaceResult)]) -> Chart {
    let mut chart = Chart::bars("yours-against-reference", "Yours against the reference")
        .y_label("time of one call [µs]")
        .less_is_better();
    let medians =
        |result: &RaceResult| ["yours", "reference"].map(|name| (name, result.entry(name).map_or(0.0, |e| e.median)));
    let all: Vec<f64> = results
        .iter()
        .flat_map(|(_, _, result)| medians(result).map(|(_, median)| median))
        .collect();
    let smallest = all.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = all.iter().copied().fold(0.0, f64::max);
    for (exercise, what, result) in results {
        chart = chart.group(&format!("{exercise}: {what}"), &medians(result));
    }
    if smallest > 0.0 && largest > 30.0 * smallest {
        chart = chart.log_y();
    }
    if results.is_empty() {
        chart
    } else {
        chart.baseline("reference")
    }
}

/// The program behind `cargo course check` and `run`: `counts [IDS]` prints JSON, `race FOLDER [IDS]` a table, and
/// writes the chart there. IDS are the ids of exercises, separated by commas; without them, all exercises.
pub fn main(lesson: &str, yours: fn() -> Vec<Task>, reference: fn() -> Vec<Task>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match command(lesson, &arguments, yours, reference) {
        Ok(text) => {
            crate::term::print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            crate::noteln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command(
    lesson: &str,
    arguments: &[String],
    yours: fn() -> Vec<Task>,
    reference: fn() -> Vec<Task>,
) -> anyhow::Result<String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let tasks = |list: fn() -> Vec<Task>, ids: &[&str]| -> Vec<Task> {
        let is_asked = |task: &Task| ids.is_empty() || ids.contains(&task.exercise);
        list().into_iter().filter(is_asked).collect()
    };
    let split = |ids: Option<&&str>| -> Vec<String> {
        let ids = ids.copied().unwrap_or_default().split(',');
        ids.filter(|id| !id.is_empty()).map(ToOwned::to_owned).collect()
    };
    match words.as_slice() {
        ["counts", rest @ ..] => {
            // A panic is a result here: its text does not go to stderr.
            std::panic::set_hook(Box::new(|_| {}));
            let ids = split(rest.first());
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let counts = count(tasks(yours, &ids), tasks(reference, &ids));
            // On a line of its own, whatever the work has printed.
            Ok(format!("\n{}\n", serde_json::to_string(&counts)?))
        }
        ["race", folder, rest @ ..] => {
            let ids = split(rest.first());
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let counts = count(tasks(yours, &ids), tasks(reference, &ids));
            let results = race(tasks(yours, &ids), tasks(reference, &ids))?;
            let folder = PathBuf::from(folder);
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("{} can not be made", crate::paths::shown(&folder)))?;
            let path = chart(&results).write(&folder)?;
            Ok(format!(
                "\nLesson {lesson}: yours against the reference\n\n{}\n{}\nchart: {}\n",
                times(&results),
                ledger_table(&counts),
                crate::paths::shown(&path)
            ))
        }
        _ => bail!("expected `counts [IDS]` or `race FOLDER [IDS]`; `cargo course run {lesson}` calls this program"),
    }
}

/// The race as a table.
pub fn times(results: &[(String, String, RaceResult)]) -> Table {
    let mut table = Table::new(&["", "one call", "yours µs", "reference µs", "yours is"]);
    for (exercise, what, result) in results {
        let median = |name| result.entry(name).map_or(f64::NAN, |entry| entry.median);
        table.row([
            exercise.clone(),
            what.clone(),
            number::short(median("yours")),
            number::short(median("reference")),
            format!("×{}", number::short(result.ratio("yours", "reference"))),
        ]);
    }
    table
}

/// The counts as a table: a row for each counter.
pub fn ledger_table(counts: &[Counts]) -> Table {
    let mut table = Table::new(&["", "counter", "yours", "reference"]);
    for task in counts {
        for (name, yours, reference) in task.rows() {
            let words = name.replace('_', " ");
            let value = number::grouped;
            table.row([task.exercise.clone(), words, value(yours), value(reference)]);
        }
    }
    table
}
