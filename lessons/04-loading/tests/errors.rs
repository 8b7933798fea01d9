//! Each malformed input has its error, and the error says what to do. The texts are one snapshot.

mod common;

use common::{
    GgufBytes, copy_of, count, edit_json, edit_weights, gguf_path, open, open_gguf, safetensors, string, text,
};
use loading::LoadError;
use loading::exercises::safe_header;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Collects messages, with temporary paths taken out.
#[derive(Default)]
struct Report(String);

impl Report {
    fn add(&mut self, case: &str, folder: &Path, error: &LoadError) {
        let text = error.to_string().replace(&folder.display().to_string(), "FOLDER");
        assert!(
            !text.ends_with('.')
                && text
                    .chars()
                    .next()
                    .is_some_and(|c| !c.is_uppercase() || text.starts_with("FOLDER")),
            "{text}"
        );
        writeln!(self.0, "{case}\n    {text}\n").unwrap();
    }
}

/// Spoils a copy of a fixture, opens it and reads every weight.
#[track_caller]
fn spoiled(report: &mut Report, case: &str, model: &str, spoil: impl FnOnce(&Path)) -> LoadError {
    let (_keep, folder) = copy_of(model);
    spoil(&folder);
    let read = |model: loading::ModelFolder| {
        let mut values = Vec::new();
        (model.weights.names().iter()).try_for_each(|name| model.weights.read_f32(name, &mut values))
    };
    let error = open(&folder).and_then(read).expect_err(case);
    report.add(case, &folder, &error);
    error
}

fn config(folder: &Path, key: &str, value: Value) {
    edit_json(&folder.join("config.json"), |json| json[key] = value);
}

const MODEL: &str = "some-kv-tied-bf16";

macro_rules! case {
    ($report:expr, $case:expr, $variant:pat, $spoil:expr) => {
        case!($report, $case, MODEL, $variant, $spoil)
    };
    ($report:expr, $case:expr, $model:expr, $variant:pat, $spoil:expr) => {
        let error = spoiled(&mut $report, $case, $model, $spoil);
        assert!(matches!(error, $variant), "{}: {error:?}", $case);
    };
}

#[test]
fn every_broken_folder_has_its_error() {
    use LoadError as E;
    let mut report = Report::default();
    let weights = |folder: &Path| folder.join("model.safetensors");
    let rewrite = |folder: &Path, edit: &dyn Fn(&mut Vec<u8>)| {
        let mut file = std::fs::read(weights(folder)).unwrap();
        edit(&mut file);
        std::fs::write(weights(folder), file).unwrap();
    };
    case!(report, "no config.json", E::Unreadable { .. }, |f| {
        std::fs::remove_file(f.join("config.json")).unwrap()
    });
    case!(report, "no weights", E::Unreadable { .. }, |f| {
        std::fs::remove_file(weights(f)).unwrap()
    });
    case!(report, "no tokenizer", E::Unreadable { .. }, |f| {
        std::fs::remove_file(f.join("tokenizer.json")).unwrap()
    });
    case!(report, "weights are a folder", E::Unreadable { .. }, |f| {
        std::fs::remove_file(weights(f)).unwrap();
        std::fs::create_dir(weights(f)).unwrap();
    });
    case!(report, "config.json is cut off", E::BadConfig { .. }, |f| {
        std::fs::write(f.join("config.json"), "{\"vocab_size\": 3").unwrap()
    });
    case!(report, "config.json is a list", E::BadConfig { .. }, |f| {
        std::fs::write(f.join("config.json"), "[]").unwrap()
    });
    case!(report, "a size is missing", E::BadConfig { .. }, |f| config(
        f,
        "hidden_size",
        Value::Null
    ));
    case!(report, "a size is a text", E::BadConfig { .. }, |f| config(
        f,
        "hidden_size",
        json!("48")
    ));
    case!(report, "a size is zero", E::Shape(_), |f| config(
        f,
        "num_hidden_layers",
        json!(0)
    ));
    case!(report, "heads do not divide", E::Shape(_), |f| config(
        f,
        "num_key_value_heads",
        json!(3)
    ));
    case!(
        report,
        "hidden size is no multiple of heads",
        E::BadConfig { .. },
        |f| config(f, "num_attention_heads", json!(5))
    );
    case!(report, "another architecture", E::BadConfig { .. }, |f| {
        config(f, "model_type", json!("mistral"))
    });
    case!(report, "another activation", E::BadConfig { .. }, |f| {
        config(f, "hidden_act", json!("gelu"))
    });
    case!(report, "biases", E::BadConfig { .. }, |f| config(
        f,
        "attention_bias",
        json!(true)
    ));
    case!(report, "quantized", E::BadConfig { .. }, |f| config(
        f,
        "quantization_config",
        json!({"bits": 4})
    ));
    case!(report, "unknown type of weights", E::BadConfig { .. }, |f| config(
        f,
        "torch_dtype",
        json!("float8")
    ));
    case!(report, "unknown rotary scaling", E::UnknownRopeScaling { .. }, |f| {
        config(f, "rope_scaling", json!({"rope_type": "yarn", "factor": 4.0}))
    });
    case!(
        report,
        "unknown rotary scaling, older key",
        E::UnknownRopeScaling { .. },
        |f| config(f, "rope_scaling", json!({"type": "dynamic", "factor": 4.0}))
    );
    case!(
        report,
        "rotary scaling without a kind",
        E::BadConfig { .. },
        |f| config(f, "rope_scaling", json!({"factor": 4.0}))
    );
    case!(report, "rotary scaling without a factor", E::BadConfig { .. }, |f| {
        config(f, "rope_scaling", json!({"type": "linear"}))
    });
    case!(report, "rotary scaling is a text", E::BadConfig { .. }, |f| config(
        f,
        "rope_scaling",
        json!("linear")
    ));
    case!(report, "llama3 bands in the wrong order", E::BadConfig { .. }, |f| {
        config(
            f,
            "rope_scaling",
            json!({
                "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0, "original_max_position_embeddings": 64
            }),
        )
    });
    case!(report, "end of text is a text", E::BadConfig { .. }, |f| {
        config(f, "eos_token_id", json!("<|endoftext|>"))
    });
    case!(report, "another width", E::WrongShape { .. }, |f| config(
        f,
        "intermediate_size",
        json!(96)
    ));
    case!(report, "more layers than weights", E::MissingTensor { .. }, |f| config(
        f,
        "num_hidden_layers",
        json!(4)
    ));
    case!(report, "fewer layers than weights", E::ExtraTensor { .. }, |f| config(
        f,
        "num_hidden_layers",
        json!(2)
    ));
    case!(report, "another vocabulary", E::WrongShape { .. }, |f| {
        config(f, "vocab_size", json!(321))
    });
    case!(
        report,
        "tokenizer of another model",
        E::VocabularyMismatch { .. },
        |f| {
            std::fs::copy(
                fixtures::model("sharded-bf16").join("tokenizer.json"),
                f.join("tokenizer.json"),
            )
            .unwrap();
        }
    );
    case!(report, "tokenizer is cut off", E::BadTokenizer { .. }, |f| {
        std::fs::write(f.join("tokenizer.json"), "{\"version\": ").unwrap()
    });
    case!(report, "tokenizer without a decoder", E::BadTokenizer { .. }, |f| {
        edit_json(&f.join("tokenizer.json"), |json| json["decoder"] = Value::Null)
    });
    case!(report, "weights are cut off", E::CutOff { .. }, |f| rewrite(
        f,
        &|file| file.truncate(file.len() - 1)
    ));
    case!(report, "weights are empty", E::CutOff { .. }, |f| rewrite(f, &|file| {
        file.clear()
    }));
    case!(report, "weights are longer", E::TrailingBytes { .. }, |f| {
        rewrite(f, &|file| file.push(0))
    });
    case!(report, "weights are a zip file", E::HeaderTooLong { .. }, |f| rewrite(
        f,
        &|file| file[..8].copy_from_slice(b"PK\x03\x04\x14\0\0\0")
    ));
    case!(report, "a weight is NaN", E::NotFinite { .. }, |f| rewrite(
        f,
        &|file| {
            let last = file.len() - 1;
            file[last] = 0x7f;
            file[last - 1] = 0xc0;
        }
    ));
    case!(report, "a weight is infinite", E::NotFinite { .. }, |f| {
        rewrite(f, &|file| {
            let last = file.len() - 1;
            file[last] = 0xff;
            file[last - 1] = 0x80;
        })
    });
    case!(report, "a tensor of integers", E::WrongDtype { .. }, |f| {
        edit_weights(f, |json| json["model.norm.weight"]["dtype"] = json!("I16"))
    });
    case!(report, "a tensor with another type", E::WrongLength { .. }, |f| {
        edit_weights(f, |json| json["model.norm.weight"]["dtype"] = json!("F32"))
    });
    case!(report, "a tensor of another shape", E::WrongShape { .. }, |f| {
        edit_weights(f, |json| json["model.norm.weight"]["shape"] = json!([1, 48]))
    });
    case!(report, "a tensor that no Llama has", E::ExtraTensor { .. }, |f| {
        edit_weights(f, |json| {
            let entries = json.as_object_mut().unwrap();
            let entry = json!({"dtype": "F32", "shape": [0], "data_offsets": [0, 0]});
            entries.insert("model.layers.0.self_attn.q_proj.bias".into(), entry);
        })
    });
    case!(
        report,
        "one tensor in two shards",
        "sharded-bf16",
        E::DuplicateName { .. },
        |f| {
            std::fs::remove_file(f.join("model.safetensors.index.json")).unwrap();
            std::fs::copy(f.join("model-00001-of-00003.safetensors"), f.join("more.safetensors")).unwrap();
        }
    );
    case!(
        report,
        "a shard is missing",
        "sharded-bf16",
        E::Unreadable { .. },
        |f| std::fs::remove_file(f.join("model-00002-of-00003.safetensors")).unwrap()
    );
    case!(
        report,
        "a shard is missing, without an index",
        "sharded-bf16",
        E::MissingTensor { .. },
        |f| {
            std::fs::remove_file(f.join("model.safetensors.index.json")).unwrap();
            std::fs::remove_file(f.join("model-00002-of-00003.safetensors")).unwrap();
        }
    );
    case!(
        report,
        "the index names another shard",
        "sharded-bf16",
        E::MissingTensor { .. },
        |f| edit_json(&f.join("model.safetensors.index.json"), |json| {
            let file = json["weight_map"]["lm_head.weight"].take();
            let other = if file == "model-00001-of-00003.safetensors" {
                "model-00002-of-00003.safetensors"
            } else {
                "model-00001-of-00003.safetensors"
            };
            json["weight_map"]["lm_head.weight"] = json!(other);
        })
    );
    case!(
        report,
        "the index reaches out of the folder",
        "sharded-bf16",
        E::BadHeader { .. },
        |f| edit_json(&f.join("model.safetensors.index.json"), |json| {
            json["weight_map"]["lm_head.weight"] = json!("../../secret.safetensors");
        })
    );
    insta::assert_snapshot!("folders", report.0);
}

#[test]
fn every_broken_header_has_its_error() {
    let mut report = Report::default();
    let mut add = |case: &str, json: &str, data_bytes: usize| {
        let error = safe_header("model.safetensors", &safetensors(json, &vec![0; data_bytes])).expect_err(case);
        report.add(case, Path::new("FOLDER"), &error);
    };
    let entry = |dtype: &str, shape: &str, begin: u64, end: u64| {
        format!(r#"{{"dtype": "{dtype}", "shape": {shape}, "data_offsets": [{begin}, {end}]}}"#)
    };
    let a = entry("F32", "[2]", 0, 8);
    add("no JSON", "model weights", 0);
    add("no offsets", r#"{"a": {"dtype": "F32", "shape": [2]}}"#, 8);
    add(
        "negative size",
        r#"{"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}"#,
        8,
    );
    add(
        "unknown type",
        &format!(r#"{{"a": {}}}"#, entry("F8_E4M3", "[8]", 0, 8)),
        8,
    );
    add(
        "offsets backwards",
        &format!(r#"{{"a": {}}}"#, entry("F32", "[2]", 8, 0)),
        8,
    );
    add(
        "overflow",
        &format!(r#"{{"a": {}}}"#, entry("F32", "[4294967296, 4294967296]", 0, 8)),
        8,
    );
    add(
        "too few bytes",
        &format!(r#"{{"a": {}}}"#, entry("F32", "[3]", 0, 8)),
        8,
    );
    add(
        "one name twice",
        &format!(r#"{{"a": {a}, "a": {}}}"#, entry("F32", "[2]", 8, 16)),
        16,
    );
    add(
        "overlap",
        &format!(r#"{{"a": {a}, "b": {}}}"#, entry("F32", "[2]", 4, 12)),
        12,
    );
    add(
        "gap",
        &format!(r#"{{"a": {a}, "b": {}}}"#, entry("F32", "[2]", 16, 24)),
        24,
    );
    add("cut off", &format!(r#"{{"a": {a}}}"#), 7);
    add("longer", &format!(r#"{{"a": {a}}}"#), 9);
    insta::assert_snapshot!("headers", report.0);
}

#[test]
fn every_broken_gguf_file_has_its_error() {
    let mut report = Report::default();
    let mut add = |case: &str, file: Vec<u8>| {
        let error = open_gguf(file).err().expect(case);
        report.add(case, Path::new("FOLDER"), &error);
    };
    let right = GgufBytes::default();
    assert!(open_gguf(right.build()).is_ok());
    let with = |edit: &dyn Fn(&mut GgufBytes)| {
        let mut file = right.clone();
        edit(&mut file);
        file.build()
    };
    add("another format", b"PK\x03\x04\0\0\0\0".to_vec());
    add("empty", Vec::new());
    add("version 2", with(&|f| f.version = 2));
    add("big endian", with(&|f| f.version = 3_u32.swap_bytes()));
    add("too many pairs", with(&|f| f.num_pairs = Some(u64::MAX)));
    add("too many tensors", with(&|f| f.num_tensors = Some(1 << 40)));
    add("a key twice", with(&|f| f.pairs.push(f.pairs[0].clone())));
    add(
        "a key that is no UTF-8",
        with(&|f| f.pairs[0].1 = [&8_u32.to_le_bytes()[..], &2_u64.to_le_bytes(), &[0xff, 0xfe]].concat()),
    );
    add(
        "unknown value type",
        with(&|f| f.pairs[0].1 = 13_u32.to_le_bytes().to_vec()),
    );
    add(
        "a flag of 2",
        with(&|f| f.pairs[0].1 = [&7_u32.to_le_bytes()[..], &[2]].concat()),
    );
    add(
        "a long array",
        with(&|f| f.pairs[0].1 = [&9_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), &u64::MAX.to_le_bytes()].concat()),
    );
    add(
        "alignment of 0",
        with(&|f| f.pairs.push(("general.alignment".into(), count(0)))),
    );
    add("five dimensions", with(&|f| f.tensors[0].1 = vec![1; 5]));
    add("no dimension", with(&|f| f.tensors[0].1 = vec![]));
    add("unknown type", with(&|f| f.tensors[0].2 = 12));
    add(
        "half a block",
        with(&|f| f.tensors[0] = ("a".into(), vec![48, 2], 3, 0)),
    );
    add("overflow", with(&|f| f.tensors[0].1 = vec![1 << 32, 1 << 32]));
    add("a tensor twice", with(&|f| f.tensors[1].0 = "a".into()));
    add("overlap", with(&|f| f.tensors[1].3 = 0));
    add("gap", with(&|f| f.tensors[1].3 = 64));
    add("not aligned", with(&|f| f.tensors[1].3 = 40));
    add("cut off", with(&|f| f.data.truncate(63)));
    add("longer", with(&|f| f.data.resize(65, 0)));
    insta::assert_snapshot!("gguf", report.0);
}

/// Right files of models that we do not run, and vocabularies that we do not know.
#[test]
fn every_foreign_gguf_model_has_its_error() {
    let mut report = Report::default();
    let original = std::fs::read(gguf_path("bytes.gguf")).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    // Replaces text of one length, so that nothing else moves.
    let mut add = |case: &str, from: &[u8], to: &[u8]| {
        assert_eq!(from.len(), to.len());
        let at = original
            .windows(from.len())
            .position(|window| window == from)
            .expect(case);
        let mut file = original.clone();
        file[at..at + to.len()].copy_from_slice(to);
        let path = temporary.path().join("model.gguf");
        std::fs::write(&path, file).unwrap();
        let error = open(&path).err().expect(case);
        report.add(case, temporary.path(), &error);
    };
    add("another architecture", &text("llama"), &text("gemma"));
    add("a size is missing", b"llama.block_count", b"llama.block_other");
    add(
        "another name of a tensor",
        b"blk.1.ffn_up.weight",
        b"blk.1.ffn_xy.weight",
    );
    add("another vocabulary", &text("gpt2"), &text("bert"));
    add("another rule of cutting", &text("smollm"), &text("tekken"));
    add("no merges", b"tokenizer.ggml.merges", b"tokenizer.ggml.mergez");
    add("a piece twice", &string("\""), &string("!"));
    insta::assert_snapshot!("gguf_models", report.0);
}

#[test]
fn names_and_checksums_have_their_errors() {
    let mut report = Report::default();
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    for model in ["storeis", "random:7b", "random:"] {
        report.add(model, folder, &loading::open(model).err().unwrap());
    }
    let path = folder.join("weights");
    std::fs::write(&path, b"weights").unwrap();
    let error = loading::manifest::verify_file(&path, &"0".repeat(64)).unwrap_err();
    report.add("wrong checksum", folder, &error);
    let file = folder.join("manifest.json");
    std::fs::write(&file, "{\"schema\": 2, \"files\": []}").unwrap();
    report.add(
        "another manifest",
        folder,
        &loading::manifest::Manifest::read(&file).unwrap_err(),
    );
    let model = loading::open(fixtures::model(MODEL).to_str().unwrap()).unwrap();
    let mut values = Vec::new();
    let error = model
        .weights
        .read_f32("model.layers.9.mlp.up_proj.weight", &mut values)
        .unwrap_err();
    report.add("a tensor that is not there", &fixtures::model(MODEL), &error);
    let random = loading::open("random:15m").unwrap().weights;
    report.add(
        "a head of its own",
        folder,
        &random.read_f32("lm_head.weight", &mut values).unwrap_err(),
    );
    insta::assert_snapshot!("names", report.0);
}

/// A padded embedding is allowed where the folder says so, and only in that direction.
#[test]
fn a_padded_vocabulary_is_allowed_where_the_config_says_so() {
    let (_keep, folder) = copy_of(MODEL);
    let mut tokenizer: Value = serde_json::from_slice(&std::fs::read(folder.join("tokenizer.json")).unwrap()).unwrap();
    let merges = tokenizer["model"]["merges"].as_array_mut().unwrap();
    let last = merges.pop().unwrap();
    let piece = match last.as_str() {
        Some(pair) => pair.replace(' ', ""),
        None => last
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part.as_str().unwrap())
            .collect(),
    };
    tokenizer["model"]["vocab"]
        .as_object_mut()
        .unwrap()
        .remove(&piece)
        .unwrap();
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    assert!(matches!(
        open(&folder),
        Err(LoadError::VocabularyMismatch {
            expected: 320,
            found: 319,
            ..
        })
    ));
    config(&folder, "padded_vocabulary", json!(true));
    assert_eq!(open(&folder).unwrap().tokenizer.unwrap().vocab_size(), 319);
}

/// Rotary frequencies that old writers stored follow from the config: not needed, not an error.
#[test]
fn leftovers_of_old_writers_are_passed_over() {
    let (_keep, folder) = copy_of(MODEL);
    edit_weights(&folder, |json| {
        let entry = json!({"dtype": "F32", "shape": [0], "data_offsets": [0, 0]});
        json["model.layers.0.self_attn.rotary_emb.inv_freq"] = entry;
    });
    assert!(open(&folder).is_ok());
}
