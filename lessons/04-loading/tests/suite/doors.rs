//! Tokenizer files that other programs wrote, or that were spoiled: settings in them change no prompt, and no content of
//! them ends the program.

use loading::{LoadError, Tokenizer};
use serde_json::{Value, json};
use training::TokenId;

/// A byte-level tokenizer.json of the fixtures.
fn file() -> Value {
    let path = fixtures::model("some-kv-tied-bf16").join("tokenizer.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn edited(edit: impl FnOnce(&mut Value)) -> Value {
    let mut json = file();
    edit(&mut json);
    json
}

fn open(json: &Value) -> Result<Tokenizer, LoadError> {
    Tokenizer::from_json(json.to_string().as_bytes())
}

/// The message of a tokenizer that is refused when it is opened.
#[track_caller]
fn refused(json: &Value) -> String {
    let error = open(json).err().expect("this file is refused");
    assert!(matches!(error, LoadError::BadTokenizer { .. }), "{error:?}");
    error.to_string()
}

#[test]
fn stored_truncation_and_padding_change_no_text() {
    let text = "Once upon a time there was a little fox named Pip, and so on and on.";
    let plain = open(&file()).unwrap().encode(text, true).unwrap();
    let truncations = [
        json!({"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}),
        json!({"max_length": 4, "strategy": "OnlyFirst", "stride": 4, "direction": "Left"}),
        json!({"max_length": 0, "strategy": "LongestFirst", "stride": 9, "direction": "Right"}),
        json!("not even a rule"),
    ];
    let padding = |strategy: Value| {
        json!({"strategy": strategy, "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 0, "pad_type_id": 0,
               "pad_token": "<pad>"})
    };
    let paddings = [padding(json!("BatchLongest")), padding(json!({"Fixed": 99}))];
    let pairs = truncations
        .iter()
        .map(|t| ("truncation", t))
        .chain(paddings.iter().map(|p| ("padding", p)));
    for (key, value) in pairs {
        let tokenizer = open(&edited(|json| json[key] = value.clone())).unwrap();
        assert_eq!(tokenizer.encode(text, true).unwrap(), plain, "{key}: {value}");
        let written: Value = serde_json::from_str(&tokenizer.to_json().unwrap()).unwrap();
        assert_eq!(written[key], Value::Null, "the setting is not written again");
    }
}

/// Each of these ends in a panic inside the library.
#[test]
fn what_the_library_panics_at_is_an_error() {
    let merges = |pairs: Value| edited(move |json| json["model"]["merges"] = pairs);
    let longest = (file()["model"]["vocab"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::len)
        .max())
    .unwrap();
    let long = "a".repeat(longest);
    let template = |single: Value, special: Value| {
        let rule = json!({"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": special});
        edited(move |json| json["post_processor"] = rule)
    };
    let bos = json!([{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]);
    let table = |base64: &str| {
        let rule = json!({"type": "Precompiled", "precompiled_charsmap": base64});
        [rule.clone(), json!({"type": "Sequence", "normalizers": [rule]})]
            .map(|rule| edited(move |json| json["normalizer"] = rule))
    };
    let mut cases = vec![
        ("a merge longer than the longest piece", merges(json!([[long, "a"]]))),
        ("the same as one text", merges(json!([format!("{long} a")]))),
        ("a decoder that is a number", edited(|json| json["decoder"] = json!(5))),
        (
            "a normalizer of no kind",
            edited(|json| json["normalizer"] = json!({"type": "Sequence", "normalizers": 3})),
        ),
        ("a template with an unknown token", template(bos.clone(), json!({}))),
        (
            "a template with an id beyond the vocabulary",
            template(
                bos,
                json!({"<bos>": {"id": "<bos>", "ids": [999_999], "tokens": ["<bos>"]}}),
            ),
        ),
        (
            "a prefix that no merge has",
            edited(|json| {
                json["model"]["continuing_subword_prefix"] = json!("#########");
                json["model"]["merges"] = json!([["a", "b"]]);
            }),
        ),
    ];
    for base64 in ["", "AAA", "AAAA", "/////w==", "AAAAgA==", "CAAAAAEAAA==", "not base64!"] {
        cases.extend(table(base64).map(|file| (base64, file)));
    }
    for (case, file) in cases {
        let error = refused(&file);
        assert!(
            error.starts_with("tokenizer.json: expected ") && error.lines().count() == 1,
            "{case}: {error}"
        );
    }
    for cut in [r#"{"decoder":"#, r#"{"decoder":1}"#, "", "[]", "7", "null", "\u{feff}"] {
        let error = Tokenizer::from_json(cut.as_bytes()).err().expect(cut);
        assert!(matches!(error, LoadError::BadTokenizer { .. }), "{cut}: {error:?}");
    }
}

/// A file cut off anywhere is refused, and a file in which any value was replaced is read or refused.
#[test]
fn no_place_of_a_tokenizer_file_ends_the_program() {
    let mut small = file();
    small["model"]["merges"] = json!([["a", "b"]]);
    let kept = ["a", "b", "ab", "<0x0A>"];
    small["model"]["vocab"] = (kept.iter().enumerate())
        .map(|(id, piece)| ((*piece).to_owned(), json!(id + 3)))
        .collect();
    small["added_tokens"] = json!([{"id": 0, "content": "<s>", "single_word": false, "lstrip": true, "rstrip": false,
                                    "normalized": false, "special": true}]);
    small["model"]["vocab"]["<s>"] = json!(0);
    let text = small.to_string();
    assert!(Tokenizer::from_json(text.as_bytes()).is_ok());
    for end in 0..text.len() {
        assert!(Tokenizer::from_json(&text.as_bytes()[..end]).is_err());
    }
    let mut pointers = Vec::new();
    all_pointers(&small, String::new(), &mut pointers);
    let values = [
        json!(null),
        json!(-1),
        json!(u64::MAX),
        json!(""),
        json!("▁"),
        json!([]),
        json!({}),
        json!([[1]]),
    ];
    for pointer in &pointers {
        for value in &values {
            let mut json = small.clone();
            *json.pointer_mut(pointer).unwrap() = value.clone();
            if let Ok(tokenizer) = open(&json) {
                drop(tokenizer.encode("ab a\u{0}b 你 <s>", true));
                drop(tokenizer.decode(&[TokenId(3), TokenId(0), TokenId(77)]));
            }
        }
    }
    assert!(pointers.len() > 30);
}

fn all_pointers(value: &Value, at: String, out: &mut Vec<String>) {
    let mut below = |key: &str, value: &Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        all_pointers(value, format!("{at}/{key}"), out);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(i, value)| below(&i.to_string(), value)),
        _ => {}
    }
    out.push(at);
}

#[test]
fn an_id_has_one_piece() {
    let twice = refused(&edited(|json| {
        let id = json["model"]["vocab"]["a"].clone();
        json["model"]["vocab"]["b"] = id;
    }));
    assert!(
        twice.contains("for `a` and `b`") || twice.contains("for `b` and `a`"),
        "{twice}"
    );
    let mut added = json!({"id": 5000, "content": "<new>", "single_word": false, "lstrip": false, "rstrip": false,
                           "normalized": false, "special": true});
    let gap = refused(&edited(|json| {
        json["added_tokens"].as_array_mut().unwrap().push(added.clone())
    }));
    assert!(gap.contains("`<new>` with id 5000"), "{gap}");
    added["id"] = file()["model"]["vocab"]["a"].clone();
    refused(&edited(|json| {
        json["added_tokens"].as_array_mut().unwrap().push(added.clone())
    }));
}

/// Names of any length and with any character are cut and escaped.
#[test]
fn a_message_shows_no_terminal_codes_and_ends() {
    let name = format!("\u{1b}[2J\n{}", "x".repeat(5_000_000));
    let error = refused(&edited(|json| {
        let id = json["model"]["vocab"]["a"].clone();
        json["model"]["vocab"][&name] = id;
    }));
    assert!(
        error.len() < 2000 && !error.contains(|c: char| c.is_control()),
        "{} bytes",
        error.len()
    );
    let header = json!({&name: {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}).to_string();
    let file = crate::common::safetensors(&header, &[0; 4]);
    let error = loading::exercises::safe_header(&name, &file).unwrap_err().to_string();
    assert!(
        error.len() < 2000 && !error.contains(|c: char| c.is_control()),
        "{} bytes",
        error.len()
    );
}

/// A tokenizer as SentencePiece's, with added tokens that hold marks; `decoder` is what differs.
fn marked(decoder: Value) -> Value {
    let pieces = ["<s>", "a", "▁", "▁a", "▁▁", "b▁c", "▁▁hello", "é", "<0x41>", "Ġb"];
    let added = |id: usize, special: bool| {
        json!({"id": id, "content": pieces[id], "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": special})
    };
    let vocabulary: Value = (pieces.iter().enumerate())
        .map(|(id, piece)| ((*piece).to_owned(), json!(id)))
        .collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": decoder,
        "added_tokens": [added(0, true), added(5, false), added(6, false), added(7, false), added(9, true)],
        "model": {"type": "BPE", "dropout": null, "unk_token": "<s>", "continuing_subword_prefix": null,
                  "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "vocab": vocabulary, "merges": []},
    })
}

fn decoders() -> Vec<Value> {
    let replace = json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "});
    let (bytes, fuse) = (json!({"type": "ByteFallback"}), json!({"type": "Fuse"}));
    let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
    let metaspace =
        |scheme: &str| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true});
    vec![
        json!({"type": "Sequence", "decoders": [replace, bytes, fuse, strip]}),
        json!({"type": "Sequence", "decoders": [replace, bytes, fuse]}),
        json!({"type": "Sequence", "decoders": [bytes, fuse]}),
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}),
        metaspace("always"),
        metaspace("first"),
        metaspace("never"),
    ]
}

#[test]
fn an_added_token_with_marks_decodes_as_spaces() {
    let tokenizer = open(&marked(decoders().remove(1))).unwrap();
    assert_eq!(tokenizer.decode(&[TokenId(6)]), "  hello");
    assert_eq!(tokenizer.decode(&[TokenId(1), TokenId(6), TokenId(5)]), "a  hellob c");
}

/// Every text of up to three tokens, in all decoders, is the text that the library (and so `transformers`) gives.
#[test]
fn decoding_equals_the_library() {
    for decoder in decoders() {
        let json = marked(decoder.clone()).to_string();
        let (ours, theirs) = (
            Tokenizer::from_json(json.as_bytes()).unwrap(),
            json.parse::<tokenizers::Tokenizer>().unwrap(),
        );
        for text in 0..1000_u32 {
            let ids = [text / 100, text / 10 % 10, text % 10];
            let tokens = ids.map(TokenId);
            for len in 0..=3 {
                let found = [ours.decode_with_special(&tokens[..len]), ours.decode(&tokens[..len])];
                let expected = [false, true].map(|skip| theirs.decode(&ids[..len], skip).unwrap());
                assert_eq!(found, expected, "{decoder}: {:?}", &ids[..len]);
            }
        }
    }
}
