//! Lesson 05: the story by default, and two useful commands.
//!
//! ```text
//! cargo run -p lesson05                                                    the story
//! cargo run -p lesson05 -- generate --prompt "Once upon a time" --tokens 64
//! cargo run -p lesson05 -- generate --chat --prompt "Tell me a story about a fox."
//! cargo run -p lesson05 -- eval --model stories
//! ```

mod commands;
mod story;

use clap::{Parser, Subcommand};
use lab::args::CommonArgs;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// Why does each token cost more? The forward pass, the naive loop, and its cost.
#[derive(Parser)]
#[command(name = "lesson05", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Continue a text, or answer it with --chat, greedily; the answer streams to stdout
    Generate {
        /// Treat the prompt as the user's turn of a conversation, in the model's own chat form
        #[arg(long)]
        chat: bool,
    },
    /// Score held-out texts and questions with any model folder
    Eval {
        /// All texts and questions of lesson 03 (minutes instead of seconds)
        #[arg(long)]
        full: bool,
    },
    /// Time the first passes of a fresh process (the story starts it)
    #[command(hide = true)]
    ColdStart,
}

fn main() -> ExitCode {
    let args = lab::args::parse::<Args>();
    lab::exit::code(match args.command {
        None => story::tell(&args.common),
        Some(Command::Generate { chat }) => commands::generate(&args.common, chat),
        Some(Command::Eval { full }) => commands::eval(&args.common, full),
        Some(Command::ColdStart) => commands::cold_start(&args.common),
    })
}
