//! Values that outside libraries computed: transformers and PyTorch (from the fixtures), and gguf, tokenizers and
//! SentencePiece (from `tests/gguf/make.py`).

use crate::common::{gguf_path, open};
use loading::manifest::sha256_bytes;
use loading::{Tokenizer, config::RopeScaling};
use serde_json::Value;
use training::TokenId;

fn ids(tokens: &[TokenId]) -> Vec<u32> {
    tokens.iter().map(|id| id.0).collect()
}

#[test]
fn tokenizers_of_the_fixtures_give_the_ids_of_transformers() {
    for name in fixtures::MODELS {
        let golden = fixtures::golden(name);
        let tokenizer = open(&fixtures::model(name)).unwrap().tokenizer.unwrap();
        assert_eq!(tokenizer.vocab_size(), golden.tokenizer.vocab_size);
        for case in &golden.tokenizer.texts {
            let plain = tokenizer.encode(&case.text, false).unwrap();
            assert_eq!(ids(&plain), case.ids, "{name}: {:?}", case.text);
            let special = tokenizer.encode(&case.text, true).unwrap();
            assert_eq!(ids(&special), case.ids_with_special, "{name}: {:?}", case.text);
            assert_eq!(tokenizer.decode_with_special(&plain), case.decoded, "{name}");
        }
    }
}

/// A text ends at any of the ids that any of the files names.
#[test]
fn ids_that_end_a_text_are_the_union_of_all_files() {
    for name in fixtures::MODELS {
        let found = open(&fixtures::model(name)).unwrap().config.eos_token_ids;
        assert_eq!(ids(&found), fixtures::golden(name).eos_token_ids, "{name}");
    }
}

/// Rotary scaling is read under both spellings of its key and of its kind.
#[test]
fn rope_scaling_is_read_in_every_spelling() {
    let scaling = |name| open(&fixtures::model(name)).unwrap().config.rope_scaling;
    let llama3 = RopeScaling::Llama3 {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 64,
    };
    assert_eq!(scaling("llama3-rope-bf16"), llama3);
    assert_eq!(scaling("rope-parameters-bf16"), llama3);
    assert!(matches!(scaling("linear-rope-tied-f32"), RopeScaling::Linear { .. }));
    assert_eq!(scaling("some-kv-tied-bf16"), RopeScaling::None);
}

fn gguf_golden(file: &str) -> Value {
    let text = std::fs::read_to_string(gguf_path("golden.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[file].take()
}

fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Every block type, bit for bit; query and key rows are back in the half-split order.
#[test]
fn gguf_tensors_have_the_values_of_the_gguf_package_in_the_order_of_hugging_face() {
    for file in ["bytes.gguf", "pieces.gguf", "blocks.gguf"] {
        let golden = gguf_golden(file);
        let tensors = golden["tensors"].as_object().unwrap();
        let model = open(&gguf_path(file)).unwrap();
        assert_eq!(model.weights.names().len(), tensors.len());
        let mut values = Vec::new();
        for (name, expected) in tensors {
            let info = model.weights.info(name).unwrap();
            assert_eq!(info.dtype.name(), expected["type"], "{file}: {name}");
            assert_eq!(
                serde_json::to_value(&info.shape).unwrap(),
                expected["shape"],
                "{file}: {name}"
            );
            model.weights.read_f32(name, &mut values).unwrap();
            let first: Vec<f32> = serde_json::from_value(expected["first"].clone()).unwrap();
            assert_eq!(values[..8], first, "{file}: {name}");
            assert_eq!(sha256_bytes(&f32_bytes(&values)), expected["sha256"], "{file}: {name}");
        }
    }
}

/// The check above would not see a tensor that is its own permutation. These tensors are not.
#[test]
fn rotary_rows_would_be_wrong_as_they_stand_in_the_gguf_file() {
    let path = gguf_path("bytes.gguf");
    let bytes = loading::bytes::FileBytes::open(&path, loading::Access::Mapped).unwrap();
    let gguf = loading::gguf::Gguf::from_bytes("bytes.gguf", bytes).unwrap();
    let (entry, stored) = gguf.tensor("blk.0.attn_q.weight").unwrap();
    let (mut as_stored, mut turned) = (Vec::new(), Vec::new());
    loading::gguf::blocks::dequantize(entry.dtype, stored, &mut as_stored);
    let model = open(&path).unwrap();
    let name = "model.layers.0.self_attn.q_proj.weight";
    model.weights.read_f32(name, &mut turned).unwrap();
    assert_ne!(as_stored, turned);
    as_stored.sort_by(f32::total_cmp);
    turned.sort_by(f32::total_cmp);
    assert_eq!(as_stored, turned, "the same rows in another order");
}

fn check_texts(tokenizer: &Tokenizer, golden: &Value, file: &str) {
    for case in golden["texts"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let expected: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
        let found = tokenizer.encode(text, false).unwrap();
        assert_eq!(ids(&found), expected, "{file}: {text:?}");
        assert_eq!(tokenizer.decode(&found), case["decoded"], "{file}: {text:?}");
    }
}

#[test]
fn a_gguf_vocabulary_cuts_text_as_its_library_does() {
    for file in ["bytes.gguf", "pieces.gguf", "qwen2.gguf", "qwen3.gguf"] {
        let golden = gguf_golden(file);
        let model = open(&gguf_path(file)).unwrap();
        let tokenizer = model.tokenizer.unwrap();
        check_texts(&tokenizer, &golden, file);
        assert_eq!(
            serde_json::to_value(&model.config.eos_token_ids).unwrap(),
            golden["eos"]
        );
        assert_eq!(model.chat_template.is_some(), !file.starts_with("qwen"));
    }
}

/// The SentencePiece model puts `<s>` before a text; the byte-level model adds nothing.
#[test]
fn a_gguf_vocabulary_adds_the_begin_token_where_the_file_says_so() {
    let with = open(&gguf_path("pieces.gguf")).unwrap().tokenizer.unwrap();
    let plain = with.encode("the owl", false).unwrap();
    let special = with.encode("the owl", true).unwrap();
    assert_eq!(special[0], TokenId(1));
    assert_eq!(special[1..], plain);
    let without = open(&gguf_path("bytes.gguf")).unwrap().tokenizer.unwrap();
    assert_eq!(
        without.encode("owl", true).unwrap(),
        without.encode("owl", false).unwrap()
    );
}

/// The writer's 1e-5 is an f32 in the file and is read as 1e-5.
#[test]
fn gguf_sizes_are_those_that_were_written() {
    let model = open(&gguf_path("bytes.gguf")).unwrap();
    let llama = &model.config.llama;
    assert_eq!((llama.hidden_size, llama.intermediate_size), (64, 96));
    assert_eq!(
        (llama.num_layers, llama.num_heads, llama.num_kv_heads, llama.head_dim),
        (2, 4, 2, 16)
    );
    assert_eq!((llama.rms_norm_eps, llama.rope_theta), (1e-5, 10_000.0));
    assert_eq!(
        (llama.vocab_size, llama.max_seq_len, llama.tie_word_embeddings),
        (330, 256, false)
    );
    assert_eq!(model.eos_token.as_deref(), Some("<|im_end|>"));
    assert!(
        open(&gguf_path("pieces.gguf"))
            .unwrap()
            .config
            .llama
            .tie_word_embeddings
    );
}
