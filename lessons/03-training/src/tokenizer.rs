//! Text to ids and back: a byte-level BPE vocabulary of 2048 pieces, trained by the `tokenizers` crate.
//!
//! Byte pair encoding starts from the 256 bytes and merges, again and again, the pair of neighbours that is most
//! frequent in the training text (Sennrich, Haddow and Birch 2016, arXiv:1508.07909; on bytes, Radford et al. 2019).
//! One merge is an exercise: [`merge_pair`](crate::exercises::merge_pair).
//!
//! Choices of ours, and why:
//! 1. Trained on the *mix* of stories and literature: the stories alone have so few words that merges run out.
//! 2. Every digit is a piece of its own, so that 1814 and 1815 look alike to the model.
//! 3. Three special tokens with fixed ids. They are recognised in any text given to [`Tokenizer::encode`]; a program
//!    that puts foreign text into a prompt must take them out first.

use std::collections::HashSet;
use std::path::Path;

use tokenizers::models::bpe::{BPE, BpeTrainerBuilder};
use tokenizers::normalizers::NormalizerWrapper;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::processors::PostProcessorWrapper;
use tokenizers::{AddedToken, TokenizerBuilder};

use crate::config::TokenId;
use crate::door::Library;
use crate::grammar::{IM_END, IM_START};

/// Pieces of the vocabulary, special tokens included.
pub const VOCAB_SIZE: usize = 2048;
/// Stands between documents.
pub const END_OF_TEXT: &str = "<|endoftext|>";
/// Id of [`END_OF_TEXT`].
pub const END_OF_TEXT_ID: TokenId = TokenId(0);
/// Id of [`IM_START`].
pub const IM_START_ID: TokenId = TokenId(1);
/// Id of [`IM_END`].
pub const IM_END_ID: TokenId = TokenId(2);

/// A vocabulary could not be trained, read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct TokenizerError {
    /// The file, or what was being done.
    pub path: String,
    /// What went wrong, and what to do.
    pub problem: String,
}

/// A trained vocabulary.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: Library,
}

impl Tokenizer {
    /// Trains on `texts`. The same texts in the same order give the same vocabulary, byte for byte.
    pub fn train<'a>(
        texts: impl Iterator<Item = &'a str> + Send,
        vocab_size: usize,
    ) -> Result<Tokenizer, TokenizerError> {
        let failed = |problem: String| TokenizerError {
            path: "training the vocabulary".to_string(),
            problem,
        };
        let special = [END_OF_TEXT, IM_START, IM_END]
            .map(|text| AddedToken::from(text, true))
            .to_vec();
        let alphabet: HashSet<char> = ByteLevel::alphabet().into_iter().collect();
        let mut trainer = BpeTrainerBuilder::new()
            .vocab_size(vocab_size)
            .min_frequency(2)
            .show_progress(false)
            .special_tokens(special)
            .initial_alphabet(alphabet)
            .build();
        let bytes = ByteLevel::new(false, true, true);
        let digits = PreTokenizerWrapper::Digits(Digits::new(true));
        let mut plain = TokenizerBuilder::<BPE, NormalizerWrapper, _, PostProcessorWrapper, _>::new()
            .with_model(BPE::default())
            .with_pre_tokenizer(Some(Sequence::new(vec![digits, PreTokenizerWrapper::ByteLevel(bytes)])))
            .with_decoder(Some(bytes))
            .build()
            .map_err(|error| failed(error.to_string()))?;
        plain
            .train(&mut trainer, texts)
            .map_err(|error| failed(error.to_string()))?;
        // Through its file form, so that a fresh vocabulary is the very thing that is read back later.
        let json = plain.to_string(true).map_err(|error| failed(error.to_string()))?;
        Tokenizer::from_json(&json).map_err(failed)
    }

    /// Parses the text of a `tokenizer.json`.
    pub fn from_json(json: &str) -> Result<Tokenizer, String> {
        match Library::open(json.as_bytes()) {
            Ok(inner) => Ok(Tokenizer { inner }),
            Err(refused) => Err(format!("not a tokenizer.json: {refused}")),
        }
    }

    /// Reads a `tokenizer.json`.
    pub fn load(path: &Path) -> Result<Tokenizer, TokenizerError> {
        let failed = |problem: String| TokenizerError {
            path: path.display().to_string(),
            problem,
        };
        let json = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        Tokenizer::from_json(&json).map_err(failed)
    }

    /// Writes a `tokenizer.json`.
    pub fn save(&self, path: &Path) -> Result<(), TokenizerError> {
        let failed = |problem: String| TokenizerError {
            path: path.display().to_string(),
            problem,
        };
        let json = self.to_json();
        std::fs::write(path, json).map_err(|error| failed(error.to_string()))
    }

    /// The text of the `tokenizer.json`.
    pub fn to_json(&self) -> String {
        self.inner.to_json(true).expect("a tokenizer can be written")
    }

    /// Number of pieces, special tokens included.
    pub fn vocab_size(&self) -> usize {
        self.inner.vocab_size()
    }

    /// Text to ids. Nothing is added before or after; special tokens in the text become their ids.
    pub fn encode(&self, text: &str) -> Vec<TokenId> {
        let ids = self
            .inner
            .encode(text, false)
            .expect("byte-level BPE encodes every text");
        ids.into_iter().map(TokenId).collect()
    }

    /// Ids to text, special tokens included. Bytes that are no UTF-8 come out as U+FFFD.
    pub fn decode(&self, tokens: &[TokenId]) -> String {
        let ids: Vec<u32> = tokens.iter().map(|token| token.0).collect();
        self.inner.decode(&ids, false).expect("every id decodes")
    }

    /// The piece with this id as the vocabulary spells it (bytes as printable characters), or `None`.
    pub fn piece(&self, token: TokenId) -> Option<String> {
        self.inner.piece(token.0)
    }
}
