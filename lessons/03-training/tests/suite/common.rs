//! What several tests share: the grammar, the books and the vocabulary, each loaded once, and the options of a small
//! run.

use std::path::Path;
use std::sync::LazyLock;
use training::corpus::{Literature, StreamOptions};
use training::grammar::Grammar;
use training::tokenizer::Tokenizer;
use training::train::RunOptions;
use training::trainer::Schedule;
use training::{LlamaConfig, TokenId};

/// The grammar of the stories.
pub fn grammar() -> &'static Grammar {
    static GRAMMAR: LazyLock<Grammar> = LazyLock::new(Grammar::new);
    &GRAMMAR
}

/// The committed books.
pub fn literature() -> &'static Literature {
    static BOOKS: LazyLock<Literature> =
        LazyLock::new(|| Literature::load(&lab::paths::data_dir().join("corpus")).unwrap());
    &BOOKS
}

/// The committed vocabulary.
pub fn tokenizer() -> &'static Tokenizer {
    static VOCABULARY: LazyLock<Tokenizer> =
        LazyLock::new(|| Tokenizer::load(&lab::paths::data_dir().join("stories/tokenizer.json")).unwrap());
    &VOCABULARY
}

/// Tokens from their numbers.
pub fn ids(numbers: &[u32]) -> Vec<TokenId> {
    numbers.iter().map(|&number| TokenId(number)).collect()
}

/// A run of a small model on short windows, with the committed vocabulary.
pub fn small_run(out: &Path, corpus: &Path, config: LlamaConfig, num_tokens: u64) -> RunOptions {
    RunOptions {
        out: out.to_owned(),
        config: LlamaConfig {
            hidden_size: 32,
            intermediate_size: 48,
            ..config
        },
        schedule: Schedule {
            batch_size: 2,
            seq_len: 32,
            ..Schedule::for_tokens(num_tokens)
        },
        stream: StreamOptions::default(),
        slot_weight: 1.0,
        spread_draws: false,
        seed: 3,
        num_threads: 2,
        eval_every: 2,
        resume: false,
        continue_from: None,
        tokenizer: Some(lab::paths::data_dir().join("stories/tokenizer.json")),
        corpus: corpus.to_owned(),
        command: "a test".into(),
        machine: "any".into(),
    }
}
