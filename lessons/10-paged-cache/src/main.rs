//! Lesson 10: the story.
//!
//! ```text
//! cargo run -p lesson10
//! ```

mod story;

use clap::Parser;
use lab::args::CommonArgs;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// How can memory follow length? Blocks in the place of slots.
#[derive(Parser)]
#[command(name = "lesson10", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> ExitCode {
    lab::exit::code(story::tell(&lab::args::parse::<Args>().common))
}
