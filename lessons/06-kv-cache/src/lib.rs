//! Lesson 06, KV cache: what may be kept?
//!
//! A row depends on the rows before it and on nothing else, so what a token left behind once never changes. Of a row that is done, later rows
//! read its keys and values, in each layer, and nothing more. This lesson keeps them: each token is computed once, and a step of the loop is
//! one row instead of the whole text. The bits are those of lesson 05.
//!
//! **New here**, in reading order: the formula of the memory, the cache, the pass over new rows, the loop with its two phases.
//!
//! | module | what it holds |
//! |---|---|
//! | [`memory`], [`shapes`] | bytes of a cache, for any model and for known ones |
//! | [`place`] | where a number of the cache stands, where a row of a chunk stands |
//! | [`append`], [`cache`] | a copy into preallocated memory, behind a write index |
//! | [`offset`] | the mask of a chunk: what is cached moves the triangle |
//! | [`forward`] | new tokens to logits |
//! | [`generate`], [`session`], [`timings`] | prefill and decode; the loop with a model; the two times of an answer |
//! | [`concat`](mod@concat), [`views`], [`masked`] with [`mask`] | the worse ways, to be measured: memory that grows, view objects, a mask over a fixed length |
//! | [`work`] | multiply-adds of a chunk, counted from shapes |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: threads and memory on huge pages from `layout`, sizes and ids from `training`, the config from `loading`, and from
//! `generation` the weights, the scratch, everything that a layer does with its rows, and the choice.
//!
//! **Supersedes** [`generation::forward::forward`] by [`forward::forward`], [`generation::generate::generate`] by [`generate::generate`],
//! and [`generation::Model::generate`] by [`session::generate`]. Tests hold old and new together, bit for bit.
//!
//! **Cost**: n new tokens after a prompt of p compute p + n - 1 rows, and keep 8 · num_layers · num_kv_heads · head_dim bytes of each. What
//! still grows with the text is attention, by one position a token.

pub mod error;

pub mod memory;
pub mod place;
pub mod shapes;

pub mod append;
pub mod cache;
pub mod offset;

pub mod forward;
pub mod generate;
pub mod session;
pub mod timings;

pub mod concat;
pub mod mask;
pub mod masked;
pub mod views;

pub mod costs;
pub mod work;

pub use cache::{CacheOrder, ContiguousCache};
pub use error::CacheError;
pub use session::{Timed, cache_for};
pub use timings::Timings;
