//! The functions that a learner writes: free functions, nothing else. The loader calls them.

use crate::bytes::LoadPlan;
use crate::error::Result;
use crate::header::{Entry, Header, Refuse, checked_entry, parse_json};

/// Reads the header of a safetensors file and checks every claim in it. `bytes` is the whole file; `file` names it in
/// errors.
///
/// Afterwards every entry lies within the file, the entries cover the data section without overlap or gap, names are
/// unique, and sizes fit shapes ([`checked_entry`]). The values are *not* checked: that takes a checksum. The entries
/// are returned in the order of their bytes.
///
/// Cost: reads the header only; allocates in proportion to the length of the header, never to a number in it. Source:
/// the format's description in the README of huggingface/safetensors.
///
/// # Errors
/// The first rule that is broken; [`Refuse`] has one method for each rule.
pub fn safe_header(file: &str, bytes: &[u8]) -> Result<Header> {
    let refuse = Refuse { file };
    let file_bytes = bytes.len() as u64;
    // ANCHOR: ex_04_1
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(refuse.cut_off(10, file_bytes));
    };
    // Compared without adding 8: a length near 2^64 would wrap round and pass.
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

    // All entries together: no name twice, and in the order of their bytes each entry begins where the one before it
    // ends.
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

    // The last entry ends where the file ends. The sum saturates: a forged offset may be near 2^64.
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

/// Returns the bits of the bf16 that is nearest to `value`; of two equally near ones, the one with an even last bit.
///
/// A bf16 is the upper half of an f32. Cutting the lower half off would always round towards zero: every product
/// shrinks a little, layer after layer, and no error goes the other way. Rounding to nearest even errs in both
/// directions. A NaN stays a NaN (its payload may lie in the lower half, so a bit is set by hand). A value beyond the
/// largest bf16 becomes infinite.
pub fn bf16_bits(value: f32) -> u16 {
    // ANCHOR: ex_04_2
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x0040;
    }
    // Adding 0x7fff carries into the upper half when the lower half is above its middle (0x8000). The last bit of the
    // upper half is added too: in the middle itself an odd value is carried up to even, and an even one stays.
    let is_odd = (bits >> 16) & 1;
    ((bits + 0x7fff + is_odd) >> 16) as u16
    // ANCHOR_END: ex_04_2
}

/// Returns the name under which a file stores the tensor `wanted`, or `None` if the file lacks it.
///
/// `wanted` is a canonical name (`model.layers.0.mlp.up_proj.weight`, `lm_head.weight`); `has` says whether the file
/// has a name. A base model is stored without the prefix `model.`. In a file without a head the embedding serves as
/// head, whatever `tie_word_embeddings` in the config says: most writers drop the second copy, and not all of them set
/// the flag.
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

/// Returns the largest number of heap bytes in use at any time, while tensors of `stored_bytes[i]` on disk become
/// `loaded_bytes[i]` in memory, one after the other.
///
/// [`LoadPlan::WholeFile`] holds the whole file until the last tensor is done. [`LoadPlan::OneByOne`] holds the stored
/// bytes of one tensor at a time. [`LoadPlan::Mapped`] holds none, because a mapping is not on the heap.
///
/// # Panics
/// If the two lists differ in length.
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

/// Returns test files for a loader: cuts of `whole`, a correct safetensors file with at least two tensors. Every
/// careless length check in [`crate::careless`] must accept at least one of them, and the correct check none.
///
/// A cut may fall anywhere. It counts which careless check takes the rest for a whole file.
pub fn cut_off_files(whole: &[u8]) -> Vec<Vec<u8>> {
    // ANCHOR: ex_04_5
    let mut length = [0; 8];
    length.copy_from_slice(&whole[..8]);
    let data_begin = 8 + u64::from_le_bytes(length) as usize;
    let mut ends = vec![0, 4, 8, data_begin - 1, data_begin, whole.len() - 1];
    // The ends of all tensors but the last one.
    let tensors = parse_json(&whole[8..data_begin]).unwrap_or_default().entries;
    let borders = (tensors.iter()).map(|(_, tensor)| data_begin + tensor.data_offsets[1] as usize);
    ends.extend(borders.filter(|end| *end < whole.len()));
    ends.iter().map(|&end| whole[..end].to_vec()).collect()
    // ANCHOR_END: ex_04_5
}
