//! Lesson 10, paged cache: how can memory follow length?
//!
//! A slot is as long as the longest text that may come, and most texts are short. Here memory is cut into blocks of a
//! few positions. A sequence holds a table of block numbers, takes a block when its text reaches the next one, and
//! frees all of them at its end. And since a table holds only numbers, two tables may name the same block: a beginning
//! that texts share is computed and kept once.
//!
//! **New here**, in reading order: the allocator, the table and what is done with it, the block manager, the cache.
//!
//! | module | what it holds |
//! |---|---|
//! | [`block`], [`allocator`] | blocks by number, a free list through them, reference counts |
//! | [`hash`], [`prefix`] | the name of a block's content; which blocks can be used again |
//! | [`sharing`], [`table`] | what a request says about sharing; the blocks of one sequence |
//! | [`block_manager`], [`admit`], [`stats`] | which sequence holds which blocks; admission and forks; hits, copies and evictions, counted |
//! | [`pieces`], [`ahead`], [`tiles`], [`together`] | attention through the table, without gathering; the next piece is prefetched, and the rows of a prompt share what is read |
//! | [`cache`] | the floats: lesson 08's cache with blocks in the place of slots |
//! | [`exercises`] | the five functions that a reader writes; the modules above call them |
//! | [`scan`], [`regions`], [`ways`], [`reserve`] | for comparison: an allocator that searches, memory that grows in one piece, one load held in each way, memory that a machine may refuse |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: engine, ragged pass and both traits of memory from `continuous_batching`, unchanged; writing rows from
//! `kv_cache`.
//!
//! **Superseded**: [`continuous_batching::Slots`] by [`BlockManager`], [`continuous_batching::SlotCache`] by
//! [`PagedCache`]. The engine stays as it is.
//!
//! **Cost**: for each sequence half a block of unused memory; for each position a division; for each full block a hash.
//! Each attention kernel is called once for a run of neighbouring blocks or, in prompts, once for a tile.

pub mod block;

pub mod allocator;

pub mod hash;
pub mod prefix;

pub mod sharing;
pub mod table;

pub mod admit;
pub mod block_manager;
pub mod stats;

pub mod pieces;

pub mod ahead;
pub mod tiles;
pub mod together;

pub mod cache;

pub mod exercises;

pub mod regions;
pub mod reserve;
pub mod scan;
pub mod ways;

pub mod costs;

pub use block::BlockId;
pub use block_manager::{BlockManager, Reserve};
pub use cache::PagedCache;
pub use sharing::{Shares, Sharing};
