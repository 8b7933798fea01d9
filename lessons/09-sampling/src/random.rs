//! Randomness with an address.

/// A number from 0 up to, but not including, 1 for one draw: that of the token at `position` of answer number `answer` under `seed`.
///
/// There is no state that a draw advances, so it does not matter how many draws came before, in which order, or for whom: the token at position 90 of
/// a request is drawn with the same number alone, in a batch of 64, and after it was computed a second time.
///
/// The three numbers are mixed one after the other, each time by the finalizer of SplitMix64, whose output changes in half of its bits when one bit of the
/// input does. The upper 53 bits become the number, as many as an f64 can tell apart. Source: Steele, Lea and Flood 2014,
/// doi:10.1145/2660193.2660195; counters as addresses: Salmon et al. 2011, doi:10.1145/2063384.2063405.
pub fn uniform(seed: u64, answer: u32, position: u64) -> f64 {
    // ANCHOR: ex_09_4
    let mix = |x: u64| {
        let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    };
    let bits = mix(mix(mix(seed) ^ u64::from(answer)) ^ position);
    (bits >> 11) as f64 / (1u64 << 53) as f64
    // ANCHOR_END: ex_09_4
}
