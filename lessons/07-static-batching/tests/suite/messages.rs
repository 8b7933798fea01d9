//! The texts of errors, and the batches of a stream on the virtual clock. Snapshots make each change of them
//! deliberate.

use crate::common::{MS, answers, fixture, pass, prefill, prompt, simulate};
use kv_cache::CacheError;
use layout::pool::Pool;
use static_batching::serve::Window;
use static_batching::{BatchError, BatchState, Pad, Padding, Width};
use std::fmt::Write;
use std::time::Duration;
use training::TokenId;

/// The error of a batch of these prompts. The state works for the next batch.
fn error_of(prompts: &[Vec<TokenId>], max: &[usize], width: Width) -> BatchError {
    let model = fixture("all-kv-untied-f32");
    let mut state = BatchState::new(&model.config);
    let side = Padding::Left;
    let error = answers(&model, &mut state, prompts, max, Pad { side, width }).unwrap_err();
    answers(&model, &mut state, &[prompt(2, 1)], &[0], Pad::default()).unwrap();
    error
}

#[test]
fn wrong_batches_are_errors_that_say_what_to_do() {
    let context = fixture("all-kv-untied-f32").config.llama.max_seq_len;
    let of = |prompts: &[Vec<TokenId>]| error_of(prompts, &vec![4; prompts.len()], Width::Longest);
    let two = [prompt(3, 1), prompt(9, 1)];
    let cases = [
        ("no prompt", of(&[])),
        ("an empty prompt", of(&[prompt(3, 1), vec![]])),
        ("a prompt over the context", of(&[prompt(context + 1, 1)])),
        (
            "a token outside the vocabulary",
            of(&[vec![TokenId(1)], vec![TokenId(60_000)]]),
        ),
        ("too narrow", error_of(&two, &[4, 4], Width::Exactly(8))),
        ("limits", error_of(&two, &[4], Width::Longest)),
        ("no room", Window::new(0, Duration::ZERO).unwrap_err()),
    ];
    let mut report = String::new();
    for (case, error) in cases {
        let cause = std::error::Error::source(&error);
        assert!(
            cause.is_none(),
            "{case}: a chain of sources would print the message twice"
        );
        writeln!(report, "{case}\n    {error}").unwrap();
    }
    insta::assert_snapshot!(report);
}

/// A row that does not fit its cache is refused before the first layer: no cache changes.
#[test]
fn a_full_cache_is_an_error_that_changes_nothing() {
    let model = fixture("all-kv-untied-f32");
    let mut state = BatchState::new(&model.config);
    state.prepare(&model.config, [3, 3].into_iter());
    let batch = prefill(&model, &[prompt(3, 1), prompt(4, 2)], Pad::default()).unwrap();
    let error = pass(&model, &mut state, &Pool::new(1), &batch).unwrap_err();
    assert!(matches!(error, BatchError::Cache(CacheError::Full { .. })), "{error}");
    assert!(state.caches.iter().all(|cache| cache.is_empty()));
}

#[test]
fn weights_that_are_no_numbers_are_an_error_not_a_token() {
    let mut model = fixture("all-kv-untied-f32");
    model.weights.norm.fill(f32::NAN);
    let prompts = [prompt(3, 1), prompt(4, 2)];
    let error = answers(
        &model,
        &mut BatchState::new(&model.config),
        &prompts,
        &[2, 2],
        Pad::default(),
    );
    insta::assert_snapshot!(error.unwrap_err().to_string());
}

/// Ten requests, a window of four requests and 10 ms, a machine that takes 20 ms and 2 ms for each row.
#[test]
fn a_stream_on_the_virtual_clock() {
    let stream = [0, 1, 2, 3, 4, 30, 31, 80, 89, 90].map(|at| at * MS);
    let served = simulate(&stream, 4, 10 * MS, |rows| (20 + 2 * rows as u32) * MS);
    let mut trace = String::from("start  end  requests\n");
    let mut first = 0;
    while first < served.len() {
        let batch = first..first + served[first].batch_size;
        let (start, end) = (served[first].started.as_millis(), served[first].finished.as_millis());
        writeln!(trace, "{start:>5} {end:>4}  {batch:?}").unwrap();
        first = batch.end;
    }
    insta::assert_snapshot!(trace);
}

/// A prompt that leaves no room for what the story does is refused.
#[test]
fn a_prompt_without_room_behind_it_is_refused() {
    fixtures::refuses_long_prompts(env!("CARGO_BIN_EXE_lesson07"), &[511, 600]);
}

#[test]
fn a_short_context_is_enough_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    fixtures::tells_or_refuses_short_contexts(env!("CARGO_BIN_EXE_lesson07"), folder.path(), &[8, 40, 64]);
}

#[test]
fn an_empty_prompt_is_refused() {
    fixtures::refuses_an_empty_prompt(env!("CARGO_BIN_EXE_lesson07"));
}
