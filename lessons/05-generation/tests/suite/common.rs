//! Fixtures that several modules share.

use fixtures::Golden;
use generation::forward::forward_all;
use generation::{Linear, Model, State, Weights};
use layout::pool::Pool;
use loading::ModelFolder;
use loading::config::ModelConfig;
use std::path::{Path, PathBuf};
use training::TokenId;

/// Two threads: enough to deal rows out. Some tests ask for more.
pub fn small_pool() -> Pool {
    Pool::new(2)
}

/// Opens a model folder.
///
/// # Panics
/// With the loader's message, if it can not be opened.
pub fn open(path: &Path) -> ModelFolder {
    loading::open(path.to_str().unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

/// Opens a fixture folder as a model.
pub fn fixture(name: &str) -> Model {
    Model::open(fixtures::model(name).to_str().unwrap()).unwrap()
}

/// Token ids.
pub fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

/// The tiny fixture folders with their golden values.
pub fn fixture_folders() -> Vec<(PathBuf, Golden)> {
    let folders = fixtures::MODELS.iter().map(|name| fixtures::model(name));
    folders.map(with_golden).collect()
}

/// The trained model with its golden values.
pub fn stories() -> (PathBuf, Golden) {
    with_golden(lab::paths::data_dir().join("stories"))
}

/// # Panics
/// With the command to run, if the golden values are missing or belong to other weights.
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
