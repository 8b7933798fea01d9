//! How a vocabulary spells bytes as text, and which bytes a piece stands for.

use serde_json::Value;

/// A way to spell bytes.
pub(crate) enum Spelling {
    /// Each byte as one printable character. Holds GPT-2's table from characters back to bytes.
    ByteLevel(Box<[Option<u8>; 324]>),
    /// A space as `▁`, a byte without a piece as `<0x0A>` (SentencePiece).
    Metaspace,
}

impl Spelling {
    /// The spelling that this decoder of a tokenizer.json undoes; `None` for an unknown decoder.
    pub(crate) fn of(decoder: &Value) -> Option<Self> {
        let has = |kind: &str| parts(decoder).iter().any(|part| part["type"] == kind);
        if has("ByteLevel") {
            Some(Self::ByteLevel(Box::new(byte_table())))
        } else if has("ByteFallback") || has("Metaspace") {
            Some(Self::Metaspace)
        } else {
            None
        }
    }

    /// The bytes of a piece.
    pub(crate) fn bytes(&self, piece: &str) -> Box<[u8]> {
        match self {
            Self::ByteLevel(table) => {
                let byte = |c: char| table.get(c as usize).copied().flatten();
                let bytes: Option<Box<[u8]>> = piece.chars().map(byte).collect();
                // A piece with a character outside the table stands for its own text.
                bytes.unwrap_or_else(|| piece.as_bytes().into())
            }
            Self::Metaspace => {
                let hex = piece.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
                let hex = hex.filter(|hex| hex.len() == 2);
                match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                    Some(byte) => [byte].into(),
                    None => piece.replace('▁', " ").into_bytes().into(),
                }
            }
        }
    }
}

/// Whether this decoder drops one space at the start of a text.
pub(crate) fn strips_leading_space(decoder: &Value) -> bool {
    parts(decoder).iter().any(|part| match part["type"].as_str() {
        Some("Strip") => part["content"] == " " && part["start"] == 1,
        Some("Metaspace") => part["prepend_scheme"] != "never",
        _ => false,
    })
}

/// The parts of a decoder: those of a sequence, or the decoder itself.
fn parts(decoder: &Value) -> Vec<&Value> {
    match decoder["decoders"].as_array() {
        Some(parts) => parts.iter().collect(),
        None => vec![decoder],
    }
}

/// GPT-2's table: printable Latin-1 stands for itself, the other 68 bytes for U+0100 and up.
fn byte_table() -> [Option<u8>; 324] {
    let mut table = [None; 324];
    let mut next = 256;
    for byte in 0..=255_u8 {
        let character = match byte {
            b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => usize::from(byte),
            _ => {
                next += 1;
                next - 1
            }
        };
        table[character] = Some(byte);
    }
    table
}
