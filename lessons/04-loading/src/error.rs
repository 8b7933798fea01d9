//! The errors of loading, one variant a kind.
//!
//! A message says what is wrong, what was expected, what was found and what to do. No content of a file makes this
//! crate panic: a folder that was downloaded, cut off, renamed or forged gives one of these errors. Texts from outside
//! go through [`lab::foreign`]: a message shows no control characters and cuts what is too long.

use crate::dtype::Dtype;
use lab::foreign::foreign;
use training::config::ConfigError;

/// Why a model was refused. `file`, `path` and `model` name what was read, `name` is a tensor or key; the message uses
/// every field.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum LoadError {
    /// The name is neither a model of the workbook nor a path that exists.
    #[error(
        "{model}: expected `stories`, `random:15m`, `random:135m`, `random:1.1b`, a folder with config.json, or a .gguf file, \
         found none of these; check the spelling, or fetch a model with `cargo course data`", model = foreign(.model)
    )]
    UnknownModel { model: String },
    /// A file or folder can not be read.
    #[error("{path}: cannot be read: {reason}; {advice}", path = foreign(.path), reason = foreign(.reason))]
    Unreadable {
        path: String,
        reason: String,
        advice: &'static str,
    },
    /// A file can not be written.
    #[error("{path}: cannot be written: {reason}; check the folder, its rights and the free space", path = foreign(.path), reason = foreign(.reason))]
    Unwritable { path: String, reason: String },
    /// The file ends before the last byte that its header or the manifest promises.
    #[error(
        "{file}: expected at least {expected_bytes} bytes, found {found_bytes}: the file is cut off; fetch or convert it again", file = foreign(.file)
    )]
    CutOff {
        file: String,
        expected_bytes: u64,
        found_bytes: u64,
    },
    /// The file goes on after its last tensor.
    #[error(
        "{file}: expected {expected_bytes} bytes, found {found_bytes}: something was written after its end; fetch or convert it again", file = foreign(.file)
    )]
    TrailingBytes {
        file: String,
        expected_bytes: u64,
        found_bytes: u64,
    },
    /// The first eight bytes promise a header that is longer than the file.
    #[error(
        "{file}: expected a header within the file's {file_bytes} bytes, found a header length of {header_bytes}: this is no safetensors \
         file, or it is cut off; fetch it again", file = foreign(.file)
    )]
    HeaderTooLong {
        file: String,
        header_bytes: u64,
        file_bytes: u64,
    },
    /// The header breaks a rule of the format at `place`.
    #[error("{file}: {place}: expected {expected}, found {found}; fetch or convert the file again", file = foreign(.file), place = foreign(.place), expected = foreign(.expected), found = foreign(.found))]
    BadHeader {
        file: String,
        place: String,
        expected: String,
        found: String,
    },
    /// Two tensors, or two metadata keys, have one name.
    #[error("{file}: expected each name once, found `{name}` twice; fetch or convert the file again", file = foreign(.file), name = foreign(.name))]
    DuplicateName { file: String, name: String },
    /// The size of a tensor does not fit the machine's integers.
    #[error(
        "{file}: {name}: expected a shape whose size in bytes fits 64 bits, found {shape:?}; the file is damaged or forged", file = foreign(.file), name = foreign(.name)
    )]
    ShapeOverflow {
        file: String,
        name: String,
        shape: Vec<u64>,
    },
    /// A tensor has more or fewer bytes than its shape and type need.
    #[error(
        "{file}: {name}: expected {expected_bytes} bytes for its shape and type, found {found_bytes} between its offsets; fetch or convert \
         the file again", file = foreign(.file), name = foreign(.name)
    )]
    WrongLength {
        file: String,
        name: String,
        expected_bytes: u64,
        found_bytes: u64,
    },
    /// Two tensors share bytes.
    #[error(
        "{file}: expected `{second}` to begin at or after byte {first_end}, where `{first}` ends, found it at byte {second_begin}: they \
         overlap; the file is damaged or forged", file = foreign(.file), first = foreign(.first), second = foreign(.second)
    )]
    Overlap {
        file: String,
        first: String,
        first_end: u64,
        second: String,
        second_begin: u64,
    },
    /// There are bytes between two tensors.
    #[error(
        "{file}: expected `{name}` to begin at byte {expected_begin}, found it at byte {found_begin}: the bytes between belong to no tensor; \
         fetch or convert the file again", file = foreign(.file), name = foreign(.name)
    )]
    Gap {
        file: String,
        name: String,
        expected_begin: u64,
        found_begin: u64,
    },
    /// A tensor has a number format that this loader does not read.
    #[error("{file}: {name}: expected {expected}, found type {found}; convert the model to one of these types", file = foreign(.file), name = foreign(.name), found = foreign(.found))]
    WrongDtype {
        file: String,
        name: String,
        expected: &'static str,
        found: String,
    },
    /// A tensor has another shape than config.json implies.
    #[error(
        "{model}: {name}: expected shape {expected:?} as config.json says, found {found:?}; config.json and weights belong to different models", model = foreign(.model), name = foreign(.name)
    )]
    WrongShape {
        model: String,
        name: String,
        expected: Vec<usize>,
        found: Vec<usize>,
    },
    /// A tensor of the model is not in the files.
    #[error(
        "{model}: expected a tensor `{name}`, found none; a shard is missing, or config.json and weights belong to different models", model = foreign(.model), name = foreign(.name)
    )]
    MissingTensor { model: String, name: String },
    /// A tensor in the files has no place in the model.
    #[error(
        "{model}: expected only the tensors of a `{model_type}` model with {num_layers} layers, found `{name}` too; loading it as such would \
         ignore weights: check config.json", model = foreign(.model), name = foreign(.name)
    )]
    ExtraTensor {
        model: String,
        name: String,
        model_type: &'static str,
        num_layers: usize,
    },
    /// A weight is NaN or infinite. `index` counts the values of the tensor, row-major.
    #[error(
        "{model}: {name}: expected finite weights, found {value} at index {index}; the file is damaged or its training diverged: fetch it \
         again and verify its checksum", model = foreign(.model), name = foreign(.name)
    )]
    NotFinite {
        model: String,
        name: String,
        index: usize,
        value: f32,
    },
    /// A value is too large for the type that it is rounded to.
    #[error(
        "{name}: expected values within the range of {dtype}, up to {largest:e}, found {value:e} at index {index}; choose a type with a wider range", name = foreign(.name)
    )]
    OutOfRange {
        name: String,
        dtype: Dtype,
        largest: f32,
        value: f32,
        index: usize,
    },
    /// A key of a JSON file is missing or has a value that the workbook can not use.
    #[error("{file}: {key}: expected {expected}, found {found}; {advice}", file = foreign(.file), key = foreign(.key), found = foreign(.found))]
    BadConfig {
        file: String,
        key: String,
        expected: String,
        found: String,
        advice: &'static str,
    },
    /// The sizes in config.json contradict each other.
    #[error("{0}; correct config.json, or fetch the model again")]
    Shape(#[from] ConfigError),
    /// The rotary positions are scaled by a rule that the workbook does not know.
    #[error(
        "{file}: rope_scaling: expected kind `default`, `linear` or `llama3`, found `{found}`; ignoring it would go wrong only on long \
         prompts, so the model is refused", file = foreign(.file), found = foreign(.found)
    )]
    UnknownRopeScaling { file: String, found: String },
    /// The number of pieces in the tokenizer is not the number of rows in the embedding.
    #[error(
        "{file}: expected {expected} pieces as in config.json, found {found}; the tokenizer belongs to another model (if this model pads its \
         embedding, say \"padded_vocabulary\": true in config.json)", file = foreign(.file)
    )]
    VocabularyMismatch {
        file: String,
        expected: usize,
        found: usize,
    },
    /// The workbook can not use the tokenizer's file.
    #[error("{file}: expected {expected}, found {found}; fetch the tokenizer again", file = foreign(.file), found = foreign(.found))]
    BadTokenizer {
        file: String,
        expected: &'static str,
        found: String,
    },
    /// The SHA-256 of a file is not the recorded one.
    #[error(
        "{file}: expected sha256 {expected}, found {found}: the file is not the one that was recorded; fetch it again", file = foreign(.file), expected = foreign(.expected), found = foreign(.found)
    )]
    WrongChecksum {
        file: String,
        expected: String,
        found: String,
    },
}

/// The result of this crate's functions.
pub type Result<T, E = LoadError> = std::result::Result<T, E>;
