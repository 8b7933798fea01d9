//! The evaluation of a folder that this lesson wrote: all metrics on held-out text, and the baselines beside them.

use crate::baselines::{BASELINES, count_ngrams, ngram_nats};
use crate::config::TokenId;
use crate::corpus::Literature;
use crate::corpus::evaluation::{EVAL_SEED, EvalDocument, EvalSize, Evaluation, StoryPrompt};
use crate::export::read_folder;
use crate::grammar::{Grammar, TaskItem};
use crate::metrics::tasks::Completion;
use crate::metrics::{Score, StoryReport, TaskAccuracy, score_documents, story_report, task_accuracy};
use crate::model::Llama;
use crate::record::{TrainingRecord, read_record};
use crate::sample::{Choice, Sample, generate, most_likely};
use crate::split::Split;
use crate::tokenizer::{END_OF_TEXT_ID, IM_END_ID, Tokenizer};
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
    /// Number of tokens that the model was trained on, from `training.json`.
    pub tokens_trained: u64,
    /// Mean surprise of a token, in nats.
    pub nats_per_token: ByText,
    /// The exponential of the mean surprise.
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
    /// The same for stories whose tokens are drawn with the model's own probabilities.
    #[serde(default)]
    pub drawn: Option<StoryReport>,
    /// Numbers of scored tokens.
    pub scored_tokens: Scored,
}

/// Numbers of tokens behind the means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// Number of tokens of stories.
    pub stories: usize,
    /// Number of tokens of literature.
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
    /// One pass for each question is enough: greedy decoding writes the right answer exactly if, with the right answer
    /// before it, every token of it and the end of the turn are the most likely ones. (An answer in other pieces counts
    /// as wrong, although its letters may be right: this is the strict side.)
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

    /// Tells a story after each prompt.
    pub fn tell(&self, prompts: &[StoryPrompt], choice: Choice, mut watch: impl FnMut(usize)) -> Vec<Completion> {
        let complete = |sample: Sample| Completion {
            text: self.tokenizer.decode(&sample.tokens),
            ended: sample.ended,
        };
        let mut told = Vec::with_capacity(prompts.len());
        for group in prompts.chunks(SIDE_BY_SIDE) {
            let texts: Vec<_> = group.iter().map(|p| self.tokenizer.encode(&p.prompt)).collect();
            let ends = [END_OF_TEXT_ID, IM_END_ID];
            let samples = generate(&self.model, &texts, choice, told.len(), 400, &ends);
            told.extend(samples.into_iter().map(complete));
            watch(told.len());
        }
        told
    }
}

/// A fingerprint of all that is measured: SHA-256 over all held-out tokens, questions, answers and prompts. Two
/// programs that print the same one measure the same.
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

/// Measures a folder on the test split. `size.prompts` is the number of stories, which are told greedily and drawn, the
/// slow part; `watch` is given what is done next.
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
    let tokens = subject.record.tokens;
    let options = subject
        .record
        .runs
        .first()
        .map(|run| run.stream.clone())
        .unwrap_or_default();
    let ngram = count_ngrams(&literature, &subject.tokenizer, &options, tokens, |_| {});
    let baseline = |(name, order): (&str, usize)| {
        let nats = |documents: &[EvalDocument]| ngram_nats(&ngram, documents, order);
        (
            name.to_owned(),
            ByText {
                stories: nats(&set.stories),
                literature: nats(&set.literature),
            },
        )
    };
    let mut stories_by = |choice: Choice, word: &str| {
        (!set.prompts.is_empty()).then(|| {
            let done = |done| watch(&format!("{word} stories: {done} of {}", set.prompts.len()));
            let mut told = subject.tell(&set.prompts, choice, done).into_iter();
            story_report(&grammar, &set.prompts, |_| told.next().expect("one for each prompt"))
        })
    };
    let told = stories_by(Choice::Greedy, "telling greedy");
    let drawn = stories_by(Choice::Drawn { seed: EVAL_SEED }, "drawing");
    let by_text = |figure: fn(&Score) -> f64| ByText {
        stories: figure(&stories),
        literature: figure(&chapters),
    };
    let by_task = tasks.by_kind.into_iter().map(|(kind, share)| (kind.to_owned(), share));
    Ok(EvalReport {
        model: subject.name.clone(),
        tokens_trained: tokens,
        nats_per_token: by_text(Score::nats_per_token),
        perplexity: by_text(Score::perplexity),
        bits_per_byte: by_text(Score::bits_per_byte),
        entropy_bound: set.story_bound(),
        task_accuracy: tasks.accuracy,
        by_task: by_task.collect(),
        baselines: BASELINES.into_iter().zip(1..).map(baseline).collect(),
        told,
        drawn,
        scored_tokens: Scored {
            stories: stories.tokens,
            literature: chapters.tokens,
        },
    })
}
