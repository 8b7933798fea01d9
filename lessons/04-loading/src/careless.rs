//! Length checks that look right and are wrong. The exercise 04.5 asks for test files that tell them from the correct
//! check.

use crate::header::parse_json;

/// A check: whether it accepts this file as whole.
pub type Check = fn(&[u8]) -> bool;

/// The correct check of lengths: the file ends exactly where its last tensor ends.
pub fn correct(file: &[u8]) -> bool {
    ends(file).is_some_and(|(data_begin, ends)| ends.into_iter().max().unwrap_or(data_begin) == file.len())
}

// ANCHOR: careless
/// The careless checks, each with its fault.
pub const CARELESS: [(&str, Check); 5] = [
    ("stops after the header", stops_after_the_header),
    ("wants some data, not all of it", wants_some_data),
    ("believes the tensors that are there", believes_whole_tensors),
    ("is off by one at the end", is_off_by_one),
    ("takes a short length field for an empty file", takes_short_for_empty),
];

/// The end of the header and the ends of the tensors, from the start of the file; `None` if the header is not readable.
fn ends(file: &[u8]) -> Option<(usize, Vec<usize>)> {
    let (length, rest) = file.split_first_chunk::<8>()?;
    let header_bytes = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let raw = parse_json(rest.get(..header_bytes)?).ok()?;
    let data_begin = 8 + header_bytes;
    let ends = (raw.entries.iter())
        .map(|(_, entry)| data_begin.saturating_add(entry.data_offsets[1] as usize))
        .collect();
    Some((data_begin, ends))
}

fn stops_after_the_header(file: &[u8]) -> bool {
    ends(file).is_some()
}

fn wants_some_data(file: &[u8]) -> bool {
    ends(file).is_some_and(|(data_begin, _)| file.len() > data_begin)
}

/// Accepts a file that ends where any tensor ends.
fn believes_whole_tensors(file: &[u8]) -> bool {
    ends(file).is_some_and(|(_, ends)| ends.contains(&file.len()))
}

fn is_off_by_one(file: &[u8]) -> bool {
    ends(file).is_some_and(|(_, ends)| ends.into_iter().max().unwrap_or(0) <= file.len() + 1)
}

/// Accepts a file that is too short for a length, as a file without tensors.
fn takes_short_for_empty(file: &[u8]) -> bool {
    file.len() < 8 || correct(file)
}
// ANCHOR_END: careless
