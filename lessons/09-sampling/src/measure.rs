//! Entropy of a choice, and repetition in a text.

use std::collections::HashSet;
use std::hash::Hash;

/// Entropy of shares that add up to 1, in nats: 0 if one token is certain, `ln n` if `n` tokens are equally likely. Its
/// exponential is the number of equally likely tokens that would be as hard to guess.
pub fn entropy(shares: impl Iterator<Item = f64>) -> f64 {
    let nats = |share: f64| match share > 0.0 {
        true => -share * share.ln(),
        false => 0.0,
    };
    shares.map(nats).sum()
}

/// The share of runs of `n` tokens that occurred earlier in the text. It is 0 if every run is new or there is none, and
/// near 1 for a text in a loop. Called seq-rep-n in Welleck et al. 2020, arXiv:1908.04319.
pub fn repeated_share<T: Copy + Eq + Hash>(tokens: &[T], n: usize) -> f64 {
    let runs = tokens.windows(n);
    let total = runs.len();
    let distinct: HashSet<&[T]> = runs.collect();
    match total {
        0 => 0.0,
        total => 1.0 - distinct.len() as f64 / total as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_of_equal_shares_is_the_logarithm_of_their_number() {
        assert!((entropy([0.25; 4].into_iter()) - 4f64.ln()).abs() < 1e-12);
        assert_eq!(entropy([1.0, 0.0].into_iter()), 0.0);
    }

    /// In ab ab ab, two of the five runs of two are new: ab and ba.
    #[test]
    fn a_loop_repeats_nearly_all_of_its_runs() {
        assert_eq!(repeated_share(b"ababab", 2), 1.0 - 2.0 / 5.0);
        assert_eq!(repeated_share(b"abcdef", 2), 0.0);
        assert_eq!(repeated_share(b"a", 2), 0.0);
    }
}
