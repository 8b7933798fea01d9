//! Diversity: how often the samples of a model repeat themselves, without a reference.

use std::collections::HashSet;

/// Different n-grams over all n-grams of all `samples` together, in `0..=1`; 0 when there is no n-gram.
///
/// One set for all samples, so ten copies of one good story score badly. Falls with the size of the samples: compare
/// equal sizes only. Source: Li et al. 2016, arXiv:1510.03055.
pub fn distinct_n<W: AsRef<[S]>, S: AsRef<str>>(samples: &[W], n: usize) -> f64 {
    let mut seen = HashSet::new();
    let mut total = 0usize;
    for sample in samples {
        for ngram in sample.as_ref().windows(n) {
            seen.insert(ngram.iter().map(AsRef::as_ref).collect::<Vec<&str>>());
            total += 1;
        }
    }
    seen.len() as f64 / total.max(1) as f64
}

/// The share of a sample's n-grams that stood in the same sample before, in `0..=1`: near 1 for a loop, near 0 for
/// prose.
pub fn repetition<S: AsRef<str>>(sample: &[S], n: usize) -> f64 {
    let total = sample.windows(n).count();
    let different: HashSet<Vec<&str>> = sample
        .windows(n)
        .map(|ngram| ngram.iter().map(AsRef::as_ref).collect())
        .collect();
    (total - different.len()) as f64 / total.max(1) as f64
}
