//! A run that was interrupted gives the bytes of the unbroken one, and so does a run on another number of threads.

use crate::common::small_run;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;
use training::LlamaConfig;
use training::checkpoint;
use training::corpus::literature::FILES;
use training::record::TrainingRecord;
use training::train::{Event, RunError, RunOptions, run};

fn options(out: &Path, num_threads: usize, resume: bool) -> RunOptions {
    let config = LlamaConfig {
        num_layers: 2,
        num_heads: 4,
        num_kv_heads: 2,
        head_dim: 8,
        max_seq_len: 64,
        ..LlamaConfig::stories()
    };
    let mut options = small_run(out, small_corpus(), config, 12 * 64);
    options.schedule.warmup_steps = 4;
    RunOptions {
        num_threads,
        resume,
        eval_every: 4,
        ..options
    }
}

/// A few chapters of made-up text: the whole books take a second to encode, for each run.
fn small_corpus() -> &'static Path {
    static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        for file in FILES {
            let packed = std::fs::File::create(folder.path().join(file)).unwrap();
            let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
            for chapter in 0..60 {
                let text = format!("It was chapter {chapter} of {file}, and nothing had happened. ");
                writeln!(packed, "=== {file} {chapter}\n{}", text.repeat(5)).unwrap();
            }
            packed.finish().unwrap();
        }
        folder
    });
    FOLDER.path()
}

fn unbroken(out: &Path, num_threads: usize) -> TrainingRecord {
    let record = run(&options(out, num_threads, false), |_| ControlFlow::Continue(())).unwrap();
    record.expect("the run was not stopped")
}

/// Every byte of everything that does not depend on the clock.
#[track_caller]
fn assert_same_bytes(a: &Path, b: &Path) {
    for file in [
        checkpoint::FILE_NAME,
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "curve.csv",
    ] {
        let (a, b) = (
            std::fs::read(a.join(file)).unwrap(),
            std::fs::read(b.join(file)).unwrap(),
        );
        assert!(a == b, "{file} differs");
    }
}

#[test]
fn an_interrupted_run_gives_the_bytes_of_the_unbroken_one() {
    let (whole, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    unbroken(whole.path(), 1);
    // Killed after step 6: the steps since the checkpoint at 4 are lost and done again. Then killed once more.
    for (resume, kill_after) in [(false, 6), (true, 9)] {
        let stopped = run(&options(broken.path(), 1, resume), |event| match event {
            Event::Step(report) if report.step + 1 == kill_after => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(stopped.unwrap().is_none());
    }
    let record = run(&options(broken.path(), 1, true), |_| ControlFlow::Continue(()))
        .unwrap()
        .unwrap();
    assert_same_bytes(whole.path(), broken.path());
    assert_eq!(record.tokens, 12 * 64);
    assert_eq!(record.curve.iter().map(|p| p.step).collect::<Vec<_>>(), [4, 8, 12]);
}

#[test]
fn weights_do_not_depend_on_the_number_of_threads() {
    let (one, three) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    unbroken(one.path(), 1);
    unbroken(three.path(), 3);
    assert_same_bytes(one.path(), three.path());
}

#[test]
fn a_second_run_does_not_overwrite_a_checkpoint_by_accident() {
    let out = tempfile::tempdir().unwrap();
    unbroken(out.path(), 1);
    let error = run(&options(out.path(), 1, false), |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("add --resume"), "{error}");
}

#[test]
fn a_checkpoint_of_another_shape_is_refused() {
    let out = tempfile::tempdir().unwrap();
    unbroken(out.path(), 1);
    let mut other = options(out.path(), 1, true);
    other.config.hidden_size = 40;
    let error = run(&other, |_| ControlFlow::Continue(())).unwrap_err();
    assert!(
        error.to_string().contains("expected a checkpoint of this run"),
        "{error}"
    );
}

#[test]
fn a_cut_off_checkpoint_is_an_error_and_not_a_panic() {
    let out = tempfile::tempdir().unwrap();
    unbroken(out.path(), 1);
    let path = out.path().join(checkpoint::FILE_NAME);
    let bytes = std::fs::read(&path).unwrap();
    for len in [0, 100, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..len]).unwrap();
        assert!(
            run(&options(out.path(), 1, true), |_| ControlFlow::Continue(())).is_err(),
            "{len} bytes"
        );
    }
}

#[test]
fn a_finished_folder_is_trained_further_from_where_it_read() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let before = unbroken(first.path(), 1);
    let further = RunOptions {
        continue_from: Some(first.path().to_owned()),
        ..options(second.path(), 1, false)
    };
    let after = run(&further, |_| ControlFlow::Continue(())).unwrap().unwrap();
    assert_eq!(after.tokens, 2 * before.tokens);
    assert_eq!(after.windows, 2 * before.windows);
    assert_eq!(after.runs.len(), 2);
    let tokens: Vec<u64> = after.curve.iter().map(|p| p.tokens).collect();
    assert_eq!(tokens, [256, 512, 768, 1024, 1280, 1536]);
}

/// The rate that the command refuses, given to the run itself: it stops at the first loss that is no number.
#[test]
fn a_loss_that_is_not_finite_stops_the_run_and_keeps_what_was_good() {
    let out = tempfile::tempdir().unwrap();
    unbroken(out.path(), 1);
    let files = [checkpoint::FILE_NAME, "model.safetensors", "curve.csv", "training.json"];
    let before = files.map(|file| std::fs::read(out.path().join(file)).unwrap());
    let mut hot = options(out.path(), 1, true);
    hot.schedule.tokens *= 2;
    hot.schedule.peak_rate = 1e30;
    let error = run(&hot, |_| ControlFlow::Continue(())).unwrap_err();
    let Some(RunError::NotFinite { last_good, found, .. }) = error.downcast_ref() else {
        panic!("{error}");
    };
    assert_eq!((*last_good, found.is_finite()), (Some(12), false));
    let said = error.to_string();
    for word in [
        "expected a finite",
        "keeps the checkpoint of step 12",
        "lower --peak-rate",
        "--resume",
    ] {
        assert!(said.contains(word), "{said}");
    }
    let after = files.map(|file| std::fs::read(out.path().join(file)).unwrap());
    assert!(before == after, "a good file was replaced");
    hot.schedule.peak_rate = 1e-3;
    run(&hot, |_| ControlFlow::Continue(())).unwrap().unwrap();
}

#[test]
fn a_run_that_is_hot_from_the_beginning_leaves_no_checkpoint() {
    let out = tempfile::tempdir().unwrap();
    let mut hot = options(out.path(), 1, false);
    hot.schedule.peak_rate = 1e30;
    let error = run(&hot, |_| ControlFlow::Continue(())).unwrap_err();
    assert!(
        error.to_string().contains("has no checkpoint of this run yet"),
        "{error}"
    );
    assert!(!out.path().join(checkpoint::FILE_NAME).exists() && !out.path().join("model.safetensors").exists());
}

/// Twelve steps of 64 tokens, then a resumed run whose length is shorter, and one with another batch size.
#[test]
fn a_resumed_run_counts_every_token_once() {
    let out = tempfile::tempdir().unwrap();
    unbroken(out.path(), 1);
    let mut shorter = options(out.path(), 1, true);
    shorter.schedule.tokens = 4 * 64;
    let record = run(&shorter, |_| ControlFlow::Continue(())).unwrap().unwrap();
    assert_eq!((record.tokens, record.runs[0].tokens), (12 * 64, 12 * 64));
    let mut wider = options(out.path(), 1, true);
    wider.schedule.batch_size = 4;
    wider.schedule.tokens = 16 * 128;
    let record = run(&wider, |_| ControlFlow::Continue(())).unwrap().unwrap();
    assert_eq!(record.tokens, 12 * 64 + 4 * 128);
    assert_eq!(record.curve.last().unwrap().tokens, record.tokens);
    assert_eq!(record.windows, 12 * 2 + 4 * 4);
}
