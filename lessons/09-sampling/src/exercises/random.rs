//! Random numbers by address: seed, answer and position.

/// The number that draws the token at `position` of answer number `answer` under `seed`: at least 0 and below 1.
///
/// No state advances from draw to draw. So the number does not depend on how many draws came before, in which order, or
/// for which request: the token at position 90 is drawn with the same number if the request runs alone, in a batch of
/// 64, or a second time.
///
/// The three parts are mixed one after the other by the finalizer of SplitMix64: one changed bit of its input changes
/// about half of the bits of its output. The upper 53 bits become the number, because an f64 has 53 bits of precision.
/// Source: Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195; counters as addresses: Salmon et al. 2011,
/// doi:10.1145/2063384.2063405.
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
