//! The data layer: documents, splits, training windows, the evaluation set.
//!
//! ```text
//! grammar ──┐                    ┌── training: seeded, shuffled, packed into windows, without end   `stream`
//!           ├── split by content ┤
//! data/corpus┘                   └── evaluation: fixed, whole documents, in their order             `evaluation`
//! ```
//!
//! The two sides need opposite orders (claim D1). Training needs shuffled samples: otherwise the model knows only what
//! it read last. Evaluation needs the order kept: otherwise answers stand beside the wrong questions.

pub mod draws;
pub mod epoch;
pub mod evaluation;
pub mod literature;
pub mod recital;
pub mod stream;

pub use draws::Drawn;
pub use evaluation::{EvalDocument, Evaluation};
pub use literature::{Chapter, CorpusError, Literature};
pub use stream::{Cursor, Order, StreamOptions, TrainingStream};

use crate::grammar::Grammar;
use crate::split::Split;
use crate::tokenizer::{Tokenizer, TokenizerError, VOCAB_SIZE};

/// Seed of all data of the default checkpoint.
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
