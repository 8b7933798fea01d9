//! Lesson 07, static batching: why is batch 8 nearly free?
//!
//! A step of decoding reads every weight to multiply one row with it. The arithmetic that the machine could do meanwhile is left idle, and
//! lesson 06 has made sure of that. Here several sequences take each step together: the weights are read once for all of them. Sequences
//! are of different length, so the rectangle that they form has cells without a token, and somebody waits for somebody.
//!
//! **New here**, in reading order: the rectangle, the pass over it, the loop, the stream of requests, and what all of it wastes.
//!
//! | module | what it holds |
//! |---|---|
//! | [`padding`] | where tokens stand, their positions, who sees whom: free functions |
//! | [`batch`] | the rectangle of cells that they fill |
//! | [`forward`], [`state`], [`generate`] | the pass over a batch, what it writes, the loop until the longest is done |
//! | [`work`] | multiply-adds and bytes of a pass, counted from shapes |
//! | [`buckets`], [`rules`] | prompts of similar length together; the useful share by padding rule |
//! | [`window`], [`serve`] | start now or wait for company; a stream of requests |
//! | [`clock`], [`percentile`], [`workload`] | time that a test can turn, the tail of a distribution, requests to serve |
//! | [`plan`] | what static batching does with lengths alone, in steps |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: the pool from `layout`, sizes and ids from `training`, row kernels and weights from `generation`, the cache from `kv_cache`.
//!
//! **Supersedes** [`kv_cache::forward::forward`] and [`kv_cache::session::generate`] for many prompts. Tokens and logits of each row keep their
//! bits.
//!
//! **Cost**: a step reads each weight once for all rows; a batch of b prompts, the longest of w tokens and the longest answer of n, computes
//! b · w + b · (n - 1) rows, useful or not.

pub mod error;

pub mod batch;
pub mod padding;

pub mod forward;
pub mod generate;
pub mod state;
pub mod work;

pub mod buckets;
pub mod rules;

pub mod serve;
pub mod window;

pub mod clock;
pub mod percentile;
pub mod plan;
pub mod workload;

pub mod costs;

pub use batch::{Pad, PaddedBatch, Padding, Width};
pub use error::BatchError;
pub use generate::{BatchRun, generate_batch};
pub use state::BatchState;
