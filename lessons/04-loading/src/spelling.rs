//! How a vocabulary spells bytes as text, and which bytes a piece stands for.

use serde_json::Value;

/// A way to spell bytes.
pub(crate) enum Spelling {
    /// Each byte as one printable character. Holds GPT-2's table from characters back to bytes.
    ByteLevel(Box<[Option<u8>; 324]>),
    /// A space as `▁`, a byte without a piece as `<0x0A>` (SentencePiece).
    Metaspace {
        /// What the decoder writes instead of a mark: ` ` for `▁`.
        replaced: Vec<(String, String)>,
        /// Whether `<0x0A>` is a byte.
        has_bytes: bool,
    },
}

impl Spelling {
    /// The spelling that this decoder of a tokenizer.json undoes; `None` for an unknown decoder.
    pub(crate) fn of(decoder: &Value) -> Option<Self> {
        let has = |kind: &str| parts(decoder).iter().any(|part| part["type"] == kind);
        if has("ByteLevel") {
            Some(Self::ByteLevel(Box::new(byte_table())))
        } else if has("ByteFallback") || has("Metaspace") {
            let parts = parts(decoder);
            let replaced = parts.iter().filter_map(|part| match part["type"].as_str() {
                Some("Replace") => Some((part["pattern"]["String"].as_str()?, part["content"].as_str()?)),
                Some("Metaspace") => Some((part["replacement"].as_str()?, " ")),
                _ => None,
            });
            Some(Self::Metaspace {
                replaced: replaced.map(|(mark, text)| (mark.into(), text.into())).collect(),
                has_bytes: has("ByteFallback"),
            })
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
            Self::Metaspace { replaced, has_bytes } => {
                let hex = piece.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
                let hex = hex.filter(|hex| *has_bytes && hex.len() == 2);
                match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                    Some(byte) => [byte].into(),
                    None => {
                        let replace = |text: String, (mark, by): &(String, String)| text.replace(mark, by);
                        replaced.iter().fold(piece.to_owned(), replace).into_bytes().into()
                    }
                }
            }
        }
    }
}

/// What a decoder drops from the first token of a text.
pub(crate) enum Dropped {
    /// So many spaces at its start.
    Spaces(usize),
    /// Every mark of a space in it.
    Marks(String),
}

impl Dropped {
    /// The rule of this decoder of a tokenizer.json.
    pub(crate) fn of(decoder: &Value) -> Self {
        let mut spaces = 0;
        for part in parts(decoder) {
            match part["type"].as_str() {
                Some("Strip") if part["content"] == " " => spaces = part["start"].as_u64().unwrap_or(0) as usize,
                Some("Metaspace") if part["prepend_scheme"] != "never" => {
                    return Self::Marks(part["replacement"].as_str().unwrap_or("▁").to_owned());
                }
                _ => {}
            }
        }
        Self::Spaces(spaces)
    }

    /// The bytes of a piece at the start of a text; `bytes` are those that it has elsewhere.
    pub(crate) fn first_bytes(&self, spelling: &Spelling, piece: &str, bytes: &[u8]) -> Box<[u8]> {
        match self {
            Self::Spaces(most) => {
                let num_spaces = bytes.iter().take_while(|byte| **byte == b' ').count();
                bytes[num_spaces.min(*most)..].into()
            }
            Self::Marks(mark) => spelling.bytes(&piece.replace(mark, "")),
        }
    }
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
