//! Lesson 09, sampling: how is one token chosen?
//!
//! The model gives one number for each token of its vocabulary. So far the largest won. Here the numbers become probabilities, some of them are cut off,
//! and one draw decides; and all of it costs a small share of the pass that made the numbers, because nothing is sorted that need not be.
//!
//! **New here**, in reading order: what may be asked for, the five small functions that change or cut a distribution, the sampler that calls them in
//! order.
//!
//! | module | what it holds |
//! |---|---|
//! | [`params`], [`error`] | what a request may ask for, checked before anything is computed |
//! | [`softmax`] | logits to probabilities, at a temperature |
//! | [`select`], [`order`] | the largest few, without sorting the many; all in order, without comparing any two |
//! | [`nucleus`] | the border of top-p |
//! | [`random`] | a number for each draw, by address: seed, answer, position |
//! | [`penalty`], [`history`] | what a token costs that was there before |
//! | [`draw`] | from shares to one token |
//! | [`sampler`] | one token: bias, penalties, temperature, top-k, top-p, min-p, draw |
//! | [`full_sort`] | the same with a sort: the oracle, and the baseline of the race |
//! | [`logprobs`], [`stop`] | what the model itself thought; texts that end an answer |
//! | [`answer`] | tokens to text, up to whatever ends it |
//! | [`choice`] | each request of lesson 08's engine with parameters of its own |
//! | [`measure`], [`counted`] | entropy and repetition; comparisons that are counted |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: exponential, greedy choice and text streams from `generation`, requests and engine from `continuous_batching`.
//!
//! **Superseded**: [`generation::generate::greedy`] as the engine's way to choose, by [`choice::ParamsOfRequests::choice`]. It stays as the branch for
//! a temperature of 0.
//!
//! **Cost**: some passes over the vocabulary, about one comparison a token where a sort takes log2 of their number.

pub mod error;
pub mod params;

pub mod softmax;

pub mod order;
pub mod select;

pub mod nucleus;

pub mod random;

pub mod history;
pub mod penalty;

pub mod draw;
pub mod sampler;

pub mod full_sort;

pub mod logprobs;
pub mod stop;

pub mod answer;
pub mod choice;

pub mod costs;
pub mod counted;
pub mod measure;

pub use error::SamplingError;
pub use params::{CheckedParams, SamplingParams};
pub use sampler::{Sampled, Sampler};
