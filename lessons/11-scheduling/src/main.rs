//! Lesson 11: the story.
//!
//! ```text
//! cargo run -p lesson11
//! cargo run -p lesson11 -- --model random:15m
//! ```

mod story;

use clap::Parser;
use lab::args::CommonArgs;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// Whose turn is it? A budget for each step, an order of one's choice, and memory that can be taken back.
#[derive(Parser)]
#[command(name = "lesson11", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> ExitCode {
    let args = lab::args::parse::<Args>();
    lab::exit::code(story::tell(&args.common))
}
