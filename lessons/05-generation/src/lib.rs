//! Lesson 05, generation: why does each token cost more?
//!
//! A language model is a function from a sequence of tokens to one number for each token of its vocabulary, the logits of the token that
//! comes next. Text comes from calling it in a loop: choose a token, append it, call again. This lesson writes both down in their plainest
//! form, and measures what the plainest form costs: each step computes all rows before it once more.
//!
//! **New here**, in reading order: the kernels of a row, the forward pass, the loop, the stream of text.
//!
//! | module | what it holds |
//! |---|---|
//! | [`kernels`] | norm, rotary embedding, attention, gate: free functions on slices |
//! | [`lanes`] | the inner loops below them, the same bits on every instruction set |
//! | [`linear`], [`weights`], [`state`] | what is read, and what is written |
//! | [`rope`], [`rows`] | the table of angles; rows shared out to threads |
//! | [`layer`], [`attention`], [`forward`] | what a layer does besides products; tokens to logits |
//! | [`generate`], [`limits`] | the choice and the naive loop |
//! | [`characters`], [`text`] | bytes to characters as they come |
//! | [`chat`], [`model`] | a conversation to text; everything of one model in one place |
//! | [`work`], [`roofline`] | multiply-adds and bytes, counted from shapes; how near to the machine's limits |
//! | [`walk`], [`candidates`] | one layer with every number in between; what the model could have said instead |
//! | [`terminal`] | what a reader sees: a token, an answer with bars, the command `generate` of this lesson and the next |
//! | [`eval`] | lesson 03's metrics for any model folder |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: matrix products and threads from `layout`, sizes and token ids from `training`, files and tokenizer from `loading`.
//!
//! **Cost**: n new tokens after a prompt of p compute n · p + n (n - 1) / 2 rows where p + n - 1 would do. Later lessons begin here.

pub mod error;

pub mod kernels;
pub mod lanes;

pub mod linear;
pub mod rope;
pub mod rows;
pub mod state;
pub mod weights;

pub mod attention;
pub mod layer;

pub mod forward;

pub mod generate;
pub mod limits;

pub mod characters;
pub mod text;

pub mod candidates;
pub mod chat;
pub mod model;

pub mod costs;
pub mod eval;
pub mod roofline;
pub mod terminal;
pub mod walk;
pub mod work;

pub use error::GenerateError;
pub use limits::{FinishReason, Generation, Limits};
pub use model::Model;
pub use state::State;
pub use weights::{Linear, Weights};
