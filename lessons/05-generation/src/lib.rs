//! Lesson 05, generation: why does each token cost more?
//!
//! A language model is a function from a sequence of tokens to the logits of the next token, one number for each token
//! of its vocabulary. Text comes from calling it in a loop: choose a token, append it, call again. This lesson writes
//! the function and the loop in their plainest form and measures the cost of that form: each step computes all rows
//! before it once more.
//!
//! **New here**, in reading order:
//!
//! | module | what |
//! |---|---|
//! | [`kernels`] | norm, rotary embedding, attention of one row: free functions on slices |
//! | [`layer`], [`attention`] | the same for all rows, dealt out to threads |
//! | [`forward`] | tokens to logits, one layer on one screen |
//! | [`mod@generate`], [`limits`] | the choice of a token, the naive loop, its limits and its result |
//! | [`linear`], [`weights`], [`state`] | what a pass reads, and what it writes |
//! | [`characters`], [`text`], [`chat`] | bytes to characters as they arrive; a conversation to text |
//! | [`model`] | config, weights and tokenizer of one model together |
//! | [`lanes`] | the inner loops, the same bits on every instruction set |
//! | [`work`], [`roofline`] | multiply-adds and bytes, counted from shapes; the shortest time that a machine allows |
//! | [`candidates`], [`eval`] | the most likely next tokens; lesson 03's metrics for any model folder |
//! | [`terminal`] | tokens and answers at a terminal; the command `generate` of this lesson and the next |
//! | [`costs`] | one small task for each exercise, whose cost is counted |
//!
//! [`exercises`] holds the functions that a learner writes; `kernels`, `characters` and the loop of `generate` are in
//! it.
//!
//! **Imported**: matrix products and threads from `layout`, sizes and token ids from `training`, files and tokenizer
//! from `loading`.
//!
//! **Cost**: n new tokens after a prompt of p compute n · p + n (n - 1) / 2 rows, of which p + n - 1 are different.

pub mod error;

pub mod exercises;
pub use exercises::{characters, kernels};

pub mod attention;
mod attention_units;
pub mod forward;
pub mod generate;
pub mod layer;
pub mod limits;

pub mod linear;
pub mod state;
pub mod weights;

pub mod chat;
mod dialect;
pub mod model;
pub mod text;

pub mod lanes;

pub mod candidates;
pub mod costs;
pub mod eval;
pub mod roofline;
pub mod terminal;
pub mod work;

pub use error::GenerateError;
pub use limits::{FinishReason, Generation, Limits};
pub use model::Model;
pub use state::State;
pub use weights::{Linear, Weights};
