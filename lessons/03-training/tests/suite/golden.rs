//! The tape model gives the logits that `transformers` computed.

use layout::pool::Pool;
use std::sync::Arc;
use training::export::read_weights;
use training::{LlamaConfig, TokenId};

/// Folders of the kinds that this lesson writes: one file, f32 or bf16, no rotary scaling. Lesson 04 reads all others.
const FOLDERS: [&str; 2] = ["all-kv-untied-f32", "some-kv-tied-bf16"];

#[test]
fn logits_equal_those_of_transformers() {
    for name in FOLDERS {
        let golden = fixtures::golden(name);
        let folder = fixtures::model(name);
        let model = read_weights(&folder, config(&folder), Arc::new(Pool::new(2))).unwrap();
        for case in &golden.cases {
            let tokens: Vec<TokenId> = case.prompt_tokens.iter().map(|&id| TokenId(id)).collect();
            let logits = model.logits(&tokens);
            let logits = logits.as_slice().unwrap();
            let rows: Vec<&[f32]> = logits.chunks_exact(golden.vocab_size).collect();
            let first = rows.len() - case.logits.len();
            for (row, expected) in rows[first..].iter().zip(&case.logits) {
                fixtures::assert_close(row, expected, golden.bound());
            }
        }
    }
}

/// The shape of a fixture. Ours always state the width of a head; theirs may leave it to be computed.
fn config(folder: &std::path::Path) -> LlamaConfig {
    let text = std::fs::read_to_string(folder.join("config.json")).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    if value["head_dim"].is_null() {
        let size = |key: &str| value[key].as_u64().unwrap();
        value["head_dim"] = (size("hidden_size") / size("num_attention_heads")).into();
    }
    serde_json::from_value(value).unwrap()
}
