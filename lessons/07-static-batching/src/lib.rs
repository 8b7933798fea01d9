//! Lesson 07, static batching: why is batch 8 nearly free?
//!
//! A step of decoding reads every weight to multiply one row with it, and most of the machine's arithmetic units are
//! idle meanwhile. Here several sequences take each step together: the weights are read once for all of them. Sequences
//! are of different length, so their rectangle has cells without a token, and short requests wait for long ones.
//!
//! **New here**, in reading order: the rectangle, the pass over it, the loop, the stream of requests, and the waste.
//!
//! | module | what it holds |
//! |---|---|
//! | [`exercises`], [`parts`] | the functions that a learner writes; the types that they take and return |
//! | [`padding`] | where tokens stand, their positions, which cells see which |
//! | [`batch`] | the rectangle of cells |
//! | [`forward`], [`state`], [`generate`] | the pass over a batch, what it writes, the loop until the longest answer is complete |
//! | [`work`] | multiply-adds and bytes of a pass, counted from shapes |
//! | [`buckets`], [`rules`] | prompts of similar length together; the useful share by padding rule |
//! | [`window`], [`serve`] | start now or wait for more requests; a stream of requests |
//! | [`clock`], [`percentile`], [`workload`] | time that a test can advance, the tail of a distribution, requests to serve |
//! | [`plan`], [`prices`] | static batching in steps, from lengths alone; the time of a step by its rows |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: the pool from `layout`, sizes and ids from `training`, row kernels and weights from `generation`, the
//! cache from `kv_cache`.
//!
//! **Supersedes** [`kv_cache::forward::forward`] and [`kv_cache::session::generate`] for many prompts. Tokens and
//! logits of each row keep their bits.
//!
//! **Cost**: a step reads each weight once for all rows; a batch of b prompts, the longest of w tokens and the longest
//! answer of n, computes b · w + b · (n - 1) rows, useful or not.

pub mod error;
pub mod exercises;
pub mod parts;

pub mod batch;
pub mod forward;
pub mod generate;
pub mod state;
pub mod work;

pub mod rules;
pub mod serve;

pub mod clock;
pub mod percentile;
pub mod plan;
pub mod prices;
pub mod workload;

pub mod costs;

pub use batch::{Pad, PaddedBatch, Width};
pub use error::BatchError;
pub use exercises::{buckets, padding, window};
pub use generate::{BatchRun, generate_batch};
pub use parts::Padding;
pub use state::BatchState;
