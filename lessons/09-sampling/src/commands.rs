//! The command besides the story.

use crate::flags::SamplingFlags;
use anyhow::Context;
use continuous_batching::engine::Choice;
use continuous_batching::model_runner::ModelRunner;
use continuous_batching::slot_cache::SlotCache;
use continuous_batching::{Delivery, Engine, EngineLimits, Event, FinishReason, SeqId};
use generation::Model;
use lab::args::CommonArgs;
use lab::term;
use layout::pool::Pool;
use sampling::answer::AnswerText;
use sampling::choice::ParamsOfRequests;
use sampling::logprobs::Logprob;
use sampling::{CheckedParams, Sampler, SamplingParams};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{IsTerminal, Read};
use std::sync::{Arc, Mutex};
use training::TokenId;

/// Tokens that a text goes on for when nothing is said.
const DEFAULT_TOKENS: usize = 128;
/// Most answers to one text; each needs a slot.
const MOST_ANSWERS: u32 = 64;

/// One answer as it grows.
struct Answer<'a> {
    params: CheckedParams,
    text: Option<AnswerText<'a>>,
    shown: String,
    tokens: Vec<TokenId>,
    reason: Option<&'static str>,
}

/// `generate`: one answer is printed as it comes, several one after the other when all are done; with --json one document at the end.
pub fn generate(
    args: &CommonArgs,
    text: Option<String>,
    flags: &SamplingFlags,
) -> anyhow::Result<()> {
    let num_answers = flags.answers;
    anyhow::ensure!(
        (1..=MOST_ANSWERS).contains(&num_answers),
        "--answers {num_answers}: expected 1 to {MOST_ANSWERS}"
    );
    let text = the_text(args, text)?;
    let model = Model::open(&args.model)?;
    let tokenizer = model.tokenizer()?;
    let pool = Pool::new(args.threads());
    let vocab_size = model.config.llama.vocab_size;
    let params = flags.params(args.seed).check(vocab_size)?;
    let prompt = model.encode_prompt(&text)?;
    let max_new_tokens = args.tokens.unwrap_or(DEFAULT_TOKENS);

    let (choice, of_requests, noted) = choice(flags.logprobs.is_some());
    let mut engine = engine(
        &model,
        &pool,
        num_answers as usize,
        prompt.len() + max_new_tokens,
        choice,
    );
    let mut answers: HashMap<SeqId, Answer<'_>> = HashMap::new();
    for number in 0..num_answers {
        let params = SamplingParams {
            answer: number,
            ..(*params).clone()
        };
        let params = params.check(vocab_size)?;
        let id = engine
            .submit(&prompt, max_new_tokens)
            .with_context(|| format!("the text {text:?}"))?;
        of_requests.set(id, params.clone());
        answers.insert(id, Answer::new(&model, params)?);
    }
    let streams = !args.json && num_answers == 1;
    if streams {
        term::print(&text);
    }
    engine.run(&mut |event| {
        let Some(answer) = answers.get_mut(&event.id()) else {
            return Delivery::Taken;
        };
        let (piece, delivery) = answer.take(event);
        if streams {
            term::print(&piece);
        }
        delivery
    })?;
    let mut answers: Vec<(SeqId, Answer<'_>)> = answers.into_iter().collect();
    answers.sort_by_key(|(id, _)| *id);
    if args.json {
        let noted = noted.lock().unwrap_or_else(|error| error.into_inner());
        let one = |(id, answer): &(SeqId, Answer<'_>)| answer.document(tokenizer, noted.get(id));
        let document = json!({
            "model": model.name,
            "prompt": text,
            "seed": args.seed,
            "answers": answers.iter().map(one).collect::<Vec<_>>(),
        });
        term::print(&format!("{document:#}\n"));
    } else if streams {
        term::print("\n");
    } else {
        for (_, answer) in &answers {
            term::print(&format!("{text}{}\n", answer.shown));
        }
    }
    Ok(())
}

impl<'a> Answer<'a> {
    fn new(model: &'a Model, params: CheckedParams) -> anyhow::Result<Answer<'a>> {
        Ok(Answer {
            text: Some(AnswerText::new(model.tokenizer()?, &params)),
            params,
            shown: String::new(),
            tokens: Vec::new(),
            reason: None,
        })
    }

    /// Takes what happened to it, and says which text is new and whether it wants to go on.
    fn take(&mut self, event: Event<'_>) -> (String, Delivery) {
        let Some(text) = &mut self.text else {
            return (String::new(), Delivery::ReceiverGone);
        };
        let (piece, delivery) = match event {
            Event::Token { token, .. } => {
                let piece = text.push(token);
                let is_over = text.is_over();
                if is_over {
                    self.reason = Some("stop");
                }
                if !(is_over && self.params.stop_ids.contains(&token)) {
                    self.tokens.push(token);
                }
                let delivery = match is_over {
                    true => Delivery::ReceiverGone,
                    false => Delivery::Taken,
                };
                (piece, delivery)
            }
            Event::Finished { reason, .. } => {
                self.reason.get_or_insert(match reason {
                    FinishReason::Stop => "stop",
                    FinishReason::Length => "length",
                    FinishReason::Context => "context",
                    FinishReason::Cancelled => "cancelled",
                });
                let rest = self.text.take().map(AnswerText::finish);
                (rest.unwrap_or_default(), Delivery::Taken)
            }
        };
        self.shown.push_str(&piece);
        (piece, delivery)
    }

    /// For machines.
    fn document(&self, tokenizer: &loading::Tokenizer, noted: Option<&Vec<Noted>>) -> Value {
        let token = |token: TokenId, logprob: f32| {
            json!({
                "token": token,
                "text": generation::candidates::visible(tokenizer, token),
                "logprob": logprob,
            })
        };
        let one = |noted: &Noted| {
            let likeliest = noted.likeliest.iter();
            json!({
                "chosen": token(noted.chosen.token, noted.chosen.logprob),
                "likeliest": likeliest.map(|l| token(l.token, l.logprob)).collect::<Vec<_>>(),
            })
        };
        json!({
            "answer": self.params.answer,
            "tokens": self.tokens,
            "text": self.shown,
            "finish_reason": self.reason,
            "logprobs": noted.map(|all| all.iter().take(self.tokens.len()).map(one).collect::<Vec<_>>()),
        })
    }
}

/// A token and the likeliest ones in its place, with what the model thought of them.
struct Noted {
    chosen: Logprob,
    likeliest: Vec<Logprob>,
}

/// What was noted for each request.
type Notes = Arc<Mutex<HashMap<SeqId, Vec<Noted>>>>;

/// A choice by each request's parameters, which notes log probabilities where they are wanted.
fn choice(wants_logprobs: bool) -> (Choice, ParamsOfRequests, Notes) {
    let (params, notes) = (ParamsOfRequests::new(), Notes::default());
    if !wants_logprobs {
        return (params.choice(), params, notes);
    }
    let (of_requests, noted, mut sampler) = (params.clone(), notes.clone(), Sampler::new());
    let choice: Choice = Box::new(move |request, logits| {
        let Some(params) = of_requests.get(request.id) else {
            return generation::generate::greedy(logits);
        };
        let sampled = sampler.sample(&params, &request.prompt, &request.output, logits)?;
        if let Some(logprob) = sampled.logprob {
            let note = Noted {
                chosen: Logprob {
                    token: sampled.token,
                    logprob,
                },
                likeliest: sampler.logprobs().to_vec(),
            };
            let mut notes = noted.lock().unwrap_or_else(|error| error.into_inner());
            notes.entry(request.id).or_default().push(note);
        }
        Ok(sampled.token)
    });
    (choice, params, notes)
}

fn engine<'a>(
    model: &'a Model,
    pool: &'a Pool,
    slots: usize,
    tokens: usize,
    choice: Choice,
) -> Engine<ModelRunner<'a>, SlotCache> {
    let capacity = tokens.clamp(1, model.config.llama.max_seq_len);
    let runner = ModelRunner::new(model, pool, slots, capacity);
    let cache = SlotCache::new(&model.config.llama, slots, capacity);
    let limits = EngineLimits::of_model(&model.config, slots);
    Engine::new(runner, cache, limits).with_choice(choice)
}

/// The argument, or `--prompt`, or stdin.
fn the_text(args: &CommonArgs, text: Option<String>) -> anyhow::Result<String> {
    let mut text = text.or_else(|| args.prompt.clone()).unwrap_or_default();
    let mut stdin = std::io::stdin();
    if text.is_empty() && !stdin.is_terminal() {
        stdin
            .read_to_string(&mut text)
            .context("reading the text from stdin")?;
        text.truncate(text.trim_end_matches('\n').len());
    }
    anyhow::ensure!(
        !text.is_empty(),
        "generate needs a text to go on from; give it as an argument or on stdin"
    );
    Ok(text)
}
