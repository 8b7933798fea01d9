//! Everything that a file from outside can do wrong, one variant a kind.
//!
//! A message says what is wrong, what was expected, what was found and what to do. Nothing in this crate panics on the
//! content of a file: a folder that was downloaded, cut off, renamed or forged ends here.

use training::config::ConfigError;

/// Why a model was refused.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The name is neither a model that the workbook knows nor a path that exists.
    #[error(
        "{model}: expected `stories`, `random:15m`, `random:135m`, `random:1.1b`, a folder with config.json, or a .gguf file, \
         found none of these; check the spelling, or fetch a model with `cargo course data`"
    )]
    UnknownModel {
        /// What was asked for.
        model: String,
    },
    /// A file or folder that is needed can not be read.
    #[error("{path}: cannot be read: {reason}; {advice}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// What the operating system said.
        reason: String,
        /// What to do.
        advice: &'static str,
    },
    /// A file can not be written.
    #[error("{path}: cannot be written: {reason}; check the folder, its rights and the free space")]
    Unwritable {
        /// The file or folder.
        path: String,
        /// What the operating system said.
        reason: String,
    },
    /// The file ends before the bytes that its header promises.
    #[error(
        "{file}: expected at least {expected_bytes} bytes, found {found_bytes}: the file is cut off; fetch or convert it again"
    )]
    CutOff {
        /// The file.
        file: String,
        /// Length that the header or the manifest implies.
        expected_bytes: u64,
        /// Length of the file.
        found_bytes: u64,
    },
    /// The file goes on after its last tensor.
    #[error(
        "{file}: expected {expected_bytes} bytes, found {found_bytes}: something was written after its end; fetch or convert it again"
    )]
    TrailingBytes {
        /// The file.
        file: String,
        /// Length that the header or the manifest implies.
        expected_bytes: u64,
        /// Length of the file.
        found_bytes: u64,
    },
    /// The first eight bytes promise a header that the file can not hold.
    #[error(
        "{file}: expected a header within the file's {file_bytes} bytes, found a header length of {header_bytes}: this is no safetensors file, or it is cut off; fetch it again"
    )]
    HeaderTooLong {
        /// The file.
        file: String,
        /// Length in the first eight bytes.
        header_bytes: u64,
        /// Length of the file.
        file_bytes: u64,
    },
    /// The header is not what the format allows.
    #[error("{file}: {place}: expected {expected}, found {found}; fetch or convert the file again")]
    BadHeader {
        /// The file.
        file: String,
        /// Where in the header.
        place: String,
        /// What the format asks for.
        expected: String,
        /// What stood there.
        found: String,
    },
    /// Two tensors, or two metadata keys, have one name.
    #[error("{file}: expected each name once, found `{name}` twice; fetch or convert the file again")]
    DuplicateName {
        /// The file.
        file: String,
        /// The name.
        name: String,
    },
    /// The number of values in a shape does not fit the machine's integers.
    #[error(
        "{file}: {name}: expected a shape whose size in bytes fits 64 bits, found {shape:?}; the file is damaged or forged"
    )]
    ShapeOverflow {
        /// The file.
        file: String,
        /// The tensor.
        name: String,
        /// The shape in the header.
        shape: Vec<u64>,
    },
    /// A tensor's bytes are more or fewer than its shape and type need.
    #[error(
        "{file}: {name}: expected {expected_bytes} bytes for its shape and type, found {found_bytes} between its offsets; fetch or convert the file again"
    )]
    WrongLength {
        /// The file.
        file: String,
        /// The tensor.
        name: String,
        /// Bytes that shape and type need.
        expected_bytes: u64,
        /// Bytes between the offsets.
        found_bytes: u64,
    },
    /// Two tensors share bytes.
    #[error(
        "{file}: expected `{second}` to begin at or after byte {first_end}, where `{first}` ends, found it at byte {second_begin}: they overlap; the file is damaged or forged"
    )]
    Overlap {
        /// The file.
        file: String,
        /// The tensor that comes first.
        first: String,
        /// End of the first one, in bytes of the data section.
        first_end: u64,
        /// The tensor that begins too early.
        second: String,
        /// Its begin.
        second_begin: u64,
    },
    /// Bytes between two tensors belong to nobody.
    #[error(
        "{file}: expected `{name}` to begin at byte {expected_begin}, found it at byte {found_begin}: the bytes between belong to no tensor; fetch or convert the file again"
    )]
    Gap {
        /// The file.
        file: String,
        /// The tensor after the gap.
        name: String,
        /// Where the tensor before it ends.
        expected_begin: u64,
        /// Where it begins.
        found_begin: u64,
    },
    /// A tensor's number format is not one that this loader reads.
    #[error("{file}: {name}: expected {expected}, found type {found}; convert the model to one of these types")]
    WrongDtype {
        /// The file.
        file: String,
        /// The tensor.
        name: String,
        /// Types that are read.
        expected: &'static str,
        /// The type in the file.
        found: String,
    },
    /// A tensor's shape is not the one that config.json asks for.
    #[error(
        "{model}: {name}: expected shape {expected:?} as config.json says, found {found:?}; config.json and weights belong to different models"
    )]
    WrongShape {
        /// The model.
        model: String,
        /// The tensor.
        name: String,
        /// Shape that the config implies.
        expected: Vec<usize>,
        /// Shape in the file.
        found: Vec<usize>,
    },
    /// A tensor that the model needs is not there.
    #[error(
        "{model}: expected a tensor `{name}`, found none; a shard is missing, or config.json and weights belong to different models"
    )]
    MissingTensor {
        /// The model.
        model: String,
        /// The tensor.
        name: String,
    },
    /// A tensor that the model has no place for.
    #[error(
        "{model}: expected only the tensors of a Llama model with {num_layers} layers, found `{name}` too; loading it as such would ignore weights: check config.json"
    )]
    ExtraTensor {
        /// The model.
        model: String,
        /// The tensor.
        name: String,
        /// Layers in config.json.
        num_layers: usize,
    },
    /// A weight is NaN or infinite.
    #[error(
        "{model}: {name}: expected finite weights, found {value} at index {index}; the file is damaged or its training diverged: fetch it again and verify its checksum"
    )]
    NotFinite {
        /// The model.
        model: String,
        /// The tensor.
        name: String,
        /// Index of the first such value, row-major.
        index: usize,
        /// The value: NaN, inf or -inf.
        value: f32,
    },
    /// A key of a JSON file is missing or says something that we can not use.
    #[error("{file}: {key}: expected {expected}, found {found}; {advice}")]
    BadConfig {
        /// The file.
        file: String,
        /// The key.
        key: &'static str,
        /// What is understood.
        expected: &'static str,
        /// What stood there.
        found: String,
        /// What to do.
        advice: &'static str,
    },
    /// The sizes in config.json do not fit each other.
    #[error("{0}; correct config.json, or fetch the model again")]
    Shape(#[from] ConfigError),
    /// A way of scaling the rotary positions that the workbook does not know. Ignoring it would give wrong text late.
    #[error(
        "{file}: rope_scaling: expected kind `default`, `linear` or `llama3`, found `{found}`; ignoring it would go wrong only on long prompts, so the model is refused"
    )]
    UnknownRopeScaling {
        /// The file.
        file: String,
        /// The kind.
        found: String,
    },
    /// The tokenizer has another number of pieces than the embedding has rows.
    #[error(
        "{file}: expected {expected} pieces as in config.json, found {found}; the tokenizer belongs to another model (if this model pads its embedding, say \"padded_vocabulary\": true in config.json)"
    )]
    VocabularyMismatch {
        /// The tokenizer's file.
        file: String,
        /// `vocab_size` of the config.
        expected: usize,
        /// Pieces, or the highest id plus one.
        found: usize,
    },
    /// The tokenizer's file is not one that we can use.
    #[error("{file}: expected {expected}, found {found}; fetch the tokenizer again")]
    BadTokenizer {
        /// The file.
        file: String,
        /// What is understood.
        expected: &'static str,
        /// What stood there.
        found: String,
    },
    /// A file's SHA-256 is not the recorded one.
    #[error(
        "{file}: expected sha256 {expected}, found {found}: the file is not the one that was recorded; fetch it again"
    )]
    WrongChecksum {
        /// The file.
        file: String,
        /// The recorded digest.
        expected: String,
        /// The digest of the file.
        found: String,
    },
}

/// What this crate's functions return.
pub type Result<T, E = LoadError> = std::result::Result<T, E>;
