//! Shapes of known models, as far as the size of a cache depends on them. Source: each model's `config.json`.

use crate::memory::kv_bytes;
use training::LlamaConfig;

/// The sizes that a cache depends on, and the number of query heads for comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KvShape {
    /// Name of the model.
    pub name: String,
    /// Number of layers; each has keys and values of its own.
    pub num_layers: usize,
    /// Number of query heads: what `num_kv_heads` would be without grouping.
    pub num_heads: usize,
    /// Number of key and value heads.
    pub num_kv_heads: usize,
    /// Numbers of one head.
    pub head_dim: usize,
}

impl KvShape {
    /// The shape of an open model.
    pub fn of(name: &str, config: &LlamaConfig) -> KvShape {
        KvShape {
            name: name.to_owned(),
            num_layers: config.num_layers,
            num_heads: config.num_heads,
            num_kv_heads: config.num_kv_heads,
            head_dim: config.head_dim,
        }
    }

    /// Bytes of the cache of one sequence.
    pub fn kv_bytes(&self, seq_len: usize, bytes_per_value: usize) -> u64 {
        let (layers, heads) = (self.num_layers, self.num_kv_heads);
        kv_bytes(layers, heads, self.head_dim, seq_len, 1, bytes_per_value)
    }
}

/// Known models: some with a key head for each query head, some with one for all query heads, some with one for each
/// group.
pub fn known_models() -> Vec<KvShape> {
    [
        ("Llama-7B", 32, 32, 32, 128),
        ("Llama-13B", 40, 40, 40, 128),
        ("Falcon-7B", 32, 71, 1, 64),
        ("Llama-2-70B", 80, 64, 8, 128),
        ("TinyLlama-1.1B", 22, 32, 4, 64),
        ("Llama-3-8B", 32, 32, 8, 128),
        ("Qwen2.5-7B", 28, 28, 4, 128),
        ("SmolLM2-135M", 30, 9, 3, 64),
    ]
    .map(|(name, num_layers, num_heads, num_kv_heads, head_dim)| KvShape {
        name: name.to_owned(),
        num_layers,
        num_heads,
        num_kv_heads,
        head_dim,
    })
    .into()
}
