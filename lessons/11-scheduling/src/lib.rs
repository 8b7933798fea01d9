//! Lesson 11, scheduling: whose turn is it?
//!
//! Memory now follows length, and more requests run than memory could hold to their ends. So three questions come up in
//! every step: how many rows of which request, which one joins next, and which one is preempted when memory has run
//! out. Each has a small answer in numbers, without tokens and floats.
//!
//! **New here**, in reading order:
//!
//! | module | what it holds |
//! |---|---|
//! | [`meta`] | what a request carries for the scheduler: class, tenant, arrival |
//! | [`exercises`] | rows of a step, ageing, the victim, preemption, the rows of one request: the functions that a reader writes |
//! | [`policy`] | which request joins next: orders that can be exchanged |
//! | [`quota`] | rows that each tenant was given |
//! | [`swap_space`] | blocks that can be taken back; a host pool behind them |
//! | [`limits`], [`schedule`], [`stats`] | one step, decided |
//! | [`trace`] | what was decided, to be drawn |
//! | [`step_cost`], [`simulate`], [`fairness`] | the same scheduler on a virtual clock, and what is measured there |
//! | [`unjust`] | schedulers that forget a request |
//! | [`costs`] | one small task for each exercise, to be counted |
//!
//! **Imported**: requests, the engine and the ragged pass from `continuous_batching`; blocks from `paged_cache`.
//!
//! **Supersedes** [`continuous_batching::FirstCome`] by [`Scheduler`]. The engine stays lesson 08's.
//!
//! **Cost**: a few looks at each request in a step. A preempted request costs its rows once more, or two copies of its
//! keys and values.

pub mod meta;

pub mod exercises;

pub mod policy;
pub mod quota;

pub mod limits;
pub mod stats;
pub mod swap_space;
pub mod trace;

pub mod schedule;

pub mod fairness;
pub mod simulate;
pub mod step_cost;

pub mod unjust;

pub mod costs;

pub use limits::{Preemption, StepLimits};
pub use meta::{Class, Meta, TenantId};
pub use schedule::Scheduler;
pub use swap_space::SwapSpace;
