//! The command besides the story.

use anyhow::Context;
use continuous_batching::{
    Delivery, Engine, EngineLimits, Event, FinishReason, Length, ModelRunner, SeqId, SlotCache, Slots,
};
use generation::Model;
use generation::text::decode_continuation;
use lab::args::CommonArgs;
use lab::{number, term};
use layout::pool::Pool;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal};
use std::time::{Duration, Instant};
use training::TokenId;

/// New tokens of each text without `--tokens`.
const DEFAULT_TOKENS: usize = 64;

/// Columns of a text that an error shows.
const SHOWN: usize = 40;

/// An answer and when it came.
struct Answer {
    tokens: Vec<TokenId>,
    reason: FinishReason,
    first_token: Option<Duration>,
    finished: Duration,
}

/// `generate`: continues all texts at once; each is printed when it is done, with --json one document at the end.
pub fn generate(args: &CommonArgs, texts: Vec<String>, slots: usize, ignore_eos: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        slots > 0,
        "--slots 0: expected at least one, or no text could ever begin"
    );
    let texts = all_texts(args, texts)?;
    let model = Model::open(&args.model)?;
    let tokenizer = model.tokenizer()?;
    let pool = Pool::new(args.threads());
    let encoded = texts.iter().map(|text| model.encode_prompt(text));
    let prompts = encoded.collect::<Result<Vec<_>, _>>()?;
    let new_tokens = args.tokens.unwrap_or(DEFAULT_TOKENS);
    // A slot that no text needs would only take memory.
    let slots = slots.min(texts.len());
    // All slots are as long as the longest text needs.
    let longest = prompts.iter().map(|prompt| prompt.len().saturating_add(new_tokens));
    let capacity = longest.max().unwrap_or(1);
    let mut engine = engine(&model, &pool, slots, capacity);
    let mut asked: BTreeMap<SeqId, &str> = BTreeMap::new();
    for (text, prompt) in texts.iter().zip(&prompts) {
        let id = engine.submit(
            prompt,
            Length {
                max_new_tokens: new_tokens,
                ignore_eos,
            },
        );
        let id = id.with_context(|| format!("the text {:?}", term::cut(text, SHOWN)))?;
        // Answers come in the order in which they end, so each is found by its number.
        asked.insert(id, text);
    }
    let (begun, mut first_tokens) = (Instant::now(), BTreeMap::new());
    let mut answers: BTreeMap<SeqId, Answer> = BTreeMap::new();
    engine.run(&mut |event| {
        match event {
            Event::Token { id, .. } => {
                // Only the first token of a request sets its time.
                first_tokens.entry(id).or_insert_with(|| begun.elapsed());
            }
            Event::Finished { id, reason, output } => {
                let answer = Answer {
                    tokens: output.to_vec(),
                    reason,
                    first_token: first_tokens.get(&id).copied(),
                    finished: begun.elapsed(),
                };
                if !args.json {
                    let text = decode_continuation(tokenizer, output);
                    term::print(&format!("{}{text}\n", asked[&id]));
                }
                answers.insert(id, answer);
            }
        }
        Delivery::Taken
    })?;
    let total = begun.elapsed();
    let written: usize = answers.values().map(|answer| answer.tokens.len()).sum();
    if args.json {
        let one = |(id, answer): (&SeqId, &Answer)| document(asked[id], answer, tokenizer);
        let document = json!({
            "model": model.name,
            "slots": slots,
            "steps": engine.num_steps(),
            "answers": answers.iter().map(one).collect::<Vec<_>>(),
            "total_ms": total.as_secs_f64() * 1e3,
        });
        term::print(&format!("{document:#}\n"));
    } else if std::io::stderr().is_terminal() {
        let line = format!(
            "{} texts, {written} tokens in {} steps and {}",
            texts.len(),
            engine.num_steps(),
            number::seconds(total.as_secs_f64())
        );
        lab::noteln!("{}", term::Tone::Dim.paint(&line));
    }
    // The other answers are printed by now: a failed choice ends its own request only.
    anyhow::ensure!(
        answers
            .values()
            .all(|answer| answer.reason != FinishReason::ChoiceFailed),
        "no token could be chosen: the model gave a logit that is NaN; its weights may be damaged"
    );
    Ok(())
}

/// The arguments and `--prompt`; where there are none, the lines of stdin.
fn all_texts(args: &CommonArgs, mut texts: Vec<String>) -> anyhow::Result<Vec<String>> {
    texts.extend(args.prompt.clone());
    let (stdin, mut num_lines) = (std::io::stdin(), 0);
    if texts.is_empty() && !stdin.is_terminal() {
        for line in stdin.lock().lines() {
            let line = line.context("reading texts from stdin, expected UTF-8 with one a line")?;
            // Editors on Windows put a byte order mark in front of the first line; it is no part of the text.
            let line = match num_lines {
                0 => line.trim_start_matches('\u{feff}').to_owned(),
                _ => line,
            };
            num_lines += 1;
            if !line.trim().is_empty() {
                texts.push(line);
            }
        }
    }
    anyhow::ensure!(
        !texts.is_empty(),
        "generate needs texts to go on from; give them as arguments, or one a line on stdin"
    );
    Ok(texts)
}

/// An engine with slots of `capacity` positions, or of the model's context if that is less.
fn engine<'a>(model: &'a Model, pool: &'a Pool, slots: usize, capacity: usize) -> Engine<ModelRunner<'a>, Slots> {
    let max_seq_len = capacity.min(model.config.llama.max_seq_len);
    let cache = SlotCache::new(&model.config.llama, slots, max_seq_len);
    let runner = ModelRunner::new(model, pool, cache, slots, max_seq_len);
    let limits = EngineLimits::of_model(&model.config, slots);
    Engine::new(runner, Slots::new(slots, max_seq_len), limits)
}

/// One answer for machines.
fn document(text: &str, answer: &Answer, tokenizer: &loading::Tokenizer) -> Value {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    json!({
        "prompt": text,
        "tokens": answer.tokens,
        "text": decode_continuation(tokenizer, &answer.tokens),
        "finish_reason": answer.reason,
        "first_token_ms": answer.first_token.map(ms),
        "finished_ms": ms(answer.finished),
    })
}
