//! The command `generate`.

use crate::flags::SamplingFlags;
use anyhow::Context;
use continuous_batching::engine::Choice;
use continuous_batching::{Delivery, Event, FinishReason, SeqId};
use generation::Model;
use lab::args::CommonArgs;
use lab::term;
use layout::pool::Pool;
use loading::Tokenizer;
use sampling::answer::AnswerText;
use sampling::logprobs::Logprob;
use sampling::{CheckedParams, Sampler, choice};
use serde_json::{Value, json};
use std::io::{IsTerminal, Read};
use std::sync::mpsc::{Sender, channel};
use training::TokenId;

/// Number of new tokens without `--tokens`.
const DEFAULT_TOKENS: usize = 128;
/// Columns of a text that an error shows.
const SHOWN: usize = 40;
/// Largest number of answers to one text; each answer needs a slot.
const MOST_ANSWERS: u32 = 64;

/// `generate`: a single answer is printed while it comes; several are printed one after the other when all are
/// complete. With --json one document is printed at the end.
pub fn generate(args: &CommonArgs, text: Option<String>, flags: &SamplingFlags) -> anyhow::Result<()> {
    let num_answers = flags.answers;
    anyhow::ensure!(
        (1..=MOST_ANSWERS).contains(&num_answers),
        "--answers {num_answers}: expected 1 to {MOST_ANSWERS}"
    );
    let text = the_text(args, text)?;
    let model = Model::open(&args.model)?;
    let (tokenizer, pool) = (model.tokenizer()?, Pool::new(args.threads()));
    let params = flags.params(args.seed);
    let prompt = model.encode_prompt(&text)?;
    let max_new_tokens = args.tokens.unwrap_or(DEFAULT_TOKENS);
    let capacity = prompt.len().saturating_add(max_new_tokens);
    let (noted, notes) = channel();
    let mut engine = choice::engine(&model, &pool, num_answers as usize, capacity).with_choice(noting(noted));
    // The engine numbers its requests from 0, so a request's number is the index of its answer.
    let mut answers = Vec::new();
    for answer in 0..num_answers {
        let params = params.clone().with(|p| p.answer = answer);
        let params = params.check(model.config.llama.vocab_size)?;
        let submitted = engine.submit_with(&prompt, max_new_tokens, params.clone());
        submitted.with_context(|| format!("the text {:?}", term::cut(&text, SHOWN)))?;
        answers.push(Answer::new(tokenizer, params));
    }
    let streams = !args.json && num_answers == 1;
    if streams {
        term::print(&text);
    }
    engine.run(&mut |event| {
        let (piece, delivery) = answers[event.id().0 as usize].take(event);
        if streams {
            term::print(&piece);
        }
        delivery
    })?;
    for (id, note) in notes.try_iter() {
        answers[id.0 as usize].notes.push(note);
    }
    if args.json {
        let document = json!({
            "model": model.name,
            "prompt": text,
            "seed": args.seed,
            "answers": answers.iter().map(|answer| answer.document(tokenizer)).collect::<Vec<_>>(),
        });
        term::print(&format!("{document:#}\n"));
    } else if streams {
        term::print("\n");
    } else {
        for answer in &answers {
            term::print(&format!("{text}{}\n", answer.shown));
        }
    }
    let has_failed = |answer: &Answer<'_>| answer.reason == Some(FinishReason::ChoiceFailed);
    anyhow::ensure!(
        !answers.iter().any(has_failed),
        "no token could be chosen: the model gave a logit that is NaN; its weights may be damaged"
    );
    Ok(())
}

/// The argument, or `--prompt`, or stdin.
fn the_text(args: &CommonArgs, text: Option<String>) -> anyhow::Result<String> {
    let mut text = text.or_else(|| args.prompt.clone()).unwrap_or_default();
    let mut stdin = std::io::stdin();
    if text.is_empty() && !stdin.is_terminal() {
        stdin.read_to_string(&mut text).context("reading the text from stdin")?;
        text.truncate(text.trim_end_matches('\n').len());
    }
    anyhow::ensure!(
        !text.is_empty(),
        "generate needs a text to continue; give it as an argument or on stdin"
    );
    Ok(text)
}

/// Log probabilities of a chosen token and of the likeliest tokens in its place.
struct Note {
    chosen: Logprob,
    likeliest: Vec<Logprob>,
}

/// A choice by the attached parameters that sends the log probabilities of requests that ask for them.
fn noting(notes: Sender<(SeqId, Note)>) -> Choice<CheckedParams> {
    let mut sampler = Sampler::new();
    Box::new(move |request, logits| {
        let sampled = sampler.sample(&request.attached, &request.prompt, &request.output, logits)?;
        let token = sampled.token;
        if let Some(logprob) = sampled.logprob {
            let note = Note {
                chosen: Logprob { token, logprob },
                likeliest: sampler.logprobs().to_vec(),
            };
            // The receiver lives as long as the engine.
            let _ = notes.send((request.id, note));
        }
        Ok(token)
    })
}

/// One answer while it grows.
struct Answer<'a> {
    params: CheckedParams,
    /// None after the end of the answer.
    text: Option<AnswerText<'a>>,
    /// Text that may be shown so far.
    shown: String,
    tokens: Vec<TokenId>,
    /// One note for each choice, if log probabilities are asked for.
    notes: Vec<Note>,
    reason: Option<FinishReason>,
}

impl<'a> Answer<'a> {
    fn new(tokenizer: &'a Tokenizer, params: CheckedParams) -> Answer<'a> {
        Answer {
            text: Some(AnswerText::new(tokenizer, &params)),
            params,
            shown: String::new(),
            tokens: Vec::new(),
            notes: Vec::new(),
            reason: None,
        }
    }

    /// Adds an event. Returns the text to show now, and whether the answer goes on.
    fn take(&mut self, event: Event<'_>) -> (String, Delivery) {
        let (mut piece, mut delivery) = (String::new(), Delivery::Taken);
        match event {
            Event::Token { token, .. } => {
                if let Some(text) = &mut self.text {
                    piece = text.push(token);
                    if text.is_over() {
                        self.reason = Some(FinishReason::Stop);
                        delivery = Delivery::ReceiverGone;
                    }
                }
                // A token that ends the answer is not part of it.
                if !self.params.stop_ids.contains(&token) {
                    self.tokens.push(token);
                }
            }
            Event::Finished { reason, .. } => {
                // A request that was cancelled at its own stop keeps that reason.
                self.reason.get_or_insert(reason);
                piece = self.text.take().map(AnswerText::finish).unwrap_or_default();
            }
        }
        self.shown.push_str(&piece);
        (piece, delivery)
    }

    /// The answer for --json.
    fn document(&self, tokenizer: &Tokenizer) -> Value {
        let token = |l: &Logprob| {
            json!({
                "token": l.token,
                "text": generation::candidates::visible(tokenizer, l.token),
                "logprob": l.logprob,
            })
        };
        let note = |note: &Note| {
            json!({
                "chosen": token(&note.chosen),
                "likeliest": note.likeliest.iter().map(token).collect::<Vec<_>>(),
            })
        };
        // There is a note for an end-of-text token, too, which is not among the tokens.
        let notes = self.notes.iter().take(self.tokens.len()).map(note);
        json!({
            "answer": self.params.answer,
            "tokens": self.tokens,
            "text": self.shown,
            "finish_reason": self.reason,
            "logprobs": self.params.logprobs.map(|_| notes.collect::<Vec<_>>()),
        })
    }
}
