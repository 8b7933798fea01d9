//! How good is a model? Fixed before the first line of inference code (claim D2), so that no later lesson can choose the
//! measure that flatters it.
//!
//! | metric | asks | module |
//! |---|---|---|
//! | nats per token, perplexity, bits per byte | how surprised is the model by held-out text? | `perplexity` |
//! | task accuracy | does it read? questions about held-out stories, by kind | `tasks` |
//! | story check | does it write? stories that pass the grammar's checker | `tasks` |
//! | BLEU, ROUGE-L | how near to a reference? (low and proud of it where many answers are right) | `overlap` |
//! | distinct-n, repetition | does it always say the same? | `diversity` |
//!
//! The model comes in as a closure, from tokens to logits or from a prompt to text. So lesson 03's tape, lesson 05's forward
//! pass and lesson 12's quantized one are measured by the same code.

pub mod diversity;
pub mod overlap;
pub mod perplexity;
pub mod tasks;

pub use diversity::{distinct_n, repetition};
pub use overlap::{bleu, rouge_l, words};
pub use perplexity::{Score, ScoringWindow, score_document, score_documents};
pub use tasks::{StoryReport, TaskAccuracy, story_report, task_accuracy};
