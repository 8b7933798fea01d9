//! The data layer: documents, splits, training windows, the evaluation set.
//!
//! ```text
//! grammar ──┐                    ┌── training: seeded, shuffled, packed into windows, without end   `stream`
//!           ├── split by content ┤
//! data/corpus┘                   └── evaluation: fixed, whole documents, in their order             `evaluation`
//! ```
//!
//! The two sides want opposite things (claim D1). Training wants its samples shuffled, or the last thing read is the
//! only thing known. Evaluation wants the order kept, or answers stand beside the wrong questions.

pub mod epoch;
pub mod evaluation;
pub mod literature;
pub mod recital;
pub mod stream;

pub use evaluation::{EvalDocument, Evaluation};
pub use literature::{Chapter, CorpusError, Literature};
pub use stream::{Cursor, Order, StreamOptions, TrainingStream};

use crate::grammar::Grammar;
use crate::split::Split;
use crate::tokenizer::{Tokenizer, TokenizerError, VOCAB_SIZE};

/// Seed of everything about the default checkpoint's data.
pub const SEED: u64 = 42;

/// Trains the default checkpoint's vocabulary: all training chapters, and stories of twice their size.
pub fn train_tokenizer(grammar: &Grammar, literature: &Literature) -> Result<Tokenizer, TokenizerError> {
    let mut texts: Vec<String> = literature
        .of(Split::Train)
        .map(|chapter| chapter.text.clone())
        .collect();
    let mut wanted: usize = 2 * texts.iter().map(String::len).sum::<usize>();
    for index in 0.. {
        let story = grammar.document(SEED, Split::Train, u64::MAX - index).text;
        wanted = wanted.saturating_sub(story.len());
        texts.push(story);
        if wanted == 0 {
            break;
        }
    }
    Tokenizer::train(texts.iter().map(String::as_str), VOCAB_SIZE)
}
