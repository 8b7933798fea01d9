//! Makes a `tokenizer.json` of the vocabulary of a GGUF file.
//!
//! GGUF has the pieces, their kinds and the merges (or scores), and the name of the rule that cuts text before merging.
//! The rest of a `tokenizer.json` follows from these:
//!
//! | `tokenizer.ggml.model` | pieces | cut by `tokenizer.ggml.pre` |
//! |---|---|---|
//! | `gpt2` | byte-level BPE with merges | `gpt-2`, `default`: GPT-2's rule; `smollm`: each digit alone, then that; `llama-bpe`: Llama 3's rule; `qwen2`: that with single digits |
//! | `llama` | SentencePiece BPE with scores | not cut; a space is `▁` and one is put in front |

use super::Gguf;
use super::config::bad_key;
use crate::error::{LoadError, Result};
use serde_json::{Value, json};
use std::collections::HashMap;

const TOKENS: &str = "tokenizer.ggml.tokens";
/// Kinds of pieces that are matched as a whole before all other rules: control pieces, and pieces defined by the user.
const CONTROL: f64 = 3.0;
const USER_DEFINED: f64 = 4.0;

/// Llama 3's rule: as in its published tokenizer.json.
const LLAMA3_CUT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Qwen2's rule, after the text was composed (NFC): as Llama 3's, but for digits.
const QWEN2_CUT: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Builds the content of a `tokenizer.json`; `None` if the file has no vocabulary.
///
/// # Errors
/// An unknown kind of vocabulary or cutting rule, a piece that occurs twice, or a list that is not as long as the
/// vocabulary.
pub fn tokenizer_json(gguf: &Gguf) -> Result<Option<Value>> {
    let metadata = gguf.metadata();
    let (file, bytes) = (gguf.file(), gguf.file_bytes());
    let Some(tokens) = metadata.strings(file, bytes, TOKENS)? else {
        return Ok(None);
    };
    let mut vocabulary = HashMap::with_capacity(tokens.len());
    for (id, token) in tokens.iter().enumerate() {
        if vocabulary.insert(*token, id).is_some() {
            return Err(LoadError::DuplicateName {
                file: file.into(),
                name: (*token).into(),
            });
        }
    }
    let kinds = metadata.numbers(file, bytes, "tokenizer.ggml.token_type")?;
    let added = added_tokens(gguf, &tokens, kinds.as_deref())?;
    let model = metadata.text("tokenizer.ggml.model")?.unwrap_or("nothing");
    let mut json = match model {
        "gpt2" => byte_level(gguf, &vocabulary)?,
        "llama" => sentence_piece(gguf, &tokens, &vocabulary)?,
        other => {
            return Err(bad_key(gguf, "tokenizer.ggml.model", "`gpt2` or `llama`", other));
        }
    };
    json["added_tokens"] = added;
    let adds_bos = metadata.flag("tokenizer.ggml.add_bos_token")?;
    if adds_bos.unwrap_or(model == "llama") {
        let bos = metadata.count("tokenizer.ggml.bos_token_id")?.unwrap_or(1);
        let Some(token) = tokens.get(bos) else {
            let found = bos.to_string();
            return Err(bad_key(
                gguf,
                "tokenizer.ggml.bos_token_id",
                "the id of a piece",
                &found,
            ));
        };
        json["post_processor"] = begins_with(token, bos);
    }
    Ok(Some(json))
}

/// The pieces that are cut out of the text before all other rules. Control pieces are special: decoding leaves them
/// out.
fn added_tokens(gguf: &Gguf, tokens: &[&str], kinds: Option<&[f64]>) -> Result<Value> {
    let Some(kinds) = kinds else {
        return Ok(json!([]));
    };
    if kinds.len() != tokens.len() {
        let found = kinds.len().to_string();
        return Err(bad_key(gguf, "tokenizer.ggml.token_type", "one kind a piece", &found));
    }
    let added = (tokens.iter().zip(kinds).enumerate())
        .filter(|(_, (_, kind))| **kind == CONTROL || **kind == USER_DEFINED)
        .map(|(id, (token, kind))| {
            json!({
                "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": *kind == CONTROL,
            })
        });
    Ok(added.collect())
}

fn byte_level(gguf: &Gguf, vocabulary: &HashMap<&str, usize>) -> Result<Value> {
    let metadata = gguf.metadata();
    let byte_level = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex});
    let pre = metadata.text("tokenizer.ggml.pre")?.unwrap_or("default");
    let by_rule = |rule: &str| {
        json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": rule}, "behavior": "Isolated", "invert": false}, byte_level(false)]})
    };
    let cut = match pre {
        "default" | "gpt-2" => byte_level(true),
        "smollm" => json!({"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": true}, byte_level(true)]}),
        "llama-bpe" | "llama3" => by_rule(LLAMA3_CUT),
        "qwen2" => by_rule(QWEN2_CUT),
        other => {
            let expected = "`default`, `gpt-2`, `smollm`, `llama-bpe` or `qwen2`";
            return Err(bad_key(gguf, "tokenizer.ggml.pre", expected, other));
        }
    };
    let (file, bytes) = (gguf.file(), gguf.file_bytes());
    let Some(merges) = metadata.strings(file, bytes, "tokenizer.ggml.merges")? else {
        return Err(bad_key(gguf, "tokenizer.ggml.merges", "a list of strings", "nothing"));
    };
    let mut pairs = Vec::with_capacity(merges.len());
    for merge in merges {
        // Pieces hold no space: the byte 0x20 is spelled `Ġ`.
        let Some(pair) = merge.split_once(' ') else {
            return Err(bad_key(
                gguf,
                "tokenizer.ggml.merges",
                "two pieces and a space between",
                merge,
            ));
        };
        pairs.push(pair);
    }
    let ignore_merges = pre.starts_with("llama");
    let normalizer = match pre {
        "qwen2" => json!({"type": "NFC"}),
        _ => Value::Null,
    };
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": normalizer,
        "pre_tokenizer": cut, "post_processor": null, "decoder": byte_level(true),
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": ignore_merges, "vocab": vocabulary, "merges": pairs,
        },
    }))
}

/// SentencePiece merges the pair whose piece has the highest score. The equivalent list of merges has all splits of all
/// pieces, the highest score first.
fn sentence_piece(gguf: &Gguf, tokens: &[&str], vocabulary: &HashMap<&str, usize>) -> Result<Value> {
    let metadata = gguf.metadata();
    let (file, bytes) = (gguf.file(), gguf.file_bytes());
    let scores = metadata.numbers(file, bytes, "tokenizer.ggml.scores")?;
    let Some(scores) = scores.filter(|scores| scores.len() == tokens.len()) else {
        return Err(bad_key(
            gguf,
            "tokenizer.ggml.scores",
            "one score a piece",
            "another number of them",
        ));
    };
    let mut merges = Vec::new();
    for (token, score) in tokens.iter().zip(&scores) {
        // Splitting costs the square of the length. No real vocabulary has such pieces, and a forged one must not cost
        // much time.
        if token.len() > 256 {
            continue;
        }
        // Splits of one piece are in the order of the ids of their parts, as in the converter of transformers.
        let mut splits: Vec<_> = (token.char_indices().skip(1))
            .map(|(cut, _)| token.split_at(cut))
            .filter_map(|(a, b)| Some((*vocabulary.get(a)?, *vocabulary.get(b)?, a, b)))
            .collect();
        splits.sort_unstable();
        merges.extend(splits.into_iter().map(|(_, _, a, b)| (*score, a, b)));
    }
    // The sort is stable, so equal scores keep their order.
    merges.sort_by(|a, b| b.0.total_cmp(&a.0));
    let pairs: Vec<_> = merges.iter().map(|(_, a, b)| (a, b)).collect();
    let unknown = metadata.count("tokenizer.ggml.unknown_token_id")?.unwrap_or(0);
    let adds_space = metadata.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let mut decoders = vec![
        json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    let mut normalizers = vec![replace];
    if adds_space {
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
        normalizers.insert(0, json!({"type": "Prepend", "prepend": "▁"}));
    }
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null,
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": null, "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": tokens.get(unknown), "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true,
            "ignore_merges": false, "vocab": vocabulary, "merges": pairs,
        },
    }))
}

/// A post-processor that puts one token in front of a text.
fn begins_with(token: &str, id: usize) -> Value {
    let special = json!({"SpecialToken": {"id": token, "type_id": 0}});
    let sequence = |id: &str, type_id: u32| json!({"Sequence": {"id": id, "type_id": type_id}});
    json!({
        "type": "TemplateProcessing",
        "single": [special, sequence("A", 0)],
        "pair": [special, sequence("A", 0), sequence("B", 1)],
        "special_tokens": {token: {"id": token, "ids": [id], "tokens": [token]}},
    })
}
