//! Random weights: a model of any size, offline, for measurements of speed.
//!
//! A value is a function of the tensor's name and the index, so it does not depend on the order of reading or on the
//! number of threads: a counter goes through a hash, as in counter-based generators (Salmon et al. 2011, "Parallel
//! random numbers: as easy as 1, 2, 3"). Values are bf16 values, so the model is the same in f32 and in bf16.
//!
//! The scale is that of an initialised net: matrices uniform with standard deviation `1 / sqrt(in_features)`, the
//! embedding 0.02, norms 1. The generated text is noise; the time that it takes is real.

use crate::architecture::LLAMA;
use crate::dtype::{Dtype, TensorInfo};
use crate::error::{LoadError, Result};
use crate::exercises::bf16_bits;
use crate::shapes::{EMBEDDING, HEAD, expected_shape, tensor_names};
use crate::source::WeightSource;
use std::sync::Mutex;
use training::config::LlamaConfig;

/// Random weights of one shape.
#[derive(Clone, Debug)]
pub struct RandomWeights {
    config: LlamaConfig,
    seed: u64,
}

/// The shape behind `random:NAME`: `15m` as llama2.c's stories15M, `135m` as SmolLM2-135M, `1.1b` as TinyLlama-1.1B.
pub fn shape(name: &str) -> Option<LlamaConfig> {
    let llama = LlamaConfig {
        vocab_size: 32_000,
        hidden_size: 288,
        intermediate_size: 768,
        num_layers: 6,
        num_heads: 6,
        num_kv_heads: 6,
        head_dim: 48,
        rope_theta: 10_000.0,
        rms_norm_eps: 1e-5,
        max_seq_len: 2048,
        tie_word_embeddings: true,
    };
    match name {
        "15m" => Some(llama),
        "135m" => Some(LlamaConfig {
            vocab_size: 49_152,
            hidden_size: 576,
            intermediate_size: 1536,
            num_layers: 30,
            num_heads: 9,
            num_kv_heads: 3,
            head_dim: 64,
            rope_theta: 100_000.0,
            max_seq_len: 8192,
            ..llama
        }),
        "1.1b" => Some(LlamaConfig {
            hidden_size: 2048,
            intermediate_size: 5632,
            num_layers: 22,
            num_heads: 32,
            num_kv_heads: 4,
            head_dim: 64,
            tie_word_embeddings: false,
            ..llama
        }),
        _ => None,
    }
}

impl RandomWeights {
    /// Weights of that shape. A tensor is computed when it is read.
    pub fn new(config: LlamaConfig, seed: u64) -> Self {
        Self { config, seed }
    }

    fn shape_of(&self, name: &str) -> Result<Vec<usize>> {
        let tied_head = name == HEAD && self.config.tie_word_embeddings;
        (expected_shape(&self.config, &LLAMA, name).filter(|_| !tied_head)).ok_or_else(|| LoadError::MissingTensor {
            model: "random".into(),
            name: name.into(),
        })
    }
}

/// Mixes 32 bits so that each bit of the counter changes about half the bits of the result.
/// Source: the "lowbias32" hash found by C. Wellons' hash prospector (2018).
pub(crate) fn hash(counter: u32) -> u32 {
    let mut x = counter;
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// A key for each tensor (FNV-1a over the name, then mixed).
fn key(seed: u64, name: &str) -> u32 {
    let mut x = 0xcbf2_9ce4_8422_2325 ^ seed;
    for byte in name.bytes() {
        x = (x ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash((x ^ (x >> 32)) as u32)
}

impl WeightSource for RandomWeights {
    fn names(&self) -> Vec<String> {
        tensor_names(&self.config, &LLAMA).collect()
    }

    fn info(&self, name: &str) -> Option<TensorInfo> {
        let shape = self.shape_of(name).ok()?;
        Some(TensorInfo {
            dtype: Dtype::BF16,
            shape,
        })
    }

    fn read_f32(&self, name: &str, out: &mut Vec<f32>) -> Result<()> {
        let shape = self.shape_of(name)?;
        let num_values: usize = shape.iter().product();
        out.clear();
        out.reserve_exact(num_values);
        out.resize(num_values, 0.0);
        if let [_] = shape[..] {
            out.fill(1.0);
            return Ok(());
        }
        let deviation = match name {
            EMBEDDING => 0.02,
            _ => 1.0 / (shape[1] as f32).sqrt(),
        };
        // A uniform value between -w and w has deviation w / sqrt(3).
        let scale = deviation * 3.0_f32.sqrt() / 32768.0;
        let key = key(self.seed, name);
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        // Below a megabyte or so, starting threads costs more than they save.
        let threads = threads.min(num_values.div_ceil(1 << 18));
        let share = num_values.div_ceil(threads);
        let chunks = Mutex::new(out.chunks_mut(share).enumerate());
        let next = || chunks.lock().expect("no worker panics").next();
        let work = || {
            while let Some((number, chunk)) = next() {
                for (offset, value) in chunk.iter_mut().enumerate() {
                    let bits = hash((number * share + offset) as u32 ^ key) >> 16;
                    let exact = (bits as i32 - 32768) as f32 * scale + scale / 2.0;
                    *value = f32::from_bits(u32::from(bf16_bits(exact)) << 16);
                }
            }
        };
        std::thread::scope(|scope| {
            // This thread works too: where the system refuses others, it does their share.
            for _ in 1..threads {
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        Ok(())
    }

    fn stored_bytes(&self) -> u64 {
        0
    }
}
