//! For any bytes the result is an answer or a typed error, never a panic and never a slice beyond the file.

use crate::common::{GgufBytes, count, gguf_path, open_gguf, safetensors, small_file, text};
use loading::bytes::FileBytes;
use loading::checkpoint::Checkpoint;
use loading::gguf::{self, Gguf};
use loading::{Tokenizer, WeightSource, config, exercises::safe_header};
use proptest::prelude::*;
use serde_json::json;
use training::TokenId;

/// A file with some bytes replaced, and in some cases cut off or lengthened.
fn mutated(file: Vec<u8>, head: usize) -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((0..head, any::<u8>()), 0..6);
    let cut = prop_oneof![4 => Just(None), 1 => (0..=file.len() + 9).prop_map(Some)];
    (edits, cut).prop_map(move |(edits, cut)| {
        let mut file = file.clone();
        for (at, value) in edits {
            file[at] = value;
        }
        if let Some(len) = cut {
            file.resize(len, 0);
        }
        file
    })
}

/// Opens a file and reads every tensor of its header.
fn read_safetensors(file: Vec<u8>) {
    let len = file.len();
    if let Ok(header) = safe_header("file", &file) {
        let mut end = 0;
        for entry in &header.entries {
            assert_eq!(entry.begin, end, "no gap and no overlap");
            end = entry.end;
        }
        assert_eq!(header.data_begin + end, len, "all of the file, and nothing beyond");
    }
    if let Ok(checkpoint) = Checkpoint::from_bytes("file", FileBytes::Eager(file)) {
        let names: Vec<String> = checkpoint.stored().map(|entry| entry.name.clone()).collect();
        let (mut wide, mut narrow) = (Vec::new(), Vec::new());
        for name in names {
            let num_values = checkpoint.info(&name).unwrap().num_values();
            if checkpoint.read_f32(&name, &mut wide).is_ok() {
                assert_eq!(wide.len(), num_values);
            }
            if checkpoint.read_bf16(&name, &mut narrow).is_ok() {
                assert_eq!(narrow.len(), num_values);
            }
        }
    }
}

/// Opens a file, makes config and vocabulary, and reads every tensor.
fn read_gguf(file: Vec<u8>) {
    let len = file.len();
    let Ok(mut gguf) = open_gguf(file) else {
        return;
    };
    for entry in gguf.tensors() {
        let (_, bytes) = gguf.tensor(&entry.name).unwrap();
        assert!(bytes.len() <= len);
    }
    if let Ok(Some(json)) = gguf::vocabulary::tokenizer_json(&gguf) {
        drop(Tokenizer::from_json(json.to_string().as_bytes()));
    }
    let Ok(config) = gguf::config::model_config(&gguf) else {
        return;
    };
    if gguf.check(&config).is_ok() {
        let mut values = Vec::new();
        for name in gguf.names() {
            drop(gguf.read_f32(&name, &mut values));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn safetensors_with_wrong_bytes_are_read_or_refused(file in mutated(small_file(), small_file().len())) {
        read_safetensors(file);
    }

    #[test]
    fn safetensors_of_any_bytes_are_refused_or_read(file in prop::collection::vec(any::<u8>(), 0..200)) {
        read_safetensors(file);
    }

    /// Well-formed JSON with numbers near the limits of integers.
    #[test]
    fn headers_with_any_numbers_are_read_or_refused(
        entries in prop::collection::vec((
            prop::sample::select(vec!["F32", "BF16", "F16", "I64", ""]),
            prop::collection::vec(number(), 0..4),
            [number(), number()],
        ), 0..5),
        length in prop::option::weighted(0.1, number()),
    ) {
        let entries: serde_json::Map<_, _> = (entries.into_iter().enumerate())
            .map(|(index, (dtype, shape, offsets))| {
                (format!("t{index}"), json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}))
            })
            .collect();
        let mut file = safetensors(&json!(entries).to_string(), &[0; 24]);
        if let Some(length) = length {
            file[..8].copy_from_slice(&length.to_le_bytes());
        }
        read_safetensors(file);
    }

    #[test]
    fn gguf_with_wrong_numbers_is_read_or_refused(
        version in prop::sample::select(vec![3_u32, 3, 3, 2, 0, 0x0300_0000]),
        counts in (prop::option::weighted(0.2, number()), prop::option::weighted(0.2, number())),
        tensors in prop::collection::vec((
            prop::collection::vec(number(), 0..6),
            prop::sample::select(vec![0_u32, 1, 2, 3, 8, 12, 30, 99]),
            prop::sample::select(vec![0_u64, 32, 64, 7, 1 << 63, u64::MAX]),
        ), 0..4),
        alignment in prop::option::weighted(0.3, prop::sample::select(vec![0_u32, 1, 8, 32, 33, 64, 1 << 31])),
        kind in 0_u32..14,
        value in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut file = GgufBytes { version, num_pairs: counts.0, num_tensors: counts.1, ..GgufBytes::default() };
        file.tensors = (tensors.into_iter().enumerate())
            .map(|(index, (sizes, kind, offset))| (format!("t{index}"), sizes, kind, offset))
            .collect();
        if let Some(alignment) = alignment {
            file.pairs.push(("general.alignment".into(), count(alignment)));
        }
        file.pairs.push(("odd".into(), [&kind.to_le_bytes()[..], &value].concat()));
        read_gguf(file.build());
    }

    /// A config with any value is read or refused, and a config that is read is consistent.
    #[test]
    fn configs_with_any_value_are_read_or_refused(
        key in prop::sample::select(vec![
            "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
            "rope_theta", "rms_norm_eps", "max_position_embeddings", "tie_word_embeddings", "rope_scaling", "eos_token_id",
            "model_type", "hidden_act", "torch_dtype", "attention_bias", "bos_token_id", "intermediate_size",
        ]),
        value in prop::sample::select(vec![
            json!(null), json!(0), json!(-1), json!(1), json!(3), json!(1.5), json!(1e300), json!(u64::MAX), json!(true), json!("x"),
            json!([]), json!([1, 2]), json!(["a"]), json!({}), json!({"type": "linear", "factor": 2}), json!({"rope_type": "yarn"}),
            json!({"rope_type": "llama3", "factor": 0}), json!({"type": 7}), json!("bfloat16"), json!(1_u64 << 32),
        ]),
    ) {
        let path = fixtures::model("some-kv-tied-bf16").join("config.json");
        let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        json[key] = value;
        if let Ok(config) = config::parse(&json.to_string(), None) {
            prop_assert!(config.llama.validate().is_ok());
            prop_assert!(config.eos_token_ids.is_sorted());
        }
    }

    /// Decoding joins bytes, so the borders of tokens do not matter.
    #[test]
    fn decoding_is_the_text_of_all_bytes(ids in prop::collection::vec(0_u32..330, 0..40)) {
        let ids: Vec<TokenId> = ids.into_iter().map(TokenId).collect();
        for tokenizer in tokenizers() {
            let first = ids.iter().position(|id| !tokenizer.token_bytes(*id).is_empty());
            let bytes = ids.iter().enumerate().flat_map(|(at, id)| match Some(at) == first {
                true => tokenizer.first_token_bytes(*id),
                false => tokenizer.token_bytes(*id),
            });
            let text = String::from_utf8_lossy(&bytes.copied().collect::<Vec<u8>>()).into_owned();
            prop_assert_eq!(tokenizer.decode_with_special(&ids), text);
        }
    }

    /// Without `<`, because after a spelled-out special token a new text begins.
    #[test]
    fn text_comes_back_from_its_ids(text in "[^<]{0,40}") {
        for tokenizer in tokenizers() {
            let ids = tokenizer.encode(&text, false).unwrap();
            prop_assert_eq!(tokenizer.decode_with_special(&ids), text.clone());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The header of a real file, vocabulary included, with some bytes changed.
    #[test]
    fn gguf_with_wrong_bytes_is_read_or_refused(
        (file, head) in prop::sample::select(vec![("bytes.gguf", 12_000), ("pieces.gguf", 12_000)]),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = std::fs::read(gguf_path(file)).unwrap();
        for (at, value) in edits {
            let at = at.index(head);
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read_gguf(bytes);
    }
}

/// Small numbers, and numbers near the limits of integers.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => 0_u64..40,
        1 => prop::sample::select(vec![u64::MAX, u64::MAX - 7, 1 << 63, (1 << 63) - 1, 1 << 32, 1 << 31, 1 << 62, 1 << 60]),
    ]
}

fn tokenizers() -> &'static [Tokenizer; 2] {
    static BOTH: std::sync::OnceLock<[Tokenizer; 2]> = std::sync::OnceLock::new();
    BOTH.get_or_init(|| {
        ["bytes.gguf", "pieces.gguf"].map(|file| crate::common::open(&gguf_path(file)).unwrap().tokenizer.unwrap())
    })
}

/// Deep nesting must not overflow the stack of the reader.
#[test]
fn arrays_in_arrays_are_refused_at_some_depth() {
    for depth in [1, 3, 4, 5, 1000] {
        let mut value = 9_u32.to_le_bytes().to_vec();
        for _ in 1..depth {
            value.extend(9_u32.to_le_bytes());
            value.extend(1_u64.to_le_bytes());
        }
        value.extend(4_u32.to_le_bytes());
        value.extend(0_u64.to_le_bytes());
        let mut file = GgufBytes::default();
        file.pairs.push(("nested".into(), value));
        assert_eq!(open_gguf(file.build()).is_ok(), depth <= 4, "{depth}");
    }
}

/// The same for JSON, whose reader has its own limit.
#[test]
fn deeply_nested_json_is_refused() {
    let json = "[".repeat(100_000);
    assert!(safe_header("file", &safetensors(&json, &[])).is_err());
    assert!(config::parse(&json, None).is_err());
}

/// Random weights depend on name and index alone, and have the scale of an initialised net.
#[test]
fn random_weights_are_the_same_for_every_reader() {
    let weights = loading::open("random:15m").unwrap().weights;
    let again = loading::open("random:15m").unwrap().weights;
    let (mut a, mut b) = (Vec::new(), vec![1.0; 10]);
    let name = "model.layers.3.mlp.gate_proj.weight";
    weights.read_f32(name, &mut a).unwrap();
    // The second reader begins with another tensor.
    again
        .read_f32("model.layers.0.self_attn.q_proj.weight", &mut b)
        .unwrap();
    assert_ne!(a[..100], b[..100]);
    again.read_f32(name, &mut b).unwrap();
    assert_eq!(a, b);
    let num_values = a.len() as f64;
    let mean = a.iter().map(|v| f64::from(*v)).sum::<f64>() / num_values;
    let variance = a.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / num_values;
    let expected = 1.0 / 288.0;
    assert!(mean.abs() < 0.01 * f64::sqrt(expected), "mean {mean}");
    assert!((variance / expected - 1.0).abs() < 0.01, "variance {variance}");
    assert!(a.iter().all(|v| v.to_bits() & 0xffff == 0), "bf16 values");
    weights.read_f32("model.norm.weight", &mut a).unwrap();
    assert!(a.iter().all(|v| *v == 1.0));
}

#[test]
fn random_shapes_have_their_sizes() {
    for (name, parameters) in [("15m", 15_191_712), ("135m", 134_515_008), ("1.1b", 1_100_048_384)] {
        let shape = loading::random::shape(name).unwrap();
        shape.validate().unwrap();
        assert_eq!(shape.num_parameters(), parameters, "{name}");
    }
}

/// llama3 scaling is recognised from its divisors in a GGUF file; other divisors are refused.
#[test]
fn llama3_divisors_of_a_gguf_file_are_recognised() {
    let with = |divisors: Vec<f64>| {
        let mut file = GgufBytes::default();
        let sizes = [
            ("context_length", 131_072),
            ("embedding_length", 128),
            ("block_count", 1),
            ("feed_forward_length", 32),
            ("attention.head_count", 2),
            ("rope.freq_base", 500_000),
        ];
        for (key, value) in sizes {
            file.pairs.push((format!("llama.{key}"), count(value)));
        }
        let eps = [6_u32.to_le_bytes(), 1e-5_f32.to_le_bytes()].concat();
        file.pairs.push(("llama.attention.layer_norm_rms_epsilon".into(), eps));
        file.pairs.push(("llama.vocab_size".into(), count(10)));
        file.tensors = vec![(gguf::ROPE_FREQS.into(), vec![divisors.len() as u64], 0, 0)];
        file.data = divisors.iter().flat_map(|d| (*d as f32).to_le_bytes()).collect();
        gguf::config::model_config(&open_gguf(file.build()).unwrap())
    };
    let divisors = gguf::rotary::llama3_divisors(64, 500_000.0, 8.0, 1.0, 4.0, 8192);
    let expected = loading::RopeScaling::Llama3 {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 8192,
    };
    assert_eq!(with(divisors.clone()).unwrap().rope_scaling, expected);
    let other: Vec<f64> = divisors.iter().map(|d| d * d).collect();
    assert!(matches!(
        with(other),
        Err(loading::LoadError::UnknownRopeScaling { .. })
    ));
    assert!(text("x").len() == 13 && Gguf::from_bytes("f", FileBytes::Eager(Vec::new())).is_err());
}
