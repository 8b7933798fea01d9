//! The model: a small Llama whose forward pass records itself on lesson 01's tape.
//!
//! ```text
//! x = embedding[tokens]
//! per layer:  x = x + attention(rms_norm(x) · qkvᵀ) · outᵀ
//!             x = x + swiglu(rms_norm(x) · gate_upᵀ) · downᵀ
//! logits = rms_norm(x) · embeddingᵀ
//! ```
//! Query, key and value weights are one matrix here, and so are gate and up: one product reads x once. The files keep
//! them apart, as Hugging Face does; [`Llama::tensors`] splits them.

use crate::batch::Batch;
use crate::config::{LlamaConfig, TokenId};
use crate::kernels::attention::AttentionShape;
use crate::kernels::rotary::RotaryTable;
use crate::ops;
use crate::random::Random;
use autograd::{Tensor, no_grad};
use layout::pool::Pool;
use ndarray::{ArrayD, IxDyn};
use std::rc::Rc;
use std::sync::Arc;

/// The weights of one layer.
#[derive(Debug)]
pub struct Layer {
    /// `[hidden_size]`.
    pub attention_norm: Tensor,
    /// `[q_size + 2 kv_size, hidden_size]`: query, key and value rows.
    pub qkv: Tensor,
    /// `[hidden_size, q_size]`.
    pub out: Tensor,
    /// `[hidden_size]`.
    pub mlp_norm: Tensor,
    /// `[2 intermediate_size, hidden_size]`: gate rows, then up rows.
    pub gate_up: Tensor,
    /// `[hidden_size, intermediate_size]`.
    pub down: Tensor,
}

/// A Llama model that can be trained.
pub struct Llama {
    /// The shape.
    pub config: LlamaConfig,
    /// `[vocab_size, hidden_size]`; also the head when tied.
    pub embedding: Tensor,
    /// The layers, first to last.
    pub layers: Vec<Layer>,
    /// `[hidden_size]`.
    pub norm: Tensor,
    /// `[vocab_size, hidden_size]`, when not tied.
    pub head: Option<Tensor>,
    pool: Arc<Pool>,
    rotary: Rc<RotaryTable>,
}

/// A weight under its Hugging Face name, as it is written to a file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTensor {
    /// For example `model.layers.0.mlp.up_proj.weight`.
    pub name: String,
    /// `[out, in]`, or `[n]` for norms.
    pub shape: Vec<usize>,
    /// Row-major.
    pub data: Vec<f32>,
}

/// Why weights could not be taken over.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// A tensor is missing.
    #[error("model.safetensors: expected tensor {name}, found none; is config.json of the same model?")]
    Missing {
        /// Its name.
        name: String,
    },
    /// A tensor has another shape.
    #[error("model.safetensors: {name}: expected shape {expected:?} as in config.json, found {found:?}")]
    Shape {
        /// Its name.
        name: String,
        /// The shape that config.json asks for.
        expected: Vec<usize>,
        /// The shape in the file.
        found: Vec<usize>,
    },
}

impl Llama {
    /// A model with random weights: normal with standard deviation 0.02, the matrices that write into the residual
    /// stream smaller by √(2 num_layers) (Radford et al. 2019, section 2.3), norms 1. Every number depends on the seed
    /// and its own place only.
    pub fn new(config: LlamaConfig, seed: u64, pool: Arc<Pool>) -> Self {
        let deviation = 0.02;
        let residual = deviation / (2.0 * config.num_layers as f64).sqrt();
        let mut index = 0;
        let mut matrix = |rows: usize, cols: usize, deviation: f64| {
            index += 1;
            let data = normals(&[seed, INIT, index], rows * cols, deviation);
            parameter(&[rows, cols], data)
        };
        let ones = |n: usize| parameter(&[n], vec![1.0; n]);
        let (hidden, ffn) = (config.hidden_size, config.intermediate_size);
        let embedding = matrix(config.vocab_size, hidden, deviation);
        let layers = (0..config.num_layers)
            .map(|_| Layer {
                attention_norm: ones(hidden),
                qkv: matrix(config.q_size() + 2 * config.kv_size(), hidden, deviation),
                out: matrix(hidden, config.q_size(), residual),
                mlp_norm: ones(hidden),
                gate_up: matrix(2 * ffn, hidden, deviation),
                down: matrix(hidden, ffn, residual),
            })
            .collect();
        let head = (!config.tie_word_embeddings).then(|| matrix(config.vocab_size, hidden, deviation));
        let rotary = RotaryTable::new(config.max_seq_len, config.head_dim, config.rope_theta);
        Self {
            embedding,
            layers,
            norm: ones(hidden),
            head,
            pool,
            rotary: Rc::new(rotary),
            config,
        }
    }

    /// A model with given weights, by their Hugging Face names.
    ///
    /// # Errors
    /// The first tensor that is missing or does not fit the shape.
    pub fn from_tensors(config: LlamaConfig, tensors: &[NamedTensor], pool: Arc<Pool>) -> Result<Self, WeightsError> {
        let model = Self::new(config, 0, pool);
        for (name, shape, target) in model.places() {
            let Some(found) = tensors.iter().find(|t| t.name == name) else {
                return Err(WeightsError::Missing { name });
            };
            if found.shape != shape {
                return Err(WeightsError::Shape {
                    name,
                    expected: shape,
                    found: found.shape.clone(),
                });
            }
            target.tensor.update(|value| {
                let value = value.as_slice_mut().expect("parameters are row-major");
                value[target.first..][..found.data.len()].copy_from_slice(&found.data);
            });
        }
        Ok(model)
    }

    /// A copy of every weight under its Hugging Face name.
    pub fn tensors(&self) -> Vec<NamedTensor> {
        let copy = |(name, shape, place): (String, Vec<usize>, Place<'_>)| {
            let value = place.tensor.value();
            let value = value.as_slice().expect("parameters are row-major");
            let len = shape.iter().product();
            let data = value[place.first..][..len].to_vec();
            NamedTensor { name, shape, data }
        };
        self.places().into_iter().map(copy).collect()
    }

    /// What is trained, in a fixed order, with our names: the optimizer and checkpoints go by it.
    pub fn parameters(&self) -> Vec<(String, Tensor)> {
        let mut list = vec![("embedding".to_owned(), self.embedding.clone())];
        for (index, layer) in self.layers.iter().enumerate() {
            let parts = [
                ("attention_norm", &layer.attention_norm),
                ("qkv", &layer.qkv),
                ("out", &layer.out),
                ("mlp_norm", &layer.mlp_norm),
                ("gate_up", &layer.gate_up),
                ("down", &layer.down),
            ];
            for (name, tensor) in parts {
                list.push((format!("layers.{index}.{name}"), tensor.clone()));
            }
        }
        list.push(("norm".to_owned(), self.norm.clone()));
        if let Some(head) = &self.head {
            list.push(("head".to_owned(), head.clone()));
        }
        list
    }

    /// The last norm's output for every token. Shape `[batch_size · seq_len, hidden_size]`.
    pub fn hidden(&self, batch: &Batch) -> Tensor {
        let (config, pool) = (&self.config, &self.pool);
        let shape = AttentionShape {
            batch_size: batch.batch_size,
            seq_len: batch.seq_len,
            num_heads: config.num_heads,
            num_kv_heads: config.num_kv_heads,
            head_dim: config.head_dim,
        };
        let norm = |x: &Tensor, weight: &Tensor| ops::rms_norm(pool, x, weight, config.rms_norm_eps);
        // ANCHOR: forward
        let mut x = ops::embedding(&self.embedding, &batch.inputs);
        for layer in &self.layers {
            let qkv = ops::linear(pool, &norm(&x, &layer.attention_norm), &layer.qkv);
            let mixed = ops::attention(pool, shape, &self.rotary, &batch.starts, &qkv);
            x = ops::linear_add(pool, &mixed, &layer.out, &x);
            let gate_up = ops::linear(pool, &norm(&x, &layer.mlp_norm), &layer.gate_up);
            x = ops::linear_add(pool, &ops::swiglu(pool, &gate_up), &layer.down, &x);
        }
        norm(&x, &self.norm)
        // ANCHOR_END: forward
    }

    /// The weighted mean cross entropy of the batch in nats per token: what training lowers.
    pub fn loss(&self, batch: &Batch) -> Tensor {
        let hidden = self.hidden(batch);
        let targets = ops::Targets {
            tokens: &batch.targets,
            weights: &batch.weights,
            spread: &batch.spread,
        };
        ops::head_loss(&self.pool, &hidden, self.head_weight(), targets)
    }

    /// The logits after every token of one text that sees all of itself, without a tape. Shape `[tokens, vocab_size]`.
    pub fn logits(&self, tokens: &[TokenId]) -> ArrayD<f32> {
        let batch = Batch::text(tokens);
        let logits = no_grad(|| ops::linear(&self.pool, &self.hidden(&batch), self.head_weight()));
        logits.value().clone()
    }

    /// The logits after the last token of each text, without a tape. Shape `[texts, vocab_size]`.
    ///
    /// Shorter texts are filled up behind their end, where none of their tokens looks. Cost: all tokens of all texts go
    /// through all layers; the head is computed for the last ones only.
    pub fn last_logits<W: AsRef<[TokenId]>>(&self, texts: &[W]) -> ArrayD<f32> {
        let longest = texts.iter().map(|text| text.as_ref().len()).max().unwrap_or(0);
        let batch = Batch::texts(texts, longest);
        let width = self.config.hidden_size;
        let logits = no_grad(|| {
            let hidden = self.hidden(&batch);
            let hidden = hidden.value();
            let hidden = hidden.as_slice().expect("values are row-major");
            let last = texts.iter().enumerate().flat_map(|(index, text)| {
                let row = index * longest + text.as_ref().len() - 1;
                &hidden[row * width..][..width]
            });
            let last = last.copied().collect();
            let last = ArrayD::from_shape_vec(IxDyn(&[texts.len(), width]), last);
            let last = Tensor::new(last.expect("one row for each text"));
            ops::linear(&self.pool, &last, self.head_weight())
        });
        logits.value().clone()
    }

    /// The matrix that turns hidden rows into logits, `[vocab_size, hidden_size]`.
    pub fn head_weight(&self) -> &Tensor {
        self.head.as_ref().unwrap_or(&self.embedding)
    }

    /// The threads that it computes on.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Where each tensor of a file stands: name, shape, and the place inside one of our parameters.
    fn places(&self) -> Vec<(String, Vec<usize>, Place<'_>)> {
        let config = &self.config;
        let (hidden, ffn) = (config.hidden_size, config.intermediate_size);
        let (q, kv) = (config.q_size(), config.kv_size());
        let mut list = Vec::new();
        let mut add = |name: String, shape: Vec<usize>, tensor, first| {
            list.push((name + ".weight", shape, Place { tensor, first }));
        };
        add(
            "model.embed_tokens".into(),
            vec![config.vocab_size, hidden],
            &self.embedding,
            0,
        );
        for (index, layer) in self.layers.iter().enumerate() {
            let name = |part: &str| format!("model.layers.{index}.{part}");
            let rows = |rows: usize| vec![rows, hidden];
            add(name("input_layernorm"), vec![hidden], &layer.attention_norm, 0);
            add(name("self_attn.q_proj"), rows(q), &layer.qkv, 0);
            add(name("self_attn.k_proj"), rows(kv), &layer.qkv, q * hidden);
            add(name("self_attn.v_proj"), rows(kv), &layer.qkv, (q + kv) * hidden);
            add(name("self_attn.o_proj"), vec![hidden, q], &layer.out, 0);
            add(name("post_attention_layernorm"), vec![hidden], &layer.mlp_norm, 0);
            add(name("mlp.gate_proj"), rows(ffn), &layer.gate_up, 0);
            add(name("mlp.up_proj"), rows(ffn), &layer.gate_up, ffn * hidden);
            add(name("mlp.down_proj"), vec![hidden, ffn], &layer.down, 0);
        }
        add("model.norm".into(), vec![hidden], &self.norm, 0);
        if let Some(head) = &self.head {
            add("lm_head".into(), vec![config.vocab_size, hidden], head, 0);
        }
        list
    }
}

/// A part of a parameter: it begins at element `first`.
struct Place<'a> {
    tensor: &'a Tensor,
    first: usize,
}

/// What the random numbers of the initial weights are for.
const INIT: u64 = 0x1217;

fn parameter(shape: &[usize], data: Vec<f32>) -> Tensor {
    let value = ArrayD::from_shape_vec(IxDyn(shape), data).expect("shape and data agree");
    Tensor::parameter(value)
}

/// Normally distributed numbers, two from two uniform ones (Box and Muller 1958).
fn normals(address: &[u64], len: usize, deviation: f64) -> Vec<f32> {
    let mut random = Random::at(address);
    let mut data = Vec::with_capacity(len + 1);
    while data.len() < len {
        let radius = deviation * (-2.0 * (1.0 - random.unit()).ln()).sqrt();
        let angle = std::f64::consts::TAU * random.unit();
        data.push((radius * angle.cos()) as f32);
        data.push((radius * angle.sin()) as f32);
    }
    data.truncate(len);
    data
}
