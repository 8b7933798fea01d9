//! Models besides plain Llama: configs as they are found in the wild, GGUF files of other architectures, and what the
//! workbook refuses by name.

use crate::common::{GgufBytes, copy_of, count, edit_json, gguf_path, open, open_gguf, text};
use loading::architecture::{ARCHITECTURES, LLAMA, QK_NORMS, QKV_BIASES};
use loading::{LoadError, ModelConfig, RopeScaling, config};
use serde_json::{Value, json};
use std::fmt::Write;
use training::TokenId;

/// The config of a small Llama with every key that it needs, and no other.
fn least() -> Value {
    json!({"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4})
}

fn parse(more: Value) -> Result<ModelConfig, LoadError> {
    let mut json = least();
    let keys = more.as_object().unwrap().clone();
    json.as_object_mut().unwrap().extend(keys);
    config::parse(&json.to_string(), None)
}

#[test]
fn absent_keys_have_the_defaults_of_transformers() {
    let config = parse(json!({})).unwrap();
    let llama = &config.llama;
    assert_eq!((llama.num_kv_heads, llama.head_dim), (4, 8));
    assert_eq!(
        (llama.rope_theta, llama.rms_norm_eps, llama.max_seq_len),
        (10_000.0, 1e-6, 2048)
    );
    assert!(!llama.tie_word_embeddings);
    assert_eq!((config.rope_scaling, config.bos_token_id), (RopeScaling::None, None));
    assert_eq!((config.architecture, config.dtype), (&LLAMA, loading::Dtype::F32));
    // A key with `null` counts as absent.
    let nulls = json!({"num_key_value_heads": null, "head_dim": null, "rope_scaling": null, "eos_token_id": null,
        "torch_dtype": null, "tie_word_embeddings": null, "model_type": null, "sliding_window": null});
    assert_eq!(parse(nulls).unwrap(), config);
}

#[test]
fn both_spellings_of_a_key_are_read() {
    for key in ["dtype", "torch_dtype"] {
        assert_eq!(parse(json!({key: "bfloat16"})).unwrap().dtype, loading::Dtype::BF16);
    }
    let ids = parse(json!({"bos_token_id": 1, "eos_token_id": [7, 5, 7]})).unwrap();
    assert_eq!(
        (ids.bos_token_id, ids.eos_token_ids),
        (Some(TokenId(1)), vec![TokenId(5), TokenId(7)])
    );
    // Without a kind, newer files mean plain angles; with one, it counts.
    for (parameters, scaling) in [
        (json!({"rope_theta": 5e5}), RopeScaling::None),
        (json!({"rope_theta": 5e5, "rope_type": "default"}), RopeScaling::None),
        (
            json!({"rope_theta": 5e5, "rope_type": "linear", "factor": 2.0}),
            RopeScaling::Linear { factor: 2.0 },
        ),
    ] {
        let found = parse(json!({"rope_parameters": parameters})).unwrap();
        assert_eq!((found.llama.rope_theta, found.rope_scaling), (5e5, scaling));
    }
}

/// `model_type` decides, and `architectures` where an old file has no type.
#[test]
fn an_architecture_is_known_by_its_type_or_its_class() {
    for row in ARCHITECTURES {
        let by_type = parse(json!({"model_type": row.model_type})).unwrap();
        let by_class = parse(json!({"architectures": [row.class]})).unwrap();
        assert_eq!((by_type.architecture, by_class.architecture), (row, row));
    }
}

/// A window that is not in use, or as long as the context, changes nothing.
#[test]
fn windows_that_hide_no_position_are_accepted() {
    for keys in [
        json!({"model_type": "llama", "sliding_window": 8}),
        json!({"model_type": "mistral", "sliding_window": null, "max_position_embeddings": 32_768}),
        json!({"model_type": "mistral", "max_position_embeddings": 4096}),
        json!({"model_type": "mistral", "sliding_window": 4096, "max_position_embeddings": 4096}),
        json!({"model_type": "qwen2", "sliding_window": 8, "use_sliding_window": false}),
        json!({"model_type": "qwen3", "sliding_window": 8}),
        json!({"model_type": "qwen2", "sliding_window": 2048, "use_sliding_window": true}),
        json!({"model_type": "qwen3", "layer_types": ["full_attention", "full_attention"]}),
    ] {
        parse(keys.clone()).unwrap_or_else(|error| panic!("{keys}: {error}"));
    }
}

/// Every key that asks for something else is named, with its value.
#[test]
fn keys_that_the_workbook_does_not_compute_are_named() {
    let mut report = String::new();
    for keys in [
        json!({"model_type": "gemma2"}),
        json!({"model_type": 7}),
        json!({"architectures": ["GemmaForCausalLM"]}),
        json!({"architectures": 7}),
        json!({"hidden_act": ["gelu"]}),
        json!({"hidden_act": 7}),
        json!({"attention_bias": true}),
        json!({"mlp_bias": 1}),
        json!({"rope_interleaved": true}),
        json!({"use_mrope": true}),
        json!({"partial_rotary_factor": 0.5}),
        json!({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}),
        json!({"rope_parameters": {"rope_theta": 1e4, "factor": 4.0}}),
        json!({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}),
        json!({"rope_parameters": {"rope_theta": "1e4"}}),
        json!({"rope_scaling": [4.0]}),
        json!({"layer_types": ["full_attention", "sliding_attention"]}),
        json!({"model_type": "mistral", "sliding_window": 512}),
        json!({"model_type": "mistral", "sliding_window": "512"}),
        json!({"model_type": "mistral", "max_position_embeddings": 32_768}),
        json!({"model_type": "qwen2", "sliding_window": 512, "use_sliding_window": true}),
        json!({"bos_token_id": 64}),
        json!({"eos_token_id": [5, 64]}),
        json!({"eos_token_id": -1}),
    ] {
        let error = parse(keys.clone()).expect_err(&keys.to_string());
        writeln!(report, "{keys}\n    {error}\n").unwrap();
    }
    let error = config::parse(&least().to_string(), Some(r#"{"eos_token_id": 64}"#)).unwrap_err();
    writeln!(report, "generation_config.json, eos_token_id 64\n    {error}").unwrap();
    insta::assert_snapshot!("refused_keys", report);
}

/// Weights and architecture belong together: a bias or a norm that is missing, or that is there and not wanted, is an
/// error.
#[test]
fn weights_of_another_architecture_are_refused() {
    for (model, added, missing) in [
        ("qwen2-tied-bf16", QKV_BIASES[0], "qwen3"),
        ("qwen3-untied-f16", QK_NORMS[0], "qwen2"),
    ] {
        let (_keep, folder) = copy_of(model);
        let as_type = |model_type: &str| {
            edit_json(&folder.join("config.json"), |json| {
                json["model_type"] = model_type.into()
            });
            open(&folder).err().expect(model_type)
        };
        let error = as_type("llama");
        assert!(
            matches!(&error, LoadError::ExtraTensor { name, .. } if name.ends_with("_proj.bias") || name.ends_with("_norm.weight")),
            "{error}"
        );
        let error = as_type(missing);
        assert!(matches!(&error, LoadError::MissingTensor { .. }), "{error}");
        assert!(open(&fixtures::model(model)).unwrap().weights.names()[5].ends_with(added));
    }
}

/// The published models of Qwen have an embedding with more rows than pieces, and no key that says so.
#[test]
fn qwen_may_have_more_rows_than_pieces() {
    for (model, opens) in [("qwen2-tied-bf16", true), ("mistral-untied-bf16", false)] {
        let (_keep, folder) = copy_of(model);
        // The smaller vocabulary of another fixture.
        let other = fixtures::model("no-prefix-f16").join("tokenizer.json");
        std::fs::copy(other, folder.join("tokenizer.json")).unwrap();
        assert_eq!(open(&folder).is_ok(), opens, "{model}");
    }
}

/// A GGUF file made of a fixture folder has the folder's values. No row is reordered: that is Llama's alone.
#[test]
fn gguf_files_of_qwen_have_the_values_of_their_folders() {
    for (file, name) in [("qwen2.gguf", "qwen2-tied-bf16"), ("qwen3.gguf", "qwen3-untied-f16")] {
        let (gguf, folder) = (open(&gguf_path(file)).unwrap(), open(&fixtures::model(name)).unwrap());
        assert_eq!(gguf.weights.names(), folder.weights.names(), "{file}");
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for name in gguf.weights.names() {
            gguf.weights.read_f32(&name, &mut a).unwrap();
            folder.weights.read_f32(&name, &mut b).unwrap();
            assert_eq!(a, b, "{file}: {name}");
        }
        let expected = ModelConfig {
            eos_token_ids: gguf.config.eos_token_ids.clone(),
            ..folder.config
        };
        assert_eq!(gguf.config, expected, "{file}");
    }
}

/// Version 2 is laid out as version 3 in little endian.
#[test]
fn a_gguf_file_of_version_2_is_read_alike() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("model.gguf");
    let mut file = std::fs::read(gguf_path("bytes.gguf")).unwrap();
    file[4] = 2;
    std::fs::write(&path, file).unwrap();
    let (old, new) = (open(&path).unwrap(), open(&gguf_path("bytes.gguf")).unwrap());
    assert_eq!(old.config, new.config);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for name in new.weights.names() {
        old.weights.read_f32(&name, &mut a).unwrap();
        new.weights.read_f32(&name, &mut b).unwrap();
        assert_eq!(a, b, "{name}");
    }
}

/// A metadata value: an f32.
fn float(value: f32) -> Vec<u8> {
    [6_u32.to_le_bytes(), value.to_le_bytes()].concat()
}

/// Reads the config of a GGUF file with the sizes of a small model and these pairs.
fn gguf_config(architecture: &str, more: &[(&str, Vec<u8>)]) -> Result<ModelConfig, LoadError> {
    let mut file = GgufBytes {
        pairs: vec![("general.architecture".into(), text(architecture))],
        ..GgufBytes::default()
    };
    let sizes = [
        ("vocab_size", 64),
        ("embedding_length", 32),
        ("feed_forward_length", 48),
        ("block_count", 2),
        ("attention.head_count", 4),
        ("context_length", 256),
    ];
    let pairs = sizes.map(|(key, size)| (key, count(size)));
    let eps = [("attention.layer_norm_rms_epsilon", float(1e-5))];
    for (key, value) in pairs.into_iter().chain(eps) {
        file.pairs.push((format!("{architecture}.{key}"), value));
    }
    // A pair that is given again replaces the first.
    for (key, value) in more {
        file.pairs.retain(|pair| pair.0 != *key);
        file.pairs.push(((*key).into(), value.clone()));
    }
    loading::gguf::config::model_config(&open_gguf(file.build())?)
}

/// A factor counts without a type and under its older name, as in llama.cpp; 0 and 1 mean none.
#[test]
fn linear_scaling_of_a_gguf_file_is_honoured_under_every_key() {
    let linear = RopeScaling::Linear { factor: 4.0 };
    let (kind, factor, old) = (
        "llama.rope.scaling.type",
        "llama.rope.scaling.factor",
        "llama.rope.scale_linear",
    );
    for (pairs, expected) in [
        (vec![], RopeScaling::None),
        (vec![(kind, text("linear")), (factor, float(4.0))], linear),
        (vec![(factor, float(4.0))], linear),
        (vec![(old, float(4.0))], linear),
        (vec![(kind, text("linear")), (old, float(4.0))], linear),
        (vec![(factor, float(4.0)), (old, float(8.0))], linear),
        (vec![(kind, text("none")), (factor, float(4.0))], RopeScaling::None),
        (vec![(old, float(1.0))], RopeScaling::None),
        (vec![(factor, float(0.0))], RopeScaling::None),
    ] {
        assert_eq!(
            gguf_config("llama", &pairs).unwrap().rope_scaling,
            expected,
            "{pairs:?}"
        );
    }
    let qwen = gguf_config("qwen2", &[("qwen2.rope.scale_linear", float(4.0))]);
    assert_eq!(qwen.unwrap().rope_scaling, linear);
}

/// A key of a wrong type is not an absent key.
#[test]
fn gguf_keys_that_can_not_be_used_are_named() {
    let mut report = String::new();
    for (architecture, key, value) in [
        ("llama", "general.architecture", count(7)),
        ("gemma", "gemma.context_length", count(256)),
        ("llama", "llama.rope.scaling.type", text("yarn")),
        ("llama", "llama.rope.scaling.type", count(1)),
        ("llama", "llama.rope.scaling.factor", text("4")),
        ("llama", "llama.rope.scaling.factor", float(-4.0)),
        ("llama", "llama.rope.scale_linear", text("4")),
        ("llama", "llama.rope.freq_base", text("10000")),
        ("llama", "llama.attention.head_count_kv", float(2.0)),
        ("llama", "llama.attention.value_length", count(16)),
        ("llama", "llama.rope.dimension_count", count(4)),
        ("llama", "llama.expert_count", count(8)),
        ("llama", "llama.vocab_size", text("64")),
        ("qwen2", "qwen2.block_count", text("2")),
        ("qwen2", "qwen2.attention.sliding_window", count(128)),
        ("qwen3", "tokenizer.ggml.eos_token_id", count(64)),
        ("qwen3", "tokenizer.ggml.bos_token_id", text("<s>")),
    ] {
        let error = gguf_config(architecture, &[(key, value)]).expect_err(key);
        writeln!(report, "{architecture}: {key}\n    {error}\n").unwrap();
    }
    insta::assert_snapshot!("refused_gguf_keys", report);
}
