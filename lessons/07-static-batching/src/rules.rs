//! How much of the work is useful, by the rule that pads. Counted in cells, from lengths alone.

use crate::buckets::into_buckets;
use serde::Serialize;

// ANCHOR: bucket
/// Prompts that are padded to the same width.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// Tokens that each prompt is padded to.
    pub width: usize,
    /// The prompts, as indices into the lengths.
    pub prompts: Vec<usize>,
}
// ANCHOR_END: bucket

/// Cells that were computed, and those among them that hold a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cells {
    /// With a token.
    pub useful: u64,
    /// All.
    pub computed: u64,
}

impl Cells {
    /// Some prompts, each padded to `width`.
    pub fn padded_to(lengths: impl IntoIterator<Item = usize>, width: usize) -> Cells {
        let mut cells = Cells::default();
        for length in lengths {
            cells.useful += length as u64;
            cells.computed += width as u64;
        }
        cells
    }

    /// Useful share, 0 to 1; 1 where nothing is computed.
    pub fn share(&self) -> f64 {
        match self.computed {
            0 => 1.0,
            computed => self.useful as f64 / computed as f64,
        }
    }

    /// Cells of padding.
    pub fn padding(&self) -> u64 {
        self.computed - self.useful
    }
}

impl std::iter::Sum for Cells {
    fn sum<I: Iterator<Item = Cells>>(all: I) -> Cells {
        all.fold(Cells::default(), |sum, cells| Cells {
            useful: sum.useful + cells.useful,
            computed: sum.computed + cells.computed,
        })
    }
}

/// How prompts are made to fit together.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Every prompt is padded to one width, the most that may come.
    Global(usize),
    /// Batches in order of arrival, each as wide as its own longest prompt.
    Own,
    /// Buckets with borders at these percentiles; every prompt is as wide as its bucket, so that few widths exist.
    Buckets(Vec<f64>),
    /// The same buckets, and each batch only as wide as its own longest prompt.
    BucketsOwn(Vec<f64>),
}

/// Cells of all prompts under a rule, in batches of up to `max_batch`.
///
/// # Panics
/// If `max_batch` is zero, a prompt is longer than a global width, or a percentile is not within 0 to 100.
pub fn cells(lengths: &[usize], max_batch: usize, rule: &Rule) -> Cells {
    assert!(max_batch >= 1, "a batch holds at least one prompt");
    match rule {
        Rule::Global(width) => {
            assert!(lengths.iter().all(|length| length <= width));
            Cells::padded_to(lengths.iter().copied(), *width)
        }
        Rule::Own => own_width(lengths, max_batch),
        Rule::Buckets(percents) => into_buckets(lengths, percents)
            .iter()
            .map(|bucket| Cells::padded_to(lengths_of(bucket, lengths), bucket.width))
            .sum(),
        Rule::BucketsOwn(percents) => into_buckets(lengths, percents)
            .iter()
            .map(|bucket| own_width(&lengths_of(bucket, lengths), max_batch))
            .sum(),
    }
}

fn lengths_of(bucket: &Bucket, lengths: &[usize]) -> Vec<usize> {
    bucket.prompts.iter().map(|prompt| lengths[*prompt]).collect()
}

/// Batches in order, each padded to its own longest prompt.
fn own_width(lengths: &[usize], max_batch: usize) -> Cells {
    lengths
        .chunks(max_batch)
        .map(|batch| {
            let longest = batch.iter().copied().max().unwrap_or(0);
            Cells::padded_to(batch.iter().copied(), longest)
        })
        .sum()
}
