//! The weights of a model, as the forward pass reads them.

use layout::packed::PackedMatrix;
use loading::LoadError;
use loading::source::WeightSource;
use training::LlamaConfig;

pub use crate::linear::{Linear, PlainMatrix};

/// All weights of a model. They do not change after loading, so any number of threads and requests share them.
///
/// `L` is the type of a stored matrix. Matrices that multiply the same rows are stacked: one product instead of three
/// or two, and so fewer waits for the slowest thread.
#[derive(Debug)]
pub struct Weights<L> {
    /// `[vocab_size, hidden_size]`: row `i` is the embedding of token `i`.
    pub embedding: L,
    /// The layers, from the embedding upwards.
    pub layers: Vec<LayerWeights<L>>,
    /// `[hidden_size]`: the norm before the head.
    pub norm: Vec<f32>,
    /// `[vocab_size, hidden_size]`; `None` where the head uses the matrix of the embedding.
    pub head: Option<L>,
}

/// The weights of one layer.
#[derive(Debug)]
pub struct LayerWeights<L> {
    /// `[hidden_size]`: the norm before attention.
    pub attention_norm: Vec<f32>,
    /// `[(num_heads + 2 num_kv_heads) head_dim, hidden_size]`: queries, keys and values, stacked in this order.
    pub qkv: L,
    /// `[(num_heads + 2 num_kv_heads) head_dim]`: added to each row of queries, keys and values; `None` in most
    /// architectures (Qwen2 has it).
    pub qkv_bias: Option<Vec<f32>>,
    /// `[head_dim]` each: the norms of every head of the queries and of the keys; `None` in most architectures (Qwen3
    /// has them).
    pub qk_norms: Option<[Vec<f32>; 2]>,
    /// `[hidden_size, num_heads head_dim]`: from the attended values back to the residual stream.
    pub attention_out: L,
    /// `[hidden_size]`: the norm before the feed-forward block.
    pub mlp_norm: Vec<f32>,
    /// `[2 intermediate_size, hidden_size]`: gate, then up.
    pub gate_up: L,
    /// `[hidden_size, intermediate_size]`: back to the residual stream.
    pub down: L,
}

/// Makes a matrix from stacked tensors. Arguments: the names of the tensors, the sum of their output sizes, their input
/// size.
pub type MakeMatrix<'a, L> = dyn FnMut(&[String], usize, usize) -> Result<L, LoadError> + 'a;

impl<L> Weights<L> {
    /// Reads a model matrix by matrix, so that at most one matrix is in memory twice. `matrix` makes each of them.
    ///
    /// # Errors
    /// Those of the source.
    pub fn read(
        config: &LlamaConfig,
        source: &dyn WeightSource,
        matrix: &mut MakeMatrix<'_, L>,
    ) -> Result<Weights<L>, LoadError> {
        let hidden = config.hidden_size;
        let vector = |name: &str| {
            let mut values = Vec::new();
            source.read_f32(name, &mut values)?;
            Ok::<_, LoadError>(values)
        };
        // A checked source has a tensor if and only if the architecture of its model does.
        let has = |name: &str| source.info(name).is_some();
        let embedding = matrix(&["model.embed_tokens.weight".to_owned()], config.vocab_size, hidden)?;
        let mut layers = Vec::with_capacity(config.num_layers);
        for layer in 0..config.num_layers {
            let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
            let attention = |part: &str| name(&format!("self_attn.{part}_proj"));
            let mlp = |part: &str| name(&format!("mlp.{part}_proj"));
            let biases = ["q", "k", "v"].map(|part| format!("model.layers.{layer}.self_attn.{part}_proj.bias"));
            let norms = ["q", "k"].map(|part| name(&format!("self_attn.{part}_norm")));
            layers.push(LayerWeights {
                attention_norm: vector(&name("input_layernorm"))?,
                qkv: matrix(
                    &[attention("q"), attention("k"), attention("v")],
                    config.q_size() + 2 * config.kv_size(),
                    hidden,
                )?,
                qkv_bias: match has(&biases[0]) {
                    true => Some([vector(&biases[0])?, vector(&biases[1])?, vector(&biases[2])?].concat()),
                    false => None,
                },
                qk_norms: match has(&norms[0]) {
                    true => Some([vector(&norms[0])?, vector(&norms[1])?]),
                    false => None,
                },
                attention_out: matrix(&[attention("o")], hidden, config.q_size())?,
                mlp_norm: vector(&name("post_attention_layernorm"))?,
                gate_up: matrix(&[mlp("gate"), mlp("up")], 2 * config.intermediate_size, hidden)?,
                down: matrix(&[mlp("down")], hidden, config.intermediate_size)?,
            });
        }
        // The loader sets "tied" also for files that hold no head, whatever their flag says; see `loading::folder`.
        let head = match config.tie_word_embeddings {
            true => None,
            false => Some(matrix(&["lm_head.weight".to_owned()], config.vocab_size, hidden)?),
        };
        Ok(Weights {
            embedding,
            layers,
            norm: vector("model.norm.weight")?,
            head,
        })
    }

    /// Reads a model. `make` gets each matrix as row-major f32 `[out_features, in_features]`.
    ///
    /// # Errors
    /// Those of the source.
    pub fn read_f32(
        config: &LlamaConfig,
        source: &dyn WeightSource,
        make: &dyn Fn(&[f32], usize, usize) -> L,
    ) -> Result<Weights<L>, LoadError> {
        let (mut part, mut stacked) = (Vec::new(), Vec::new());
        Weights::read(config, source, &mut |names, out_features, in_features| {
            stacked.clear();
            for name in names {
                source.read_f32(name, &mut part)?;
                stacked.extend_from_slice(&part);
            }
            Ok(make(&stacked, out_features, in_features))
        })
    }

    /// The matrix that turns a hidden row into logits: the head, or the embedding where there is no head.
    pub fn head(&self) -> &L {
        self.head.as_ref().unwrap_or(&self.embedding)
    }
}

impl Weights<PackedMatrix> {
    /// Reads a model as packed f32, four bytes a weight: exact for every dtype on disk.
    ///
    /// # Errors
    /// Those of the source.
    pub fn packed_f32(config: &LlamaConfig, source: &dyn WeightSource) -> Result<Self, LoadError> {
        Weights::read_f32(config, source, &PackedMatrix::from_f32)
    }
}

impl<L: Linear> Weights<L> {
    /// Bytes of weights that the forward pass of one row reads: every matrix once, a tied head too, and one row of the
    /// embedding.
    pub fn bytes_per_pass(&self) -> u64 {
        let layers = self.layers.iter().map(|layer| {
            let added = layer.qkv_bias.iter().chain(layer.qk_norms.iter().flatten());
            let vectors = added.chain([&layer.attention_norm, &layer.mlp_norm]);
            4 * vectors.map(Vec::len).sum::<usize>()
                + layer.qkv.bytes()
                + layer.attention_out.bytes()
                + layer.gate_up.bytes()
                + layer.down.bytes()
        });
        let embedding_row = self.embedding.bytes() / self.embedding.out_features();
        (layers.sum::<usize>() + 4 * self.norm.len() + self.head().bytes() + embedding_row) as u64
    }
}
