//! The claims of this lesson, as counts.

use lab::ledger::measure;
use loading::bytes::FileBytes;
use loading::checkpoint::Checkpoint;
use loading::convert::convert;
use loading::damage::Damage;
use loading::folder::open_weights;
use loading::manifest::{FileRecord, Manifest, sha256_bytes, verify_file};
use loading::rounding::{Rule, mean_ratio};
use loading::stages::{Plan, Stages, load_and_compute};
use loading::{Dtype, LoadError, WeightSource};
use std::time::Duration;

/// M1: bf16 needs half the bytes for the same values.
#[test]
fn bf16_reads_half_the_bytes_of_f32() {
    let model = loading::open("random:15m").unwrap();
    let mut read = Vec::new();
    let mut sums = Vec::new();
    for dtype in [Dtype::F32, Dtype::BF16] {
        let temporary = tempfile::tempdir().unwrap();
        convert(&model, temporary.path(), Some(dtype), &mut |_, _| {}).unwrap();
        let (_, copy) = open_weights(temporary.path(), loading::Access::Mapped).unwrap();
        let (_, ledger) = measure(|| {
            let mut values = Vec::new();
            copy.names()
                .iter()
                .for_each(|name| copy.read_f32(name, &mut values).unwrap());
        });
        read.push(ledger.bytes_read);
        assert_eq!(ledger.get("tensors_read"), copy.names().len() as u64);
        let pool = layout::pool::Pool::new(2);
        for plan in [Plan::Eager, Plan::Mapped, Plan::Packed, Plan::Drawn, Plan::Widened] {
            sums.push(load_and_compute(temporary.path(), plan, &pool).unwrap().0);
        }
    }
    assert_eq!(read[0], 4 * 15_191_712);
    assert_eq!(read[0], 2 * read[1]);
    for sum in &sums {
        assert!((sum / sums[0] - 1.0).abs() < 1e-4, "{sums:?}");
    }
    assert_eq!(sums[0].to_bits(), sums[1].to_bits(), "mapped or read, the same bytes");
    assert_eq!(
        sums[0].to_bits(),
        sums[3].to_bits(),
        "nothing is left of the drawn weights"
    );
    assert_eq!(
        sums[2].to_bits(),
        sums[4].to_bits(),
        "converted from buffers or from the mapping"
    );
}

/// Each stage has a median of its own: a slow copy in one load and a slow move in another are both left out.
#[test]
fn a_slow_stage_of_one_load_is_not_the_median() {
    let load = |config, copy, device| Stages {
        config: Duration::from_millis(config),
        copy: Duration::from_millis(copy),
        device: Duration::from_millis(device),
        ..Stages::default()
    };
    let medians = Stages::medians(&[load(1, 900, 30), load(2, 20, 800), load(9, 21, 31)]);
    assert_eq!(medians.named().map(|(_, time)| time.as_millis()), [2, 0, 21, 31, 0]);
    assert_eq!(medians.load(), Duration::from_millis(54));
    assert_eq!(Stages::medians(&[]).total(), Duration::ZERO);
}

/// Opening a folder reads headers only.
#[test]
fn opening_a_folder_reads_no_weight() {
    let (model, ledger) = measure(|| crate::common::open(&fixtures::model("sharded-bf16")).unwrap());
    assert_eq!((ledger.bytes_read, ledger.get("tensors_read")), (0, 0));
    assert!(model.weights.stored_bytes() > 0);
}

/// M3: the checksum refuses the damage that the header check and the value check accept.
#[test]
fn every_damage_is_caught_by_the_checksum_and_some_by_nothing_else() {
    let whole = std::fs::read(fixtures::model("some-kv-tied-bf16").join("model.safetensors")).unwrap();
    let digest = sha256_bytes(&whole);
    let mut caught = Vec::new();
    for damage in Damage::ALL {
        let broken = damage.apply(&whole);
        assert_ne!(sha256_bytes(&broken), digest, "{}", damage.name());
        let opened = Checkpoint::from_bytes("file", FileBytes::Eager(broken));
        caught.push(match opened {
            Err(_) => "header",
            Ok(checkpoint) => {
                let names: Vec<String> = checkpoint.stored().map(|entry| entry.name.clone()).collect();
                let mut values = Vec::new();
                match names.iter().try_for_each(|name| checkpoint.read_f32(name, &mut values)) {
                    Err(_) => "values",
                    Ok(()) => "checksum only",
                }
            }
        });
    }
    assert_eq!(
        caught,
        ["header", "header", "header", "values", "checksum only", "checksum only"]
    );
}

/// M3 with files on a disk: the length is compared first, then the digest.
#[test]
fn a_manifest_refuses_files_that_were_cut_off_lengthened_or_changed() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("weights");
    std::fs::write(&path, b"0123456789").unwrap();
    let mut manifest = Manifest {
        schema: 1,
        files: vec![FileRecord {
            path: "weights".into(),
            bytes: 0,
            sha256: String::new(),
            licence: "CC0-1.0".into(),
            origin: "this test".into(),
        }],
    };
    manifest.refresh(temporary.path()).unwrap();
    let file = temporary.path().join("manifest.json");
    manifest.write(&file).unwrap();
    let manifest = Manifest::read(&file).unwrap();
    let record = &manifest.files[0];
    // The digest of these ten digits, as `sha256sum` prints it.
    assert_eq!(
        record.sha256,
        "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
    );
    let verify = || Manifest::verify(record, temporary.path());
    assert!(verify().is_ok());
    verify_file(&path, &record.sha256.to_uppercase()).unwrap();
    std::fs::write(&path, b"012345678").unwrap();
    assert!(matches!(
        verify(),
        Err(LoadError::CutOff {
            expected_bytes: 10,
            found_bytes: 9,
            ..
        })
    ));
    std::fs::write(&path, b"0123456789\n").unwrap();
    assert!(matches!(verify(), Err(LoadError::TrailingBytes { .. })));
    std::fs::write(&path, b"0123456788").unwrap();
    assert!(matches!(verify(), Err(LoadError::WrongChecksum { .. })));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(verify(), Err(LoadError::Unreadable { .. })));
}

/// Truncation shrinks a value layer by layer; rounding to nearest even does not.
#[test]
fn truncation_shrinks_values_and_rounding_to_nearest_even_does_not() {
    let cut = mean_ratio(Rule::Truncate, 30, 20_000);
    let rounded = mean_ratio(Rule::NearestEven, 30, 20_000);
    assert!((0.88..0.95).contains(&cut), "{cut}");
    assert!((rounded - 1.0).abs() < 1e-3, "{rounded}");
}
