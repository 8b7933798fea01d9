//! Lesson 09: the story by default, and a command that continues a text with the parameters of its flags.
//!
//! ```text
//! cargo run -p lesson09                                                          the story
//! cargo run -p lesson09 -- generate "Once upon a time" --temperature 0.8 --top-p 0.9
//! cargo run -p lesson09 -- generate "Once upon a time" --answers 3 --stop "." --seed 7
//! ```

mod commands;
mod flags;
mod story;

use clap::{Parser, Subcommand};
use lab::args::CommonArgs;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// How is one token chosen? Shares, cuts, and one draw.
#[derive(Parser)]
#[command(name = "lesson09", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Continue a text; the answer is printed while it comes
    Generate {
        /// The text to continue; without it, --prompt or stdin
        text: Option<String>,
        #[command(flatten)]
        sampling: flags::SamplingFlags,
    },
}

fn main() -> ExitCode {
    let args = lab::args::parse::<Args>();
    lab::exit::code(match args.command {
        None => story::tell(&args.common),
        Some(Command::Generate { text, sampling }) => commands::generate(&args.common, text, &sampling),
    })
}
