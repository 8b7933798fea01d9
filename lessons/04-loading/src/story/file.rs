//! The first screen and the first two steps: what is in a safetensors file.

use anyhow::Context;
use lab::ledger::Ledger;
use lab::story::Story;
use lab::term::Tone;
use loading::bytes::{Access, FileBytes};
use loading::checkpoint::SINGLE_FILE;
use loading::dtype::{Dtype, widen};
use loading::folder::ModelFolder;
use loading::header::Header;
use loading::shapes;
use std::path::{Path, PathBuf};

/// The file to look into: the single one, or the first shard.
pub fn weight_file(folder: &Path) -> anyhow::Result<PathBuf> {
    let single = folder.join(SINGLE_FILE);
    if single.is_file() {
        return Ok(single);
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .with_context(|| format!("{}: expected a model folder", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "safetensors"))
        .collect();
    files.sort();
    files.into_iter().next().with_context(|| {
        format!(
            "{}: expected a .safetensors file, found none; this story looks into one (for GGUF, convert it first)",
            folder.display()
        )
    })
}

/// The first screen: the bytes of the file.
pub fn open(story: &mut Story, folder: &Path) -> anyhow::Result<()> {
    let path = weight_file(folder)?;
    let bytes = FileBytes::open(&path, Access::Mapped)?;
    let header = loading::exercises::safe_header(SINGLE_FILE, &bytes)?;
    story.model(&story.args().model.clone());
    story.say(format!(
        "{}, {} bytes. A trained model is nothing else:",
        lab::paths::shown(&path),
        lab::number::grouped(bytes.len() as u64)
    ));
    story.print("\n");
    let json_end = header.data_begin;
    for row in 0..7 {
        hex_row(story, &bytes, row * 16, json_end);
    }
    story.print(format!("   {}\n", story.paint(Tone::Dim, "…")));
    // The end of the header and the beginning of the weights.
    let data_row = (json_end - 8) / 16 * 16;
    for row in 0..3 {
        hex_row(story, &bytes, data_row + row * 16, json_end);
    }
    story.print("\n");
    let legend = format!(
        "   {}   {}   {}\n",
        story.paint(Tone::Accent, "8 bytes: length of the header"),
        story.paint(Tone::Dim, "JSON: names, types, shapes, offsets"),
        story.paint(Tone::Good, "weights"),
    );
    story.print(legend);
    story.values("file_bytes", bytes.len());
    story.values("header_bytes", json_end - 8);
    Ok(())
}

/// One row of 16 bytes, in the colours of length, header and weights.
fn hex_row(story: &mut Story, bytes: &[u8], begin: usize, json_end: usize) {
    let tone = |at: usize| match at {
        0..8 => Tone::Accent,
        at if at < json_end => Tone::Dim,
        _ => Tone::Good,
    };
    let end = (begin + 16).min(bytes.len());
    let mut line = format!("   {begin:08x}  ");
    for (column, at) in (begin..begin + 16).enumerate() {
        let gap = if column == 8 { " " } else { "" };
        match bytes.get(at) {
            Some(byte) => line += &format!("{gap}{} ", story.paint(tone(at), &format!("{byte:02x}"))),
            None => line += &format!("{gap}   "),
        }
    }
    line += " ";
    for at in begin..end {
        let shown = match bytes[at] {
            byte @ b' '..=b'~' => char::from(byte).to_string(),
            _ => "·".to_string(),
        };
        line += &story.paint(tone(at), &shown);
    }
    story.print(line + "\n");
}

/// Step 1: the header's numbers, and one weight by hand.
pub fn claims_of_the_header(story: &mut Story, folder: &Path) -> anyhow::Result<()> {
    story.step(
        "A length, a list of claims, and numbers",
        "Nothing here can run code: that is the meaning of \"safe\". But each number comes from outside: a reader compares all of \
         them with the file before it follows one.",
    );
    let path = weight_file(folder)?;
    let bytes = FileBytes::open(&path, Access::Mapped)?;
    let header = loading::exercises::safe_header(SINGLE_FILE, &bytes)?;
    let json_bytes = header.data_begin - 8;
    story.show_as(
        "header",
        json_bytes,
        format!("{} bytes = {}", json_bytes, hex_of_length(json_bytes)),
    );
    story.show("tensors", header.entries.len());
    let data_bytes = header.entries.last().map_or(0, |entry| entry.end);
    story.show_as(
        "8 + header + weights",
        data_bytes,
        format!(
            "8 + {json_bytes} + {data_bytes} = {} = length of the file",
            8 + json_bytes + data_bytes
        ),
    );
    first_weights(story, &bytes, &header);
    Ok(())
}

/// The eight bytes of the length in the file.
fn hex_of_length(length: usize) -> String {
    let bytes = (length as u64).to_le_bytes();
    let shown: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}, the low byte first", shown.join(" "))
}

/// Shows the first weights, bit by bit.
fn first_weights(story: &mut Story, bytes: &[u8], header: &Header) {
    let Some(entry) = header.entries.iter().find(|entry| entry.shape.len() == 2) else {
        return;
    };
    let size = entry.dtype.block_bytes();
    let begin = header.data_begin + entry.begin;
    let (exponent_bits, fraction_bits) = match entry.dtype {
        Dtype::F32 => (8, 23),
        Dtype::F16 => (5, 10),
        _ => (8, 7),
    };
    let row = |index: usize| {
        let at = begin + index * size;
        let stored = &bytes[at..at + size];
        let mut values = Vec::new();
        widen(entry.dtype, stored, &mut values);
        let bits = (stored.iter().rev()).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let field = |shift: usize, count: usize| bits >> shift & ((1 << count) - 1);
        let hex: Vec<String> = stored.iter().map(|byte| format!("{byte:02x}")).collect();
        [
            at.to_string(),
            hex.join(" "),
            field(exponent_bits + fraction_bits, 1).to_string(),
            format!("{:0exponent_bits$b}", field(fraction_bits, exponent_bits)),
            format!("{:0fraction_bits$b}", field(0, fraction_bits)),
            format!("{:+.6}", values[0]),
        ]
    };
    let (name, dtype, shape) = (&entry.name, entry.dtype, &entry.shape);
    story.say(format!("The first weights of {name}, {dtype} {shape:?}:"));
    let header = ["byte", "in the file", "sign", "exponent", "fraction", "value"];
    story.rows(&header, (0..4).map(row));
    if entry.dtype == Dtype::BF16 {
        story.say("A bf16 is the upper half of an f32: value = 2^(exponent - 127) x 1.fraction.");
    }
}

/// Step 2: three files describe one model.
pub fn agreement(story: &mut Story, folder: &Path, model: &ModelFolder, ledger: &Ledger) -> anyhow::Result<()> {
    story.step(
        "config.json, weights and tokenizer.json must be one model",
        "Each file may be right and the three may still belong to different models. The shapes follow from the config, so they can be compared.",
    );
    let llama = &model.config.llama;
    let names = [
        "model.embed_tokens.weight",
        "model.layers.0.self_attn.q_proj.weight",
        "model.layers.0.self_attn.k_proj.weight",
        "model.layers.0.mlp.down_proj.weight",
        "model.norm.weight",
    ];
    let row = |name: &str| {
        let info = model.weights.info(name)?;
        let expected = shapes::expected_shape(llama, model.config.architecture, name).unwrap_or_default();
        let (dtype, found, expected) = (
            info.dtype.to_string(),
            format!("{:?}", info.shape),
            format!("{expected:?}"),
        );
        Some([name.to_string(), dtype, found, expected])
    };
    let has_head = loading::checkpoint::Checkpoint::open(folder, Access::Mapped)?.has_head();
    let in_file = if has_head { "present" } else { "absent" };
    let in_config = if llama.tie_word_embeddings { "tied" } else { "separate" };
    let head = [shapes::HEAD, "", in_file, in_config].map(String::from);
    story.rows(
        &["tensor", "type", "in the file", "config says"],
        names.into_iter().filter_map(row).chain([head]),
    );
    story.show("tensors, all as expected", model.weights.names().len());
    let pieces = model.tokenizer.as_ref().map_or(0, |tokenizer| tokenizer.vocab_size());
    let rows = llama.vocab_size;
    story.show_as(
        "vocabulary",
        pieces,
        format!("{pieces} pieces in tokenizer.json, {rows} rows in the embedding"),
    );
    let eos: Vec<String> = model.config.eos_token_ids.iter().map(|id| id.0.to_string()).collect();
    story.show("end of text, ids", eos.join(", "));
    let (peak, stored) = (ledger.peak_bytes, model.weights.stored_bytes());
    let (shown, of) = (lab::number::bytes(peak), lab::number::bytes(stored));
    story.show_as(
        "heap while opening",
        peak,
        format!("{shown} at most, for {of} of weights: none is read yet"),
    );
    story.ledger(ledger);
    Ok(())
}
