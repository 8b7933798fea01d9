//! What several test files share.
#![allow(dead_code)]

use fixtures::Golden;
use generation::forward::forward_all;
use generation::{Linear, State, Weights};
use half::bf16;
use layout::pool::Pool;
use loading::config::ModelConfig;
use loading::{LoadError, TensorInfo, WeightSource};
use std::path::PathBuf;
use training::TokenId;

/// Two threads wherever a test does not ask for more: enough to share rows out.
pub fn small_pool() -> Pool {
    Pool::new(2)
}

/// The tiny fixture folders with their golden values.
pub fn fixture_folders() -> Vec<(PathBuf, Golden)> {
    fixtures::MODELS
        .iter()
        .map(|name| with_golden(fixtures::model(name)))
        .collect()
}

/// The trained model with its golden values.
pub fn stories() -> (PathBuf, Golden) {
    with_golden(lab::paths::data_dir().join("stories"))
}

/// # Panics
/// With what to do, when the golden is missing or was made for other weights.
fn with_golden(path: PathBuf) -> (PathBuf, Golden) {
    let golden = fixtures::golden_for(&path).unwrap_or_else(|error| panic!("{error}"));
    (path, golden)
}

/// Logits of all rows, one vector a row.
pub fn forward_all_rows<L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    pool: &Pool,
    tokens: &[TokenId],
) -> Vec<Vec<f32>> {
    let vocab_size = config.llama.vocab_size;
    let mut state = State::new(config, tokens.len());
    let mut logits = vec![0.0; tokens.len() * vocab_size];
    forward_all(config, weights, &mut state, pool, tokens, &mut logits).unwrap();
    logits.chunks_exact(vocab_size).map(<[f32]>::to_vec).collect()
}

/// A model with one row of one matrix set to zero.
pub struct Zeroed<'a> {
    pub inner: &'a (dyn WeightSource + Send + Sync),
    pub tensor: &'a str,
    pub row: usize,
}

impl WeightSource for Zeroed<'_> {
    fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    fn info(&self, name: &str) -> Option<TensorInfo> {
        self.inner.info(name)
    }

    fn read_f32(&self, name: &str, out: &mut Vec<f32>) -> Result<(), LoadError> {
        self.inner.read_f32(name, out)?;
        if name == self.tensor {
            let info = self.inner.info(name).expect("the tensor was just read");
            let width = info.shape[1];
            out[self.row * width..][..width].fill(0.0);
        }
        Ok(())
    }

    fn read_bf16(&self, name: &str, out: &mut Vec<bf16>) -> Result<(), LoadError> {
        self.inner.read_bf16(name, out)
    }

    fn stored_bytes(&self) -> u64 {
        self.inner.stored_bytes()
    }
}
