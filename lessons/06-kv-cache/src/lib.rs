//! Lesson 06, KV cache: what may be kept?
//!
//! A row depends on the rows before it and on nothing else, so its numbers never change. Later rows read the keys and
//! values of a finished row, in each layer, and nothing else of it. This lesson keeps them: each token is computed
//! once, and a step of the loop computes one row instead of the whole text. The bits are those of lesson 05.
//!
//! **New here**, in reading order: the formula of the memory, the cache, the pass over new rows, the loop with its two
//! phases.
//!
//! | module | what it holds |
//! |---|---|
//! | [`exercises`] | the functions that a learner writes; everything below calls them |
//! | [`memory`], [`batch`], [`shapes`] | bytes of a cache, and how many caches fit, for any model and for known ones |
//! | [`place`] | where a number of the cache stands, where a row of a chunk stands |
//! | [`append`], [`cache`] | a copy into preallocated memory, behind a write index |
//! | [`offset`] | the mask of a chunk: the number of cached positions moves the triangle |
//! | [`forward`] | new tokens to logits |
//! | [`generate`], [`session`] | prefill and decode; the loop with a model, and the two times of an answer |
//! | [`work`] | multiply-adds of a chunk, counted from shapes |
//! | [`experiments`], [`mask`] | the slower ways, to be measured: memory that grows, view objects, a mask over a fixed length |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: threads and memory on huge pages from `layout`, sizes and ids from `training`, the config from
//! `loading`, and from `generation` the weights, the scratch, all row operations of a layer, and the choice.
//!
//! **Supersedes** [`generation::forward::forward`] by [`forward::forward`], [`generation::generate::generate`] by
//! [`generate::generate`], and [`generation::Model::generate`] by [`session::generate`]. Tests compare old and new bit
//! for bit.
//!
//! **Cost**: n new tokens after a prompt of p compute p + n - 1 rows, and keep 8 · num_layers · num_kv_heads · head_dim
//! bytes of each. Only attention still grows with the text, by one position a token.

pub mod exercises;

pub mod error;

pub mod place;
pub mod shapes;

pub mod cache;
pub mod forward;
pub mod session;

pub mod experiments;

pub mod costs;
pub mod work;

pub use cache::{CacheOrder, ContiguousCache};
pub use error::CacheError;
pub use exercises::{append, batch, generate, mask, memory, offset};
pub use session::{Timed, Timings, cache_for};
