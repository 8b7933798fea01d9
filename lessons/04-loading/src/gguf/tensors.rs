//! The tensor list of a GGUF file.

use super::cursor::Cursor;
use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
use crate::header::{Entry, Refuse};

/// Reads one entry of the tensor list. `begin` is the offset in the file, `end` follows from shape and type.
pub(super) fn read_entry(cursor: &mut Cursor<'_>) -> Result<Entry> {
    let name = cursor.str()?.to_string();
    let num_dims = cursor.u32()?;
    if !(1..=4).contains(&num_dims) {
        return Err(cursor.refuse().bad(&name, "1 to 4 dimensions", num_dims));
    }
    let mut sizes = Vec::with_capacity(4);
    for _ in 0..num_dims {
        sizes.push(cursor.u64()?);
    }
    let kind = cursor.u32()?;
    let begin = cursor.u64()?;
    let Some(dtype) = dtype_of(kind) else {
        return Err(LoadError::WrongDtype {
            file: cursor.refuse().file.into(),
            name,
            expected: "type F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K or Q6_K",
            found: type_name(kind),
        });
    };
    let row_len = sizes[0];
    if row_len % dtype.block_len() as u64 != 0 {
        let expected = format!("rows of whole blocks of {}", dtype.block_len());
        return Err(cursor.refuse().bad(&name, &expected, row_len));
    }
    let num_values = (sizes.iter()).try_fold(1_u64, |product, &n| product.checked_mul(n));
    let num_bytes = num_values.and_then(|n| dtype.bytes(n));
    let Some(end) = num_bytes.and_then(|bytes| begin.checked_add(bytes)) else {
        return Err(cursor.refuse().overflow(&name, sizes));
    };
    Ok(Entry {
        name,
        dtype,
        shape: sizes.iter().rev().map(|&n| n as usize).collect(),
        begin: begin as usize,
        end: end as usize,
    })
}

/// Sorts the tensors by offset and checks that they follow each other, padded to the alignment, up to the end of the
/// file.
pub(super) fn check_layout(
    file: &str,
    entries: &mut [Entry],
    alignment: usize,
    data_begin: usize,
    file_len: usize,
) -> Result<()> {
    let refuse = Refuse { file };
    entries.sort_by_key(|entry| (entry.begin, entry.end));
    let mut end = 0_usize;
    for (index, entry) in entries.iter().enumerate() {
        if entry.begin < end {
            return Err(refuse.overlap(&entries[index - 1], entry));
        }
        let expected = end.checked_next_multiple_of(alignment).unwrap_or(usize::MAX);
        if entry.begin != expected {
            return Err(refuse.gap(entry, expected));
        }
        end = entry.end;
    }
    let expected_bytes = data_begin.saturating_add(end) as u64;
    let found_bytes = file_len as u64;
    if found_bytes < expected_bytes {
        return Err(refuse.cut_off(expected_bytes, found_bytes));
    }
    // The last tensor may be padded too.
    if found_bytes > expected_bytes.next_multiple_of(alignment as u64) {
        return Err(refuse.trailing(expected_bytes, found_bytes));
    }
    Ok(())
}

fn dtype_of(kind: u32) -> Option<Dtype> {
    match kind {
        0 => Some(Dtype::F32),
        1 => Some(Dtype::F16),
        2 => Some(Dtype::Q4_0),
        3 => Some(Dtype::Q4_1),
        6 => Some(Dtype::Q5_0),
        7 => Some(Dtype::Q5_1),
        8 => Some(Dtype::Q8_0),
        12 => Some(Dtype::Q4K),
        13 => Some(Dtype::Q5K),
        14 => Some(Dtype::Q6K),
        30 => Some(Dtype::BF16),
        _ => None,
    }
}

/// llama.cpp's name of a type that this loader does not read.
fn type_name(kind: u32) -> String {
    let name = match kind {
        9 => "Q8_1",
        10 => "Q2_K",
        11 => "Q3_K",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        20 => "IQ4_NL",
        21 => "IQ3_S",
        22 => "IQ2_S",
        23 => "IQ4_XS",
        24 => "I8",
        25 => "I16",
        26 => "I32",
        27 => "I64",
        28 => "F64",
        _ => return format!("number {kind}"),
    };
    name.into()
}
