//! Files for the tests, built byte by byte or copied from the fixtures.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A safetensors file with any JSON text and any data, right or wrong.
pub fn safetensors(json: &str, data: &[u8]) -> Vec<u8> {
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.extend_from_slice(data);
    file
}

/// A correct file: `a` F32 [2, 3], `b` BF16 [4], `c` F16 [1, 2].
pub fn small_file() -> Vec<u8> {
    let json = json!({
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
        "c": {"dtype": "F16", "shape": [1, 2], "data_offsets": [32, 36]},
    });
    let data: Vec<u8> = (0..36).collect();
    safetensors(&json.to_string(), &data)
}

/// A copy of a fixture folder, for a test that changes it.
pub fn copy_of(name: &str) -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join(name);
    std::fs::create_dir(&folder).unwrap();
    for entry in std::fs::read_dir(fixtures::model(name)).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    (temporary, folder)
}

/// Changes a JSON file in place.
pub fn edit_json(path: &Path, edit: impl FnOnce(&mut Value)) {
    let mut json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    edit(&mut json);
    std::fs::write(path, json.to_string()).unwrap();
}

/// Changes the header of a safetensors file in place.
pub fn edit_weights(folder: &Path, edit: impl FnOnce(&mut Value)) {
    let path = folder.join("model.safetensors");
    let file = std::fs::read(&path).unwrap();
    std::fs::write(path, loading::damage::edit_header(&file, edit)).unwrap();
}

/// [`loading::open`] with a path.
pub fn open(folder: &Path) -> Result<loading::ModelFolder, loading::LoadError> {
    loading::open(folder.to_str().unwrap())
}

/// A GGUF fixture of this folder.
pub fn gguf_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gguf").join(name)
}

/// The bytes of a GGUF file, built part by part, right or wrong.
#[derive(Clone)]
pub struct GgufBytes {
    pub version: u32,
    pub num_pairs: Option<u64>,
    pub num_tensors: Option<u64>,
    pub pairs: Vec<(String, Vec<u8>)>,
    pub tensors: Vec<(String, Vec<u64>, u32, u64)>,
    pub data: Vec<u8>,
}

impl Default for GgufBytes {
    /// Two F32 tensors of eight values, with padding to 32 bytes between them.
    fn default() -> Self {
        Self {
            version: 3,
            num_pairs: None,
            num_tensors: None,
            pairs: vec![("general.architecture".into(), text("llama"))],
            tensors: vec![("a".into(), vec![4, 2], 0, 0), ("b".into(), vec![8], 0, 32)],
            data: vec![0; 64],
        }
    }
}

impl GgufBytes {
    pub fn build(&self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(self.version.to_le_bytes());
        file.extend(self.num_tensors.unwrap_or(self.tensors.len() as u64).to_le_bytes());
        file.extend(self.num_pairs.unwrap_or(self.pairs.len() as u64).to_le_bytes());
        for (key, value) in &self.pairs {
            file.extend(string(key));
            file.extend(value);
        }
        for (name, sizes, kind, offset) in &self.tensors {
            file.extend(string(name));
            file.extend((sizes.len() as u32).to_le_bytes());
            sizes.iter().for_each(|size| file.extend(size.to_le_bytes()));
            file.extend(kind.to_le_bytes());
            file.extend(offset.to_le_bytes());
        }
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(&self.data);
        file
    }
}

/// A string: its length, then its bytes.
pub fn string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

/// A metadata value: a string.
pub fn text(text: &str) -> Vec<u8> {
    [8_u32.to_le_bytes().to_vec(), string(text)].concat()
}

/// A metadata value: a u32.
pub fn count(count: u32) -> Vec<u8> {
    [4_u32.to_le_bytes(), count.to_le_bytes()].concat()
}

/// Opens a GGUF file from its bytes.
pub fn open_gguf(bytes: Vec<u8>) -> Result<loading::gguf::Gguf, loading::LoadError> {
    loading::gguf::Gguf::from_bytes("model.gguf", loading::bytes::FileBytes::Eager(bytes))
}
