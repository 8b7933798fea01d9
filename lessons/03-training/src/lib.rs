//! Lesson 03, training: how does text become weights?

pub mod config;

pub use config::{LlamaConfig, TokenId};
