//! The document for machines: what `--json` prints and `results/lessonNN.json` keeps.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::race::RaceResult;

pub use crate::machine::Machine;

/// One run of one lesson.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    /// Version of this shape: 1.
    pub schema: u32,
    /// Package name: `lesson05`.
    pub lesson: String,
    /// Name of the model, as given to [`crate::story::Story::model`].
    pub model: Option<String>,
    /// Machine that it ran on.
    pub machine: Machine,
    /// The story's steps and their values.
    pub steps: Vec<StepRecord>,
    /// Results of the races, in order.
    pub races: Vec<RaceResult>,
    /// Counts of work by name, over all ledgers of the story.
    pub ledger: BTreeMap<String, u64>,
    /// Claims and what was measured.
    pub claims: Vec<ClaimRecord>,
    /// Paths of the charts (SVG), as a reader would type them.
    pub charts: Vec<String>,
}

impl Document {
    /// An empty document of lesson `number` ("05") on `machine`.
    pub fn new(number: &str, machine: Machine) -> Self {
        Self {
            schema: 1,
            lesson: format!("lesson{number}"),
            model: None,
            machine,
            steps: Vec::new(),
            races: Vec::new(),
            ledger: BTreeMap::new(),
            claims: Vec::new(),
            charts: Vec::new(),
        }
    }

    /// Reads a recorded document.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        use anyhow::Context;
        let shown = crate::paths::shown(path);
        let text = std::fs::read_to_string(path).with_context(|| format!("{shown}: can not be read"))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{shown}: not a document of schema 1; run the lesson with --record"))
    }

    /// Writes `lessonNN.json` into `folder`, whole or not at all; returns its path.
    pub fn write(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        use anyhow::Context;
        let path = folder.join(format!("{}.json", self.lesson));
        let text = serde_json::to_string_pretty(self)? + "\n";
        replace_file(&path, text.as_bytes()).with_context(|| format!("{}: can not be written", path.display()))?;
        Ok(path)
    }
}

/// Replaces a file whole: a run that is interrupted leaves the old one, never a part of the new one. Creates the
/// folder.
pub fn replace_file(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = folder.join(format!(".{name}.{}", std::process::id()));
    let mut file = std::fs::File::create(&unfinished)?;
    file.write_all(contents)?;
    drop(file);
    std::fs::rename(&unfinished, path).inspect_err(|_| {
        // The error of the rename is reported; an error while the rest is removed would hide it.
        let _ = std::fs::remove_file(&unfinished);
    })
}

/// One step of the story.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StepRecord {
    /// Title of the step.
    pub title: String,
    /// Values that were shown or recorded, by key.
    pub values: BTreeMap<String, Value>,
}

/// A number with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The measured number; `None` where nothing was measured.
    pub value: Option<f64>,
    /// Unit of the number.
    pub unit: String,
}

/// Whether a claim holds in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The claim holds.
    Holds,
    /// The claim holds in part, or under a condition that the note states.
    Partly,
    /// The claim does not hold on this machine or for this workload.
    NotHere,
    /// Nothing was measured; the note says why.
    NotMeasured,
}

impl Verdict {
    /// [`Verdict::Holds`] where a claim holds, else [`Verdict::Partly`] where a weaker form of it holds, else
    /// [`Verdict::NotHere`].
    pub fn of(holds: bool, partly: bool) -> Self {
        match (holds, partly) {
            (true, _) => Self::Holds,
            (false, true) => Self::Partly,
            (false, false) => Self::NotHere,
        }
    }
}

/// A claim and its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// The claim's id: `G1`.
    pub id: String,
    /// What is claimed, in words.
    pub claimed: String,
    /// What was measured.
    pub measured: Measured,
    /// Whether the claim holds.
    pub verdict: Verdict,
    /// Condition or reason, in a sentence; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}
