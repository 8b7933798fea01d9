//! The evaluation of a folder that this lesson wrote: all metrics on held-out text, and the baselines beside them.

use crate::config::TokenId;
use crate::corpus::evaluation::{EVAL_SEED, EvalDocument, EvalSize, Evaluation, StoryPrompt};
use crate::corpus::{Literature, StreamOptions, TrainingStream};
use crate::export::read_folder;
use crate::grammar::{Grammar, TaskItem, facts};
use crate::metrics::perplexity::surprise;
use crate::metrics::tasks::Completion;
use crate::metrics::{Score, StoryReport, TaskAccuracy, score_documents, story_report, task_accuracy};
use crate::model::Llama;
use crate::ngram::Ngram;
use crate::sample::{Sample, greedy, most_likely};
use crate::split::Split;
use crate::tokenizer::{END_OF_TEXT_ID, IM_END_ID, Tokenizer};
use crate::train::{TrainingRecord, read_record};
use anyhow::Result;
use layout::pool::Pool;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Positions that a scored token can look back at, at most; the model's whole context.
pub const WINDOW: usize = 512;
/// Scored tokens of each window after a document's first: every token but the first of a document has at least 256
/// tokens of context, or all that there are.
pub const STRIDE: usize = 256;

/// Stories that are told side by side.
const SIDE_BY_SIDE: usize = 20;

/// A figure for each kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByText {
    /// Held-out documents of the grammar.
    pub stories: f64,
    /// Held-out chapters.
    pub literature: f64,
}

/// All that is measured, as `eval --json` prints it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvalReport {
    /// The model's name.
    pub model: String,
    /// Tokens it was trained on, from `training.json`.
    pub tokens_trained: u64,
    /// Mean surprise of a token.
    pub nats_per_token: ByText,
    /// Its exponential.
    pub perplexity: ByText,
    /// Surprise by length of text: comparable across tokenizers.
    pub bits_per_byte: ByText,
    /// What the grammar's own probabilities give the same stories, in nats per token: no model can do better.
    pub entropy_bound: f64,
    /// Share of held-out questions that are answered right.
    pub task_accuracy: f64,
    /// The same for each kind of question.
    pub by_task: BTreeMap<String, f64>,
    /// Nats per token of n-gram models that counted as many tokens of the same corpus.
    pub baselines: BTreeMap<String, ByText>,
    /// Greedy stories and what the grammar's checker says of them.
    pub told: Option<StoryReport>,
    /// What was scored.
    pub scored_tokens: Scored,
}

/// How many tokens stand behind the means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// Tokens of stories.
    pub stories: usize,
    /// Tokens of literature.
    pub literature: usize,
}

/// A folder, opened for evaluation.
pub struct Subject {
    /// Its name, for the record.
    pub name: String,
    /// The weights.
    pub model: Llama,
    /// Its vocabulary.
    pub tokenizer: Tokenizer,
    /// How it was trained.
    pub record: TrainingRecord,
}

impl Subject {
    /// Opens a folder that [`train`](crate::train) wrote.
    ///
    /// # Errors
    /// When a file is missing or does not fit.
    pub fn open(folder: &Path, name: &str, pool: Arc<Pool>) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            model: read_folder(folder, pool)?,
            tokenizer: Tokenizer::load(&folder.join("tokenizer.json"))?,
            record: read_record(folder)?,
        })
    }

    /// The surprise of documents, by the rules of [`metrics`](crate::metrics).
    pub fn score<'a>(&self, documents: impl IntoIterator<Item = &'a EvalDocument>) -> Score {
        let config = &self.model.config;
        let window = WINDOW.min(config.max_seq_len);
        let stride = STRIDE.min(window);
        score_documents(documents, window, stride, config.vocab_size, |tokens, out| {
            out.copy_from_slice(self.model.logits(tokens).as_slice().expect("row-major"));
        })
    }

    /// Whether greedy decoding gives the right answers.
    ///
    /// One pass for each question, for greedy decoding writes the right answer exactly when, with the right answer before
    /// it, every token of it and the end of the turn are the most likely ones. (An answer spelt in other pieces counts as
    /// wrong; the metric compares letters, so this is the strict side.)
    pub fn answer(&self, items: &[TaskItem]) -> TaskAccuracy {
        task_accuracy(items, |item| {
            let prompt = self.tokenizer.encode(&item.prompt);
            let mut answer = self.tokenizer.encode(&item.answer);
            answer.push(IM_END_ID);
            let text: Vec<TokenId> = prompt.iter().chain(&answer).copied().collect();
            let logits = self.model.logits(&text[..text.len() - 1]);
            let rows = logits
                .as_slice()
                .expect("row-major")
                .chunks_exact(self.model.config.vocab_size);
            let said: Vec<TokenId> = rows.skip(prompt.len() - 1).map(most_likely).collect();
            let end = said.iter().position(|&token| token == IM_END_ID).unwrap_or(said.len());
            self.tokenizer.decode(&said[..end])
        })
    }

    /// Tells a greedy story after each prompt.
    pub fn tell(&self, prompts: &[StoryPrompt], mut watch: impl FnMut(usize)) -> Vec<Completion> {
        let complete = |sample: Sample| Completion {
            text: self.tokenizer.decode(&sample.tokens),
            ended: sample.ended,
        };
        let mut told = Vec::with_capacity(prompts.len());
        for group in prompts.chunks(SIDE_BY_SIDE) {
            let texts: Vec<_> = group.iter().map(|p| self.tokenizer.encode(&p.prompt)).collect();
            let ends = [END_OF_TEXT_ID, IM_END_ID];
            told.extend(greedy(&self.model, &texts, 400, &ends).into_iter().map(complete));
            watch(told.len());
        }
        told
    }
}

/// How surprised a model is by the words that fill a story's slots: where a word first stands, and where it is said again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlotSurprise {
    /// Mean surprise in nats of the first mention: nobody can know the word.
    pub first: f64,
    /// Mean surprise in nats of later mentions: a reader who copies knows it.
    pub again: f64,
    /// Later mentions.
    pub num_again: usize,
}

/// The surprise at each slot of held-out stories, by the slot's name: does the model copy?
pub fn slot_surprise(subject: &Subject, grammar: &Grammar, num_documents: u64) -> BTreeMap<&'static str, SlotSurprise> {
    let mut firsts: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    let mut laters = firsts.clone();
    let vocab_size = subject.model.config.vocab_size;
    for index in 0..num_documents {
        let document = grammar.document(EVAL_SEED, Split::Test, index);
        let words = facts(&document.path.bindings);
        let scored = EvalDocument::new(&document.text, None, &subject.tokenizer);
        let targets = &scored.tokens[1..scored.tokens.len() - 1];
        let logits = subject.model.logits(&scored.tokens[..targets.len()]);
        let rows = logits.as_slice().expect("row-major").chunks_exact(vocab_size);
        let mut seen: Vec<&str> = Vec::new();
        let mut at = 0;
        for (row, &token) in rows.zip(targets) {
            let piece = subject.tokenizer.decode(&[token]);
            let rest = document.text.get(at..).unwrap_or("").trim_start_matches(' ');
            at += piece.len();
            let word_len = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            let Some((&slot, word)) = words.iter().find(|(_, word)| **word == &rest[..word_len]) else {
                continue;
            };
            if word.is_empty() || !piece.trim_start().starts_with(&word[..1]) {
                continue;
            }
            let sums = if seen.contains(word) { &mut laters } else { &mut firsts };
            let sum = sums.entry(slot).or_default();
            sum.0 += surprise(row, token);
            sum.1 += 1;
            seen.push(word);
        }
    }
    let mean = |sums: &BTreeMap<&str, (f64, usize)>, slot: &str| {
        sums.get(slot).map_or(0.0, |(nats, count)| nats / *count as f64)
    };
    let slots = laters.iter().map(|(&slot, &(_, num_again))| {
        let (first, again) = (mean(&firsts, slot), mean(&laters, slot));
        (
            slot,
            SlotSurprise {
                first,
                again,
                num_again,
            },
        )
    });
    slots.collect()
}

/// Counts n-grams over as many tokens of the training stream as the model saw, at most `max_tokens`.
pub fn count_ngrams(
    literature: &Literature,
    tokenizer: &Tokenizer,
    options: &StreamOptions,
    num_tokens: u64,
    mut watch: impl FnMut(&Ngram),
) -> Ngram {
    let mut ngram = Ngram::new(tokenizer.vocab_size());
    let grammar = Grammar::new();
    let mut stream = TrainingStream::new(grammar, literature, tokenizer.clone(), options.clone());
    let mut window = Vec::new();
    while ngram.num_tokens() < num_tokens {
        stream.next_window(WINDOW + 1, &mut window);
        // A window's last token is the next one's business, as for the model.
        ngram.count(&window[..WINDOW]);
        watch(&ngram);
    }
    ngram
}

/// Nats per token of documents under an n-gram model.
pub fn ngram_nats(ngram: &Ngram, documents: &[EvalDocument], order: usize) -> f64 {
    let nats: f64 = documents.iter().map(|d| ngram.nats(&d.tokens, order)).sum();
    let scored: usize = documents.iter().map(EvalDocument::num_scored).sum();
    nats / scored.max(1) as f64
}

/// A number for everything that is measured: SHA-256 over all held-out tokens, questions, answers and prompts. Two programs
/// that print the same one measure the same.
pub fn fingerprint(set: &Evaluation) -> String {
    let mut hash = Sha256::new();
    for document in set.stories.iter().chain(&set.literature) {
        for token in &document.tokens {
            hash.update(token.0.to_le_bytes());
        }
    }
    for item in &set.tasks {
        hash.update(&item.prompt);
        hash.update(&item.answer);
    }
    for prompt in &set.prompts {
        hash.update(&prompt.prompt);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Names of the baselines, by order - 1.
pub const BASELINES: [&str; 3] = ["unigram", "bigram", "trigram"];

/// Measures a folder on the test split.
///
/// `told` is how many greedy stories to tell (the slow part); `watch` is given what is done next.
///
/// # Errors
/// When the corpus can not be read.
pub fn evaluate(subject: &Subject, corpus: &Path, size: EvalSize, mut watch: impl FnMut(&str)) -> Result<EvalReport> {
    let grammar = Grammar::new();
    let literature = Literature::load(corpus)?;
    let set = Evaluation::new(&grammar, &literature, &subject.tokenizer, Split::Test, size);
    watch("scoring held-out stories");
    let stories = subject.score(&set.stories);
    watch("scoring held-out chapters");
    let chapters = subject.score(&set.literature);
    watch("asking held-out questions");
    let tasks = subject.answer(&set.tasks);
    watch("counting n-grams");
    let options = subject
        .record
        .runs
        .first()
        .map(|run| run.stream.clone())
        .unwrap_or_default();
    let tokens = subject.record.tokens;
    let ngram = count_ngrams(&literature, &subject.tokenizer, &options, tokens, |_| {});
    let baseline = |order: usize| ByText {
        stories: ngram_nats(&ngram, &set.stories, order),
        literature: ngram_nats(&ngram, &set.literature, order),
    };
    let baselines = (1..=BASELINES.len()).map(|order| (BASELINES[order - 1].to_owned(), baseline(order)));
    let baselines = baselines.collect();
    let told = (!set.prompts.is_empty()).then(|| {
        let mut told = subject
            .tell(&set.prompts, |done| {
                watch(&format!("telling stories: {done} of {}", set.prompts.len()))
            })
            .into_iter();
        story_report(&grammar, &set.prompts, |_| told.next().expect("one for each prompt"))
    });
    Ok(EvalReport {
        model: subject.name.clone(),
        tokens_trained: tokens,
        nats_per_token: ByText {
            stories: stories.nats_per_token(),
            literature: chapters.nats_per_token(),
        },
        perplexity: ByText {
            stories: stories.perplexity(),
            literature: chapters.perplexity(),
        },
        bits_per_byte: ByText {
            stories: stories.bits_per_byte(),
            literature: chapters.bits_per_byte(),
        },
        entropy_bound: set.story_bound(),
        task_accuracy: tasks.accuracy,
        by_task: tasks
            .by_kind
            .into_iter()
            .map(|(kind, share)| (kind.to_owned(), share))
            .collect(),
        baselines,
        told,
        scored_tokens: Scored {
            stories: stories.tokens,
            literature: chapters.tokens,
        },
    })
}
