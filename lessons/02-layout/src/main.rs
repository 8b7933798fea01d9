//! Lesson 02: the story.
//!
//! ```text
//! cargo run -p lesson02                     step by step
//! cargo run -p lesson02 -- --threads 1      on one thread
//! cargo run -p lesson02 -- --json           one document for machines
//! ```

mod story;

use clap::Parser;
use lab::args::CommonArgs;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// Why does equal arithmetic take unequal time? Layouts, views, and a ladder of matrix products.
#[derive(Parser)]
#[command(name = "lesson02", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> std::process::ExitCode {
    lab::exit::code(story::tell(&lab::args::parse::<Args>().common))
}
