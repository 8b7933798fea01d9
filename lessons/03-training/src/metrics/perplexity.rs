//! The surprise of held-out text: nats per token, perplexity, bits per byte.
//!
//! The rules, all of them:
//! 1. A document is scored alone: `<|endoftext|>` before it is context and never scored, every token of the text and
//!    the `<|endoftext|>` after it are scored, each exactly once.
//! 2. A document longer than the window is cut by [`scoring_windows`]: each window after the first scores
//!    its last `stride` positions and has at least `window - stride` tokens of context.
//! 3. The mean is over all scored tokens of all documents, not a mean of the documents' means.
//! 4. Nats per token and perplexity (its exponential) compare models with one tokenizer only. Bits per byte divides by
//!    the bytes of the text instead and compares across tokenizers.

use serde::Serialize;

use crate::config::TokenId;
use crate::corpus::EvalDocument;
use crate::exercises::scoring_windows;
use crate::windows::ScoringWindow;

/// Surprise added up over text.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Score {
    /// Negative log-probability, natural logarithm.
    pub nats: f64,
    /// Scored tokens.
    pub tokens: usize,
    /// Bytes of text that these tokens stand for.
    pub bytes: usize,
}

impl Score {
    /// Mean surprise of a token.
    pub fn nats_per_token(&self) -> f64 {
        self.nats / self.tokens.max(1) as f64
    }

    /// `exp(nats per token)`: the number of equally likely tokens that would surprise as much.
    pub fn perplexity(&self) -> f64 {
        self.nats_per_token().exp()
    }

    /// Bits that an arithmetic coder driven by this model would need for a byte of the text.
    pub fn bits_per_byte(&self) -> f64 {
        self.nats / std::f64::consts::LN_2 / self.bytes.max(1) as f64
    }

    /// The sum of two scores.
    pub fn plus(self, other: Score) -> Score {
        Score {
            nats: self.nats + other.nats,
            tokens: self.tokens + other.tokens,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Scores all tokens but the first; `bytes` is left 0.
///
/// `logits(inputs, out)` fills `out`, `[inputs.len(), vocab_size]` row-major. A window is the most inputs of one call.
pub fn score_document(
    tokens: &[TokenId],
    window: usize,
    stride: usize,
    vocab_size: usize,
    logits: &mut impl FnMut(&[TokenId], &mut [f32]),
) -> Score {
    let mut score = Score::default();
    let mut rows = Vec::new();
    for ScoringWindow { inputs, scored } in scoring_windows(tokens.len(), window, stride) {
        rows.clear();
        rows.resize(inputs.len() * vocab_size, 0.0);
        logits(&tokens[inputs.clone()], &mut rows);
        // ANCHOR: score
        for position in scored {
            let row = &rows[(position - inputs.start) * vocab_size..][..vocab_size];
            score.nats += surprise(row, tokens[position + 1]);
            score.tokens += 1;
        }
        // ANCHOR_END: score
    }
    score
}

/// Scores whole documents, in their order.
pub fn score_documents<'a>(
    documents: impl IntoIterator<Item = &'a EvalDocument>,
    window: usize,
    stride: usize,
    vocab_size: usize,
    mut logits: impl FnMut(&[TokenId], &mut [f32]),
) -> Score {
    documents.into_iter().fold(Score::default(), |sum, document| {
        let score = score_document(&document.tokens, window, stride, vocab_size, &mut logits);
        sum.plus(Score {
            bytes: document.bytes,
            ..score
        })
    })
}

/// `-ln softmax(logits)[token]`, added up in f64, the maximum subtracted first so that nothing overflows.
pub fn surprise(logits: &[f32], token: TokenId) -> f64 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
    sum.ln() - f64::from(logits[token.index()] - largest)
}
