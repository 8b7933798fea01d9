//! Lesson 06: the story by default, and a command that is useful by itself.
//!
//! ```text
//! cargo run -p lesson06                                                    the story
//! cargo run -p lesson06 -- generate --prompt "Once upon a time" --tokens 64
//! cargo run -p lesson06 -- generate --chat --prompt "Tell me a story about a fox."
//! ```

mod commands;
mod story;

use clap::{Parser, Subcommand};
use lab::args::CommonArgs;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// What may be kept? Keys and values of every token, in memory that is asked for once.
#[derive(Parser)]
#[command(name = "lesson06", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Continue a text, or answer it with --chat, greedily and with a cache; the answer streams to stdout
    Generate {
        /// Treat the prompt as the user's turn of a conversation, in the model's own chat form
        #[arg(long)]
        chat: bool,
    },
}

fn main() -> ExitCode {
    let args = Args::parse();
    lab::exit::code(match args.command {
        None => story::tell(&args.common),
        Some(Command::Generate { chat }) => commands::generate(&args.common, chat),
    })
}
