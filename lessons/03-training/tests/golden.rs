//! The tape model gives the logits that `transformers` computed.

use layout::pool::Pool;
use std::sync::Arc;
use training::TokenId;
use training::export::read_folder;

/// Folders of the kinds that this lesson writes: one file, f32 or bf16, no rotary scaling. Lesson 04 reads all others.
const FOLDERS: [&str; 2] = ["all-kv-untied-f32", "some-kv-tied-bf16"];

#[test]
fn logits_equal_those_of_transformers() {
    for name in FOLDERS {
        let golden = fixtures::golden(name);
        let model = read_folder(&fixtures::model(name), Arc::new(Pool::new(2))).unwrap();
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
