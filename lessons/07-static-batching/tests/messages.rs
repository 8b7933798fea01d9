//! What a user reads when something is wrong, and what the scheduler does on a clock that is turned by hand. The texts are fixed here, so
//! that a change is a choice.

mod common;

use common::{fixture, prompt, slices};
use kv_cache::CacheError;
use layout::pool::Pool;
use static_batching::clock::{Clock, VirtualClock};
use static_batching::serve::{Window, serve};
use static_batching::{BatchError, BatchState, Pad, PaddedBatch, Padding, Width, generate_batch};
use std::convert::Infallible;
use std::fmt::Write;
use std::time::Duration;
use training::TokenId;

/// The error of a batch of these prompts; asks that a state which met it goes on working.
fn error_of(prompts: &[Vec<TokenId>], max: &[usize], width: Width) -> BatchError {
    let model = fixture("all-kv-untied-f32");
    let (mut state, pool) = (BatchState::new(&model.config), Pool::new(1));
    let rule = Pad {
        side: Padding::Left,
        width,
    };
    let mut run = |prompts: &[Vec<TokenId>], max: &[usize], rule| {
        let prompts = slices(prompts);
        generate_batch(&model, &mut state, &pool, &prompts, max, rule, &mut |_, _| {
            panic!("nothing is generated")
        })
    };
    let error = run(prompts, max, rule).unwrap_err();
    run(&[prompt(2, 1)], &[0], Pad::default()).unwrap();
    error
}

#[test]
fn wrong_batches_are_errors_that_say_what_to_do() {
    let context = fixture("all-kv-untied-f32").config.llama.max_seq_len;
    let cases = [
        ("no prompt", error_of(&[], &[], Width::Longest)),
        (
            "an empty prompt",
            error_of(&[prompt(3, 1), vec![]], &[4, 4], Width::Longest),
        ),
        (
            "a prompt over the context",
            error_of(&[prompt(context + 1, 1)], &[4], Width::Longest),
        ),
        (
            "a token outside the vocabulary",
            error_of(&[vec![TokenId(1)], vec![TokenId(60_000)]], &[4, 4], Width::Longest),
        ),
        (
            "too narrow",
            error_of(&[prompt(3, 1), prompt(9, 1)], &[4, 4], Width::Exactly(8)),
        ),
        ("limits", error_of(&[prompt(3, 1), prompt(9, 1)], &[4], Width::Longest)),
        ("no room", Window::new(0, Duration::ZERO).unwrap_err()),
    ];
    let mut report = String::new();
    for (case, error) in cases {
        let cause = std::error::Error::source(&error);
        assert!(cause.is_none(), "{case}: a chain would tell it twice");
        writeln!(report, "{case}\n    {error}").unwrap();
    }
    insta::assert_snapshot!(report);
}

/// A row that does not fit its cache is refused before the first layer: no cache changes.
#[test]
fn a_full_cache_is_an_error_that_changes_nothing() {
    let model = fixture("all-kv-untied-f32");
    let (mut state, pool) = (BatchState::new(&model.config), Pool::new(1));
    let prompts = [prompt(3, 1), prompt(4, 2)];
    state.prepare(&model.config, [3, 3].into_iter());
    let (llama, prompts) = (&model.config.llama, slices(&prompts));
    let batch = PaddedBatch::prefill(llama, &prompts, Pad::default()).unwrap();
    let (config, weights) = (&model.config, &model.weights);
    let caches = &mut state.caches;
    let error = static_batching::forward::forward(config, weights, &mut state.state, caches, &pool, &batch)
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(error, BatchError::Cache(CacheError::Full { .. })), "{error}");
    assert!(state.caches.iter().all(|cache| cache.is_empty()));
}

#[test]
fn weights_that_are_no_numbers_are_an_error_not_a_token() {
    let mut model = fixture("all-kv-untied-f32");
    model.weights.norm.fill(f32::NAN);
    let (mut state, pool) = (BatchState::new(&model.config), Pool::new(1));
    let prompts = [prompt(3, 1), prompt(4, 2)];
    let (prompts, rule) = (slices(&prompts), Pad::default());
    let error = generate_batch(&model, &mut state, &pool, &prompts, &[2, 2], rule, &mut |_, _| {});
    insta::assert_snapshot!(error.unwrap_err().to_string());
}

/// Ten requests, a window of four requests and 10 ms, a machine that takes 20 ms and 2 ms for each row.
#[test]
fn a_stream_on_the_virtual_clock() {
    let stream: Vec<Duration> = [0, 1, 2, 3, 4, 30, 31, 80, 89, 90].map(Duration::from_millis).to_vec();
    let window = Window::new(4, Duration::from_millis(10)).unwrap();
    let mut trace = String::from("start  end  requests\n");
    let run = &mut |clock: &mut VirtualClock, ids: std::ops::Range<usize>| {
        let start = clock.now();
        clock.advance(Duration::from_millis(20 + 2 * ids.len() as u64));
        let (start, end) = (start.as_millis(), clock.now().as_millis());
        writeln!(trace, "{start:>5} {end:>4}  {ids:?}").unwrap();
        Ok::<(), Infallible>(())
    };
    serve(&mut VirtualClock::new(), &stream, &window, run).unwrap();
    insta::assert_snapshot!(trace);
}
