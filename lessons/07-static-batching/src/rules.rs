//! The useful share of the work, by the rule that pads. Counted in cells, from lengths alone.

use crate::buckets::into_buckets;
pub use crate::parts::Bucket;
use serde::Serialize;

/// Computed cells, and those among them that hold a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cells {
    /// Number of cells with a token.
    pub useful: u64,
    /// Number of all cells.
    pub computed: u64,
}

impl Cells {
    /// Some prompts, each padded to `width`.
    fn padded_to(lengths: impl IntoIterator<Item = usize>, width: usize) -> Cells {
        let mut cells = Cells::default();
        for length in lengths {
            cells.useful += length as u64;
            cells.computed += width as u64;
        }
        cells
    }

    /// Batches of prompts in order, each padded to its own longest prompt.
    fn own_width(lengths: &[usize], max_batch: usize) -> Cells {
        let batches = lengths.chunks(max_batch);
        batches
            .map(|batch| Cells::padded_to(batch.iter().copied(), batch.iter().copied().max().unwrap_or(0)))
            .sum()
    }

    /// Useful share, 0 to 1; 1 if no cell is computed.
    pub fn share(&self) -> f64 {
        match self.computed {
            0 => 1.0,
            computed => self.useful as f64 / computed as f64,
        }
    }

    /// Number of cells of padding.
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

/// How prompts of different length are padded to one width.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Every prompt is padded to one width, the longest that may come.
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
    let lengths_of = |bucket: &Bucket| -> Vec<usize> { bucket.prompts.iter().map(|prompt| lengths[*prompt]).collect() };
    match rule {
        Rule::Global(width) => {
            assert!(lengths.iter().all(|length| length <= width));
            Cells::padded_to(lengths.iter().copied(), *width)
        }
        Rule::Own => Cells::own_width(lengths, max_batch),
        Rule::Buckets(percents) => into_buckets(lengths, percents)
            .iter()
            .map(|bucket| Cells::padded_to(lengths_of(bucket), bucket.width))
            .sum(),
        Rule::BucketsOwn(percents) => into_buckets(lengths, percents)
            .iter()
            .map(|bucket| Cells::own_width(&lengths_of(bucket), max_batch))
            .sum(),
    }
}
