//! One layer, slowly: the kernels called by hand on a few tokens, with every number in between kept.
//!
//! This is the first layer of [`crate::forward`] without its threads and fused buffers: the same functions in the same order, so
//! the same bits (a test holds the two together).

use crate::kernels::{apply_rope, attend_row, rms_norm, swiglu};
use crate::lanes;
use crate::rope::RopeTable;
use crate::weights::{Linear, Weights};
use layout::pool::Pool;
use loading::config::ModelConfig;
use training::TokenId;

/// All that happened to one token in the first layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowWalk {
    /// `[hidden_size]`: the token's embedding.
    pub embedding: Vec<f32>,
    /// `[hidden_size]`: normed before attention.
    pub normed: Vec<f32>,
    /// `[num_heads, head_dim]`: queries as the product gives them.
    pub q: Vec<f32>,
    /// `[num_heads, head_dim]`: queries turned by the token's position.
    pub q_turned: Vec<f32>,
    /// `[num_kv_heads, head_dim]`: keys, turned.
    pub k_turned: Vec<f32>,
    /// `[num_kv_heads, head_dim]`: values.
    pub v: Vec<f32>,
    /// `[position + 1]`: the first head's scores for each position that it sees.
    pub scores: Vec<f32>,
    /// `[position + 1]`: the first head's weights; they add up to one.
    pub weights: Vec<f32>,
    /// `[num_heads, head_dim]`: the weighted values.
    pub attended: Vec<f32>,
    /// `[hidden_size]`: embedding plus what attention adds.
    pub after_attention: Vec<f32>,
    /// `[intermediate_size]`: the gated values of the feed-forward block.
    pub gated: Vec<f32>,
    /// `[hidden_size]`: what the layer hands to the next one.
    pub after_layer: Vec<f32>,
}

/// Walks `tokens` through the first layer.
///
/// # Panics
/// If a token is outside the vocabulary: the caller encoded them with this model's tokenizer.
pub fn walk_first_layer<L: Linear>(config: &ModelConfig, weights: &Weights<L>, tokens: &[TokenId]) -> Vec<RowWalk> {
    let llama = &config.llama;
    let layer = &weights.layers[0];
    let (eps, head_dim) = (llama.rms_norm_eps as f32, llama.head_dim);
    let pool = Pool::new(1);
    let mut rope = RopeTable::new(config);
    rope.reserve(tokens.len());
    let product = |matrix: &L, x: &[f32]| {
        let mut out = vec![0.0; matrix.out_features()];
        matrix.matmul(&pool, x, 1, &mut out);
        out
    };
    let normed = |x: &[f32], weight: &[f32]| {
        let mut out = vec![0.0; x.len()];
        rms_norm(x, weight, eps, &mut out);
        out
    };
    let plus = |a: &[f32], b: &[f32]| -> Vec<f32> { a.iter().zip(b).map(|(a, b)| a + b).collect() };

    // Up to attention every token stands alone.
    let mut rows: Vec<RowWalk> = Vec::with_capacity(tokens.len());
    for (position, token) in tokens.iter().enumerate() {
        let mut embedding = vec![0.0; llama.hidden_size];
        weights.embedding.row(token.index(), &mut embedding);
        let attention_input = normed(&embedding, &layer.attention_norm);
        let qkv = product(&layer.qkv, &attention_input);
        let (q, kv) = qkv.split_at(llama.q_size());
        let (k, v) = kv.split_at(llama.kv_size());
        let (cos, sin) = rope.row(position);
        let (mut q_turned, mut k_turned) = (q.to_vec(), k.to_vec());
        apply_rope(&mut q_turned, head_dim, cos, sin);
        apply_rope(&mut k_turned, head_dim, cos, sin);
        rows.push(RowWalk {
            embedding,
            normed: attention_input,
            q: q.to_vec(),
            q_turned,
            k_turned,
            v: v.to_vec(),
            ..RowWalk::default()
        });
    }
    // Here they meet: each looks at itself and at those before it.
    let keys: Vec<f32> = rows.iter().flat_map(|row| row.k_turned.clone()).collect();
    let values: Vec<f32> = rows.iter().flat_map(|row| row.v.clone()).collect();
    for (position, row) in rows.iter_mut().enumerate() {
        let context_len = position + 1;
        let kv_stride = llama.kv_size();
        row.scores = vec![0.0; context_len];
        let scale = 1.0 / (head_dim as f32).sqrt();
        lanes::dots(
            &row.q_turned[..head_dim],
            head_dim,
            &keys,
            kv_stride,
            context_len,
            scale,
            &mut row.scores,
            context_len,
        );
        row.weights = row.scores.clone();
        lanes::softmax(&mut row.weights);
        let mut scratch = vec![0.0; llama.num_heads * context_len];
        row.attended = vec![0.0; llama.q_size()];
        attend_row(
            &row.q_turned,
            &keys,
            &values,
            kv_stride,
            context_len,
            llama.num_heads,
            llama.num_kv_heads,
            head_dim,
            &mut scratch,
            &mut row.attended,
        );
    }
    // And part again.
    for row in &mut rows {
        row.after_attention = plus(&row.embedding, &product(&layer.attention_out, &row.attended));
        let gate_up = product(&layer.gate_up, &normed(&row.after_attention, &layer.mlp_norm));
        row.gated = vec![0.0; llama.intermediate_size];
        swiglu(&gate_up, &mut row.gated);
        row.after_layer = plus(&row.after_attention, &product(&layer.down, &row.gated));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::run_layer;
    use crate::state::State;

    #[test]
    fn the_slow_walk_gives_the_bits_of_the_forward_pass() {
        for name in fixtures::MODELS {
            let folder = loading::open(fixtures::model(name).to_str().unwrap()).unwrap();
            let (config, llama) = (&folder.config, &folder.config.llama);
            let weights = Weights::packed_f32(llama, &*folder.weights).unwrap();
            let tokens: Vec<TokenId> = [7, 3, 200, 3, 11].map(TokenId).to_vec();
            let walked = walk_first_layer(config, &weights, &tokens);
            let mut state = State::new(config, tokens.len());
            for (token, row) in tokens.iter().zip(state.hidden.chunks_exact_mut(llama.hidden_size)) {
                weights.embedding.row(token.index(), row);
            }
            run_layer(llama, &weights.layers[0], &mut state, &Pool::new(2), tokens.len());
            let walked: Vec<f32> = walked.into_iter().flat_map(|row| row.after_layer).collect();
            assert_eq!(walked, state.hidden, "{name}");
        }
    }
}
