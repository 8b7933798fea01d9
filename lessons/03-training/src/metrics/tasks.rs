//! Does a model read and write? Held-out questions with one right answer, and stories for the grammar's checker.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{bleu, distinct_n, repetition, rouge_l, words};
use crate::corpus::evaluation::StoryPrompt;
use crate::grammar::{Grammar, TaskItem, Verdict};

/// How many questions were answered right.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TaskAccuracy {
    /// Right answers over all questions.
    pub accuracy: f64,
    /// The same for each kind of question.
    pub by_kind: BTreeMap<&'static str, f64>,
    /// Questions asked.
    pub questions: usize,
}

/// Asks each question and compares the answers, white space at the ends aside, letter by letter.
///
/// `answer` is given the prompt and returns what the model says up to, without, its first end token.
pub fn task_accuracy(items: &[TaskItem], mut answer: impl FnMut(&TaskItem) -> String) -> TaskAccuracy {
    let mut counts: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    for item in items {
        let right = answer(item).trim() == item.answer.trim();
        let (hits, asked) = counts.entry(item.kind.name()).or_default();
        *hits += usize::from(right);
        *asked += 1;
    }
    let hits: usize = counts.values().map(|(hits, _)| hits).sum();
    TaskAccuracy {
        accuracy: hits as f64 / items.len().max(1) as f64,
        by_kind: counts
            .into_iter()
            .map(|(kind, (hits, asked))| (kind, hits as f64 / asked as f64))
            .collect(),
        questions: items.len(),
    }
}

/// What a model wrote after a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The text after the prompt, without an end token.
    pub text: String,
    /// Whether the model ended by itself, not at a limit.
    pub ended: bool,
}

/// How stories came out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StoryReport {
    /// Stories told.
    pub stories: usize,
    /// Share that ended by itself and passed the grammar's checker, the request included.
    pub consistent: f64,
    /// What was wrong with the others: kind of fault and how often.
    pub faults: BTreeMap<String, usize>,
    /// Corpus BLEU-4 against the grammar's own continuation of each prompt.
    pub bleu: f64,
    /// Mean ROUGE-L against the same.
    pub rouge_l: f64,
    /// Different pairs of words over all pairs.
    pub distinct_2: f64,
    /// Mean share of 4-grams that a story says again.
    pub repetition_4: f64,
}

/// Lets the model tell a story after each prompt, and checks and compares them.
pub fn story_report(
    grammar: &Grammar,
    prompts: &[StoryPrompt],
    mut tell: impl FnMut(&StoryPrompt) -> Completion,
) -> StoryReport {
    let told: Vec<Completion> = prompts.iter().map(&mut tell).collect();
    let mut faults: BTreeMap<String, usize> = BTreeMap::new();
    for (prompt, completion) in prompts.iter().zip(&told) {
        if let Some(fault) = fault_of(grammar, prompt, completion) {
            *faults.entry(fault).or_default() += 1;
        }
    }
    let count = prompts.len().max(1) as f64;
    let candidates: Vec<Vec<&str>> = told.iter().map(|completion| words(&completion.text)).collect();
    let references: Vec<Vec<&str>> = prompts.iter().map(|prompt| words(&prompt.reference)).collect();
    let pairs = candidates.iter().zip(&references);
    StoryReport {
        stories: prompts.len(),
        consistent: (prompts.len() - faults.values().sum::<usize>()) as f64 / count,
        faults,
        bleu: bleu(&candidates, &references),
        rouge_l: pairs
            .map(|(candidate, reference)| rouge_l(candidate, reference))
            .sum::<f64>()
            / count,
        distinct_2: distinct_n(&candidates, 2),
        repetition_4: candidates.iter().map(|words| repetition(words, 4)).sum::<f64>() / count,
    }
}

/// What is wrong with a completion, in a few words, or `None`.
pub fn fault_of(grammar: &Grammar, prompt: &StoryPrompt, completion: &Completion) -> Option<String> {
    use crate::grammar::Fault;
    if !completion.ended {
        return Some("does not end".to_string());
    }
    let verdict = match &prompt.request {
        Some(request) => grammar.check_reply(request, &completion.text),
        None => grammar.check_story(&format!("{}{}", prompt.prompt, completion.text)),
    };
    match verdict {
        Verdict::Consistent(_) => None,
        Verdict::Faulty {
            fault: Fault::Unfinished,
            ..
        } => Some("ends too early".to_string()),
        Verdict::Faulty {
            fault: Fault::Changed { slot, .. },
            ..
        } => Some(format!("{slot} changed")),
        Verdict::Faulty {
            fault: Fault::Unknown { .. },
            ..
        } => Some("leaves the plot".to_string()),
    }
}
