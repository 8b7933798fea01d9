//! What is measured: a model on this machine, what a pass of it costs, and what the machine could do.

use generation::Model;
use generation::roofline::MachineLimits;
use generation::work::Work;
use kv_cache::memory::kv_bytes;
use kv_cache::work::of_chunk;
use layout::pool::Pool;
use layout::probe;
use training::TokenId;

/// A model, the threads that run it, and what this machine could do with both.
pub struct Subject {
    /// The model.
    pub model: Model,
    /// All cores.
    pub pool: Pool,
    /// Measured now, over as many bytes as the weights have.
    pub limits: MachineLimits,
}

impl Subject {
    /// Opens a model and measures the machine.
    ///
    /// # Panics
    /// If the model can not be opened: a bench has no reader to ask for another.
    pub fn open(model: &str) -> Subject {
        let model = Model::open(model).unwrap_or_else(|error| panic!("{error}"));
        let pool = Pool::with_available_threads();
        let weight_bytes = model.weights.bytes_per_pass() as usize;
        let limits = MachineLimits {
            flops_per_second: probe::peak_flops(&pool),
            bytes_per_second: probe::read_bandwidth(&pool, weight_bytes),
        };
        Subject { model, pool, limits }
    }

    /// The longest context of the model, `wanted` at most.
    pub fn context(&self, wanted: usize) -> usize {
        wanted.min(self.model.config.llama.max_seq_len)
    }

    /// Tokens of no meaning, spread over the vocabulary. Their values do not change the work.
    pub fn tokens(&self, len: usize) -> Vec<TokenId> {
        let vocab_size = self.model.config.llama.vocab_size;
        let id = |i: usize| TokenId(((7919 * i + 13) % vocab_size) as u32);
        (0..len).map(id).collect()
    }

    /// Work of one pass in which each of `chunks`, (`num_cached`, `rows`), is one sequence that wants the token after
    /// its last row: its multiply-adds, the weights once, and the keys and values of each sequence once.
    pub fn work(&self, chunks: impl Iterator<Item = (usize, usize)>) -> Work {
        let llama = &self.model.config.llama;
        let weight_bytes = self.model.weights.bytes_per_pass();
        let mut all = Work {
            weight_bytes,
            ..Work::default()
        };
        for (num_cached, rows) in chunks {
            let work = of_chunk(llama, num_cached, rows);
            all.linear_multiply_adds += work.linear_multiply_adds;
            all.attention_multiply_adds += work.attention_multiply_adds;
            all.weight_bytes += kv_bytes(
                llama.num_layers,
                llama.num_kv_heads,
                llama.head_dim,
                num_cached + rows,
                1,
                size_of::<f32>(),
            );
        }
        all
    }
}
