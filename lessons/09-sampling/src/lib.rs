//! Lesson 09, sampling: how is one token chosen?
//!
//! The model gives one number for each token of its vocabulary, and so far the token with the largest number won. Here
//! the numbers become probabilities, some tokens are cut off, and one draw decides. A choice costs a small share of the
//! pass that made the numbers, because nothing is sorted that need not be.
//!
//! **New here**, in reading order: the parameters of a request, the five small functions that change or cut a
//! distribution, and the sampler that calls them in order.
//!
//! | module | what it holds |
//! |---|---|
//! | [`params`], [`error`] | the parameters of a request, checked before anything is computed |
//! | [`exercises`] | softmax, the largest few, the border of top-p, a number for each draw, penalties |
//! | [`order`] | all numbers in order, without comparing any two |
//! | [`history`] | counts of the tokens in a text, for penalties |
//! | [`draw`] | from probabilities to one token |
//! | [`sampler`] | one token: bias, penalties, temperature, top-k, top-p, min-p, draw |
//! | [`full_sort`] | the same with a sort: the oracle of the tests and the baseline of the race |
//! | [`logprobs`], [`stop`] | the model's own log probabilities; texts that end an answer |
//! | [`answer`] | tokens to text, up to a stop |
//! | [`choice`] | the sampler in lesson 08's engine, with parameters for each request |
//! | [`measure`], [`counted`] | entropy and repetition; numbers that count their comparisons |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: exponential, greedy choice and text streams from `generation`, requests and engine from
//! `continuous_batching`.
//!
//! **Superseded**: [`generation::generate::greedy`] as the engine's choice, by [`choice::by_params`]. It stays as the
//! branch for a temperature of 0.
//!
//! **Cost**: a few passes over the vocabulary, with about one comparison per token where a sort takes log2 of their
//! number.

pub mod error;
pub mod params;

pub mod exercises;

pub mod order;

pub mod history;

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
