//! The document for machines: what `--json` prints and `results/lessonNN.json` keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::race::RaceResult;

/// One run of one lesson.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    /// Version of this shape: 1.
    pub schema: u32,
    /// Package name: `lesson05`.
    pub lesson: String,
    /// As told by [`crate::story::Story::model`].
    pub model: Option<String>,
    /// Where it ran.
    pub machine: Machine,
    /// The story's steps and their values.
    pub steps: Vec<StepRecord>,
    /// Races, in order.
    pub races: Vec<RaceResult>,
    /// Counted work.
    pub ledger: BTreeMap<String, u64>,
    /// Claims and what was measured.
    pub claims: Vec<ClaimRecord>,
    /// Paths of the charts (SVG), as a reader would type them.
    pub charts: Vec<String>,
}

/// One step of the story.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StepRecord {
    /// Its title.
    pub title: String,
    /// What was shown or recorded, by key.
    pub values: BTreeMap<String, Value>,
}

/// A number with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The number; `None` where nothing was measured.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: String,
}

/// How a claim fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As claimed.
    Holds,
    /// In part, or under a condition that the note states.
    Partly,
    /// Not on this machine or this workload.
    NotHere,
    /// Nothing was measured; the note says why.
    NotMeasured,
}

/// A claim and its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// The claim's id: `G1`.
    pub id: String,
    /// What is claimed, in words.
    pub claimed: String,
    /// What was found.
    pub measured: Measured,
    /// The verdict.
    pub verdict: Verdict,
    /// Condition or reason, in a sentence; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The machine that a run ran on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu: String,
    /// Cores that the process may use.
    pub cores: usize,
    /// Main memory in bytes.
    pub memory_bytes: u64,
    /// Operating system and architecture: `linux x86_64`.
    pub system: String,
    /// `rustc --version` of the build.
    pub rustc: String,
    /// Short git revision, `-dirty` appended when tracked files differ; `unknown` outside a repository.
    pub revision: String,
}
