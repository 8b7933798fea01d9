//! Answers of the command as they grow, and what the model thought of their tokens.

use continuous_batching::engine::Choice;
use continuous_batching::{Delivery, Event, FinishReason, SeqId};
use generation::Model;
use sampling::answer::AnswerText;
use sampling::choice::ParamsOfRequests;
use sampling::logprobs::Logprob;
use sampling::{CheckedParams, Sampler};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use training::TokenId;

/// One answer as it grows.
pub struct Answer<'a> {
    params: CheckedParams,
    text: Option<AnswerText<'a>>,
    /// Text that its reader has.
    pub shown: String,
    tokens: Vec<TokenId>,
    reason: Option<&'static str>,
}

impl<'a> Answer<'a> {
    pub fn new(model: &'a Model, params: CheckedParams) -> anyhow::Result<Answer<'a>> {
        Ok(Answer {
            text: Some(AnswerText::new(model.tokenizer()?, &params)),
            params,
            shown: String::new(),
            tokens: Vec::new(),
            reason: None,
        })
    }

    /// Takes what happened to it, and says which text is new and whether it wants to go on.
    pub fn take(&mut self, event: Event<'_>) -> (String, Delivery) {
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
    pub fn document(&self, tokenizer: &loading::Tokenizer, noted: Option<&Vec<Noted>>) -> Value {
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
pub struct Noted {
    chosen: Logprob,
    likeliest: Vec<Logprob>,
}

/// What was noted for each request.
pub type Notes = Arc<Mutex<HashMap<SeqId, Vec<Noted>>>>;

/// A choice by each request's parameters, which notes log probabilities where they are wanted.
pub fn choice(wants_logprobs: bool) -> (Choice, ParamsOfRequests, Notes) {
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
            // A step that failed is tried again, and asks for the same position once more.
            let notes = notes.entry(request.id).or_default();
            notes.truncate(request.output.len());
            notes.push(note);
        }
        Ok(sampled.token)
    });
    (choice, params, notes)
}
