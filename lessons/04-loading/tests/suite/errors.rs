//! Each malformed input has its error, and the error says what to do. The texts are one snapshot.

use crate::common::{
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
        let is_lower = text.chars().next().is_some_and(|c| !c.is_uppercase()) || text.starts_with("FOLDER");
        assert!(!text.ends_with('.') && is_lower, "{text}");
        writeln!(self.0, "{case}\n    {text}\n").unwrap();
    }

    /// Spoils a copy of a fixture, opens it and reads every weight. Expects an error of this variant.
    #[track_caller]
    fn spoiled(&mut self, model: &str, case: &str, variant: &str, spoil: &dyn Fn(&Path)) {
        let (_keep, folder) = copy_of(model);
        spoil(&folder);
        let read = |model: loading::ModelFolder| {
            let mut values = Vec::new();
            (model.weights.names().iter()).try_for_each(|name| model.weights.read_f32(name, &mut values))
        };
        let error = open(&folder).and_then(read).expect_err(case);
        assert!(format!("{error:?}").starts_with(variant), "{case}: {error:?}");
        self.add(case, &folder, &error);
    }
}

fn config(folder: &Path, key: &str, value: Value) {
    edit_json(&folder.join("config.json"), |json| json[key] = value);
}

const MODEL: &str = "some-kv-tied-bf16";

#[test]
fn every_broken_config_has_its_error() {
    let mut report = Report::default();
    let mut case = |case: &str, variant: &str, spoil: &dyn Fn(&Path)| report.spoiled(MODEL, case, variant, spoil);
    case("no config.json", "Unreadable", &|f| {
        std::fs::remove_file(f.join("config.json")).unwrap()
    });
    for (name, text) in [
        ("config.json is cut off", "{\"vocab_size\": 3"),
        ("config.json is a list", "[]"),
    ] {
        case(name, "BadConfig", &|f| {
            std::fs::write(f.join("config.json"), text).unwrap()
        });
    }
    let bands = json!({
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0, "original_max_position_embeddings": 64
    });
    for (name, variant, key, value) in [
        ("a size is missing", "BadConfig", "hidden_size", Value::Null),
        ("a size is a text", "BadConfig", "hidden_size", json!("48")),
        ("a size is zero", "Shape", "num_hidden_layers", json!(0)),
        ("heads do not divide", "Shape", "num_key_value_heads", json!(3)),
        (
            "hidden size is no multiple of heads",
            "BadConfig",
            "num_attention_heads",
            json!(5),
        ),
        ("another architecture", "BadConfig", "model_type", json!("gemma2")),
        ("another activation", "BadConfig", "hidden_act", json!("gelu")),
        ("biases", "BadConfig", "attention_bias", json!(true)),
        ("quantized", "BadConfig", "quantization_config", json!({"bits": 4})),
        ("unknown type of weights", "BadConfig", "torch_dtype", json!("float8")),
        (
            "unknown rotary scaling",
            "UnknownRopeScaling",
            "rope_scaling",
            json!({"rope_type": "yarn", "factor": 4.0}),
        ),
        (
            "unknown rotary scaling, older key",
            "UnknownRopeScaling",
            "rope_scaling",
            json!({"type": "dynamic", "factor": 4.0}),
        ),
        (
            "rotary scaling without a kind",
            "BadConfig",
            "rope_scaling",
            json!({"factor": 4.0}),
        ),
        (
            "rotary scaling without a factor",
            "BadConfig",
            "rope_scaling",
            json!({"type": "linear"}),
        ),
        ("rotary scaling is a text", "BadConfig", "rope_scaling", json!("linear")),
        ("llama3 bands in the wrong order", "BadConfig", "rope_scaling", bands),
        (
            "end of text is a text",
            "BadConfig",
            "eos_token_id",
            json!("<|endoftext|>"),
        ),
        ("another width", "WrongShape", "intermediate_size", json!(96)),
        (
            "more layers than weights",
            "MissingTensor",
            "num_hidden_layers",
            json!(4),
        ),
        (
            "fewer layers than weights",
            "ExtraTensor",
            "num_hidden_layers",
            json!(2),
        ),
        ("another vocabulary", "WrongShape", "vocab_size", json!(321)),
    ] {
        case(name, variant, &|f| config(f, key, value.clone()));
    }
    insta::assert_snapshot!("configs", report.0);
}

#[test]
fn every_broken_tokenizer_and_weight_file_has_its_error() {
    let mut report = Report::default();
    let mut case = |case: &str, variant: &str, spoil: &dyn Fn(&Path)| report.spoiled(MODEL, case, variant, spoil);
    case("no weights", "Unreadable", &|f| {
        std::fs::remove_file(f.join("model.safetensors")).unwrap()
    });
    case("no tokenizer", "Unreadable", &|f| {
        std::fs::remove_file(f.join("tokenizer.json")).unwrap()
    });
    case("weights are a folder", "Unreadable", &|f| {
        std::fs::remove_file(f.join("model.safetensors")).unwrap();
        std::fs::create_dir(f.join("model.safetensors")).unwrap();
    });
    case("tokenizer of another model", "VocabularyMismatch", &|f| {
        let other = fixtures::model("sharded-bf16").join("tokenizer.json");
        std::fs::copy(other, f.join("tokenizer.json")).unwrap();
    });
    case("tokenizer is cut off", "BadTokenizer", &|f| {
        std::fs::write(f.join("tokenizer.json"), "{\"version\": ").unwrap()
    });
    case("tokenizer without a decoder", "BadTokenizer", &|f| {
        edit_json(&f.join("tokenizer.json"), |json| json["decoder"] = Value::Null);
    });
    for (name, key, value) in [
        ("template that is a number", "chat_template", json!(7)),
        (
            "named template without its text",
            "chat_template",
            json!([{ "name": "default" }]),
        ),
        ("begin token that is a number", "bos_token", json!(5)),
        ("end token without a text", "eos_token", json!({ "id": 2 })),
    ] {
        case(name, "BadConfig", &|f| {
            edit_json(&f.join("tokenizer_config.json"), |json| json[key] = value.clone());
        });
    }
    let last_weight = |file: &mut Vec<u8>, bytes: [u8; 2]| {
        let begin = file.len() - 2;
        file[begin..].copy_from_slice(&bytes);
    };
    type Edit<'a> = &'a dyn Fn(&mut Vec<u8>);
    let edits: [(&str, &str, Edit<'_>); 6] = [
        ("weights are cut off", "CutOff", &|file| file.truncate(file.len() - 1)),
        ("weights are empty", "CutOff", &|file| file.clear()),
        ("weights are longer", "TrailingBytes", &|file| file.push(0)),
        ("weights are a zip file", "HeaderTooLong", &|file| {
            file[..8].copy_from_slice(b"PK\x03\x04\x14\0\0\0")
        }),
        ("a weight is NaN", "NotFinite", &|file| last_weight(file, [0xc0, 0x7f])),
        ("a weight is infinite", "NotFinite", &|file| {
            last_weight(file, [0x80, 0xff])
        }),
    ];
    for (name, variant, edit) in edits {
        case(name, variant, &|f| {
            let path = f.join("model.safetensors");
            let mut file = std::fs::read(&path).unwrap();
            edit(&mut file);
            std::fs::write(path, file).unwrap();
        });
    }
    for (name, variant, key, value) in [
        ("a tensor of integers", "WrongDtype", "dtype", json!("I16")),
        ("a tensor with another type", "WrongLength", "dtype", json!("F32")),
        ("a tensor of another shape", "WrongShape", "shape", json!([1, 48])),
    ] {
        case(name, variant, &|f| {
            edit_weights(f, |json| json["model.norm.weight"][key] = value.clone())
        });
    }
    case("a tensor that no Llama has", "ExtraTensor", &|f| {
        let entry = json!({"dtype": "F32", "shape": [0], "data_offsets": [0, 0]});
        edit_weights(f, |json| json["model.layers.0.self_attn.q_proj.bias"] = entry.clone());
    });
    insta::assert_snapshot!("folders", report.0);
}

#[test]
fn every_broken_set_of_shards_has_its_error() {
    const INDEX: &str = "model.safetensors.index.json";
    const SHARDS: [&str; 2] = ["model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors"];
    let mut report = Report::default();
    let mut case =
        |case: &str, variant: &str, spoil: &dyn Fn(&Path)| report.spoiled("sharded-bf16", case, variant, spoil);
    let remove = |folder: &Path, files: &[&str]| {
        files
            .iter()
            .for_each(|file| std::fs::remove_file(folder.join(file)).unwrap())
    };
    case("one tensor in two shards", "DuplicateName", &|f| {
        remove(f, &[INDEX]);
        std::fs::copy(f.join(SHARDS[0]), f.join("more.safetensors")).unwrap();
    });
    case("a shard is missing", "Unreadable", &|f| remove(f, &[SHARDS[1]]));
    case("a shard is missing, without an index", "MissingTensor", &|f| {
        remove(f, &[INDEX, SHARDS[1]])
    });
    case("the index names another shard", "MissingTensor", &|f| {
        edit_json(&f.join(INDEX), |json| {
            let is_first = json["weight_map"]["lm_head.weight"] == SHARDS[0];
            json["weight_map"]["lm_head.weight"] = json!(SHARDS[usize::from(is_first)]);
        });
    });
    case("the index reaches out of the folder", "BadHeader", &|f| {
        edit_json(&f.join(INDEX), |json| {
            json["weight_map"]["lm_head.weight"] = json!("../../secret.safetensors")
        });
    });
    insta::assert_snapshot!("shards", report.0);
}

#[test]
fn every_broken_header_has_its_error() {
    let mut report = Report::default();
    let entry = |dtype: &str, shape: &str, begin: u64, end: u64| {
        format!(r#"{{"dtype": "{dtype}", "shape": {shape}, "data_offsets": [{begin}, {end}]}}"#)
    };
    let one = |a: &str| format!(r#"{{"a": {a}}}"#);
    let a = entry("F32", "[2]", 0, 8);
    let two =
        |second: &str, begin: u64| format!(r#"{{"a": {a}, "{second}": {}}}"#, entry("F32", "[2]", begin, begin + 8));
    for (case, json, data_bytes) in [
        ("no JSON", "model weights".into(), 0),
        ("no offsets", one(r#"{"dtype": "F32", "shape": [2]}"#), 8),
        ("negative size", one(&entry("F32", "[-2]", 0, 8)), 8),
        ("unknown type", one(&entry("F8_E4M3", "[8]", 0, 8)), 8),
        ("offsets backwards", one(&entry("F32", "[2]", 8, 0)), 8),
        ("overflow", one(&entry("F32", "[4294967296, 4294967296]", 0, 8)), 8),
        ("too few bytes", one(&entry("F32", "[3]", 0, 8)), 8),
        ("one name twice", two("a", 8), 16),
        ("overlap", two("b", 4), 12),
        ("gap", two("b", 16), 24),
        ("cut off", one(&a), 7),
        ("longer", one(&a), 9),
    ] {
        let error = safe_header("model.safetensors", &safetensors(&json, &vec![0; data_bytes])).expect_err(case);
        report.add(case, Path::new("FOLDER"), &error);
    }
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
    add("another format", b"PK\x03\x04\0\0\0\0".to_vec());
    add("empty", Vec::new());
    let value = |kind: u32, rest: &[u8]| [&kind.to_le_bytes()[..], rest].concat();
    let long_array = [&4_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat();
    let not_utf8 = [&2_u64.to_le_bytes()[..], &[0xff, 0xfe]].concat();
    type Edit<'a> = &'a dyn Fn(&mut GgufBytes);
    let edits: [(&str, Edit<'_>); 21] = [
        ("version 1", &|f| f.version = 1),
        ("big endian", &|f| f.version = 3_u32.swap_bytes()),
        ("too many pairs", &|f| f.num_pairs = Some(u64::MAX)),
        ("too many tensors", &|f| f.num_tensors = Some(1 << 40)),
        ("a key twice", &|f| f.pairs.push(f.pairs[0].clone())),
        ("a text that is no UTF-8", &|f| f.pairs[0].1 = value(8, &not_utf8)),
        ("unknown value type", &|f| f.pairs[0].1 = value(13, &[])),
        ("a flag of 2", &|f| f.pairs[0].1 = value(7, &[2])),
        ("a long array", &|f| f.pairs[0].1 = value(9, &long_array)),
        ("alignment of 0", &|f| {
            f.pairs.push(("general.alignment".into(), count(0)))
        }),
        ("five dimensions", &|f| f.tensors[0].1 = vec![1; 5]),
        ("no dimension", &|f| f.tensors[0].1 = vec![]),
        ("unknown type", &|f| f.tensors[0].2 = 10),
        ("half a block", &|f| f.tensors[0] = ("a".into(), vec![48, 2], 3, 0)),
        ("overflow", &|f| f.tensors[0].1 = vec![1 << 32, 1 << 32]),
        ("a tensor twice", &|f| f.tensors[1].0 = "a".into()),
        ("overlap", &|f| f.tensors[1].3 = 0),
        ("gap", &|f| f.tensors[1].3 = 64),
        ("not aligned", &|f| f.tensors[1].3 = 40),
        ("cut off", &|f| f.data.truncate(63)),
        ("longer", &|f| f.data.resize(65, 0)),
    ];
    for (case, edit) in edits {
        let mut file = right.clone();
        edit(&mut file);
        add(case, file.build());
    }
    insta::assert_snapshot!("gguf", report.0);
}

/// Right files of models that the workbook does not run, and of vocabularies that it does not know.
#[test]
fn every_foreign_gguf_model_has_its_error() {
    let mut report = Report::default();
    let original = std::fs::read(gguf_path("bytes.gguf")).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    // The replacement has the same length, so that the offsets stay right.
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

/// An embedding with more rows than pieces is allowed where the config says so.
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

/// Old writers stored the rotary frequencies, which follow from the config. They are ignored.
#[test]
fn leftovers_of_old_writers_are_ignored() {
    let (_keep, folder) = copy_of(MODEL);
    edit_weights(&folder, |json| {
        let entry = json!({"dtype": "F32", "shape": [0], "data_offsets": [0, 0]});
        for name in [
            "model.layers.0.self_attn.rotary_emb.inv_freq",
            "layers.1.self_attn.rotary_emb.inv_freq",
            "model.rotary_emb.inv_freq",
            "rotary_emb.inv_freq",
        ] {
            json[name] = entry.clone();
        }
    });
    open(&folder).unwrap();
}

/// A value that the asked type can not hold is refused with the name of its tensor, and no file is left behind.
#[test]
fn values_beyond_the_asked_type_have_their_errors() {
    let mut report = Report::default();
    for (dtype, value) in [
        (loading::Dtype::F16, 3e38_f32),
        (loading::Dtype::F16, -65_520.0),
        (loading::Dtype::BF16, f32::MAX),
    ] {
        let (_keep, folder) = copy_of("all-kv-untied-f32");
        let path = folder.join("model.safetensors");
        let mut file = std::fs::read(&path).unwrap();
        let last = file.len() - 4;
        file[last..].copy_from_slice(&value.to_le_bytes());
        std::fs::write(&path, file).unwrap();
        let model = open(&folder).unwrap();
        let to = tempfile::tempdir().unwrap();
        let convert = |dtype| loading::convert::convert(&model, to.path(), dtype, &mut |_, _| {});
        let error = convert(Some(dtype)).unwrap_err();
        report.add(&format!("{value:e} as {dtype}"), &folder, &error);
        assert_eq!(std::fs::read_dir(to.path()).unwrap().count(), 0);
        // The type that holds every value is f32.
        assert_eq!(convert(None).unwrap().dtype, loading::Dtype::F32);
    }
    // The largest values that round to finite ones pass.
    let near = [65_519.0, -65_519.0];
    assert_eq!(
        loading::write::narrow(&near, loading::Dtype::F16),
        [0xff, 0x7b, 0xff, 0xfb]
    );
    insta::assert_snapshot!("ranges", report.0);
}
