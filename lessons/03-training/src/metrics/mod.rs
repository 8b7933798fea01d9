//! How good a model is. The metrics were fixed before the first line of inference code (claim D2), so that no later
//! lesson can choose the measure that flatters it.
//!
//! | metric | asks | module |
//! |---|---|---|
//! | nats per token, perplexity, bits per byte | how surprised is the model by held-out text? | `perplexity` |
//! | task accuracy | does it read? questions about held-out stories, by kind | `tasks` |
//! | story check | does it write? stories that pass the grammar's checker | `tasks` |
//! | BLEU, ROUGE-L | how near to a reference? (low where many answers are right) | `overlap` |
//! | distinct-n, repetition | does it always say the same? | `diversity` |
//! | a person's choices | which of two texts is better, the authors hidden? | `judge` |
//!
//! The model comes in as a closure, from tokens to logits or from a prompt to text, so any implementation of a model is
//! measured by the same code.

pub mod diversity;
pub mod judge;
pub mod overlap;
pub mod perplexity;
pub mod tasks;

pub use diversity::{distinct_n, repetition};
pub use overlap::{bleu, rouge_l, words};
pub use perplexity::{Score, score_document, score_documents};
pub use tasks::{StoryReport, TaskAccuracy, story_report, task_accuracy};
