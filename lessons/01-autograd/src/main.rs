//! The story of lesson 01: how do we know that a gradient is right?
//!
//! Everything is computed during the run, which takes seconds. `--seed` changes points and weights.

use clap::Parser;
use lab::args::CommonArgs;

mod story;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// Lesson 01: a tape that computes gradients, and how to tell that they are right.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> std::process::ExitCode {
    lab::exit::code(story::tell(&lab::args::parse::<Args>().common))
}
