//! Lesson 07: the story.
//!
//! ```text
//! cargo run -p lesson07                            the story
//! cargo run -p lesson07 -- --model random:135m     the same with a model larger than any cache
//! ```

mod story;

use clap::Parser;
use lab::args::CommonArgs;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// Why is batch 8 nearly free? Padded batches, what they waste, and which requests wait.
#[derive(Parser)]
#[command(name = "lesson07", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> ExitCode {
    lab::exit::code(story::tell(&lab::args::parse::<Args>().common))
}
