//! Lesson 08, continuous batching: when may requests join and leave?
//!
//! A static batch is a bus: it leaves when it is full or has waited long enough, and nobody gets on or off before the end. Its places stay taken
//! until the longest answer is written. But nothing in a step ties its rows together: they share the weights that are read, and no number. So
//! the batch may be put together anew at every step. Whoever ended leaves, whoever waits joins, and the places stay full.
//!
//! **New here**, in reading order: requests and their queues, the ragged batch, memory in slots, the forward pass that all later lessons keep, the
//! engine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`request`], [`queues`] | states of a request; waiting, running, ended |
//! | [`batch`], [`ragged`] | rows of many requests without padding |
//! | [`memory`], [`slots`], [`recycle`] | what a scheduler knows of memory; slots and their free list |
//! | [`admission`], [`scheduler`] | first come, first served |
//! | [`cache`], [`slot_cache`], [`contiguous`] | what the forward pass knows of memory; two caches behind it |
//! | [`mod@forward`] | the ragged forward pass |
//! | [`runner`], [`model_runner`] | the seam between who decides and who computes |
//! | [`limits`], [`event`], [`mailbox`] | what is allowed; what is told; cancelling from elsewhere |
//! | [`engine`], [`mod@step`], [`parts`] | schedule, forward, choose, publish |
//! | [`text`], [`trace`] | text for each request; who sat where |
//! | [`careless`], [`cancellation`] | engines with a fault each, and a test that tells them from the right one |
//! | [`costs`] | one small task for each exercise, to be counted |
//! | [`error`] | refusals and faults |
//!
//! With the feature `oracle` there is a module `oracle` too: a model without weights that shows a slip of a cache as a wrong token, for tests of
//! this cache and of those to come.
//!
//! **Imported**: row kernels, weights and text from `generation`, the cache of one sequence from `kv_cache`, threads from `layout`.
//!
//! **Superseded**: [`static_batching::generate::generate_batch`] by [`Engine::step`], [`kv_cache::forward::forward`] by [`forward::forward`].
//!
//! **Cost**: n new tokens after a prompt of p are p + n - 1 rows, as for one request alone, and no row is padding. Each step reads the weights
//! once for all its rows. A slot is reserved for the longest text that may come, whatever comes.

pub mod error;

pub mod request;

pub mod queues;

pub mod batch;
pub mod ragged;

pub mod memory;
pub mod recycle;
pub mod slots;

pub mod admission;

pub mod cache;
pub mod contiguous;
pub mod slot_cache;

pub mod forward;
pub mod model_runner;
pub mod runner;

pub mod event;
pub mod limits;
pub mod mailbox;

pub mod scheduler;

pub mod engine;
pub mod parts;
pub mod step;

pub mod text;
pub mod trace;

#[cfg(feature = "oracle")]
pub mod oracle;

pub mod cancellation;
pub mod careless;
pub mod costs;

pub use batch::{Batch, BatchSequence};
pub use cache::KvCache;
pub use engine::{Engine, StepReport};
pub use error::{EngineError, Refusal};
pub use event::{Delivery, Event};
pub use limits::EngineLimits;
pub use memory::{Admission, Memory};
pub use request::{FinishReason, Request, SeqId, Status};
pub use runner::Runner;
pub use slot_cache::SlotCache;
pub use slots::{SlotId, Slots};
