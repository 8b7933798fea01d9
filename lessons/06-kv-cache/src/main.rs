//! Lesson 06: the story by default, and the command `generate`.
//!
//! ```text
//! cargo run -p lesson06                                                    the story
//! cargo run -p lesson06 -- generate --prompt "Once upon a time" --tokens 64
//! cargo run -p lesson06 -- generate --chat --prompt "Tell me a story about a fox."
//! ```

mod story;

use clap::{Parser, Subcommand};
use generation::terminal::{self, Answered};
use generation::{FinishReason, State};
use kv_cache::work::rows_of_cached_loop;
use kv_cache::{cache_for, session};
use lab::args::CommonArgs;
use lab::number;
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// What may be kept? Keys and values of every token, in memory that is allocated once.
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
    let args = lab::args::parse::<Args>();
    lab::exit::code(match args.command {
        None => story::tell(&args.common),
        Some(Command::Generate { chat }) => generate(&args.common, chat),
    })
}

/// Continues the prompt with the cached loop.
fn generate(args: &CommonArgs, chat: bool) -> anyhow::Result<()> {
    terminal::generate(args, chat, |model, pool, prompt, max_new_tokens, on_token| {
        let mut cache = cache_for(model, prompt.len(), max_new_tokens);
        let mut state = State::new(&model.config, 0);
        let timed = session::generate(model, &mut state, &mut cache, pool, prompt, max_new_tokens, on_token)?;
        let (generation, timings) = (timed.generation, timed.timings);
        // The step that found the end of the text computed a row too.
        let found_end = u64::from(generation.finish_reason == FinishReason::Stop);
        let steps = generation.tokens.len() as u64 + found_end;
        let rows = rows_of_cached_loop(generation.prompt_tokens as u64, steps);
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let values = json!({
            "rows_computed": rows,
            "kv_bytes": cache.bytes(),
            "timings": {
                "ttft_ms": timings.ttft.map(ms),
                "tpot_ms": timings.tpot().map(ms),
                "total_ms": timings.last_token.map(ms),
            },
        });
        let seconds = |time: Option<Duration>| time.map_or("-".to_owned(), |time| number::seconds(time.as_secs_f64()));
        let summary = format!(
            "{} prompt tokens, {} new ones, {rows} rows computed; first token after {}, then {} a token; cache {}; \
             ended by {:?}",
            generation.prompt_tokens,
            generation.tokens.len(),
            seconds(timings.ttft),
            seconds(timings.tpot()),
            number::bytes(cache.bytes()),
            generation.finish_reason,
        );
        Ok(Answered {
            generation,
            values,
            summary,
        })
    })
}
