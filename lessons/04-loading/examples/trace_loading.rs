//! Records what the loader reads and compares, byte by byte, in a small file and in damaged copies of it.
//!
//! `cargo run -q -p lesson04 --example trace_loading > book/figures/loading.json` makes the trace of the book's figure anew. The
//! checks are those of `safe_header`, told one at a time; each run must end as `safe_header` ends.

use loading::Dtype;
use loading::dtype::{first_not_finite, widen};
use loading::exercises::safe_header;
use loading::header::{Entry, RawEntry, Refuse, checked_entry, parse_json};
use loading::manifest::sha256_bytes;
use serde_json::{Value, json};

/// Begin and end of some bytes of the file.
type Span = (usize, usize);

const FILE: &str = "model.safetensors";

/// What is compared, in the order of comparing.
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

fn main() {
    println!("{}", serde_json::to_string_pretty(&document()).unwrap());
}

/// The whole trace.
pub fn document() -> Value {
    let whole = file(&header("[2,2]", "k", "[0,8]", "[8,16]"), &weights());
    let digest = sha256_bytes(&whole);
    let variants: Vec<Value> = (variants(&whole).into_iter())
        .map(|(id, name, bytes)| {
            json!({
                "id": id,
                "name": name,
                "bytes": hex(&bytes),
                "changed": if id == "gap" { (131, 133) } else { changed(&whole, &bytes) },
                "steps": steps(&bytes, &digest),
            })
        })
        .collect();
    json!({
        "schema": 1,
        "figure": "loading",
        "source": "cargo run -q -p lesson04 --example trace_loading",
        "checks": CHECKS,
        "steps": variants[0]["steps"],
        "variants": variants,
    })
}

/// The right file first, then the damaged ones, in the order in which they are noticed.
fn variants(whole: &[u8]) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let mut zip = whole.to_vec();
    zip[..8].copy_from_slice(b"PK\x03\x04\x14\0\0\0");
    let with = |json: &str, data: &[u8]| file(json, data);
    let data = weights();
    let mut nan = whole.to_vec();
    let last = nan.len() - 1;
    (nan[last - 1], nan[last]) = (0xc0, 0x7f);
    let mut flipped = whole.to_vec();
    let first_weight = flipped.len() - data.len();
    flipped[first_weight] ^= 0x40;
    let longer = [&data[..], &[0, 0]].concat();
    vec![
        ("whole", "nothing: the whole file", whole.to_vec()),
        ("zip", "it is a zip file", zip),
        ("json", "the length is 40 too small", cut_header(whole)),
        (
            "shape",
            "a shape that needs more bytes",
            with(&header("[2,3]", "k", "[0,8]", "[8,16]"), &data),
        ),
        (
            "twice",
            "one name stands twice",
            with(&header("[2,2]", "q", "[0,8]", "[8,16]"), &data),
        ),
        (
            "overlap",
            "two tensors overlap",
            with(&header("[2,2]", "k", "[0,8]", "[6,14]"), &data),
        ),
        (
            "gap",
            "two bytes belong to nobody",
            with(&header("[2,2]", "k", "[0,8]", "[10,18]"), &longer),
        ),
        (
            "cut",
            "the last three bytes are missing",
            whole[..whole.len() - 3].to_vec(),
        ),
        ("longer", "something stands after the end", [whole, b"?!"].concat()),
        ("nan", "a weight is NaN", nan),
        ("flipped", "one bit of a weight is wrong", flipped),
        (
            "swapped",
            "two matrices are exchanged",
            with(&header("[2,2]", "k", "[8,16]", "[0,8]"), &data),
        ),
    ]
}

/// The header of the matrices `q` and `second`.
fn header(q_shape: &str, second: &str, q: &str, k: &str) -> String {
    format!(
        r#"{{"q":{{"dtype":"BF16","shape":{q_shape},"data_offsets":{q}}},"{second}":{{"dtype":"BF16","shape":[2,2],"data_offsets":{k}}}}}"#
    )
}

/// Eight weights.
fn weights() -> Vec<u8> {
    [1.0, 2.0, -0.5, 0.25, 3.0, -1.0, 0.75, 4.0]
        .iter()
        .flat_map(|value: &f32| ((value.to_bits() >> 16) as u16).to_le_bytes())
        .collect()
}

fn file(json: &str, data: &[u8]) -> Vec<u8> {
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.extend_from_slice(data);
    file
}

/// The length says that the JSON ends 40 bytes before it does.
fn cut_header(whole: &[u8]) -> Vec<u8> {
    let mut file = whole.to_vec();
    file[0] -= 40;
    file
}

/// Where two files differ: from the first byte that is another one to the last.
fn changed(whole: &[u8], other: &[u8]) -> Span {
    if whole == other {
        return (0, 0);
    }
    let same = |(a, b): &(&u8, &u8)| a == b;
    let front = whole.iter().zip(other).take_while(same).count();
    let rest = whole.len().min(other.len()) - front;
    let back = (whole.iter().rev().zip(other.iter().rev())).take_while(same).count();
    (front, other.len() - back.min(rest))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Steps of one run, in the making.
#[derive(Default)]
struct Recorder {
    steps: Vec<Value>,
    passed: usize,
}

impl Recorder {
    /// Something is read.
    fn look(&mut self, text: &str, at: &[Span]) {
        self.push(text, at, None);
    }

    /// The check in turn is passed.
    fn pass(&mut self, text: &str, at: &[Span]) {
        self.passed += 1;
        self.push(text, at, None);
    }

    /// The check in turn refuses the file.
    fn refuse(&mut self, text: &str, at: &[Span]) -> Vec<Value> {
        self.push(text, at, Some(self.passed));
        std::mem::take(&mut self.steps)
    }

    fn push(&mut self, text: &str, at: &[Span], refused_by: Option<usize>) {
        self.steps
            .push(json!({"text": text, "at": at, "passed": self.passed, "refused_by": refused_by}));
    }
}

/// Where each claim stands in the file: from its name to its closing brace.
fn places(file: &[u8], json: Span, claims: &[(String, RawEntry)]) -> Vec<Span> {
    let mut at = json.0;
    let find = |from: usize, word: &str| {
        from + file[from..json.1]
            .windows(word.len())
            .position(|window| window == word.as_bytes())
            .unwrap()
    };
    let mut places = Vec::new();
    for (name, _) in claims {
        let begin = find(at, &format!("\"{name}\":"));
        at = find(begin, "}") + 1;
        places.push((begin, at));
    }
    places
}

/// What a reader does with a file, until it refuses it.
fn steps(file: &[u8], digest: &str) -> Vec<Value> {
    let refused = || safe_header(FILE, file).unwrap_err().to_string();
    let mut record = Recorder::default();
    let len = file.len();
    record.look(&format!("A file of {len} bytes. None of them is believed yet."), &[]);
    let n = u64::from_le_bytes(*file.first_chunk().unwrap());
    record.look(
        &format!("The first eight bytes are one number, the low byte first: the header has {n} bytes."),
        &[(0, 8)],
    );
    let left = len - 8;
    if n > left as u64 {
        let text = format!(
            "{n} is more than the {left} bytes that are left. Refused: {}",
            refused()
        );
        return record.refuse(&text, &[(0, 8)]);
    }
    let data_begin = 8 + n as usize;
    let text = format!(
        "{left} bytes are left, {n} of them are the header, {} are data.",
        len - data_begin
    );
    record.pass(&text, &[(8, data_begin)]);
    let Ok(raw) = parse_json(&file[8..data_begin]) else {
        let text = format!("The header is read as JSON. Refused: {}", refused());
        return record.refuse(&text, &[(8, data_begin)]);
    };
    let places = places(file, (8, data_begin), &raw.entries);
    let names: Vec<&str> = raw.entries.iter().map(|(name, _)| name.as_str()).collect();
    record.pass(
        &format!(
            "The header is a map of {} tensors: {}. Each is a claim: a type, a shape, and where its bytes lie, counted from byte {data_begin}.",
            names.len(),
            names.join(" and ")
        ),
        &places,
    );

    let mut entries = Vec::new();
    let num_claims = raw.entries.len();
    for ((name, claim), place) in raw.entries.into_iter().zip(&places) {
        let [begin, end] = claim.data_offsets;
        let product: Vec<String> = claim.shape.iter().map(u64::to_string).collect();
        let needed = claim.shape.iter().product::<u64>() * 2;
        let text = format!(
            "{name} is {}, 2 bytes a value: {} x 2 = {needed} bytes are needed. Its offsets are {begin} and {end}: {} bytes",
            claim.dtype,
            product.join(" x "),
            end - begin
        );
        match checked_entry(Refuse { file: FILE }, name, claim) {
            Err(error) => {
                assert_eq!(error.to_string(), refused());
                return record.refuse(&format!("{text}. Refused: {error}"), &[*place]);
            }
            Ok(entry) => entries.push(entry),
        }
        let text = format!("{text}, as it should be.");
        if entries.len() == num_claims {
            record.pass(&text, &[*place]);
        } else {
            record.look(&text, &[*place]);
        }
    }
    together(file, digest, record, entries, &places)
}

/// All claims together, then the values, then the digest.
fn together(file: &[u8], digest: &str, mut record: Recorder, mut entries: Vec<Entry>, places: &[Span]) -> Vec<Value> {
    let refused = || safe_header(FILE, file).unwrap_err().to_string();
    if entries[0].name == entries[1].name {
        let text = format!("The two names are equal. Refused: {}", refused());
        return record.refuse(&text, places);
    }
    record.pass("Sorted by name: no two neighbours are equal.", places);
    entries.sort_by_key(|entry| entry.begin);
    let data = 8 + u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
    let place = |entry: &Entry| (data + entry.begin, (data + entry.end).min(file.len()));
    let (first, second) = (&entries[0], &entries[1]);
    record.look(
        &format!(
            "Sorted by offset, {} comes first. It begins at 0, where the data begins, and ends at {}.",
            first.name, first.end
        ),
        &[place(first)],
    );
    if first.end != second.begin {
        let text = format!(
            "{} begins at {}, and {} ends at {}. Refused: {}",
            second.name,
            second.begin,
            first.name,
            first.end,
            refused()
        );
        return record.refuse(&text, &[place(first), place(second)]);
    }
    let text = format!("{} begins at {}, where {} ends.", second.name, second.begin, first.name);
    record.pass(&text, &[place(first), place(second)]);
    let end = data + second.end;
    if end != file.len() {
        let text = format!(
            "The last tensor ends at {data} + {} = {end}, and the file at {}. Refused: {}",
            second.end,
            file.len(),
            refused()
        );
        let at = if end < file.len() {
            (end, file.len())
        } else {
            place(second)
        };
        return record.refuse(&text, &[at]);
    }
    let header = safe_header(FILE, file).unwrap();
    assert_eq!(header.entries, entries);
    record.pass(
        &format!(
            "The last tensor ends at {data} + {} = {end}, and so does the file. The header is accepted.",
            second.end
        ),
        &[place(second)],
    );

    entries.sort_by(|a, b| b.name.cmp(&a.name));
    let mut shown = Vec::new();
    for entry in &entries {
        let mut values = Vec::new();
        widen(Dtype::BF16, &file[place(entry).0..place(entry).1], &mut values);
        let text: Vec<String> = values.iter().map(f32::to_string).collect();
        shown.push(format!("{} = {}", entry.name, text.join(", ")));
        if let Some(index) = first_not_finite(&values) {
            let text = format!(
                "{}. Refused when the values are read: index {index} of {} is {}.",
                shown.join("; "),
                entry.name,
                values[index]
            );
            let at = place(entry).0 + 2 * index;
            return record.refuse(&text, &[(at, at + 2)]);
        }
    }
    record.pass(
        &format!("The values are read: {}. All are finite.", shown.join("; ")),
        &[(data, file.len())],
    );
    let found = sha256_bytes(file);
    let (found_start, recorded_start) = (&found[..8], &digest[..8]);
    let all = &[(0, file.len())];
    if found != digest {
        let text = format!(
            "The SHA-256 of these bytes begins with {found_start}, the recorded one with {recorded_start}. Only this tells that it is not the right file."
        );
        return record.refuse(&text, all);
    }
    record.pass(
        &format!(
            "The SHA-256 of these bytes begins with {found_start}, as recorded: these are the bytes that were written."
        ),
        all,
    );
    record.steps
}
