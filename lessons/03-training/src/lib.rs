//! Lesson 03, training: how does text become weights?

pub mod config;
pub mod corpus;
pub mod exercises;
pub mod grammar;
pub mod metrics;
pub mod ngram;
pub mod random;
pub mod split;
pub mod tokenizer;

pub mod batch;
pub mod checkpoint;
pub mod eval;
pub mod export;
pub mod kernels;
pub mod loss;
pub mod model;
pub mod ops;
pub mod plain;
pub mod sample;
pub mod train;
pub mod trainer;
pub mod vector;

pub use config::{LlamaConfig, TokenId};
