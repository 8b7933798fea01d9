//! Lesson 04, loading: what happens before the first token?
//!
//! A trained model is a folder of files. This crate reads the sizes, the weights and the vocabulary, and compares them
//! with each other before it uses them.
//!
//! ```text
//! config.json, generation_config.json --> ModelConfig --+
//! model.safetensors (one or sharded)  --> Checkpoint ---+--> ModelFolder { config, weights, tokenizer, chat_template }
//! tokenizer.json                      --> Tokenizer  ---+
//! model.gguf  (all of it in one file) --> Gguf ---------+        weights: dyn WeightSource
//! random:135m (no file)               --> RandomWeights +
//! ```
//!
//! **New here**: a safetensors header read by hand ([`exercises::safe_header`]), mapped and eager files ([`bytes`]),
//! the number formats ([`dtype`]), the checks between config, weights and tokenizer ([`folder`]), GGUF ([`gguf`]), the
//! load timeline ([`stages`]), checksums ([`manifest`]).
//!
//! **Imported**: [`training::LlamaConfig`] and [`training::TokenId`] (lesson 03), packed matrices and the thread pool
//! (lesson 02, only for the measurement of a first token), text to ids by the `tokenizers` crate. The `safetensors`
//! crate is the oracle of the tests.
//!
//! **Superseded**: nothing. Lesson 03 reads the folders that it wrote itself; this crate reads folders from anywhere.
//!
//! **Cost**: opening reads the headers and the vocabulary. A tensor is read on request: its stored bytes once, and 4
//! bytes a value written.
//!
//! Modules are in reading order. All functions that a learner writes are in [`exercises`].

pub mod error;

pub mod bytes;
pub mod dtype;
pub mod header;

pub mod careless;
pub mod costs;
pub mod exercises;
pub mod memory;

mod json;
pub mod architecture;
pub mod config;
pub mod shapes;
pub mod source;

mod shards;
pub mod checkpoint;
pub mod random;
mod spelling;
pub mod tokenizer;

pub mod folder;

pub mod gguf;

pub mod convert;
pub mod manifest;
pub mod write;

pub mod damage;
pub mod page_cache;
pub mod rounding;
pub mod stages;

pub use architecture::Architecture;
pub use bytes::Access;
pub use config::{ModelConfig, RopeScaling};
pub use dtype::{Dtype, TensorInfo};
pub use error::LoadError;
pub use folder::{ModelFolder, open, open_with};
pub use source::WeightSource;
pub use tokenizer::Tokenizer;
