//! The numbers that the book's chapter computes by hand. (Its small examples of single functions are those of
//! `tests/exercises.rs`.)

use crate::common::{MS, simulate, step_requests};
use static_batching::percentile::percentile;
use static_batching::plan::static_plan;
use static_batching::rules::{Rule, cells};
use static_batching::serve::Served;
use static_batching::work;
use std::time::Duration;
use training::LlamaConfig;

/// The table of one step: 48 GB and 550 G operations a second, the default model's weights in f32.
#[test]
fn a_step_of_23_rows_meets_both_lines() {
    let llama = LlamaConfig::stories();
    let step = |rows: usize| work::of_step(&llama, 19_511_296, &vec![0; rows]).multiply_adds() as f64;
    assert_eq!(step(1), 4_874_240.0);
    let reading_ms = 19_511_296.0 / 48e9 * 1e3;
    let arithmetic_ms = |rows| 2.0 * step(rows) / 550e9 * 1e3;
    let rounded = |x: f64, digits: i32| (x * 10f64.powi(digits)).round() / 10f64.powi(digits);
    assert_eq!(rounded(reading_ms, 2), 0.41);
    let rows = [1, 8, 16, 32, 128];
    assert_eq!(
        rows.map(|r| rounded(arithmetic_ms(r), 3)),
        [0.018, 0.142, 0.284, 0.567, 2.269]
    );
    assert!(arithmetic_ms(22) < reading_ms && arithmetic_ms(23) > reading_ms);
    let rate = |rows| (rows as f64 / arithmetic_ms(rows).max(reading_ms) * 10.0).round() * 100.0;
    assert_eq!(rows.map(rate), [2500.0, 19_700.0, 39_400.0, 56_400.0, 56_400.0]);
}

/// Five prompts of exercise 07.3, and the five and eight prompts of the text, by rule.
#[test]
fn buckets_of_five_prompts() {
    let counted = |rule: Rule| cells(&[12, 3, 30, 5, 8], 5, &rule);
    let (buckets, own) = (counted(Rule::Buckets(vec![50.0, 80.0])), counted(Rule::Own));
    assert_eq!((buckets.useful, buckets.computed, own.computed), (58, 66, 150));

    let counted = |rule: Rule| cells(&[3, 4, 4, 5, 20], 5, &rule).computed;
    let by_rule = [Rule::Global(32), Rule::Own, Rule::Buckets(vec![80.0])].map(counted);
    assert_eq!(by_rule, [160, 100, 40]);

    let counted = |rule: Rule| {
        let cells = cells(&[10, 12, 15, 20, 24, 30, 60, 200], 8, &rule);
        (cells.useful, cells.computed)
    };
    assert_eq!(counted(Rule::Own), (371, 1600));
    assert_eq!(counted(Rule::Buckets(vec![75.0])), (371, 580));
}

/// Four answers of 3, 8, 2 and 5 tokens.
#[test]
fn a_batch_of_four_answers() {
    let plan = static_plan(&step_requests(&[3, 8, 2, 5]), 4);
    assert_eq!((plan.steps(), plan.rows_computed, plan.rows_useful), (8, 44, 30));
}

/// The table below the time line.
#[test]
fn latencies_of_three_policies() {
    let stream = [0, 3, 8, 14, 16, 19, 21, 30].map(|at| at * MS);
    for (max_batch, max_wait, latencies, end, median, longest) in [
        (1, 0, [12, 21, 28, 34, 44, 53, 63, 66], 96, 34, 66),
        (4, 0, [12, 21, 16, 22, 20, 17, 15, 18], 48, 17, 22),
        (4, 10, [22, 19, 14, 20, 18, 15, 13, 22], 52, 18, 22),
    ] {
        let served = simulate(&stream, max_batch, max_wait * MS, |_| 12 * MS);
        let latency = |s: &Served| s.latency().as_millis() as u32;
        let found: Vec<u32> = served.iter().map(latency).collect();
        assert_eq!(found, latencies);
        assert_eq!(served[7].finished, end * MS);
        assert_eq!(
            (percentile(&found, 50.0), percentile(&found, 99.0)),
            (Some(median), Some(longest))
        );
    }
}

/// The question about a request every 5 ms: the window runs out once.
#[test]
fn a_steady_stream_fills_every_batch_but_the_first() {
    let stream: Vec<Duration> = (0..200).map(|i| 5 * i * MS).collect();
    let served = simulate(&stream, 8, 20 * MS, |_| 60 * MS);
    assert_eq!((served[0].batch_size, served[0].waited()), (5, 20 * MS));
    assert!(served[5..197].iter().all(|s| s.batch_size == 8));
    assert!(served[190].waited() > served[100].waited());
}

/// Each row reads its own cache, beside the shared weights.
#[test]
fn eight_long_rows_read_more_keys_and_values_than_weights() {
    let llama = LlamaConfig::stories();
    let bytes = |positions| {
        kv_cache::memory::kv_bytes(llama.num_layers, llama.num_kv_heads, llama.head_dim, positions, 1, 4) as f64
    };
    let weights = 19_511_296.0;
    assert_eq!(bytes(1), 6.0 * 1024.0);
    assert_eq!((100.0 * bytes(100) / weights).round(), 3.0);
    assert_eq!((100.0 * bytes(512) / weights).round(), 16.0);
    assert!(8.0 * bytes(512) > weights);
}
