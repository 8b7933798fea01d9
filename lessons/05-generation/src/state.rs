//! Everything that a forward pass writes: scratch memory, and the table of rotary angles.

use crate::kernels::inverse_frequencies;
use loading::config::ModelConfig;
use training::LlamaConfig;

/// Scratch memory of one forward pass at a time. A pass overwrites all that it uses, except the rotary angles; after
/// the pass the logits are valid until the next one.
///
/// It grows to the longest sequence seen and never shrinks. A pass over a sequence that fits allocates nothing. Cost: 4
/// · rows · (3 hidden_size + (2 num_heads + 2 num_kv_heads) head_dim + 3 intermediate_size) bytes, and the scores.
#[derive(Debug)]
pub struct State {
    /// Angles of the rotary embedding. They stay valid from pass to pass.
    pub rope: RopeTable,
    /// `[rows, hidden_size]`: the residual stream, to which each layer adds.
    pub hidden: Vec<f32>,
    /// `[rows, hidden_size]`: the normed residual stream.
    pub normed: Vec<f32>,
    /// `[rows, (num_heads + 2 num_kv_heads) head_dim]`: queries, keys, values.
    pub qkv: Vec<f32>,
    /// `[rows, num_heads head_dim]`: the output of attention.
    pub attended: Vec<f32>,
    /// `[rows, 2 intermediate_size]`: gate and up.
    pub gate_up: Vec<f32>,
    /// `[rows, intermediate_size]`: the gated values.
    pub gated: Vec<f32>,
    /// `[rows, hidden_size]`: what attention or the feed-forward block adds to the residual stream.
    pub delta: Vec<f32>,
    /// Attention scores; [`crate::attention::reserve_scores`] says how many.
    pub scores: Vec<f32>,
    /// `[1, vocab_size]`: logits of the last row. [`State::reserve_logits`] makes room for more rows.
    pub logits: Vec<f32>,
    /// Number of rows that the matrices have room for.
    rows: usize,
}

/// The matrices of a [`State`], cut to the rows of one pass. The shapes are those of the fields of [`State`].
#[allow(missing_docs)]
pub struct Buffers<'s> {
    pub rope: &'s RopeTable,
    pub hidden: &'s mut [f32],
    pub normed: &'s mut [f32],
    pub qkv: &'s mut [f32],
    pub attended: &'s mut [f32],
    pub gate_up: &'s mut [f32],
    pub gated: &'s mut [f32],
    pub delta: &'s mut [f32],
    /// Not cut: attention knows how much it needs.
    pub scores: &'s mut Vec<f32>,
}

impl State {
    /// A state for sequences of up to `rows` tokens.
    pub fn new(config: &ModelConfig, rows: usize) -> State {
        let mut state = State {
            rope: RopeTable::new(config),
            hidden: Vec::new(),
            normed: Vec::new(),
            qkv: Vec::new(),
            attended: Vec::new(),
            gate_up: Vec::new(),
            gated: Vec::new(),
            delta: Vec::new(),
            scores: Vec::new(),
            logits: vec![0.0; config.llama.vocab_size],
            rows: 0,
        };
        state.reserve(config, rows);
        state
    }

    /// Makes room for sequences of up to `rows` tokens. Does nothing when there is room already.
    pub fn reserve(&mut self, config: &ModelConfig, rows: usize) {
        if rows <= self.rows {
            return;
        }
        let llama = &config.llama;
        self.rope.reserve(rows);
        for (matrix, width) in [
            (&mut self.hidden, llama.hidden_size),
            (&mut self.normed, llama.hidden_size),
            (&mut self.qkv, llama.q_size() + 2 * llama.kv_size()),
            (&mut self.attended, llama.q_size()),
            (&mut self.gate_up, 2 * llama.intermediate_size),
            (&mut self.gated, llama.intermediate_size),
            (&mut self.delta, llama.hidden_size),
        ] {
            // A new vector instead of a grown one: the old numbers need not be copied.
            *matrix = vec![0.0; rows * width];
        }
        self.rows = rows;
    }

    /// Makes room for the angles of `num_positions` positions, for a pass that computes fewer rows than its sequence
    /// has positions.
    pub fn reserve_positions(&mut self, num_positions: usize) {
        self.rope.reserve(num_positions);
    }

    /// Makes room for the logits of `rows` rows. Does nothing when there is room already.
    pub fn reserve_logits(&mut self, config: &ModelConfig, rows: usize) {
        let numbers = rows * config.llama.vocab_size;
        if self.logits.len() < numbers {
            self.logits = vec![0.0; numbers];
        }
    }

    /// Cuts the matrices to `rows` rows.
    ///
    /// # Panics
    /// If there is no room for them: see [`State::reserve`].
    pub fn buffers(&mut self, config: &LlamaConfig, rows: usize) -> Buffers<'_> {
        Buffers {
            rope: &self.rope,
            hidden: &mut self.hidden[..rows * config.hidden_size],
            normed: &mut self.normed[..rows * config.hidden_size],
            qkv: &mut self.qkv[..rows * (config.q_size() + 2 * config.kv_size())],
            attended: &mut self.attended[..rows * config.q_size()],
            gate_up: &mut self.gate_up[..rows * 2 * config.intermediate_size],
            gated: &mut self.gated[..rows * config.intermediate_size],
            delta: &mut self.delta[..rows * config.hidden_size],
            scores: &mut self.scores,
        }
    }

    /// Bytes of all scratch memory.
    pub fn bytes(&self) -> usize {
        let matrices = [
            &self.hidden,
            &self.normed,
            &self.qkv,
            &self.attended,
            &self.gate_up,
            &self.gated,
            &self.delta,
            &self.scores,
            &self.logits,
        ];
        let numbers: usize = matrices.iter().map(|m| m.len()).sum();
        4 * (numbers + self.rope.frequencies.len() + self.rope.cos.len() + self.rope.sin.len())
    }
}

/// A table of angles: row `p` holds the cosines and sines of `p` times the angle of each pair.
#[derive(Debug)]
pub struct RopeTable {
    /// `[head_dim / 2]`: the angle of each pair from one position to the next.
    frequencies: Vec<f32>,
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl RopeTable {
    /// An empty table for the heads of a model.
    pub fn new(config: &ModelConfig) -> RopeTable {
        let llama = &config.llama;
        RopeTable {
            frequencies: inverse_frequencies(llama.head_dim, llama.rope_theta, &config.rope_scaling),
            cos: Vec::new(),
            sin: Vec::new(),
        }
    }

    /// Adds the missing positions up to `num_positions`. Allocates nothing if none is missing.
    pub fn reserve(&mut self, num_positions: usize) {
        for position in self.cos.len() / self.frequencies.len()..num_positions {
            for frequency in &self.frequencies {
                // The product is rounded to f32 before its cosine is taken, as in the models' training code: at large
                // positions the weights were trained with the rounded angle.
                let (sin, cos) = f64::from(position as f32 * frequency).sin_cos();
                self.cos.push(cos as f32);
                self.sin.push(sin as f32);
            }
        }
    }

    /// The cosines and sines of a position, each `[head_dim / 2]`.
    ///
    /// # Panics
    /// If the position was not reserved.
    pub fn row(&self, position: usize) -> (&[f32], &[f32]) {
        let pairs = self.frequencies.len();
        let row = position * pairs..(position + 1) * pairs;
        (&self.cos[row.clone()], &self.sin[row])
    }
}
