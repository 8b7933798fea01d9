//! Lesson 10, paged cache: how can memory follow length?
//!
//! A slot is as long as the longest text that might come, and most texts are short. Here memory is cut into blocks of a few positions. A sequence holds a
//! table of block numbers, takes a block when its text reaches the next one, and gives all of them back at its end. And since a block is only a number,
//! two tables may name the same one: texts that begin alike are computed and kept once.
//!
//! **New here**, in reading order: the allocator, the table and what is done with it, the cache, the prefix index.
//!
//! | module | what it holds |
//! |---|---|
//! | [`block`], [`allocate`], [`allocator`] | blocks by number, a free list through them, reference counts |
//! | [`place`], [`table`] | from a position to a block and a place in it |
//! | [`pieces`], [`attend`] | attention through the table, nothing gathered |
//! | [`ahead`], [`tiles`], [`together`] | the same, faster: the next piece is asked for; a prompt's rows share what is read |
//! | [`hash`], [`prefix`] | the name of a block's content; which blocks can be used again |
//! | [`chain`], [`hits`] | how much of a text is there already, and how much of that may be used |
//! | [`pages`], [`joining`], [`writing`], [`leaving`] | who holds what: promises and forks; blocks for rows, copy on write, publishing; giving back |
//! | [`stats`] | hits, copies and evictions, counted |
//! | [`cache`] | the floats: lesson 08's cache with blocks in the place of slots |
//! | [`scan`], [`regions`], [`ways`] | to compare with: an allocator that searches, memory that grows in one piece, one load on three ways |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: engine, ragged pass and both traits of memory from `continuous_batching`, unchanged; writing rows from `kv_cache`.
//!
//! **Superseded**: [`continuous_batching::SlotCache`] by [`PagedCache`]. The engine does not notice.
//!
//! **Cost**: half a block for each sequence, a division for each position, one call of each attention kernel for a run of neighbouring blocks or, in prompts, for a tile, a hash for
//! each block that becomes full.

pub mod block;

pub mod allocate;

pub mod allocator;

pub mod place;
pub mod table;

pub mod pieces;

pub mod attend;

pub mod ahead;
pub mod tiles;
pub mod together;

pub mod hash;
pub mod prefix;

pub mod chain;

pub mod hits;

pub mod joining;
pub mod leaving;
pub mod pages;
pub mod stats;
pub mod writing;

pub mod cache;

pub mod regions;
pub mod scan;
pub mod ways;

pub mod costs;

pub use block::BlockId;
pub use cache::PagedCache;
pub use pages::{Pages, Promise, Wish};
