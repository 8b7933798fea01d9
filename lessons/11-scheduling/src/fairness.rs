//! One number for how evenly something was shared.

/// Jain's index of what each got: 1 when all got the same, 1/n when one of n got all. With no shares, or when all are
/// zero, it is 1.
///
/// Source: Jain, Chiu and Hawe 1984, "A quantitative measure of fairness and discrimination for resource allocation in
/// shared computer systems", DEC TR-301.
// ANCHOR: jain
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares == 0.0 {
        return 1.0;
    }
    sum * sum / (shares.len() as f64 * squares)
}
// ANCHOR_END: jain

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_give_one_and_one_taker_gives_one_over_n() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[0.0, 0.0, 5.0, 0.0]), 0.25);
        assert_eq!(jain(&[1.0, 3.0]), 0.8);
        assert_eq!(jain(&[]), 1.0);
        assert_eq!(jain(&[0.0, 0.0]), 1.0);
    }
}
