//! The kinds of documents and questions, as notes that stand in the tree beside the text.

use serde::Serialize;

/// A note that stands in the tree beside the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// The document's kind.
    Kind(Kind),
    /// The plot, by its index in the grammar.
    Plot(u8),
    /// A question of this kind is asked next.
    Question(QuestionKind),
}

/// The three kinds of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A story and nothing else.
    Plain,
    /// ChatML: the user asks for a story, the assistant tells it.
    Chat,
    /// ChatML: the user gives a story with a question, the assistant answers; up to four questions.
    Questions,
}

/// What a comprehension question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// The name of a character.
    Who,
    /// The colour of the thing.
    Colour,
    /// A place.
    Where,
    /// A number.
    Count,
    /// Which of two came first.
    First,
}

impl QuestionKind {
    /// All kinds, in the order of reports.
    pub const ALL: [QuestionKind; 5] = [Self::Who, Self::Colour, Self::Where, Self::Count, Self::First];

    /// The name in reports and in `plots.txt`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Who => "who",
            Self::Colour => "colour",
            Self::Where => "where",
            Self::Count => "count",
            Self::First => "first",
        }
    }
}
