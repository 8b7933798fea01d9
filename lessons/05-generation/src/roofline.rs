//! The shortest time that a machine allows for a forward pass.
//!
//! A pass does a number of multiply-adds and reads each weight once. The machine has a highest rate for both, and the
//! longer of the two times is the lower bound. With few rows reading takes longer, with many rows arithmetic. Source:
//! the roofline model, Williams, Waterman and Patterson 2009, doi:10.1145/1498765.1498785.

use crate::work::Work;
use serde::Serialize;
use training::LlamaConfig;

/// The highest rates of a machine, measured by lesson 02's probes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MachineLimits {
    /// Floating-point operations a second; a multiply-add counts two.
    pub flops_per_second: f64,
    /// Bytes a second, read in sequence from a buffer as large as the weights.
    pub bytes_per_second: f64,
}

/// Which limit a pass meets first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Reading the weights takes longer than the arithmetic.
    Reading,
    /// The arithmetic takes longer.
    Arithmetic,
}

impl MachineLimits {
    /// The shortest possible time for this work, in seconds, and the limit that sets it.
    pub fn shortest(&self, work: &Work) -> (f64, Bound) {
        let arithmetic = 2.0 * work.multiply_adds() as f64 / self.flops_per_second;
        let reading = work.weight_bytes as f64 / self.bytes_per_second;
        if reading > arithmetic {
            (reading, Bound::Reading)
        } else {
            (arithmetic, Bound::Arithmetic)
        }
    }

    /// Multiply-adds for each byte at which both limits meet. With fewer, a pass waits for memory.
    pub fn balance(&self) -> f64 {
        self.flops_per_second / 2.0 / self.bytes_per_second
    }
}

/// The most tokens a second of one text: each token reads `weight_bytes` once, from memory that gives
/// `bytes_per_second`. Keys, values and the arithmetic come on top, so no program reaches it.
pub fn most_tokens_per_second(weight_bytes: f64, bytes_per_second: f64) -> f64 {
    bytes_per_second / weight_bytes
}

/// Llama-2-7B and Llama-2-13B, by their `config.json`: the sizes that most rules of thumb speak of.
pub fn llama_2_models() -> [(&'static str, LlamaConfig); 2] {
    let shape = |hidden_size, intermediate_size, num_layers| LlamaConfig {
        vocab_size: 32_000,
        hidden_size,
        intermediate_size,
        num_layers,
        num_heads: hidden_size / 128,
        num_kv_heads: hidden_size / 128,
        head_dim: 128,
        tie_word_embeddings: false,
        ..LlamaConfig::stories()
    };
    [("7B", shape(4096, 11_008, 32)), ("13B", shape(5120, 13_824, 40))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_two_times_is_the_limit() {
        let machine = MachineLimits {
            flops_per_second: 100.0,
            bytes_per_second: 10.0,
        };
        let work = |multiply_adds, weight_bytes| Work {
            linear_multiply_adds: multiply_adds,
            attention_multiply_adds: 0,
            weight_bytes,
        };
        assert_eq!(machine.shortest(&work(100, 10)), (2.0, Bound::Arithmetic));
        assert_eq!(machine.shortest(&work(100, 30)), (3.0, Bound::Reading));
        assert_eq!(machine.balance(), 5.0);
    }

    /// 13.5 GB in fp16 at 600 GB/s are 44.5 tokens a second, and 30 % more bandwidth gives 30 % more of them.
    #[test]
    fn tokens_a_second_are_bandwidth_over_bytes() {
        let parameters = llama_2_models().map(|(_, config)| config.num_parameters());
        assert_eq!(parameters, [6_738_415_616, 13_015_864_320]);
        let bytes = 2.0 * parameters[0] as f64;
        let rate = most_tokens_per_second(bytes, 600e9);
        assert!((rate - 44.5).abs() < 0.05, "{rate}");
        assert_eq!(most_tokens_per_second(bytes, 1.3 * 600e9), 1.3 * rate);
    }
}
