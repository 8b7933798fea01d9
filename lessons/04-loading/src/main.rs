//! Lesson 04 as a program: the story, and the commands that other lessons and `cargo course` use.

mod commands;
mod story;

use clap::{Parser, Subcommand};
use lab::args::CommonArgs;
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// What happens before the first token?
#[derive(Parser)]
#[command(name = "lesson04", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Write a GGUF file (or any model that opens) as a Hugging Face folder
    Convert {
        /// A .gguf file, or a model's name or folder
        from: String,
        /// Folder to write; made if need be
        folder: PathBuf,
        /// Type of the weights [default: the smallest that holds every value exactly]
        #[arg(long, value_parser = commands::parse_dtype, value_name = "f32|f16|bf16")]
        dtype: Option<loading::Dtype>,
    },
    /// Compare files with their recorded SHA-256
    Verify {
        /// One file, to compare with --sha256; otherwise every file of the manifest
        #[arg(requires = "sha256")]
        file: Option<PathBuf>,
        /// The digest that FILE should have
        #[arg(long, requires = "file", value_name = "HEX")]
        sha256: Option<String>,
        /// The manifest [default: data/manifest.json]
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
    },
    /// Load a folder once and print the peak of memory (the story runs this in a process of its own)
    #[command(hide = true)]
    Peak {
        /// The folder
        folder: PathBuf,
        /// The plan, by its name
        #[arg(value_parser = commands::parse_plan)]
        plan: loading::bytes::LoadPlan,
    },
    /// Print the manifest of data/; with --write, record lengths and digests of its files anew
    Manifest {
        /// Add this file (its path relative to the manifest's folder), and write
        #[arg(long, requires = "licence", requires = "origin", value_name = "PATH")]
        add: Option<String>,
        /// Licence of the added file, by its SPDX name
        #[arg(long, requires = "add", value_name = "NAME")]
        licence: Option<String>,
        /// Where the added file comes from, or what made it
        #[arg(long, requires = "add", value_name = "TEXT")]
        origin: Option<String>,
        /// Write it back
        #[arg(long)]
        write: bool,
        /// The manifest [default: data/manifest.json]
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let args = lab::args::parse::<Args>();
    lab::exit::code(match args.command {
        Some(Command::Convert { from, folder, dtype }) => commands::convert(&args.common, &from, &folder, dtype),
        Some(Command::Verify {
            file: Some(file),
            sha256: Some(sha256),
            ..
        }) => commands::verify_file(&args.common, &file, &sha256),
        Some(Command::Verify { manifest, .. }) => commands::verify(&args.common, manifest),
        Some(Command::Manifest {
            add,
            licence,
            origin,
            write,
            manifest,
        }) => {
            let addition = (add.zip(licence).zip(origin)).map(|((path, licence), origin)| commands::Addition {
                path,
                licence,
                origin,
            });
            commands::manifest(&args.common, manifest, write, addition)
        }
        Some(Command::Peak { folder, plan }) => {
            story::measure_peak(&folder, plan).map(|report| lab::outln!("{}", serde_json::json!(report)))
        }
        None => story::tell(&args.common),
    })
}
