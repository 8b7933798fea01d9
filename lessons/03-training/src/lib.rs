//! Lesson 03, training: how does text become weights?

pub mod grammar;
pub mod random;
pub mod split;
pub mod config;
pub mod corpus;
pub mod tokenizer;

pub mod batch;
pub mod kernels;
pub mod loss;
pub mod model;
pub mod ops;
pub mod checkpoint;
pub mod export;
pub mod train;
pub mod trainer;
pub mod vector;

pub use config::{LlamaConfig, TokenId};
