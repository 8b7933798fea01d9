//! Random numbers that are addressed, not streamed: every document, shuffle and draw has a generator of its own, seeded
//! by what it is for. So document 17 is the same whether or not documents 0 to 16 were made first.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): one addition and
/// three multiply-shifts for each number.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

/// The finishing mix of SplitMix64: a bijection on `u64` in which every input bit reaches every output bit.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    /// The generator at `address`, for example `[seed, purpose, index]`.
    pub fn at(address: &[u64]) -> Random {
        let state = address.iter().fold(0x9E37_79B9_7F4A_7C15, |state: u64, &part| {
            mix(state ^ mix(part.wrapping_add(1)))
        });
        Random { state }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// Uniform in `0..1`, with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..bound`. The bias of the multiply-shift is below `bound / 2^64`.
    ///
    /// Panics when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "a draw from nothing");
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
