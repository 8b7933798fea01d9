//! The functions that a reader of this lesson writes: each one is small, free-standing and used by the loader itself.

use crate::error::Result;
use crate::header::{Entry, Header, Refuse, checked_entry, parse_json};
use crate::memory::LoadPlan;

/// Reads the header of a safetensors file and believes nothing in it. `bytes` is the whole file; `file` names it in errors.
///
/// After this, every entry lies within the file, the entries cover the data section without overlap or gap, names are
/// unique, and sizes fit shapes ([`checked_entry`]). What is *not* checked is whether the values are right: a checksum is for
/// that. The entries come back in the order of their bytes.
///
/// Cost: reads the header only; allocates in proportion to the header's length, never to a number that stands in it.
/// Source: the format's description in the README of huggingface/safetensors.
///
/// # Errors
/// The first rule that is broken; [`Refuse`] has one method for each.
pub fn safe_header(file: &str, bytes: &[u8]) -> Result<Header> {
    let refuse = Refuse { file };
    let file_bytes = bytes.len() as u64;
    // ANCHOR: ex_04_1
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(refuse.cut_off(10, file_bytes));
    };
    // Compared without adding 8 to it: a length near 2^64 would wrap round and pass.
    let header_bytes = u64::from_le_bytes(*length);
    if header_bytes > rest.len() as u64 {
        return Err(refuse.header_too_long(header_bytes, file_bytes));
    }
    let (json, data) = rest.split_at(header_bytes as usize);
    let raw = parse_json(json).map_err(|error| refuse.bad("header", "a JSON map of tensors", error))?;
    if raw.metadata.len() > 1 {
        return Err(refuse.duplicate("__metadata__"));
    }
    let mut entries = (raw.entries.into_iter())
        .map(|(name, claim)| checked_entry(refuse, name, claim))
        .collect::<Result<Vec<Entry>>>()?;

    // All of them together: no name twice, and in the order of their bytes each begins where the one before it ends.
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(refuse.duplicate(&pair[0].name));
    }
    entries.sort_by_key(|entry| (entry.begin, entry.end));
    let mut end = 0;
    for (index, entry) in entries.iter().enumerate() {
        if entry.begin < end {
            return Err(refuse.overlap(&entries[index - 1], entry));
        }
        if entry.begin > end {
            return Err(refuse.gap(entry, end));
        }
        end = entry.end;
    }

    // And the last one ends where the file does. The sum saturates: a forged offset may be near 2^64.
    let expected_bytes = (8 + header_bytes).saturating_add(end as u64);
    if end > data.len() {
        return Err(refuse.cut_off(expected_bytes, file_bytes));
    }
    if end < data.len() {
        return Err(refuse.trailing(expected_bytes, file_bytes));
    }
    Ok(Header {
        data_begin: 8 + header_bytes as usize,
        entries,
        metadata: raw.metadata.into_iter().next().unwrap_or_default(),
    })
    // ANCHOR_END: ex_04_1
}

/// The bits of the bf16 that is nearest to `value`; of two equally near ones, that with an even last bit.
///
/// A bf16 is the upper half of an f32. Cutting the lower half off would always round towards zero: every product shrinks
/// a little, layer after layer, and nothing averages it out. Rounding errs both ways, and ties go both ways too.
/// A NaN stays a NaN (its payload may lie in the lower half, so that a bit is set by hand); a value beyond the largest bf16
/// becomes infinite.
pub fn bf16_bits(value: f32) -> u16 {
    // ANCHOR: ex_04_2
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x0040;
    }
    // Adding 0x7fff carries into the upper half when the lower one is above its middle (0x8000). In the middle itself, the
    // last bit of the upper half is added too, so that an odd one is carried up to even and an even one stays.
    let is_odd = (bits >> 16) & 1;
    ((bits + 0x7fff + is_odd) >> 16) as u16
    // ANCHOR_END: ex_04_2
}

/// The name under which `wanted` stands in a file, or `None` when the file lacks it.
///
/// `wanted` is a canonical name (`model.layers.0.mlp.up_proj.weight`, `lm_head.weight`); `has` asks the file. A base model
/// is stored without the prefix `model.`. A file without a head shares the embedding's matrix with it, whatever
/// `tie_word_embeddings` in its config says: most writers drop the second copy, and not all of them set the flag.
pub fn stored_name(wanted: &str, has: &dyn Fn(&str) -> bool) -> Option<String> {
    // ANCHOR: ex_04_3
    if has(wanted) {
        return Some(wanted.to_string());
    }
    if wanted == "lm_head.weight" {
        return stored_name("model.embed_tokens.weight", has);
    }
    let bare = wanted.strip_prefix("model.")?;
    has(bare).then(|| bare.to_string())
    // ANCHOR_END: ex_04_3
}

/// Most bytes of heap that are in use at any time while tensors of `stored_bytes[i]` on disk become `loaded_bytes[i]` in
/// memory, one after the other.
///
/// [`LoadPlan::WholeFile`] holds the whole file until the last tensor is done; [`LoadPlan::OneByOne`] holds the stored bytes
/// of one tensor at a time; [`LoadPlan::Mapped`] none, because a mapping is not on the heap.
///
/// # Panics
/// When the two lists differ in length.
pub fn peak_bytes(plan: LoadPlan, stored_bytes: &[u64], loaded_bytes: &[u64]) -> u64 {
    assert_eq!(stored_bytes.len(), loaded_bytes.len());
    // ANCHOR: ex_04_4
    let loaded: u64 = loaded_bytes.iter().sum();
    match plan {
        LoadPlan::WholeFile => stored_bytes.iter().sum::<u64>() + loaded,
        LoadPlan::Mapped => loaded,
        LoadPlan::OneByOne => {
            let (mut done, mut peak) = (0, 0);
            for (stored, loaded) in stored_bytes.iter().zip(loaded_bytes) {
                done += loaded;
                peak = peak.max(done + stored);
            }
            peak
        }
    }
    // ANCHOR_END: ex_04_4
}

/// Test files for a loader: ways to cut `whole`, a correct safetensors file with at least two tensors, so that every
/// careless length check in [`crate::careless`] lets one of them through, and the correct one none.
///
/// A cut may fall anywhere. What counts is which careless check takes the rest for a whole file.
pub fn cut_off_files(whole: &[u8]) -> Vec<Vec<u8>> {
    // ANCHOR: ex_04_5
    let mut length = [0; 8];
    length.copy_from_slice(&whole[..8]);
    let data_begin = 8 + u64::from_le_bytes(length) as usize;
    let mut ends = vec![0, 4, 8, data_begin - 1, data_begin, whole.len() - 1];
    // Where a tensor ends, other than the last one.
    let tensors = parse_json(&whole[8..data_begin]).unwrap_or_default().entries;
    let borders = (tensors.iter()).map(|(_, tensor)| data_begin + tensor.data_offsets[1] as usize);
    ends.extend(borders.filter(|end| *end < whole.len()));
    ends.iter().map(|&end| whole[..end].to_vec()).collect()
    // ANCHOR_END: ex_04_5
}
