//! Everything that a forward pass writes.

use crate::rope::RopeTable;
use loading::config::ModelConfig;
use training::LlamaConfig;

/// Scratch of one forward pass at a time. Every number in it is written anew by each pass and means nothing after it, except the
/// logits, which stay until the next one.
///
/// It grows to the longest sequence seen and never shrinks; a pass over a sequence that fits allocates nothing.
/// Cost: 4 · rows · (3 hidden_size + (2 num_heads + 2 num_kv_heads) head_dim + 3 intermediate_size) bytes, and the scores.
#[derive(Debug)]
pub struct State {
    /// Angles of the rotary embedding; kept from pass to pass.
    pub rope: RopeTable,
    /// `[rows, hidden_size]`: the residual stream, which each layer adds to.
    pub hidden: Vec<f32>,
    /// `[rows, hidden_size]`: what a norm made of it.
    pub normed: Vec<f32>,
    /// `[rows, (num_heads + 2 num_kv_heads) head_dim]`: queries, keys, values.
    pub qkv: Vec<f32>,
    /// `[rows, num_heads head_dim]`: what attention gathered.
    pub attended: Vec<f32>,
    /// `[rows, 2 intermediate_size]`: gate and up.
    pub gate_up: Vec<f32>,
    /// `[rows, intermediate_size]`: the gated values.
    pub gated: Vec<f32>,
    /// `[rows, hidden_size]`: what attention or the feed-forward block adds to the residual stream.
    pub delta: Vec<f32>,
    /// `[tasks, group_size · positions]`: attention scores of the row that a task works on.
    pub scores: Vec<f32>,
    /// `[1, vocab_size]`: of the last row. [`State::reserve_logits`] makes room for more rows.
    pub logits: Vec<f32>,
    rows: usize,
}

/// The scratch of a pass over some rows: each matrix of a [`State`], as long as these rows need it.
pub struct Buffers<'s> {
    /// Angles, of all positions that were reserved.
    pub rope: &'s RopeTable,
    /// `[rows, hidden_size]`.
    pub hidden: &'s mut [f32],
    /// `[rows, hidden_size]`.
    pub normed: &'s mut [f32],
    /// `[rows, (num_heads + 2 num_kv_heads) head_dim]`.
    pub qkv: &'s mut [f32],
    /// `[rows, num_heads head_dim]`.
    pub attended: &'s mut [f32],
    /// `[rows, 2 intermediate_size]`.
    pub gate_up: &'s mut [f32],
    /// `[rows, intermediate_size]`.
    pub gated: &'s mut [f32],
    /// `[rows, hidden_size]`.
    pub delta: &'s mut [f32],
    /// All of it: attention knows how much it needs.
    pub scores: &'s mut Vec<f32>,
}

impl State {
    /// The scratch of a pass over `rows` rows.
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

    /// State for sequences of up to `rows` tokens.
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

    /// Makes room for sequences of up to `rows` tokens; does nothing when there is room already.
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
            // Nothing is worth keeping, so a new vector is cheaper than one that is moved while it grows.
            *matrix = vec![0.0; rows * width];
        }
        self.rows = rows;
    }

    /// Makes room for the angles of `num_positions` positions, where a pass computes fewer rows than it has positions.
    pub fn reserve_positions(&mut self, num_positions: usize) {
        self.rope.reserve(num_positions);
    }

    /// Makes room for the logits of `rows` rows; does nothing when there is room already.
    pub fn reserve_logits(&mut self, config: &ModelConfig, rows: usize) {
        let numbers = rows * config.llama.vocab_size;
        if self.logits.len() < numbers {
            self.logits = vec![0.0; numbers];
        }
    }

    /// Bytes of all scratch.
    pub fn bytes(&self) -> usize {
        let matrices = [
            &self.hidden,
            &self.normed,
            &self.qkv,
            &self.attended,
            &self.gate_up,
            &self.gated,
            &self.delta,
        ];
        let numbers: usize = matrices.iter().map(|m| m.len()).sum();
        4 * (numbers + self.scores.len() + self.logits.len()) + self.rope.bytes()
    }
}
