//! The reader's predictions, kept between runs in `work/predictions.json` (git-ignored).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The file of all predictions and the answers to them.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Predictions {
    /// Version of this shape: 1.
    pub schema: u32,
    /// Predictions by lesson and id: `05.rows-computed`.
    pub predictions: BTreeMap<String, Remembered>,
}

/// The answers to one prediction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// The first answer, which says what the reader believed.
    pub first: String,
    /// Whether the first answer was right.
    pub first_right: bool,
    /// The latest answer.
    pub latest: String,
    /// Whether the latest answer was right.
    pub latest_right: bool,
    /// Number of answers.
    pub answers: u32,
}

/// The file of predictions at one place.
#[derive(Clone, Debug)]
pub(super) struct Memory(pub(super) PathBuf);

impl Memory {
    /// What is stored; nothing where the file is missing or can not be read.
    pub(super) fn load(&self) -> Predictions {
        std::fs::read_to_string(&self.0)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// Stores an answer. The file is replaced whole, so that an interrupted run leaves the old one.
    pub(super) fn store(&self, key: &str, answer: &str, right: bool) -> std::io::Result<()> {
        let mut all = self.load();
        all.schema = 1;
        let entry = all.predictions.entry(key.into()).or_default();
        if entry.answers == 0 {
            entry.first = answer.into();
            entry.first_right = right;
        }
        entry.latest = answer.into();
        entry.latest_right = right;
        entry.answers += 1;
        let text = serde_json::to_string_pretty(&all).map_err(std::io::Error::other)? + "\n";
        crate::record::replace_file(&self.0, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answer_stays_and_the_latest_changes() {
        let folder = tempfile::tempdir().unwrap();
        let memory = Memory(folder.path().join("work/predictions.json"));
        assert_eq!(memory.load(), Predictions::default());
        memory.store("05.rows", "b", false).unwrap();
        memory.store("05.rows", "c", true).unwrap();
        let expected = Remembered {
            first: "b".into(),
            first_right: false,
            latest: "c".into(),
            latest_right: true,
            answers: 2,
        };
        assert_eq!(memory.load().predictions["05.rows"], expected);
    }

    #[test]
    fn a_damaged_file_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let memory = Memory(folder.path().join("predictions.json"));
        std::fs::write(&memory.0, "{ not json").unwrap();
        memory.store("05.rows", "a", true).unwrap();
        assert_eq!(memory.load().predictions.len(), 1);
    }
}
