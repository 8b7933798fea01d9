//! `tokenizer.json`: text to ids and back, and the bytes of each token, so that text can be streamed.
//!
//! A token is a run of *bytes*, not of characters: `你` may be spread over two or three tokens. Decoding first joins the
//! bytes and then makes text of them, so decoding token by token (with an unfinished character held back) and decoding
//! at once give the same text.

use crate::bytes::unreadable;
use crate::config::ModelConfig;
use crate::error::{LoadError, Result};
use crate::json::describe;
use crate::spelling::{Spelling, strips_leading_space};
use std::path::Path;
use training::TokenId;

/// Name of the file.
pub const TOKENIZER_FILE: &str = "tokenizer.json";

/// A vocabulary and the rules to encode and decode text with it.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// Bytes of each id; empty for an id without a piece.
    pieces: Vec<Box<[u8]>>,
    /// Whether each id is a special token such as `<|endoftext|>`.
    is_special: Vec<bool>,
    /// Whether the decoder drops one space at the start of a text, as that of SentencePiece does.
    strips_leading_space: bool,
}

impl Tokenizer {
    /// Reads a tokenizer.json.
    ///
    /// # Errors
    /// No such file, or a tokenizer that the workbook can not use.
    pub fn from_file(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| {
            unreadable(
                path,
                &error,
                "a model folder needs its tokenizer.json; fetch the model again",
            )
        })?;
        Self::from_json(&bytes)
    }

    /// Reads the content of a tokenizer.json.
    ///
    /// # Errors
    /// A tokenizer that the workbook can not use.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        let bad = |expected: &'static str, found: String| LoadError::BadTokenizer {
            file: TOKENIZER_FILE.into(),
            expected,
            found,
        };
        let inner = tokenizers::Tokenizer::from_bytes(json)
            .map_err(|error| bad("a file of the `tokenizers` library", error.to_string()))?;
        let decoder = serde_json::to_value(inner.get_decoder()).map_err(|error| bad("a decoder", error.to_string()))?;
        let Some(spelling) = Spelling::of(&decoder) else {
            return Err(bad(
                "a ByteLevel, ByteFallback or Metaspace decoder",
                describe(Some(&decoder)),
            ));
        };
        let strips_leading_space = strips_leading_space(&decoder);
        let added = inner.get_added_tokens_decoder();
        let vocabulary = inner.get_vocab(true);
        let num_ids = vocabulary.values().max().map_or(0, |id| *id as usize + 1);
        // Ids may be sparse, but the table for them must not be much larger than the file.
        if num_ids > 4 * vocabulary.len() + 1024 {
            return Err(bad(
                "ids without large gaps",
                format!("{} pieces with ids up to {}", vocabulary.len(), num_ids - 1),
            ));
        }
        let mut pieces = vec![Box::<[u8]>::default(); num_ids];
        let mut is_special = vec![false; num_ids];
        for (text, id) in vocabulary {
            let added = added.get(&id);
            is_special[id as usize] = added.is_some_and(|token| token.special);
            pieces[id as usize] = match added {
                Some(_) => text.as_bytes().into(),
                None => spelling.bytes(&text),
            };
        }
        Ok(Self {
            inner,
            pieces,
            is_special,
            strips_leading_space,
        })
    }

    /// The content of a tokenizer.json.
    ///
    /// # Errors
    /// A tokenizer that the `tokenizers` library can not write.
    pub fn to_json(&self) -> Result<String> {
        (self.inner.to_string(false)).map_err(|error| LoadError::BadTokenizer {
            file: TOKENIZER_FILE.into(),
            expected: "rules that can be written",
            found: error.to_string(),
        })
    }

    /// Checks that the number of ids fits the number of rows in the embedding.
    ///
    /// # Errors
    /// [`LoadError::VocabularyMismatch`]: more ids than rows, or fewer ids and no padded vocabulary in the config.
    pub fn check(&self, config: &ModelConfig) -> Result<()> {
        let expected = config.llama.vocab_size;
        let found = self.vocab_size();
        if found == expected || (found < expected && config.padded_vocabulary) {
            return Ok(());
        }
        Err(LoadError::VocabularyMismatch {
            file: TOKENIZER_FILE.into(),
            expected,
            found,
        })
    }

    /// Number of ids: the highest id plus one.
    pub fn vocab_size(&self) -> usize {
        self.pieces.len()
    }

    /// Text to ids. With `add_special` the tokens are added that the tokenizer puts around a text, such as a begin
    /// token. Special tokens that are spelled out in the text become their ids in both cases.
    ///
    /// # Errors
    /// The rules can not spell the text.
    pub fn encode(&self, text: &str, add_special: bool) -> Result<Vec<TokenId>> {
        let encoding = self
            .inner
            .encode(text, add_special)
            .map_err(|error| LoadError::BadTokenizer {
                file: TOKENIZER_FILE.into(),
                expected: "rules that can spell any text",
                found: error.to_string(),
            })?;
        Ok(encoding.get_ids().iter().copied().map(TokenId).collect())
    }

    /// Ids to text, without special tokens. Bytes that form no character become U+FFFD.
    pub fn decode(&self, ids: &[TokenId]) -> String {
        self.text_of(ids, true)
    }

    /// Ids to text, with special tokens spelled out.
    pub fn decode_with_special(&self, ids: &[TokenId]) -> String {
        self.text_of(ids, false)
    }

    fn text_of(&self, ids: &[TokenId], skip_special: bool) -> String {
        let mut bytes = Vec::new();
        for id in ids {
            if !(skip_special && self.is_special(*id)) {
                bytes.extend_from_slice(self.token_bytes(*id));
            }
        }
        let strip = self.strips_leading_space && bytes.first() == Some(&b' ');
        String::from_utf8_lossy(&bytes[usize::from(strip)..]).into_owned()
    }

    /// The bytes of one token; empty for an id without a piece.
    pub fn token_bytes(&self, id: TokenId) -> &[u8] {
        self.pieces.get(id.index()).map_or(&[], |piece| piece)
    }

    /// Whether a token is special: a control token, not text.
    pub fn is_special(&self, id: TokenId) -> bool {
        self.is_special.get(id.index()).copied().unwrap_or(false)
    }

    /// Whether decoding drops one space at the start of a text.
    pub fn strips_leading_space(&self) -> bool {
        self.strips_leading_space
    }

    /// The id of a piece or special token, in the spelling of the vocabulary.
    pub fn id_of(&self, piece: &str) -> Option<TokenId> {
        self.inner.token_to_id(piece).map(TokenId)
    }

    /// A piece in the spelling of the vocabulary.
    pub fn piece(&self, id: TokenId) -> Option<String> {
        self.inner.id_to_token(id.0)
    }
}
