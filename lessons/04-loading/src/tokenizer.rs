//! `tokenizer.json`: text to ids and back, and the bytes of each token, so that text can be streamed.
//!
//! A token is a run of *bytes*, not of characters: `你` may be spread over two or three tokens. Decoding first joins the
//! bytes and then makes text of them, so decoding token by token (with an unfinished character held back) and decoding
//! at once give the same text.

use crate::bytes::unreadable;
use crate::config::ModelConfig;
use crate::error::{LoadError, Result};
use crate::json::describe;
use crate::spelling::{Dropped, Spelling};
use std::collections::HashMap;
use std::path::Path;
use training::TokenId;
use training::door::{Library, Refused};

/// Name of the file.
pub const TOKENIZER_FILE: &str = "tokenizer.json";

fn bad(refused: Refused) -> LoadError {
    LoadError::BadTokenizer {
        file: TOKENIZER_FILE.into(),
        expected: refused.expected,
        found: refused.found.0,
    }
}

/// A vocabulary and the rules to encode and decode text with it.
pub struct Tokenizer {
    inner: Library,
    /// Bytes of each id; empty for an id without a piece.
    pieces: Vec<Box<[u8]>>,
    /// Whether each id is a special token such as `<|endoftext|>`.
    is_special: Vec<bool>,
    /// Bytes at the start of a text, of the ids that have others there: SentencePiece's decoder drops a space.
    first_pieces: HashMap<u32, Box<[u8]>>,
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
        let inner = Library::open(json).map_err(bad)?;
        let decoder = inner.decoder().map_err(bad)?;
        let Some(spelling) = Spelling::of(&decoder) else {
            return Err(bad(Refused {
                expected: "a ByteLevel, ByteFallback or Metaspace decoder",
                found: describe(Some(&decoder)).into(),
            }));
        };
        let dropped = Dropped::of(&decoder);
        let added = inner.added();
        let vocabulary = inner.vocabulary();
        let num_ids = vocabulary.values().max().map_or(0, |id| *id as usize + 1);
        // Ids may be sparse, but the table for them must not be much larger than the file.
        if num_ids > 4 * vocabulary.len() + 1024 {
            return Err(bad(Refused {
                expected: "ids without large gaps",
                found: format!("{} pieces with ids up to {}", vocabulary.len(), num_ids - 1).into(),
            }));
        }
        let mut pieces = vec![Box::<[u8]>::default(); num_ids];
        let mut is_special = vec![false; num_ids];
        let mut first_pieces = HashMap::new();
        for (text, id) in vocabulary {
            is_special[id as usize] = added.get(&id).is_some_and(|token| token.special);
            // An added token passes the decoder as any other: its `▁` is a space too.
            let bytes = spelling.bytes(&text);
            let first = dropped.first_bytes(&spelling, &text, &bytes);
            if first != bytes {
                first_pieces.insert(id, first);
            }
            pieces[id as usize] = bytes;
        }
        Ok(Self {
            inner,
            pieces,
            is_special,
            first_pieces,
        })
    }

    /// The content of a tokenizer.json.
    ///
    /// # Errors
    /// A tokenizer that the `tokenizers` library can not write.
    pub fn to_json(&self) -> Result<String> {
        self.inner.to_json(false).map_err(bad)
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
        let ids = self.inner.encode(text, add_special).map_err(bad)?;
        Ok(ids.into_iter().map(TokenId).collect())
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
        let (mut bytes, mut is_first) = (Vec::new(), true);
        for id in ids {
            if skip_special && self.is_special(*id) {
                continue;
            }
            bytes.extend_from_slice(match is_first {
                true => self.first_token_bytes(*id),
                false => self.token_bytes(*id),
            });
            is_first &= self.token_bytes(*id).is_empty();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The bytes of one token; empty for an id without a piece.
    pub fn token_bytes(&self, id: TokenId) -> &[u8] {
        self.pieces.get(id.index()).map_or(&[], |piece| piece)
    }

    /// Whether a token is special: a control token, not text.
    pub fn is_special(&self, id: TokenId) -> bool {
        self.is_special.get(id.index()).copied().unwrap_or(false)
    }

    /// The bytes of one token at the start of a text, where some decoders drop a space.
    pub fn first_token_bytes(&self, id: TokenId) -> &[u8] {
        match self.first_pieces.get(&id.0) {
            Some(bytes) => bytes,
            None => self.token_bytes(id),
        }
    }

    /// The id of a piece or special token, in the spelling of the vocabulary.
    pub fn id_of(&self, piece: &str) -> Option<TokenId> {
        self.inner.id_of(piece).map(TokenId)
    }

    /// A piece in the spelling of the vocabulary.
    pub fn piece(&self, id: TokenId) -> Option<String> {
        self.inner.piece(id.0)
    }
}
