//! The types that the exercise functions take and return.

use crate::error::BatchError;
use serde::Serialize;
use std::time::Duration;

// ANCHOR: padding
/// Where the padding stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// In front of the prompt: all prompts end in the last column.
    #[default]
    Left,
    /// Behind the prompt: all prompts begin in the first column.
    Right,
}
// ANCHOR_END: padding

// ANCHOR: span
/// Where a row's tokens stand: columns `start` to `start + len`, the end excluded. All other cells of the row are
/// padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First column with a token.
    pub start: usize,
    /// Number of columns with a token.
    pub len: usize,
}
// ANCHOR_END: span

// ANCHOR: bucket
/// Prompts that are padded to the same width.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// Number of cells that each prompt is padded to.
    pub width: usize,
    /// The prompts, as indices into the lengths.
    pub prompts: Vec<usize>,
}
// ANCHOR_END: bucket

/// The limits of waiting for more requests: the size of a batch, and the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    max_batch: usize,
    max_wait: Duration,
}

impl Window {
    /// At most `max_batch` requests in a batch. While the machine is idle, no request waits longer than `max_wait` for
    /// others.
    ///
    /// # Errors
    /// [`BatchError::NoRoom`] if `max_batch` is 0.
    pub fn new(max_batch: usize, max_wait: Duration) -> Result<Window, BatchError> {
        match max_batch {
            0 => Err(BatchError::NoRoom),
            _ => Ok(Window { max_batch, max_wait }),
        }
    }

    /// Largest number of requests in a batch.
    pub fn max_batch(&self) -> usize {
        self.max_batch
    }

    /// Longest wait for other requests.
    pub fn max_wait(&self) -> Duration {
        self.max_wait
    }
}

// ANCHOR: decision
/// What an idle machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Computes a batch of this number of requests, the oldest ones.
    Start(usize),
    /// Waits for more requests until this moment, or until the next arrival.
    WaitUntil(Duration),
    /// Waits for the next arrival: no request is there.
    Idle,
}
// ANCHOR_END: decision
