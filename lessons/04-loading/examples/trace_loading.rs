//! Records the trace of the book's figure: a small file, damaged copies of it, and the check that refuses each. The
//! script of the figure makes the steps and sentences.
//!
//! ```text
//! cargo run -q -p lesson04 --example trace_loading > target/loading.json && mv target/loading.json book/figures/loading.json
//! ```

use loading::dtype::{Dtype, first_not_finite, widen};
use loading::error::LoadError;
use loading::exercises::safe_header;
use loading::header::parse_json;
use loading::manifest::sha256_bytes;
use serde_json::{Value, json};

/// The checks in the order of the loader. A trace refers to them by index.
const CHECKS: [&str; 8] = [
    "the header fits into the file",
    "the header is a map of tensors",
    "each claim: type, offsets, size",
    "each name once",
    "no overlap, no gap",
    "the file ends with the last tensor",
    "all values are finite",
    "the checksum is the recorded one",
];

/// The steps of the reader, each with the check that ends with it.
const STEPS: [(&str, Option<usize>); 12] = [
    ("file", None),
    ("length", None),
    ("fits", Some(0)),
    ("json", Some(1)),
    ("claim", None),
    ("claim", Some(2)),
    ("names", Some(3)),
    ("first", None),
    ("neighbours", Some(4)),
    ("end", Some(5)),
    ("values", Some(6)),
    ("digest", Some(7)),
];

fn main() {
    lab::outln!("{:#}", document());
}

/// The whole trace.
pub fn document() -> Value {
    let whole = file(&header("[2,2]", "k", "[0,8]", "[8,16]"), &weights());
    let digest = sha256_bytes(&whole);
    let variants = variants(&whole);
    let variants = variants
        .iter()
        .map(|(id, name, bytes)| variant(id, name, bytes, &digest));
    json!({
        "schema": 1,
        "figure": "loading",
        "source": "cargo run -q -p lesson04 --example trace_loading",
        "checks": CHECKS,
        "steps": STEPS.map(|(kind, check)| json!({"kind": kind, "check": check})),
        "variants": variants.collect::<Vec<_>>(),
    })
}

/// The right file first, then the damaged ones, in the order of the checks that refuse them.
fn variants(whole: &[u8]) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let edited = |edit: &dyn Fn(&mut [u8])| {
        let mut copy = whole.to_vec();
        edit(&mut copy);
        copy
    };
    let (data, last) = (weights(), whole.len() - 1);
    let with = |shape, second, q, k| file(&header(shape, second, q, k), &data);
    let gap = file(
        &header("[2,2]", "k", "[0,8]", "[10,18]"),
        &[&data[..8], &[0, 0], &data[8..]].concat(),
    );
    let zip = |f: &mut [u8]| f[..8].copy_from_slice(b"PK\x03\x04\x14\0\0\0");
    let nan = |f: &mut [u8]| f[last - 1..].copy_from_slice(&[0xc0, 0x7f]);
    vec![
        ("whole", "nothing: the whole file", whole.to_vec()),
        ("zip", "it is a zip file", edited(&zip)),
        ("json", "the length is 40 too small", edited(&|f| f[0] -= 40)),
        (
            "shape",
            "a shape that needs more bytes",
            with("[2,3]", "k", "[0,8]", "[8,16]"),
        ),
        ("twice", "one name occurs twice", with("[2,2]", "q", "[0,8]", "[8,16]")),
        ("overlap", "two tensors overlap", with("[2,2]", "k", "[0,8]", "[6,14]")),
        ("gap", "two bytes belong to no tensor", gap),
        ("cut", "the last three bytes are missing", whole[..last - 2].to_vec()),
        ("longer", "two bytes stand after the end", [whole, b"?!"].concat()),
        ("nan", "a weight is NaN", edited(&nan)),
        (
            "flipped",
            "one bit of a weight is wrong",
            edited(&|f| f[last + 1 - data.len()] ^= 0x40),
        ),
        (
            "swapped",
            "two matrices are exchanged",
            with("[2,2]", "k", "[8,16]", "[0,8]"),
        ),
    ]
}

/// The header of the matrices `q` and `second`.
fn header(q_shape: &str, second: &str, q: &str, k: &str) -> String {
    format!(
        r#"{{"q":{{"dtype":"BF16","shape":{q_shape},"data_offsets":{q}}},"{second}":{{"dtype":"BF16","shape":[2,2],"data_offsets":{k}}}}}"#
    )
}

/// Eight weights in bf16.
fn weights() -> Vec<u8> {
    let values: [f32; 8] = [1.0, 2.0, -0.5, 0.25, 3.0, -1.0, 0.75, 4.0];
    let bits = values.iter().map(|value| (value.to_bits() >> 16) as u16);
    bits.flat_map(u16::to_le_bytes).collect()
}

fn file(json: &str, data: &[u8]) -> Vec<u8> {
    [&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), data].concat()
}

/// Reads a file as the loader does: its claims, its values, and the check that refuses it.
fn variant(id: &str, name: &str, file: &[u8], recorded: &str) -> Value {
    let header = safe_header("model.safetensors", file);
    let length = u64::from_le_bytes(*file.first_chunk().unwrap()).min(file.len() as u64 - 8);
    let claims = parse_json(&file[8..8 + length as usize]).unwrap_or_default().entries;
    let values = |entry: &loading::header::Entry| {
        let data = &file[8 + length as usize..];
        let mut values = Vec::new();
        widen(Dtype::BF16, &data[entry.begin..entry.end], &mut values);
        (entry.name.clone(), values)
    };
    let tensors: Vec<(String, Vec<f32>)> = header.iter().flat_map(|h| h.entries.iter().map(values)).collect();
    let is_finite = tensors.iter().all(|(_, values)| first_not_finite(values).is_none());
    let refused_by = match &header {
        Err(LoadError::HeaderTooLong { .. }) => Some(0),
        Err(LoadError::BadHeader { .. }) => Some(1),
        Err(LoadError::WrongLength { .. }) => Some(2),
        Err(LoadError::DuplicateName { .. }) => Some(3),
        Err(LoadError::Overlap { .. } | LoadError::Gap { .. }) => Some(4),
        Err(LoadError::CutOff { .. } | LoadError::TrailingBytes { .. }) => Some(5),
        Err(error) => panic!("{id}: this figure has no such damage: {error}"),
        Ok(_) if !is_finite => Some(6),
        Ok(_) => (sha256_bytes(file) != recorded).then_some(7),
    };
    let claims = claims
        .iter()
        .map(|(name, claim)| json!([name, claim.dtype, claim.shape, claim.data_offsets]));
    // JSON has no NaN, so values are texts.
    let texts = |values: &[f32]| values.iter().map(f32::to_string).collect::<Vec<_>>();
    json!({
        "id": id,
        "name": name,
        "bytes": file.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "claims": claims.collect::<Vec<_>>(),
        "values": tensors.iter().map(|(name, values)| json!([name, texts(values)])).collect::<Vec<_>>(),
        "refused_by": refused_by,
        "error": header.err().map(|error| error.to_string()),
        "sha256": sha256_bytes(file),
    })
}
