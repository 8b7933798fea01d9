//! The books as training windows: each epoch shuffles the chapters and the windows anew and cuts at other places.

use std::cell::RefCell;

use crate::config::TokenId;
use crate::random::Random;
use crate::tokenizer::END_OF_TEXT_ID;

/// What an address of [`Random`] is for.
const CHAPTERS: u64 = 11;
const WINDOWS: u64 = 12;
const OFFSET: u64 = 13;

/// Encoded chapters, and the epoch that is being read.
pub struct Epochs {
    chapters: Vec<Vec<TokenId>>,
    /// The seed of the shuffles, or `None` to read in the order of the books.
    seed: Option<u64>,
    /// The epoch last asked for. A cache: it changes nothing but the time.
    current: RefCell<Option<Epoch>>,
}

struct Epoch {
    /// Number of the epoch and length of its windows.
    key: (u64, usize),
    tokens: Vec<TokenId>,
    order: Vec<u32>,
}

impl Epochs {
    /// Epochs over these chapters.
    pub fn new(chapters: Vec<Vec<TokenId>>, seed: Option<u64>) -> Epochs {
        Epochs {
            chapters,
            seed,
            current: RefCell::new(None),
        }
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.chapters.is_empty()
    }

    /// Appends window `index` of `len` tokens to `out`, counted through all epochs.
    ///
    /// Neighbouring windows share one token: the label of one's last position is the other's first input.
    pub fn window(&self, index: u64, len: usize, out: &mut Vec<TokenId>) {
        let stride = len - 1;
        let total: usize = self.chapters.iter().map(|chapter| chapter.len() + 1).sum();
        // One window less than fits, so that the cut can move by up to a window.
        let per_epoch = ((total - 1) / stride).saturating_sub(1).max(1) as u64;
        let key = (index / per_epoch, len);
        let mut current = self.current.borrow_mut();
        let epoch = match current.take() {
            Some(epoch) if epoch.key == key => epoch,
            _ => self.shuffled(key, per_epoch as u32),
        };
        let window = epoch.order[(index % per_epoch) as usize] as usize;
        let first = window * stride % epoch.tokens.len();
        // A corpus shorter than a window repeats itself.
        let wrapped = (first..first + len).map(|position| epoch.tokens[position % epoch.tokens.len()]);
        out.extend(wrapped);
        *current = Some(epoch);
    }

    /// All chapters of an epoch in their order, from the first cut on, and the order of the windows.
    fn shuffled(&self, key: (u64, usize), num_windows: u32) -> Epoch {
        let (epoch, len) = key;
        let mut chapters: Vec<&Vec<TokenId>> = self.chapters.iter().collect();
        let mut order: Vec<u32> = (0..num_windows).collect();
        let mut first = 0;
        if let Some(seed) = self.seed {
            Random::at(&[seed, CHAPTERS, epoch]).shuffle(&mut chapters);
            Random::at(&[seed, WINDOWS, epoch]).shuffle(&mut order);
            first = Random::at(&[seed, OFFSET, epoch]).below(len - 1);
        }
        let mut tokens = Vec::new();
        for chapter in chapters {
            tokens.push(END_OF_TEXT_ID);
            tokens.extend_from_slice(chapter);
        }
        tokens.drain(..first.min(tokens.len() - 1));
        Epoch { key, tokens, order }
    }
}
