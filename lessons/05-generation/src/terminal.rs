//! What a reader sees at a terminal: a token, an answer with the time of each of its lines, and the command `generate`.
//!
//! Lessons that generate text differ in the loop, not in what they print, so the printing stands here once.

use crate::candidates::visible;
use crate::chat::Message;
use crate::limits::Generation;
use crate::model::Model;
use crate::text::TextStream;
use anyhow::Context;
use lab::args::CommonArgs;
use lab::number;
use lab::story::Story;
use lab::term::{self, Tone};
use layout::pool::Pool;
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::time::Instant;
use training::TokenId;

/// A token as text in which spaces and line ends can be seen. A model without a tokenizer shows the token's number.
pub fn piece(model: &Model, token: TokenId) -> String {
    match &model.tokenizer {
        Some(tokenizer) => visible(tokenizer, token),
        None => format!("‹{}›", token.0),
    }
}

/// Tokens on one line of [`Bars`].
const TOKENS_A_LINE: usize = 8;
/// Columns for the text of a line.
const TEXT_COLUMNS: usize = 46;
/// Columns of a full bar.
const LONGEST_BAR: usize = 19;

/// Prints an answer in lines of eight tokens. Each line ends with a bar for the mean time of its tokens.
pub struct Bars<'a> {
    text: Option<TextStream<'a>>,
    line: String,
    /// Seconds of each token on the open line.
    times: Vec<f64>,
    /// Seconds that fill a bar.
    full_bar: f64,
}

impl Bars<'_> {
    /// Bars of an answer of `model`, in which `full_bar` seconds a token fill a bar.
    pub fn new(model: &Model, full_bar: f64) -> Bars<'_> {
        Bars {
            text: model.tokenizer.as_ref().map(TextStream::continuing),
            line: String::new(),
            times: Vec::new(),
            full_bar,
        }
    }

    /// Prints a token that took `seconds`.
    pub fn token(&mut self, story: &mut Story, token: TokenId, seconds: f64) {
        let piece = match &mut self.text {
            Some(text) => text.push(token).replace('\n', "↵"),
            None => format!(" {}", token.0),
        };
        // The space before the first word of a line is left out.
        let (margin, piece) = match self.times.is_empty() {
            true => ("   ", piece.trim_start()),
            false => ("", piece.as_str()),
        };
        story.print(format!("{margin}{piece}"));
        self.line.push_str(piece);
        self.times.push(seconds);
        if self.times.len() == TOKENS_A_LINE {
            self.end_line(story);
        }
    }

    /// Prints the bar of the open line, if a line is open.
    pub fn end_line(&mut self, story: &mut Story) {
        if self.times.is_empty() {
            return;
        }
        let seconds = self.times.iter().sum::<f64>() / self.times.len() as f64;
        let bar = story.paint(Tone::Accent, &term::bar(seconds / self.full_bar, LONGEST_BAR));
        let blanks = " ".repeat(TEXT_COLUMNS.saturating_sub(term::width(&self.line)) + 2);
        story.print(format!("{blanks}{bar} {}\n", number::seconds(seconds)));
        self.line.clear();
        self.times.clear();
    }
}

/// New tokens of [`generate`] without `--tokens`.
const DEFAULT_TOKENS: usize = 64;

/// An answer that a loop gave to [`generate`], and what this loop reports besides it.
pub struct Answered {
    /// The answer.
    pub generation: Generation,
    /// Further fields of the document that `--json` prints: an object with an object `timings` in it.
    pub values: Value,
    /// The line for a reader at a terminal, printed to stderr.
    pub summary: String,
}

/// The command `generate` of a lesson: opens the model and runs
/// `answer(model, pool, prompt, max_new_tokens, on_token)`. The answer streams to stdout; with `--json` one document is
/// printed instead.
///
/// # Errors
/// No prompt, a model that can not be opened, a prompt that the model can not encode, and the errors of `answer`.
pub fn generate(
    args: &CommonArgs,
    chat: bool,
    answer: impl FnOnce(&Model, &Pool, &[TokenId], usize, &mut dyn FnMut(TokenId)) -> anyhow::Result<Answered>,
) -> anyhow::Result<()> {
    let text = args.prompt.as_deref();
    let text = text.context("generate needs a text to continue; give one with --prompt \"…\"")?;
    let started = Instant::now();
    let model = Model::open(&args.model)?;
    let pool = Pool::new(args.threads());
    let load_ms = started.elapsed().as_secs_f64() * 1e3;
    let tokenizer = model.tokenizer()?;
    let (prompt, mut stream) = match chat {
        true => (model.encode_chat(&[Message::user(text)])?, TextStream::new(tokenizer)),
        false => (model.encode_prompt(text)?, TextStream::continuing(tokenizer)),
    };
    if !args.json && std::io::stdout().is_terminal() && !chat {
        // A reader at a terminal sees prompt and answer as one text; a pipe gets the answer only.
        term::print(&Tone::Dim.paint(text));
    }
    let mut written = String::new();
    let mut show = |piece: &str| {
        written.push_str(piece);
        if !args.json {
            term::print(piece);
        }
    };
    let new_tokens = args.tokens.unwrap_or(DEFAULT_TOKENS);
    let answered = answer(&model, &pool, &prompt, new_tokens, &mut |token| {
        show(stream.push(token))
    })?;
    show(stream.finish());
    if args.json {
        let mut document = json!({
            "model": model.name,
            "prompt_tokens": answered.generation.prompt_tokens,
            "tokens": answered.generation.tokens,
            "text": written,
            "finish_reason": answered.generation.finish_reason,
        });
        for (key, value) in answered.values.as_object().into_iter().flatten() {
            document[key.as_str()] = value.clone();
        }
        document["timings"]["load_ms"] = json!(load_ms);
        term::print(&format!("{document:#}\n"));
        return Ok(());
    }
    term::print("\n");
    if std::io::stderr().is_terminal() {
        lab::noteln!("{}", Tone::Dim.paint(&answered.summary));
    }
    Ok(())
}
