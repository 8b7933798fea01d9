//! The laboratory: what every lesson's binary needs and no lesson teaches.
//!
//! A lesson tells a [`story`] in numbered steps, asks for predictions, holds a [`race`] of old against new,
//! counts work with a [`ledger`], draws [`chart`]s and leaves one document for machines ([`record`]).
//! Read in this order: [`args`], [`story`], [`race`], [`ledger`], [`chart`], [`record`].
//!
//! ```no_run
//! use clap::Parser;
//! use lab::{args::CommonArgs, race::Race, story::{LessonInfo, Story}};
//!
//! #[global_allocator]
//! static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();
//!
//! #[derive(Parser)]
//! struct Args { #[command(flatten)] common: CommonArgs }
//!
//! fn main() -> anyhow::Result<()> {
//!     let args = Args::parse();
//!     let info = LessonInfo { folder: "05-generation", course: "title = 'Generation'\nquestion = 'Why does each token cost more?'" };
//!     let mut story = Story::begin(info, &args.common);
//!     story.step("Count the rows", "Every token recomputes all rows before it.");
//!     story.show("rows computed", 2784);
//!     let race = Race::new("sum", "Two ways to add").unit("ms")
//!         .entry("loop", None, || (0..1000u64).fold(0, |a, b| a + b))
//!         .entry("iterator", None, || (0..1000u64).sum::<u64>())
//!         .baseline("loop")
//!         .check(|a, b| if a == b { Ok(()) } else { Err(format!("{a} against {b}")) });
//!     let result = story.race(race)?;
//!     story.say(format!("The iterator is {:.1} times as fast.", result.ratio("iterator", "loop")));
//!     story.finish()
//! }
//! ```

pub mod alloc;
pub mod args;
pub mod chart;
pub mod cost;
pub mod exit;
pub mod foreign;
pub mod guard;
pub mod ledger;
pub mod machine;
pub mod number;
pub mod out;
pub mod paths;
pub mod race;
pub mod record;
pub mod story;
pub mod table;
pub mod term;
