//! Lesson 08, continuous batching: when may requests join and leave?
//!
//! A static batch starts when it is full or has waited long enough, and it holds all its requests until the longest
//! answer is complete. But the rows of different requests do not depend on each other: they share the weights and
//! nothing else. So the batch may be put together anew at every step. Finished requests leave, waiting ones join, and
//! the places stay full.
//!
//! **New here**, in reading order: requests and their queues, the ragged batch, memory in slots, the forward pass that
//! all later lessons keep, the engine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`request`], [`queues`] | states of a request; waiting, running, ended |
//! | [`batch`] | rows of many requests without padding, and where their sequences lie in memory |
//! | [`memory`], [`slots`] | memory as the scheduler sees it: numbers; slots and their free list |
//! | [`limits`], [`schedule`] | what is allowed; which requests are computed: first come, first served |
//! | [`cache`], [`slot_cache`] | memory as the forward pass sees it: floats; two caches behind one trait |
//! | [`mod@forward`], [`runner`] | the ragged forward pass, and the seam between deciding and computing |
//! | [`event`], [`engine`] | what is reported; schedule, forward, choose, publish |
//! | [`exercises`] | the five functions that a reader writes; the modules above call them |
//! | [`careless`], [`costs`] | faulty engines for an exercise; for each exercise one task whose cost is counted |
//! | [`error`] | requests that are refused, passes that fail |
//!
//! With the feature `oracle` there is a module `oracle` too: a model without weights that shows a slip of a cache as a
//! wrong token, for tests of every cache that stands behind [`KvCache`].
//!
//! **Imported**: row kernels, weights and text from `generation`, the cache of one sequence from `kv_cache`, threads
//! from `layout`.
//!
//! **Superseded**: [`static_batching::generate::generate_batch`] by [`Engine::step`], [`kv_cache::forward::forward`] by
//! [`forward::forward`].
//!
//! **Cost**: n new tokens after a prompt of p are p + n - 1 rows, as for one request alone, and no row is padding. Each
//! step reads the weights once for all its rows. A slot is reserved for the longest text that may come, however long
//! the text becomes.

pub mod error;

pub mod request;

pub mod queues;

pub mod batch;

pub mod memory;
pub mod slots;

pub mod limits;
pub mod schedule;

pub mod cache;
pub mod slot_cache;

pub mod forward;
pub mod runner;

pub mod event;

pub mod engine;

pub mod exercises;

#[cfg(feature = "oracle")]
pub mod oracle;

pub mod careless;
pub mod costs;

pub use batch::{Batch, BatchSequence};
pub use cache::KvCache;
pub use engine::Engine;
pub use error::{EngineError, Refusal};
pub use event::{Delivery, Event};
pub use limits::EngineLimits;
pub use memory::{Admission, Memory};
pub use request::{FinishReason, Length, Request, SeqId, Status};
pub use runner::{ModelRunner, Runner};
pub use schedule::{FirstCome, Schedule};
pub use slot_cache::SlotCache;
pub use slots::{SlotId, Slots};
