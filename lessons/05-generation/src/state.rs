//! Everything that a forward pass writes.

use crate::rope::RopeTable;
use loading::config::ModelConfig;

/// Scratch of one forward pass at a time. Every number in it is written anew by each pass and means nothing after it, except the
/// logits, which stay until the next one.
///
/// It grows to the longest sequence seen and never shrinks; a pass over a sequence that fits allocates nothing.
/// Cost: 4 · rows · (3 hidden_size + (2 num_heads + 2 num_kv_heads) head_dim + 3 intermediate_size) bytes, and the scores.
#[derive(Debug)]
pub struct State {
    /// Angles of the rotary embedding; kept from pass to pass.
    pub(crate) rope: RopeTable,
    /// `[rows, hidden_size]`: the residual stream, which each layer adds to.
    pub(crate) hidden: Vec<f32>,
    /// `[rows, hidden_size]`: what a norm made of it.
    pub(crate) normed: Vec<f32>,
    /// `[rows, (num_heads + 2 num_kv_heads) head_dim]`: queries, keys, values.
    pub(crate) qkv: Vec<f32>,
    /// `[rows, num_heads head_dim]`: what attention gathered.
    pub(crate) attended: Vec<f32>,
    /// `[rows, 2 intermediate_size]`: gate and up.
    pub(crate) gate_up: Vec<f32>,
    /// `[rows, intermediate_size]`: the gated values.
    pub(crate) gated: Vec<f32>,
    /// `[rows, hidden_size]`: what attention or the feed-forward block adds to the residual stream.
    pub(crate) delta: Vec<f32>,
    /// `[tasks, group_size · rows]`: attention scores of the row that a task works on.
    pub(crate) scores: Vec<f32>,
    /// `[vocab_size]`: of the last row.
    pub(crate) logits: Vec<f32>,
    rows: usize,
}

impl State {
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

    /// Logits of the last row of the last pass. Shape: `[vocab_size]`.
    pub fn logits(&self) -> &[f32] {
        &self.logits
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
