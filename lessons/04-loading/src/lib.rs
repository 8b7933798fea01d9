//! Lesson 04, loading: what happens before the first token?

pub mod error;

pub mod bytes;
pub mod dtype;
pub mod header;

pub mod by_hand;
pub mod careless;
pub mod memory;

pub mod config;
pub mod shapes;
pub mod source;

pub mod checkpoint;
pub mod gguf;
pub mod random;
pub mod tokenizer;

pub mod convert;
pub mod folder;
pub mod manifest;
pub mod write;

pub mod damage;
pub mod page_cache;
pub mod rounding;
pub mod stages;

pub use bytes::Access;
pub use config::{ModelConfig, RopeScaling};
pub use dtype::{Dtype, TensorInfo};
pub use error::LoadError;
pub use folder::{ModelFolder, open, open_with};
pub use source::WeightSource;
pub use tokenizer::Tokenizer;
