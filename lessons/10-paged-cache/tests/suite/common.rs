//! What several test files share.
#![allow(dead_code)]

use generation::Model;
use training::TokenId;

/// Tiny models: as many key heads as query heads, some, and one.
pub fn fixture_models() -> Vec<Model> {
    ["all-kv-untied-f32", "some-kv-tied-bf16", "one-kv-untied-f16"]
        .into_iter()
        .map(|name| Model::open(fixtures::model(name).to_str().unwrap()).unwrap())
        .collect()
}

/// Tokens that look random and are the same each time; the same beginning for every length.
pub fn text(model: &Model, len: usize, seed: u32) -> Vec<TokenId> {
    let vocab_size = model.config.llama.vocab_size as u32;
    let token = |i: u32| 3 + (i * 97 + seed * 1009 + i * i * 31) % (vocab_size - 3);
    (0..len as u32).map(|i| TokenId(token(i))).collect()
}

/// Numbers between -1 and 1, the same ones for the same seed.
pub fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}
