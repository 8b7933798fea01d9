//! Lesson 04, loading: what happens before the first token?
//!
//! A trained model is a folder of files. This crate reads it: the sizes, the weights, the vocabulary; and it trusts none of
//! them before they were compared with each other.
//!
//! ```text
//! config.json, generation_config.json --> ModelConfig --+
//! model.safetensors (one or sharded)  --> Checkpoint ---+--> ModelFolder { config, weights, tokenizer, chat_template }
//! tokenizer.json                      --> Tokenizer  ---+
//! model.gguf  (all of it in one file) --> Gguf ---------+        weights: dyn WeightSource
//! random:135m (nothing on the disk)   --> RandomWeights +
//! ```
//!
//! **New here**: a safetensors header read by hand ([`exercises::safe_header`]), mapped and eager files ([`bytes`]), the number formats
//! ([`dtype`]), the checks between config, weights and tokenizer ([`folder`]), GGUF ([`gguf`]), the load timeline ([`stages`]),
//! checksums ([`manifest`]).
//!
//! **Imported**: [`training::LlamaConfig`] and [`training::TokenId`] (lesson 03), packed matrices and the thread pool (lesson 02,
//! for the stand-in of a first token only), text to ids by the `tokenizers` crate. The `safetensors` crate writes folders, and
//! is the oracle of the tests.
//!
//! **Superseded**: nothing. Lesson 03 reads the folders that it wrote itself; this crate reads those of others.
//!
//! **Cost**: opening reads the headers and the vocabulary. A tensor is read when it is asked for: its stored bytes once, 4 bytes a
//! value written.
//!
//! Modules stand in reading order; the functions that a reader writes are all in [`exercises`].

pub mod error;

pub mod bytes;
pub mod dtype;
pub mod header;

pub mod careless;
pub mod costs;
pub mod exercises;
pub mod memory;

pub mod config;
pub mod shapes;
pub mod source;

pub mod checkpoint;
pub mod random;
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

pub use bytes::Access;
pub use config::{ModelConfig, RopeScaling};
pub use dtype::{Dtype, TensorInfo};
pub use error::LoadError;
pub use folder::{ModelFolder, open, open_with};
pub use source::WeightSource;
pub use tokenizer::Tokenizer;
