//! Lesson 03's metrics for any model folder.
//!
//! The texts, the questions and the arithmetic are those of lesson 03; a model enters as a closure from tokens to
//! logits. A folder with another tokenizer gets the same texts in its own tokens. Between different tokenizers only
//! bits per byte are comparable.

use crate::error::GenerateError;
use crate::forward::forward_all;
use crate::model::Model;
use crate::state::State;
use layout::pool::Pool;
use serde::Serialize;
use std::collections::BTreeMap;
use training::TokenId;
use training::corpus::EvalDocument;
use training::grammar::TaskItem;
use training::metrics::{Score, score_document, task_accuracy};

/// Maximum number of tokens that are scored at once; less where the model's context is shorter.
pub const WINDOW: usize = 512;

/// The scores of a model. The keys are those of lesson 03's `eval`.
#[derive(Clone, Debug, Serialize)]
pub struct EvalReport {
    /// The model's name.
    pub model: String,
    /// Mean surprise per token, by kind of text; comparable between models with the same tokenizer only.
    pub nats_per_token: BTreeMap<&'static str, f64>,
    /// Exponential of `nats_per_token`.
    pub perplexity: BTreeMap<&'static str, f64>,
    /// Bits for each byte of text; comparable between all models.
    pub bits_per_byte: BTreeMap<&'static str, f64>,
    /// Number of tokens scored, by kind of text.
    pub tokens_scored: BTreeMap<&'static str, usize>,
    /// Share of held-out questions whose answer is right in every letter.
    pub task_accuracy: f64,
    /// `task_accuracy` by kind of question.
    pub by_task: BTreeMap<&'static str, f64>,
    /// Number of questions asked.
    pub questions: usize,
}

/// A model under measurement, with its threads and scratch memory.
pub struct Evaluator<'a> {
    model: &'a Model,
    pool: &'a Pool,
    state: State,
    window: usize,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of `model` on the threads of `pool`.
    pub fn new(model: &'a Model, pool: &'a Pool) -> Evaluator<'a> {
        let window = model.config.llama.max_seq_len.min(WINDOW);
        Evaluator {
            model,
            pool,
            state: State::new(&model.config, window),
            window,
        }
    }

    /// Encodes a text of lesson 03's evaluation with this model's tokenizer: end-of-text token, text, end-of-text
    /// token.
    ///
    /// # Errors
    /// No tokenizer, or one that can not spell the text.
    pub fn document(&self, text: &str, nats: Option<f64>) -> Result<EvalDocument, GenerateError> {
        let end = self
            .model
            .config
            .eos_token_ids
            .first()
            .or(self.model.config.bos_token_id.as_ref());
        let end = end.copied().unwrap_or(TokenId(0));
        let mut tokens = vec![end];
        tokens.extend(self.model.tokenizer()?.encode(text, false)?);
        tokens.push(end);
        Ok(EvalDocument {
            tokens,
            bytes: text.len(),
            nats,
        })
    }

    /// Computes the surprise of one document. Each token is scored once.
    ///
    /// # Errors
    /// Those of [`forward_all`].
    pub fn score(&mut self, document: &EvalDocument) -> Result<Score, GenerateError> {
        let (window, vocab_size) = (self.window, self.model.config.llama.vocab_size);
        let mut failed = None;
        let mut logits = |tokens: &[TokenId], out: &mut [f32]| {
            let done = forward_all(
                &self.model.config,
                &self.model.weights,
                &mut self.state,
                self.pool,
                tokens,
                out,
            );
            failed = failed.take().or(done.err());
        };
        let score = score_document(&document.tokens, window, (window / 2).max(1), vocab_size, &mut logits);
        match failed {
            Some(error) => Err(error),
            None => Ok(Score {
                bytes: document.bytes,
                ..score
            }),
        }
    }

    /// Returns the greedy answer to a prompt, up to the first end-of-text token and at most `max_new_tokens` long.
    ///
    /// # Errors
    /// Those of [`Model::generate`].
    pub fn answer(&mut self, prompt: &str, max_new_tokens: usize) -> Result<String, GenerateError> {
        let tokenizer = self.model.tokenizer()?;
        let prompt = tokenizer.encode(prompt, false)?;
        let generation = self
            .model
            .generate(&mut self.state, self.pool, &prompt, max_new_tokens, &mut |_| {})?;
        Ok(tokenizer.decode(&generation.tokens))
    }

    /// Scores all texts and asks all questions. `progress` is called after each of them.
    ///
    /// # Errors
    /// The first failure of the model.
    pub fn report(
        &mut self,
        texts: &[(&'static str, Vec<EvalDocument>)],
        questions: &[TaskItem],
        progress: &mut dyn FnMut(),
    ) -> Result<EvalReport, GenerateError> {
        let mut report = EvalReport {
            model: self.model.name.clone(),
            nats_per_token: BTreeMap::new(),
            perplexity: BTreeMap::new(),
            bits_per_byte: BTreeMap::new(),
            tokens_scored: BTreeMap::new(),
            task_accuracy: 0.0,
            by_task: BTreeMap::new(),
            questions: questions.len(),
        };
        for (kind, documents) in texts {
            let mut score = Score::default();
            for document in documents {
                score = score.plus(self.score(document)?);
                progress();
            }
            report.nats_per_token.insert(kind, score.nats_per_token());
            report.perplexity.insert(kind, score.perplexity());
            report.bits_per_byte.insert(kind, score.bits_per_byte());
            report.tokens_scored.insert(kind, score.tokens);
        }
        let mut failed = None;
        let accuracy = task_accuracy(questions, |question| {
            progress();
            self.answer(&question.prompt, ANSWER_TOKENS).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                String::new()
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        report.task_accuracy = accuracy.accuracy;
        report.by_task = accuracy.by_kind;
        Ok(report)
    }
}

/// Maximum length of an answer in tokens. A right answer is one short sentence.
const ANSWER_TOKENS: usize = 24;
