//! The public-domain books in `data/corpus`, as documents.
//!
//! A document is a chapter. Its split follows from a hash of its text, so a chapter that two files share stays on one
//! side. Books also repeat themselves (letters quoted twice, refrains): a training chapter loses every long paragraph
//! that also stands in a held-out chapter.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use crate::exercises::split_of;
use crate::split::Split;

/// A corpus file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The file is missing, unreadable or not gzip.
    #[error("{path}: {problem}; restore it with `git checkout data/corpus`")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        problem: String,
    },
    /// The file is text, but not in the form that `data/corpus/make_corpus.py` writes.
    #[error(
        "{path}: expected a line `=== title` at the beginning, found {found:?}; restore it with `git checkout data/corpus`"
    )]
    NoTitle {
        /// The file.
        path: String,
        /// The first line.
        found: String,
    },
}

/// One chapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chapter {
    /// Book and number.
    pub title: String,
    /// Paragraphs, parted by empty lines.
    pub text: String,
    /// Which side it is on.
    pub split: Split,
}

/// All chapters, in the order of the books.
#[derive(Debug, Clone, Default)]
pub struct Literature {
    chapters: Vec<Chapter>,
}

/// The files, in the order of reading.
pub const FILES: [&str; 2] = ["austen.txt.gz", "moby-dick.txt.gz"];

/// A paragraph of at least this many bytes counts as content that must not stand on both sides.
const LONG_PARAGRAPH_BYTES: usize = 80;

impl Literature {
    /// Reads the files of `folder` (`data/corpus`): 5.2 MB of text, some 30 ms.
    pub fn load(folder: &Path) -> Result<Literature, CorpusError> {
        let mut chapters = Vec::new();
        for file in FILES {
            let path = folder.join(file);
            let unreadable = |error: std::io::Error| CorpusError::Unreadable {
                path: path.display().to_string(),
                problem: error.to_string(),
            };
            let packed = std::fs::File::open(&path).map_err(unreadable)?;
            let mut text = String::new();
            flate2::read::GzDecoder::new(packed)
                .read_to_string(&mut text)
                .map_err(unreadable)?;
            if !text.starts_with("=== ") {
                let found = text.lines().next().unwrap_or_default().chars().take(60).collect();
                return Err(CorpusError::NoTitle {
                    path: path.display().to_string(),
                    found,
                });
            }
            chapters.extend(parse(&text));
        }
        Ok(Literature::from_chapters(chapters))
    }

    /// A corpus from chapters as (title, text); assigns the splits.
    pub fn from_chapters(chapters: impl IntoIterator<Item = (String, String)>) -> Literature {
        let mut chapters: Vec<Chapter> = chapters
            .into_iter()
            .map(|(title, text)| Chapter {
                title,
                split: split_of(&text),
                text,
            })
            .collect();
        // Test content is taken out of validation and training, validation content out of training.
        let mut held_out = HashSet::new();
        for split in [Split::Test, Split::Validation, Split::Train] {
            for chapter in chapters.iter_mut().filter(|chapter| chapter.split == split) {
                chapter.text = without(&chapter.text, &held_out);
            }
            for chapter in chapters.iter().filter(|chapter| chapter.split == split) {
                held_out.extend(long_paragraphs(&chapter.text).map(str::to_string));
            }
        }
        chapters.retain(|chapter| !chapter.text.is_empty());
        Literature { chapters }
    }

    /// The chapters of one split, in the order of the books.
    pub fn of(&self, split: Split) -> impl Iterator<Item = &Chapter> {
        self.chapters.iter().filter(move |chapter| chapter.split == split)
    }

    /// All chapters.
    pub fn chapters(&self) -> &[Chapter] {
        &self.chapters
    }
}

/// The paragraphs that count as content.
pub fn long_paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n")
        .filter(|paragraph| paragraph.len() >= LONG_PARAGRAPH_BYTES)
}

fn without(text: &str, held_out: &HashSet<String>) -> String {
    let kept: Vec<&str> = text
        .split("\n\n")
        .filter(|paragraph| !held_out.contains(*paragraph))
        .collect();
    kept.join("\n\n")
}

/// `=== title` lines to (title, text).
fn parse(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let text = text.strip_prefix("=== ").unwrap_or(text);
    text.split("\n=== ").filter_map(|document| {
        let (title, body) = document.split_once('\n')?;
        Some((title.to_string(), body.trim_end().to_string()))
    })
}
