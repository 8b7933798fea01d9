//! The evaluation set: fixed before any inference code was written, whole documents in a fixed order.
//!
//! It is computed, not stored: stories and questions from the grammar with held-out content, and the held-out chapters.
//! Every number of them is a function of [`EVAL_SEED`], so two programs that evaluate see the same text.

use super::literature::Literature;
use crate::config::TokenId;
use crate::grammar::{Document, Grammar, Kind, TaskItem};
use crate::split::Split;
use crate::tokenizer::{END_OF_TEXT_ID, Tokenizer};

/// Seed of the evaluation set; training uses another one, and other content.
pub const EVAL_SEED: u64 = 2026;

/// One document to be scored.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalDocument {
    /// `<|endoftext|>`, the text, `<|endoftext|>`. The first token is context and never scored; all others are scored
    /// once.
    pub tokens: Vec<TokenId>,
    /// Bytes of the text, for bits per byte.
    pub bytes: usize,
    /// The entropy bound: what the grammar's own probabilities give the text. `None` for literature, where it is
    /// unknown.
    pub nats: Option<f64>,
}

impl EvalDocument {
    /// Wraps `text` in end-of-text tokens.
    pub fn new(text: &str, nats: Option<f64>, tokenizer: &Tokenizer) -> EvalDocument {
        let mut tokens = vec![END_OF_TEXT_ID];
        tokens.extend(tokenizer.encode(text));
        tokens.push(END_OF_TEXT_ID);
        EvalDocument {
            tokens,
            bytes: text.len(),
            nats,
        }
    }

    /// Number of tokens that are scored.
    pub fn num_scored(&self) -> usize {
        self.tokens.len() - 1
    }
}

/// A prompt for a story, to see whether the story is told as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryPrompt {
    /// The user's words; `None` for a plain story.
    pub request: Option<String>,
    /// What the model is given.
    pub prompt: String,
    /// The story that the grammar told after this prompt: a reference for BLEU and ROUGE.
    pub reference: String,
}

/// Everything that a model is measured on.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// Held-out documents of the grammar, in order.
    pub stories: Vec<EvalDocument>,
    /// Held-out chapters, in the order of the books.
    pub literature: Vec<EvalDocument>,
    /// Held-out questions.
    pub tasks: Vec<TaskItem>,
    /// Prompts for stories with held-out content: a plain opening sentence or a request, in turn.
    pub prompts: Vec<StoryPrompt>,
}

impl Evaluation {
    /// The set with these numbers of documents.
    pub fn new(
        grammar: &Grammar,
        literature: &Literature,
        tokenizer: &Tokenizer,
        split: Split,
        size: EvalSize,
    ) -> Self {
        let stories = (0..size.stories as u64).map(|index| {
            let document = grammar.document(EVAL_SEED, split, index);
            EvalDocument::new(&document.text, Some(document.nats), tokenizer)
        });
        let chapters = literature
            .of(split)
            .map(|chapter| EvalDocument::new(&chapter.text, None, tokenizer));
        Evaluation {
            stories: stories.collect(),
            literature: chapters.take(size.chapters).collect(),
            tasks: (0..size.tasks as u64)
                .map(|index| grammar.task_item(EVAL_SEED, split, index))
                .collect(),
            prompts: story_prompts(grammar, split, size.prompts),
        }
    }

    /// The entropy bound of the stories in nats per token: no model can do better on average.
    pub fn story_bound(&self) -> f64 {
        let nats: f64 = self.stories.iter().filter_map(|document| document.nats).sum();
        let scored: usize = self.stories.iter().map(EvalDocument::num_scored).sum();
        nats / scored.max(1) as f64
    }
}

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvalSize {
    /// Number of documents of the grammar.
    pub stories: usize,
    /// Largest number of chapters.
    pub chapters: usize,
    /// Number of questions.
    pub tasks: usize,
    /// Number of story prompts.
    pub prompts: usize,
}

impl EvalSize {
    /// The size behind published figures.
    pub const FULL: EvalSize = EvalSize {
        stories: 400,
        chapters: usize::MAX,
        tasks: 500,
        prompts: 200,
    };
    /// Seconds instead of minutes, for a look during training.
    pub const SMALL: EvalSize = EvalSize {
        stories: 40,
        chapters: 2,
        tasks: 40,
        prompts: 20,
    };
}

/// Story prompts by turns: the first sentence of a plain story, and a chat request.
pub fn story_prompts(grammar: &Grammar, split: Split, count: usize) -> Vec<StoryPrompt> {
    let mut documents = (0..).map(|index| grammar.document(EVAL_SEED + 1, split, index));
    let mut next = |kind: Kind| {
        documents
            .by_ref()
            .find(|document| document.kind == kind)
            .expect("documents never end")
    };
    (0..count)
        .map(|index| {
            if index % 2 == 0 {
                plain_prompt(&next(Kind::Plain))
            } else {
                chat_prompt(&next(Kind::Chat))
            }
        })
        .collect()
}

fn plain_prompt(document: &Document) -> StoryPrompt {
    let first_sentence = document.text.find('.').map_or(document.text.len(), |end| end + 1);
    let (prompt, reference) = document.text.split_at(first_sentence);
    StoryPrompt {
        request: None,
        prompt: prompt.to_string(),
        reference: reference.to_string(),
    }
}

fn chat_prompt(document: &Document) -> StoryPrompt {
    let open = "<|im_start|>assistant\n";
    let start = document.text.find(open).expect("a chat has an answer") + open.len();
    let request = document
        .text
        .lines()
        .nth(1)
        .and_then(|line| line.strip_suffix("<|im_end|>"))
        .expect("a request");
    let reference = document.text[start..].trim_end().trim_end_matches("<|im_end|>");
    StoryPrompt {
        request: Some(request.to_string()),
        prompt: document.text[..start].to_string(),
        reference: reference.to_string(),
    }
}
