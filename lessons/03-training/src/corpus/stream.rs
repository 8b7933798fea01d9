//! Training windows without end, from both kinds of text, each window a pure function of its number.
//!
//! The simple version keeps a random generator, a half-read document and a buffer, and a run that is resumed must
//! restore all three to the bit. Here window `n` is computed from `n` alone, so the whole state of the stream is one
//! number:
//! 1. By the story share, `n` determines whether the window holds stories or literature, and its number among the
//!    windows of that kind.
//! 2. A story window is filled with fresh documents, whose indices follow from its number; the last one is cut off.
//!    The grammar never runs out, so the rest of that document is not missed.
//!    A share of the first ones holds recitals instead ([`recital`]), and a share of all of them drills
//!    ([`Grammar::drill`]).
//! 3. A literature window is a stretch of the shuffled chapters. Each epoch shuffles anew ([`epoch`](super::epoch)).
//!
//! Documents are parted by `<|endoftext|>`. A story window begins with one; a literature window begins anywhere.

use serde::{Deserialize, Serialize};

use super::draws::{self, Drawn};
use super::epoch::Epochs;
use super::literature::Literature;
use super::recital;
use crate::config::TokenId;
use crate::grammar::{Draw, Grammar};
use crate::split::Split;
use crate::tokenizer::{END_OF_TEXT_ID, Tokenizer};

/// In which order training reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Stories and literature mixed, literature windows shuffled: what training wants.
    Shuffled,
    /// First all the stories of a run of this many windows, then the books from the first page on: what a file order
    /// would give. For experiments on claim D1.
    InOrder {
        /// Number of windows of the whole run.
        num_windows: u64,
    },
}

/// What a stream consists of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamOptions {
    /// Seeds documents and shuffles.
    pub seed: u64,
    /// Share of windows (and so of tokens) that hold stories.
    pub story_share: f64,
    /// Shuffled unless an experiment says otherwise.
    pub order: Order,
    /// Share of these story windows that hold [recitals](super::recital) instead of stories.
    #[serde(default)]
    pub recital_share: f64,
    /// Number of story windows, from the first on, among which recitals stand.
    #[serde(default)]
    pub recital_windows: u64,
    /// Share of the story windows that hold [drills](Grammar::drill) instead of stories, from the first to the last.
    #[serde(default)]
    pub drill_share: f64,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions {
            seed: super::SEED,
            story_share: 0.65,
            order: Order::Shuffled,
            recital_share: 0.0,
            recital_windows: 0,
            drill_share: 0.0,
        }
    }
}

/// What a story window holds.
enum Filling {
    Stories,
    Recitals,
    Drills,
}

/// Where a stream stands: the number of windows read. Saved in a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// Number of windows read so far.
    pub windows: u64,
}

/// The training text as windows of tokens.
///
/// Cost: about 3 µs a token on one core, most of it the grammar and BPE on stories; literature is encoded once.
pub struct TrainingStream {
    grammar: Grammar,
    tokenizer: Tokenizer,
    books: Epochs,
    options: StreamOptions,
    cursor: Cursor,
}

impl TrainingStream {
    /// A stream over the training split of both kinds. Without chapters, the share of literature is told as stories.
    pub fn new(grammar: Grammar, literature: &Literature, tokenizer: Tokenizer, options: StreamOptions) -> Self {
        let chapters = literature
            .of(Split::Train)
            .map(|chapter| tokenizer.encode(&chapter.text))
            .collect();
        let seed = (options.order == Order::Shuffled).then_some(options.seed);
        TrainingStream {
            grammar,
            tokenizer,
            books: Epochs::new(chapters, seed),
            options,
            cursor: Cursor::default(),
        }
    }

    /// Writes the next window of `len` tokens to `out`. With `len = seq_len + 1`, inputs are all but the last and
    /// labels all but the first, so that labels are shifted once, here, and nowhere else.
    pub fn next_window(&mut self, len: usize, out: &mut Vec<TokenId>) {
        self.window(self.cursor.windows, len, out);
        self.cursor.windows += 1;
    }

    /// `batch_size` windows, one after the other: shape `[batch_size, len]`, row-major.
    pub fn next_batch(&mut self, batch_size: usize, len: usize) -> Vec<TokenId> {
        let mut batch = Vec::with_capacity(batch_size * len);
        let mut window = Vec::with_capacity(len);
        for _ in 0..batch_size {
            self.next_window(len, &mut window);
            batch.extend_from_slice(&window);
        }
        batch
    }

    /// `batch_size` windows, each with the words of it that were drawn.
    pub fn next_windows(&mut self, batch_size: usize, len: usize) -> Vec<(Vec<TokenId>, Vec<Drawn>)> {
        let first = self.cursor.windows;
        self.cursor.windows += batch_size as u64;
        (first..self.cursor.windows)
            .map(|number| self.window_and_draws(number, len))
            .collect()
    }

    /// Where the stream stands.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Goes to a place noted before; the same windows follow.
    pub fn seek(&mut self, cursor: Cursor) {
        self.cursor = cursor;
    }

    /// Window `number` of `len` tokens, whatever was read before.
    pub fn window(&self, number: u64, len: usize, out: &mut Vec<TokenId>) {
        out.clear();
        match self.source(number) {
            (true, index) => self.pack(index, len, out, |text, _, out| out.extend(self.tokenizer.encode(text))),
            (false, index) => self.books.window(index, len, out),
        }
        debug_assert_eq!(out.len(), len);
    }

    /// As [`window`](Self::window), with the words of it that were drawn.
    fn window_and_draws(&self, number: u64, len: usize) -> (Vec<TokenId>, Vec<Drawn>) {
        let (mut window, mut drawn) = (Vec::with_capacity(len), Vec::new());
        match self.source(number) {
            (true, index) => self.pack(index, len, &mut window, |text, draws, out| {
                drawn.extend(draws::encode(&self.tokenizer, text, draws, out));
            }),
            (false, _) => self.window(number, len, &mut window),
        }
        drawn.retain(|word: &Drawn| word.position < len);
        (window, drawn)
    }

    /// Whether window `number` holds stories, and its number among the windows of that kind.
    pub fn source(&self, number: u64) -> (bool, u64) {
        let share = if self.books.is_empty() {
            1.0
        } else {
            self.options.story_share
        };
        match self.options.order {
            Order::Shuffled => {
                let before = share_of(number, share);
                if share_of(number + 1, share) > before {
                    (true, before)
                } else {
                    (false, number - before)
                }
            }
            Order::InOrder { num_windows } => {
                let stories = (num_windows as f64 * share).round() as u64;
                if number < stories {
                    (true, number)
                } else {
                    (false, number - stories)
                }
            }
        }
    }

    /// What story window `index` holds.
    fn filling(&self, index: u64) -> Filling {
        let is_one_of = |share: f64| share_of(index + 1, share) > share_of(index, share);
        if index < self.options.recital_windows && is_one_of(self.options.recital_share) {
            Filling::Recitals
        } else if is_one_of(self.options.drill_share) {
            Filling::Drills
        } else {
            Filling::Stories
        }
    }

    /// Fills story window `index` with fresh documents, each behind an end-of-text token; the last one is cut off.
    fn pack(
        &self,
        index: u64,
        len: usize,
        out: &mut Vec<TokenId>,
        mut encode: impl FnMut(&str, &[Draw], &mut Vec<TokenId>),
    ) {
        let seed = self.options.seed;
        let filling = self.filling(index);
        for number in index << 16.. {
            out.push(END_OF_TEXT_ID);
            match filling {
                Filling::Recitals => encode(&recital::recital(seed, number), &[], out),
                Filling::Drills => {
                    let drill = self.grammar.drill(seed, number);
                    encode(&drill.text, &drill.draws, out);
                }
                Filling::Stories => {
                    let document = self.grammar.document(seed, Split::Train, number);
                    encode(&document.text, &document.draws, out);
                }
            }
            if out.len() >= len {
                break;
            }
        }
        out.truncate(len);
    }
}

/// The number of windows that a share of the first `windows` is. Bresenham's line: the mix is as even as whole windows
/// allow.
fn share_of(windows: u64, share: f64) -> u64 {
    (windows as f64 * share).floor() as u64
}
