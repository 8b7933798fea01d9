//! Lesson 03, training: how does text become weights?
//!
//! ```text
//! grammar ──┐                                        ┌─ metrics ─ eval: nats per token, questions, stories
//!           ├─ corpus ─ tokenizer ─ windows ─ batch ─┤
//! books ────┘                                        └─ model ─ loss ─ backward ─ AdamW ─ checkpoint ─ folder
//! ```
//!
//! **New.** The data layer ([`grammar`], [`corpus`], [`split`], [`tokenizer`] behind [`door`]); the metrics and baselines ([`metrics`],
//! [`windows`], [`ngram`], [`baselines`], [`eval`]); a small Llama on the tape ([`model`]), its operations fused
//! ([`ops`], [`kernels`]) and composed ([`plain`]); a trainer whose checkpoints continue with the same bits
//! ([`trainer`], [`checkpoint`], [`train`], [`record`]).
//!
//! **Imported.** Lesson 01's `Tensor`, `custom_op`, AdamW and clipping; lesson 02's `gemm`, vector instructions and
//! pool.
//!
//! **Cost.** A token of the default model (4.9 M parameters) takes 4.9 M multiply-adds forward and twice as many
//! backward, plus 7 · head_dim · num_heads · num_layers for each position that it sees; the tape keeps about 90 KiB of
//! it.
//!
//! **Not here.** Generation: [`sample`] is a short loop that lesson 05 takes apart. Folders of other makers: lesson 04.
//!
//! Read the groups below from top to bottom: text, model, run, measure; at the end the cost of the exercises
//! ([`costs`]).

pub mod config;

pub mod corpus;
pub mod door;
pub mod exercises;
pub mod grammar;
pub mod merges;
pub mod random;
pub mod split;
pub mod tokenizer;

pub mod batch;
pub mod kernels;
pub mod model;
pub mod ops;
pub mod plain;
pub mod vector;

pub mod checkpoint;
pub mod export;
pub mod order;
pub mod record;
pub mod train;
pub mod trainer;

pub mod baselines;
pub mod eval;
pub mod metrics;
pub mod ngram;
pub mod sample;
pub mod windows;

pub mod costs;

pub use config::{LlamaConfig, TokenId};
