//! Lesson 03's program. Without a command it tells the lesson; `train` makes a model, `eval` measures one, `peers`
//! races PyTorch.

mod command;
mod story;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use lab::args::CommonArgs;
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// How does text become weights?
#[derive(Parser)]
#[command(name = "lesson03", version)]
struct Cli {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model on stories and books for --tokens (12 M), and write it as a Hugging Face folder to --out
    Train(command::train::Args),
    /// Measure a folder that this lesson wrote on held-out text, questions and stories
    Eval(command::eval::Args),
    /// Compare the stories of two folders with the authors hidden, and test the choices
    Judge(command::judge::Args),
    /// Race a training step against the same step in PyTorch, where Python has torch
    Peers(command::peers::Args),
}

fn main() -> ExitCode {
    let cli = lab::args::parse::<Cli>();
    lab::exit::code(match &cli.command {
        None => story::tell(&cli.common),
        Some(Command::Train(args)) => command::train::train(args, &cli.common),
        Some(Command::Eval(args)) => command::eval::eval(args, &cli.common),
        Some(Command::Judge(args)) => command::judge::judge(args, &cli.common),
        Some(Command::Peers(args)) => command::peers::peers(args, &cli.common),
    })
}

/// The folder of the books.
fn corpus_dir() -> PathBuf {
    lab::paths::data_dir().join("corpus")
}

/// The folder of a `--model`: `stories`, `stories-draft`, or a path.
fn model_dir(model: &str) -> Result<PathBuf> {
    let folder = match model {
        "stories" | "stories-draft" => lab::paths::data_dir().join(model),
        path => PathBuf::from(path),
    };
    if !folder.join("model.safetensors").exists() {
        bail!(
            "--model {model}: expected a folder that `lesson03 train` wrote, found no model.safetensors in {}",
            folder.display()
        );
    }
    Ok(folder)
}
