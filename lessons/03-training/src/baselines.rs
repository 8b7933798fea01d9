//! N-gram models that count the training stream of a model: what it must beat.

use crate::corpus::{EvalDocument, Evaluation, Literature, StreamOptions, TrainingStream};
use crate::grammar::Grammar;
use crate::ngram::{MAX_ORDER, Ngram};
use crate::record::BaselinePoint;
use crate::tokenizer::Tokenizer;

/// Names of the baselines, by order - 1.
pub const BASELINES: [&str; 3] = ["unigram", "bigram", "trigram"];

/// Inputs of one window of the training stream.
const WINDOW: usize = 512;

/// Counts n-grams over the first `num_tokens` tokens of the training stream; `watch` sees the model after each window.
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
        // The last token of a window is only predicted, and read in the next window, as for the model.
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

/// Held-out nats per token of n-gram models, measured each time that the number of counted tokens has doubled, and at
/// the end.
pub fn curve(
    literature: &Literature,
    tokenizer: &Tokenizer,
    options: &StreamOptions,
    tokens: u64,
    held_out: &Evaluation,
) -> Vec<BaselinePoint> {
    let mut points = Vec::new();
    let mut next = 16_384;
    count_ngrams(literature, tokenizer, options, tokens, |ngram| {
        let counted = ngram.num_tokens();
        if counted < next.min(tokens) {
            return;
        }
        next = 2 * counted;
        let nats = |documents: &[EvalDocument]| {
            (1..=MAX_ORDER)
                .map(|order| ngram_nats(ngram, documents, order))
                .collect()
        };
        points.push(BaselinePoint {
            tokens: counted,
            stories: nats(&held_out.stories),
            literature: nats(&held_out.literature),
        });
    });
    points
}
