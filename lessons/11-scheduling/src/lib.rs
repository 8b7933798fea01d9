//! Lesson 11, scheduling: whose turn is it?
//!
//! Memory now follows length, and more requests run than could ever finish at once. So three questions come up in every step: how many rows of whom,
//! who joins next, and who gives memory back when there is none left. Each has a small answer in numbers, without tokens and without floats.
//!
//! **New here**, in reading order:
//!
//! | module | what it holds |
//! |---|---|
//! | [`entry`] | a request with class, tenant and time of arrival |
//! | [`budget`] | rows of a step: streams first, then prompts in chunks |
//! | [`ageing`], [`policy`] | who joins next: orders that can be exchanged |
//! | [`victim`], [`recompute`] | who is sent back, and what that means |
//! | [`part`] | the rows of one request in a step |
//! | [`memory`], [`swap_cache`] | blocks promised little by little; a host pool behind them |
//! | [`limits`], [`queues`], [`schedule`], [`stats`] | one step, decided |
//! | [`engine`] | one step, done |
//! | [`trace`] | what was decided, to be drawn |
//! | [`step_cost`], [`simulate`], [`fairness`] | the same scheduler on a virtual clock, and what is measured there |
//! | [`unjust`], [`starvation`] | schedulers that forget somebody, and a test that finds them |
//!
//! **Imported**: requests, events, the ragged pass from `continuous_batching`; blocks from `paged_cache`.
//!
//! **Supersedes** [`continuous_batching::engine::Engine`].
//!
//! **Cost**: a few looks at each request in a step. A request that is sent back costs its rows once more, or two copies of its keys and values.

pub mod entry;

pub mod budget;

pub mod ageing;

pub mod policy;

pub mod victim;

pub mod recompute;

pub mod part;

pub mod limits;
pub mod memory;
pub mod queues;
pub mod stats;
pub mod swap_cache;
pub mod trace;

pub mod schedule;

pub mod engine;

pub mod fairness;
pub mod simulate;
pub mod step_cost;

pub mod starvation;
pub mod unjust;

pub mod costs;

pub use engine::Engine;
pub use entry::{Class, Meta, TenantId};
pub use limits::{Preemption, StepLimits};
pub use memory::SwapSpace;
pub use schedule::Scheduler;
