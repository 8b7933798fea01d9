//! Counted allocations. The counts are those of the whole process, so the tests run one after the other.

#[allow(dead_code)] // the suite uses the rest
#[path = "suite/common.rs"]
mod common;

use common::{GgufBytes, gguf_path, open_gguf, safetensors, small_file};
use loading::bytes::{FileBytes, LoadPlan};
use loading::checkpoint::Checkpoint;
use loading::exercises::peak_bytes;
use loading::memory::load_f32;
use loading::{WeightSource, gguf};
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

static COUNTING: Mutex<()> = Mutex::new(());

/// Waits until no other test counts.
fn alone() -> MutexGuard<'static, ()> {
    COUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of heap that a byte of the file may need: a name of one byte becomes an entry of a hundred, JSON of two bytes
/// a number of eight. More than that means that the loader trusted a number in the file.
const BYTES_PER_BYTE: u64 = 64;
/// Bytes of heap for error texts and the first growth of vectors.
const BYTES_FOR_ANY: u64 = 64 * 1024;

#[track_caller]
fn check<R>(what: &str, file_len: usize, per_byte: u64, open: impl FnOnce() -> R) {
    let before = lab::alloc::snapshot();
    lab::alloc::reset_peak();
    black_box(open());
    let after = lab::alloc::snapshot();
    let most = after.peak_bytes - before.live_bytes.min(after.peak_bytes);
    let allowed = per_byte * file_len as u64 + BYTES_FOR_ANY;
    assert!(most <= allowed, "{what}: {most} bytes for a file of {file_len}");
}

fn check_safetensors(what: &str, file: Vec<u8>) {
    check(what, file.len(), BYTES_PER_BYTE, || {
        Checkpoint::from_bytes("file", FileBytes::Eager(file))
    });
}

fn check_gguf(what: &str, file: Vec<u8>) {
    let len = file.len();
    let mut opened = None;
    check(what, len, BYTES_PER_BYTE, || opened = open_gguf(file).ok());
    let Some(gguf) = opened else {
        return;
    };
    check(what, len, BYTES_PER_BYTE, || drop(gguf::config::model_config(&gguf)));
    // A merge of eleven bytes becomes an array of two strings.
    check(what, len, 4 * BYTES_PER_BYTE, || {
        drop(gguf::vocabulary::tokenizer_json(&gguf))
    });
}

/// A small generator of random numbers that allocates nothing.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Opening a file never allocates more than its length justifies, whatever numbers are in it.
#[test]
fn allocations_follow_the_length_of_the_file_not_the_numbers_in_it() {
    let _alone = alone();
    const HUGE: [u64; 5] = [1 << 20, 1 << 31, 1 << 40, 1 << 62, u64::MAX];
    for huge in HUGE {
        let mut file = small_file();
        file[..8].copy_from_slice(&huge.to_le_bytes());
        check_safetensors("length of the header", file);
        for json in [
            format!(r#"{{"a": {{"dtype": "F32", "shape": [{huge}], "data_offsets": [0, 4]}}}}"#),
            format!(r#"{{"a": {{"dtype": "F32", "shape": [1], "data_offsets": [0, {huge}]}}}}"#),
            format!(
                r#"{{"a": {{"dtype": "F32", "shape": [{}], "data_offsets": [0, {}]}}}}"#,
                huge / 4,
                huge / 4 * 4
            ),
        ] {
            check_safetensors(&json.clone(), safetensors(&json, &[0; 4]));
        }
        let forged = [
            GgufBytes {
                num_pairs: Some(huge),
                ..GgufBytes::default()
            },
            GgufBytes {
                num_tensors: Some(huge),
                ..GgufBytes::default()
            },
            GgufBytes {
                tensors: vec![("a".into(), vec![huge], 0, 0)],
                ..GgufBytes::default()
            },
            GgufBytes {
                pairs: vec![("a".into(), [&8_u32.to_le_bytes()[..], &huge.to_le_bytes()].concat())],
                ..GgufBytes::default()
            },
            // Arrays of numbers, of strings and of arrays that claim to be long.
            array(4, huge),
            array(8, huge),
            array(9, huge),
            array(0, huge),
        ];
        for file in forged {
            check_gguf("forged number", file.build());
        }
        // A config may claim any size: names are made only until a tensor is missing.
        let text = format!(
            r#"{{"vocab_size": 4, "hidden_size": 4, "intermediate_size": 4, "num_hidden_layers": {}, "num_attention_heads": 1}}"#,
            huge.min(u64::from(u32::MAX))
        );
        check("number of layers", text.len(), BYTES_PER_BYTE, || {
            let config = loading::config::parse(&text, None).unwrap();
            let mut checkpoint = Checkpoint::from_bytes("file", FileBytes::Eager(small_file())).unwrap();
            checkpoint.check(&config).unwrap_err()
        });
    }
    let mut state = 1;
    for file in [
        small_file(),
        std::fs::read(gguf_path("bytes.gguf")).unwrap(),
        std::fs::read(gguf_path("pieces.gguf")).unwrap(),
    ] {
        let is_gguf = file.starts_with(b"GGUF");
        for _ in 0..300 {
            let mut broken = file.clone();
            for _ in 0..1 + next(&mut state) % 3 {
                let at = next(&mut state) as usize % broken.len().min(12_000);
                broken[at] = next(&mut state) as u8;
            }
            if next(&mut state).is_multiple_of(4) {
                broken.truncate(next(&mut state) as usize % broken.len());
            }
            if is_gguf {
                check_gguf("changed bytes", broken);
            } else {
                check_safetensors("changed bytes", broken);
            }
        }
    }
}

fn array(kind: u32, count: u64) -> GgufBytes {
    let value = [&9_u32.to_le_bytes()[..], &kind.to_le_bytes(), &count.to_le_bytes()].concat();
    GgufBytes {
        pairs: vec![("a".into(), value)],
        ..GgufBytes::default()
    }
}

/// The heap that a load holds at its worst moment is that of the formula.
#[test]
fn a_load_peaks_where_the_formula_says() {
    let _alone = alone();
    // Headers and names are small beside 15 million values, 30 MB.
    let temporary = tempfile::tempdir().unwrap();
    let model = loading::open("random:15m").unwrap();
    loading::convert::convert(&model, temporary.path(), None, &mut |_, _| {}).unwrap();
    let folder = temporary.path();
    let (_, checkpoint) = loading::folder::open_weights(folder, loading::Access::Mapped).unwrap();
    let (stored, loaded): (Vec<u64>, Vec<u64>) = (checkpoint.names().iter())
        .map(|name| {
            let (entry, bytes) = checkpoint.bytes(name).unwrap();
            (bytes.len() as u64, 4 * entry.shape.iter().product::<usize>() as u64)
        })
        .unzip();
    for plan in LoadPlan::ALL {
        let before = lab::alloc::snapshot().live_bytes;
        lab::alloc::reset_peak();
        let tensors = load_f32(folder, plan).unwrap();
        let counted = lab::alloc::snapshot().peak_bytes - before;
        drop(tensors);
        let predicted = peak_bytes(plan, &stored, &loaded);
        let beyond = counted as i64 - predicted as i64;
        assert!(
            (0..200_000).contains(&beyond),
            "{}: counted {counted}, predicted {predicted}",
            plan.name()
        );
    }
}
