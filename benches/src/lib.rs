//! Benches over all lessons: `cargo bench -p ladder -- matmul`, `decode`, `batch`, `sampler`, `allocator`, `schedule`.
//!
//! A bench answers two questions. *Is it faster than it was?* Criterion keeps the history of each measurement and draws
//! it (`target/criterion/report/index.html`). *Is it fast?* Each bench first prints what the machine could do, measured
//! in the same run, and how much of it is reached, beside other libraries that take turns with ours. This crate holds
//! what the benches share.

pub mod blocks;
pub mod passes;
pub mod steps;
pub mod subject;
pub mod table;
pub mod turn;

use layout::aligned::Aligned;
use layout::packed::PackedMatrix;

/// Several equal weight matrices, used in turn, so that none of them is still in a cache when its turn comes.
///
/// A model's weights are read once for each token, so this is how inference meets them.
pub struct ColdWeights {
    /// Row-major `[out_features, in_features]` on huge pages: what the libraries read.
    pub plain: Vec<Aligned<f32>>,
    /// The same numbers packed: what lesson 02 reads.
    pub packed: Vec<PackedMatrix>,
    next: usize,
}

impl ColdWeights {
    /// Random matrices of this shape, as many as make `bytes` together.
    pub fn new(out_features: usize, in_features: usize, bytes: usize) -> ColdWeights {
        let numbers = out_features * in_features;
        let copies = bytes.div_ceil(4 * numbers).max(2);
        let plain: Vec<_> = (0..copies)
            .map(|copy| {
                let mut weights = Aligned::zeros(numbers);
                weights.copy_from_slice(&random(numbers, copy as u64));
                weights
            })
            .collect();
        let packed = plain
            .iter()
            .map(|w| PackedMatrix::from_f32(w, out_features, in_features))
            .collect();
        ColdWeights { plain, packed, next: 0 }
    }

    /// The number of the matrix whose turn it is.
    pub fn turn(&mut self) -> usize {
        self.next = (self.next + 1) % self.plain.len();
        self.next
    }
}

/// Numbers between -1 and 1, the same ones for the same seed. (Zeros would be multiplied as fast, but hide mistakes.)
pub fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}
