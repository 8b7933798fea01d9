//! Checkpoints of a run: all that is needed to go on with the same bits.
//!
//! One safetensors file, `state.safetensors`, holds weights and both moments in f32; its header's metadata hold the
//! rest ([`Progress`]) as JSON. A new file is written beside the old one and takes its place by a rename, so a run that
//! is killed at any moment leaves a whole checkpoint behind, and loses the steps since the last one at most.

use crate::trainer::Trainer;
use autograd::optim::AdamWState;
use ndarray::{ArrayD, IxDyn};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file's name inside the run's folder.
pub const FILE_NAME: &str = "state.safetensors";

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is no checkpoint of this model.
    #[error("{}: expected a checkpoint of this run, found {found}; delete it to start again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        found: String,
    },
}

/// Where a run stands, apart from weights and moments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Number of steps done.
    pub step: u64,
    /// Steps that the optimizer's moments have seen; more than `step` in a run that continued another. (Absent: as
    /// many.)
    #[serde(default)]
    pub optimizer_steps: Option<u64>,
    /// Number of tokens trained on.
    pub tokens: u64,
    /// Where the corpus goes on, in its own words.
    pub cursor: serde_json::Value,
    /// What was measured so far.
    pub curve: Vec<CurvePoint>,
}

/// One point of the training curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Number of steps done.
    pub step: u64,
    /// Number of tokens trained on.
    pub tokens: u64,
    /// Mean loss of the steps since the point before, in nats per token.
    pub train: f64,
    /// Held-out nats per token of stories.
    pub stories: f64,
    /// Held-out nats per token of literature.
    pub literature: f64,
    /// The learning rate of the last step.
    pub learning_rate: f64,
}

/// Writes the checkpoint of a run into a folder.
///
/// # Errors
/// When the file system refuses; the old checkpoint is then still there.
pub fn save(folder: &Path, trainer: &Trainer, progress: &Progress) -> Result<(), CheckpointError> {
    let state = trainer.optimizer().state();
    let mut arrays: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    let mut add = |name: String, array: &ArrayD<f32>| {
        let slice = array.as_slice().expect("arrays of a run are row-major");
        arrays.push((name, array.shape().to_vec(), bytemuck::cast_slice(slice).to_vec()));
    };
    for (index, (name, tensor)) in trainer.model.parameters().into_iter().enumerate() {
        add(format!("weight.{name}"), &tensor.value());
        add(format!("first.{name}"), &state.first_moments[index]);
        add(format!("second.{name}"), &state.second_moments[index]);
    }
    let views = arrays.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).expect("shape and bytes agree");
        (name, view)
    });
    let progress = serde_json::to_string(progress).expect("progress is plain data");
    let metadata = HashMap::from([("progress".to_owned(), progress)]);
    let bytes = safetensors::serialize(views, Some(metadata)).expect("views are whole");
    write_whole(&folder.join(FILE_NAME), &bytes)
}

/// Puts a trainer where the run of a folder stood. `None` when the folder has no checkpoint.
///
/// # Errors
/// When the file can not be read, is damaged, or belongs to another model.
pub fn load(folder: &Path, trainer: &mut Trainer) -> Result<Option<Progress>, CheckpointError> {
    let path = folder.join(FILE_NAME);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(CheckpointError::File { path, source }),
    };
    let refuse = |found: String| CheckpointError::Content {
        path: path.clone(),
        found,
    };
    let file = SafeTensors::deserialize(&bytes).map_err(|error| refuse(error.to_string()))?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| refuse(error.to_string()))?;
    let text = header.metadata().as_ref().and_then(|map| map.get("progress"));
    let text = text.ok_or_else(|| refuse("no progress in its header".into()))?;
    let progress: Progress = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
    let read = |name: String, like: &[usize]| {
        let view = file.tensor(&name).map_err(|error| refuse(format!("{name}: {error}")))?;
        if view.dtype() != Dtype::F32 || view.shape() != like {
            return Err(refuse(format!("{name}: shape {:?} instead of {like:?}", view.shape())));
        }
        let data = bytemuck::pod_collect_to_vec::<u8, f32>(view.data());
        Ok(ArrayD::from_shape_vec(IxDyn(like), data).expect("shape was checked"))
    };
    let (mut first_moments, mut second_moments) = (Vec::new(), Vec::new());
    let parameters = trainer.model.parameters();
    let mut weights = Vec::new();
    for (name, tensor) in &parameters {
        let shape = tensor.shape();
        weights.push(read(format!("weight.{name}"), &shape)?);
        first_moments.push(read(format!("first.{name}"), &shape)?);
        second_moments.push(read(format!("second.{name}"), &shape)?);
    }
    for ((_, tensor), weight) in parameters.iter().zip(weights) {
        tensor.update(|value| value.assign(&weight));
    }
    let state = AdamWState {
        steps: progress.optimizer_steps.unwrap_or(progress.step),
        first_moments,
        second_moments,
    };
    let loaded = trainer.optimizer_mut().load_state(state);
    loaded.map_err(|error| refuse(error.to_string()))?;
    trainer.step = progress.step;
    Ok(Some(progress))
}

/// Writes a file beside its final place, then renames it: it is there whole or not at all.
///
/// # Errors
/// When the file system refuses.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CheckpointError> {
    let fail = |source| CheckpointError::File {
        path: path.to_owned(),
        source,
    };
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let mut file = std::fs::File::create(&beside).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.sync_all().map_err(fail)?;
    std::fs::rename(&beside, path).map_err(fail)
}
