//! The command besides the story.

use anyhow::Context;
use generation::chat::Message;
use generation::text::TextStream;
use generation::{FinishReason, Model, State};
use kv_cache::work::rows_of_cached_loop;
use kv_cache::{Timed, cache_for, session};
use lab::args::CommonArgs;
use lab::{number, term};
use layout::pool::Pool;
use serde_json::json;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Tokens that `generate` writes when nothing is said.
const DEFAULT_TOKENS: usize = 64;

/// `generate`: the answer streams to stdout; with --json one document instead.
pub fn generate(args: &CommonArgs, chat: bool) -> anyhow::Result<()> {
    let text = args
        .prompt
        .as_deref()
        .context("generate needs a text to go on from; give one with --prompt \"…\"")?;
    let started = Instant::now();
    let model = Model::open(&args.model)?;
    let pool = Pool::new(args.threads());
    let loaded = started.elapsed();
    let tokenizer = model.tokenizer()?;
    let (prompt, mut stream) = match chat {
        true => (model.encode_chat(&[Message::user(text)])?, TextStream::new(tokenizer)),
        false => (model.encode_prompt(text)?, TextStream::continuing(tokenizer)),
    };
    if !args.json && std::io::stdout().is_terminal() && !chat {
        // A reader at a terminal sees the text as a whole; a pipe gets the answer only.
        term::print(&term::Tone::Dim.paint(text));
    }
    let new_tokens = args.tokens.unwrap_or(DEFAULT_TOKENS);
    let mut cache = cache_for(&model, prompt.len(), new_tokens);
    let mut state = State::new(&model.config, 0);
    let mut answer = String::new();
    let timed = session::generate(
        &model,
        &mut state,
        &mut cache,
        &pool,
        &prompt,
        new_tokens,
        &mut |token| {
            let piece = stream.push(token);
            answer.push_str(piece);
            if !args.json {
                term::print(piece);
            }
        },
    )?;
    let rest = stream.finish();
    answer.push_str(rest);
    if args.json {
        let document = document(&model, &timed, &answer, loaded, cache.bytes());
        term::print(&format!("{document:#}\n"));
        return Ok(());
    }
    term::print(&format!("{rest}\n"));
    if std::io::stderr().is_terminal() {
        eprintln!("{}", term::Tone::Dim.paint(&summary(&timed, cache.bytes())));
    }
    Ok(())
}

/// Rows that the loop computed. The step that found the end of the text computed its row too.
fn rows_computed(timed: &Timed) -> u64 {
    let generation = &timed.generation;
    let found_end = u64::from(generation.finish_reason == FinishReason::Stop);
    let steps = generation.tokens.len() as u64 + found_end;
    rows_of_cached_loop(generation.prompt_tokens as u64, steps)
}

fn document(model: &Model, timed: &Timed, answer: &str, loaded: Duration, kv_bytes: u64) -> serde_json::Value {
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let (generation, timings) = (&timed.generation, &timed.timings);
    json!({
        "model": model.name,
        "prompt_tokens": generation.prompt_tokens,
        "tokens": generation.tokens,
        "text": answer,
        "finish_reason": generation.finish_reason,
        "rows_computed": rows_computed(timed),
        "kv_bytes": kv_bytes,
        "timings": {
            "load_ms": ms(loaded),
            "ttft_ms": timings.ttft.map(ms),
            "tpot_ms": timings.tpot().map(ms),
            "total_ms": timings.last_token.map(ms),
        },
    })
}

fn summary(timed: &Timed, kv_bytes: u64) -> String {
    let shown = |time: Option<Duration>| match time {
        Some(time) => number::seconds(time.as_secs_f64()),
        None => "-".to_owned(),
    };
    format!(
        "{} prompt tokens, {} new ones, {} rows computed; first token after {}, then {} a token; cache {}; ended by {:?}",
        timed.generation.prompt_tokens,
        timed.generation.tokens.len(),
        rows_computed(timed),
        shown(timed.timings.ttft),
        shown(timed.timings.tpot()),
        number::bytes(kv_bytes),
        timed.generation.finish_reason,
    )
}
