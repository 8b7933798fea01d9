//! Lesson 08: the story by default, and a command that continues several texts at once.
//!
//! ```text
//! cargo run -p lesson08                                                        the story
//! cargo run -p lesson08 -- generate "Once upon a time" "The little dog"        both at once
//! cargo run -p lesson08 -- generate --slots 1 "Once upon a time" "The little dog"
//! ```

mod commands;
mod story;

use clap::{Parser, Subcommand};
use lab::args::CommonArgs;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// When may requests join and leave? A batch that changes at every step.
#[derive(Parser)]
#[command(name = "lesson08", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Continue several texts at once, greedily; each answer is printed when it is done
    Generate {
        /// The texts to go on from; without any, the lines of stdin
        texts: Vec<String>,
        /// Texts that are written at the same time; more than these wait
        #[arg(long, default_value_t = 8, value_name = "N")]
        slots: usize,
        /// Go on after an end-of-text token, up to --tokens tokens
        #[arg(long)]
        ignore_eos: bool,
    },
}

fn main() -> ExitCode {
    let args = lab::args::parse::<Args>();
    lab::exit::code(match args.command {
        None => story::tell(&args.common),
        Some(Command::Generate {
            texts,
            slots,
            ignore_eos,
        }) => commands::generate(&args.common, texts, slots, ignore_eos),
    })
}
