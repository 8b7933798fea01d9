//! `training.json`: how the weights beside it were made.

use crate::checkpoint::CurvePoint;
use crate::corpus::StreamOptions;
use crate::trainer::Schedule;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `training.json`: how the weights beside it were made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrainingRecord {
    /// Version of this form.
    pub schema: u32,
    /// Number of tokens trained on, over all runs.
    pub tokens: u64,
    /// Number of windows of the corpus that were read: where a continued run goes on.
    pub windows: u64,
    /// The runs, first to last.
    pub runs: Vec<RunRecord>,
    /// Held-out figures along the way, over all runs.
    pub curve: Vec<CurvePoint>,
    /// The same held-out text under n-gram models that counted the same corpus: their curve.
    pub baselines: Vec<BaselinePoint>,
    /// The least that any model can reach on the held-out stories of the curve, in nats per token.
    pub entropy_bound: f64,
}

/// What n-gram models of order 1, 2 and 3 reach after counting some tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselinePoint {
    /// Number of tokens counted.
    pub tokens: u64,
    /// Held-out nats per token of stories, by order - 1.
    pub stories: Vec<f64>,
    /// Held-out nats per token of literature, by order - 1.
    pub literature: Vec<f64>,
}

/// One run of a [`TrainingRecord`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// The exact command.
    pub command: String,
    /// Seed of the initial weights.
    pub seed: u64,
    /// What was read.
    pub stream: StreamOptions,
    /// How fast and how long.
    pub schedule: Schedule,
    /// Number of tokens of this run.
    pub tokens: u64,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Number of threads.
    pub num_threads: usize,
    /// The machine.
    pub machine: String,
}

/// Reads `training.json` of a folder.
///
/// # Errors
/// When it is missing or malformed.
pub fn read_record(folder: &Path) -> Result<TrainingRecord> {
    let path = folder.join("training.json");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}
