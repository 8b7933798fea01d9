//! Reading by hand equals the `safetensors` crate, mapped reading equals eager reading, and a converted folder equals
//! its source.

use crate::common::{gguf_path, open, safetensors};
use half::bf16;
use loading::bytes::FileBytes;
use loading::checkpoint::Checkpoint;
use loading::convert::{convert, exact_dtype};
use loading::dtype::widen;
use loading::{Access, Dtype, WeightSource, exercises::safe_header};
use proptest::prelude::*;
use safetensors::SafeTensors;
use std::collections::BTreeMap;

/// Compares one file, entry by entry and byte by byte.
#[track_caller]
fn check(bytes: &[u8]) {
    let theirs = SafeTensors::deserialize(bytes).unwrap();
    let header = safe_header("file", bytes).unwrap();
    assert_eq!(header.entries.len(), theirs.len());
    for entry in &header.entries {
        let view = theirs.tensor(&entry.name).unwrap();
        let data = &bytes[header.data_begin..][entry.begin..entry.end];
        assert_eq!(view.data(), data, "{}", entry.name);
        assert_eq!(view.shape(), entry.shape, "{}", entry.name);
        assert_eq!(format!("{:?}", view.dtype()), entry.dtype.name());
    }
}

#[test]
fn fixture_files_read_as_the_crate_reads_them() {
    let mut num_files = 0;
    for name in fixtures::MODELS {
        for entry in std::fs::read_dir(fixtures::model(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "safetensors") {
                check(&std::fs::read(path).unwrap());
                num_files += 1;
            }
        }
    }
    assert_eq!(num_files, 13);
}

proptest! {
    /// Any set of tensors that the crate writes is read by hand with the same result.
    #[test]
    fn files_that_the_crate_writes_are_read_by_hand(
        shapes in prop::collection::vec((prop::collection::vec(0_usize..5, 0..4), 0_usize..3), 0..8),
        metadata in prop::option::of("[a-z]{0,8}"),
    ) {
        let types = [safetensors::Dtype::F32, safetensors::Dtype::F16, safetensors::Dtype::BF16];
        let tensors: Vec<(String, Vec<usize>, safetensors::Dtype, Vec<u8>)> = (shapes.into_iter().enumerate())
            .map(|(index, (shape, kind))| {
                let bytes = shape.iter().product::<usize>() * if kind == 0 { 4 } else { 2 };
                let data = (0..bytes).map(|at| (at * 7 + index) as u8).collect();
                (format!("tensor.{index}"), shape, types[kind], data)
            })
            .collect();
        let views: Vec<_> = (tensors.iter())
            .map(|(name, shape, dtype, data)| {
                (name, safetensors::tensor::TensorView::new(*dtype, shape.clone(), data).unwrap())
            })
            .collect();
        let metadata = metadata.map(|text| [("key".to_string(), text)].into());
        check(&safetensors::serialize(views, metadata).unwrap());
    }

    /// A file that the crate refuses is refused by hand too. (The reverse is not true: the crate accepts equal names.)
    #[test]
    fn files_that_the_crate_refuses_are_refused(position in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut file = crate::common::small_file();
        let position = position.index(file.len());
        file[position] = value;
        if SafeTensors::deserialize(&file).is_err() {
            prop_assert!(safe_header("file", &file).is_err(), "byte {position} = {value}");
        }
    }
}

#[test]
fn mapped_and_eager_read_the_same() {
    for name in fixtures::MODELS {
        let path = fixtures::model(name);
        let path = path.to_str().unwrap();
        let mapped = loading::open_with(path, Access::Mapped).unwrap().weights;
        let eager = loading::open_with(path, Access::Eager).unwrap().weights;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for tensor in mapped.names() {
            mapped.read_f32(&tensor, &mut a).unwrap();
            eager.read_f32(&tensor, &mut b).unwrap();
            assert_eq!(a, b, "{name}: {tensor}");
        }
    }
}

/// `read_bf16` equals `read_f32` rounded, for every source and stored type.
#[test]
fn bf16_reads_are_the_rounded_f32_reads() {
    let mut folders: Vec<_> = fixtures::MODELS.map(fixtures::model).to_vec();
    folders.push(gguf_path("bytes.gguf"));
    let random = loading::open("random:15m").unwrap().weights;
    let opened = folders.iter().map(|folder| open(folder).unwrap().weights);
    for weights in opened.chain([random]) {
        let (mut wide, mut narrow) = (Vec::new(), Vec::new());
        for tensor in weights.names().iter().filter(|name| !name.contains("embed")) {
            weights.read_f32(tensor, &mut wide).unwrap();
            weights.read_bf16(tensor, &mut narrow).unwrap();
            let rounded: Vec<bf16> = wide.iter().map(|value| bf16::from_f32(*value)).collect();
            assert_eq!(rounded, narrow, "{tensor}");
        }
    }
}

fn values_of(weights: &dyn WeightSource) -> BTreeMap<String, Vec<f32>> {
    let read = |name: String| {
        let mut values = Vec::new();
        weights.read_f32(&name, &mut values).unwrap();
        (name, values)
    };
    weights.names().into_iter().map(read).collect()
}

#[test]
fn a_gguf_file_becomes_a_folder_with_the_same_values_and_tokens() {
    for file in ["bytes.gguf", "pieces.gguf"] {
        let source = open(&gguf_path(file)).unwrap();
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("converted");
        let done = convert(&source, &folder, None, &mut |_, _| {}).unwrap();
        assert_eq!(done.dtype, Dtype::F32, "blocks do not fit 16 bits");
        let copy = open(&folder).unwrap();
        assert_eq!(values_of(&*copy.weights), values_of(&*source.weights));
        let expected = loading::ModelConfig {
            dtype: Dtype::F32,
            ..source.config.clone()
        };
        assert_eq!(copy.config, expected);
        assert_eq!(copy.chat_template, source.chat_template);
        assert_eq!(
            (&copy.bos_token, &copy.eos_token),
            (&source.bos_token, &source.eos_token)
        );
        let (ours, theirs) = (copy.tokenizer.unwrap(), source.tokenizer.unwrap());
        for text in ["the owl said 42", "  你好\n", "<|im_start|>"] {
            assert_eq!(ours.encode(text, true).unwrap(), theirs.encode(text, true).unwrap());
        }
    }
}

/// No value is rounded unless `--dtype` asks for it.
#[test]
fn a_conversion_takes_the_smallest_type_that_is_exact() {
    for (name, expected) in [
        ("some-kv-tied-bf16", Dtype::BF16),
        ("no-prefix-f16", Dtype::F16),
        ("all-kv-untied-f32", Dtype::F32),
        ("mistral-untied-bf16", Dtype::BF16),
        ("qwen2-tied-bf16", Dtype::BF16),
        ("qwen3-untied-f16", Dtype::F16),
    ] {
        let model = open(&fixtures::model(name)).unwrap();
        assert_eq!(exact_dtype(&*model.weights).unwrap(), expected, "{name}");
        let temporary = tempfile::tempdir().unwrap();
        convert(&model, temporary.path(), None, &mut |_, _| {}).unwrap();
        check(&std::fs::read(temporary.path().join("model.safetensors")).unwrap());
        let copy = open(temporary.path()).unwrap();
        assert_eq!(copy.config, model.config, "the architecture too");
        assert_eq!(values_of(&*copy.weights), values_of(&*model.weights), "{name}");
    }
}

#[test]
fn a_conversion_to_bf16_rounds_to_nearest() {
    let model = open(&fixtures::model("all-kv-untied-f32")).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    convert(&model, temporary.path(), Some(Dtype::BF16), &mut |_, _| {}).unwrap();
    let copy = open(temporary.path()).unwrap();
    for (name, values) in values_of(&*model.weights) {
        let rounded: Vec<f32> = values.iter().map(|v| bf16::from_f32(*v).to_f32()).collect();
        assert_eq!(values_of(&*copy.weights)[&name], rounded);
    }
}

/// A file that is converted twice is the same, and no partial file stays behind.
#[test]
fn a_conversion_leaves_whole_files_only() {
    let model = open(&gguf_path("bytes.gguf")).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let digest = || loading::manifest::sha256_file(&temporary.path().join("model.safetensors")).unwrap();
    convert(&model, temporary.path(), None, &mut |_, _| {}).unwrap();
    let first = digest();
    convert(&model, temporary.path(), None, &mut |_, _| {}).unwrap();
    assert_eq!(first, digest());
    let mut names: Vec<String> = std::fs::read_dir(temporary.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ];
    assert_eq!(names, expected);
}

/// All four layouts of weights in a folder give the same tensors.
#[test]
fn single_file_shards_with_and_without_index_and_bare_names_all_load() {
    let (_keep, folder) = crate::common::copy_of("sharded-bf16");
    let expected = values_of(&*open(&folder).unwrap().weights);
    // Without the index the shards are found by their endings.
    std::fs::remove_file(folder.join("model.safetensors.index.json")).unwrap();
    assert_eq!(values_of(&*open(&folder).unwrap().weights), expected);
    // As one file.
    let temporary = tempfile::tempdir().unwrap();
    convert(&open(&folder).unwrap(), temporary.path(), None, &mut |_, _| {}).unwrap();
    assert_eq!(values_of(&*open(temporary.path()).unwrap().weights), expected);
    // And without the prefix.
    crate::common::edit_weights(temporary.path(), |json| {
        let entries = json.as_object_mut().unwrap();
        for name in entries.keys().cloned().collect::<Vec<_>>() {
            if let Some(bare) = name.strip_prefix("model.") {
                let entry = entries.remove(&name).unwrap();
                entries.insert(bare.to_string(), entry);
            }
        }
    });
    assert_eq!(values_of(&*open(temporary.path()).unwrap().weights), expected);
}

/// The head is tied if the file has none and separate if it has one, whatever the flag is (as in transformers 5).
#[test]
fn the_file_decides_whether_the_head_is_tied_not_the_flag() {
    for (name, is_tied) in [("all-kv-untied-f32", false), ("some-kv-tied-bf16", true)] {
        for flag in [false, true] {
            let (_keep, folder) = crate::common::copy_of(name);
            crate::common::edit_json(&folder.join("config.json"), |json| {
                json["tie_word_embeddings"] = flag.into();
            });
            let model = open(&folder).unwrap();
            assert_eq!(model.config.llama.tie_word_embeddings, is_tied, "{name}, {flag}");
            let has_head = model.weights.info("lm_head.weight").is_some();
            assert_eq!(has_head, !is_tied, "{name}, {flag}");
        }
    }
}

/// The data section may begin at any byte, because a JSON header may have any length.
#[test]
fn data_need_not_be_aligned() {
    let value = 1.5_f32;
    for spaces in 0..8 {
        let json = format!(
            r#"{{"a": {{"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}{}}}"#,
            " ".repeat(spaces)
        );
        let file = safetensors(&json, &value.to_le_bytes());
        let checkpoint = Checkpoint::from_bytes("file", FileBytes::Eager(file)).unwrap();
        let (entry, bytes) = checkpoint.bytes("a").unwrap();
        let mut out = Vec::new();
        widen(entry.dtype, bytes, &mut out);
        assert_eq!(out, [value]);
    }
}

/// Headers that the crate refuses or reads, byte for byte: what is passed over counts too.
#[test]
fn odd_headers_are_refused_or_read_as_by_the_crate() {
    let entry = r#""a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}"#;
    let long = |len: usize| format!("{{{entry}}}{}", " ".repeat(len - entry.len() - 2)).into_bytes();
    let invalid = |part: &[u8]| {
        [
            br#"{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "#,
            part,
            b"}}",
        ]
        .concat()
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("a key that is passed over, not UTF-8", invalid(b"\"\xff\xfe\": 1")),
        ("a text that is passed over, not UTF-8", invalid(b"\"note\": \"\xff\"")),
        ("a key that is passed over", invalid(b"\"note\": 1")),
        (
            "texts that are null",
            format!(r#"{{"__metadata__": null, {entry}}}"#).into(),
        ),
        (
            "texts that are no texts",
            format!(r#"{{"__metadata__": {{"a": 1}}, {entry}}}"#).into(),
        ),
        ("the longest header", long(100_000_000)),
        ("a longer header", long(100_000_001)),
    ];
    let mut num_read = 0;
    for (case, json) in cases {
        let mut file = (json.len() as u64).to_le_bytes().to_vec();
        file.extend(json);
        file.extend([0; 8]);
        let found = safe_header("file", &file);
        assert_eq!(
            found.is_ok(),
            SafeTensors::deserialize(&file).is_ok(),
            "{case}: {:?}",
            found.err()
        );
        num_read += usize::from(found.is_ok());
    }
    assert_eq!(num_read, 3);
}
