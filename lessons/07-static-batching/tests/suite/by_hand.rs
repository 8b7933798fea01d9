//! The numbers that the book's chapter computes by hand.

use crate::common::{MS, simulate, step_requests};
use static_batching::buckets::into_buckets;
use static_batching::padding::{mask, pad, positions};
use static_batching::parts::{Decision, Span, Window};
use static_batching::percentile::percentile;
use static_batching::plan::static_plan;
use static_batching::rules::{Cells, Rule, cells};
use static_batching::serve::Served;
use static_batching::window::decide;
use static_batching::{Padding, work};
use std::time::Duration;
use training::{LlamaConfig, TokenId};

fn span((start, len): (usize, usize)) -> Span {
    Span { start, len }
}

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

/// Exercise 07.1.
#[test]
fn three_prompts_of_two_one_and_four_tokens() {
    let ids = |tokens: &[u32]| tokens.iter().copied().map(TokenId).collect::<Vec<_>>();
    let prompts = [ids(&[7, 8]), ids(&[5]), ids(&[1, 2, 3, 4])];
    let prompts: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
    let left = ([0, 0, 7, 8, 0, 0, 0, 5, 1, 2, 3, 4], [(2, 2), (3, 1), (0, 4)]);
    let right = ([7, 8, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4], [(0, 2), (0, 1), (0, 4)]);
    for (side, (tokens, spans)) in [(Padding::Left, left), (Padding::Right, right)] {
        let (mut found, mut found_spans) = (vec![TokenId(9); 12], vec![Span::default(); 3]);
        pad(&prompts, 4, side, TokenId(0), &mut found, &mut found_spans);
        assert_eq!(found, ids(&tokens));
        assert_eq!(found_spans, spans.map(span));
    }
}

/// Exercises 07.2 and 07.5: the prompts, and the step after them.
#[test]
fn positions_and_mask_of_two_passes() {
    let found = |spans: [(usize, usize); 2], width, cached: [usize; 2]| {
        let spans = spans.map(span);
        let (mut places, mut context_len) = (vec![None; 2 * width], vec![0; 2 * width]);
        let mut stored = vec![0..0; 2];
        positions(&spans, width, &cached, &mut places);
        mask(&spans, width, &cached, &mut stored, &mut context_len);
        (places, stored, context_len)
    };
    let (places, stored, context_len) = found([(2, 2), (0, 4)], 4, [0, 0]);
    let first = [None, None, Some(0), Some(1), Some(0), Some(1), Some(2), Some(3)];
    assert_eq!(places, first);
    assert_eq!((stored, context_len), (vec![2..4, 4..8], vec![0, 0, 1, 2, 1, 2, 3, 4]));
    let (places, stored, context_len) = found([(0, 1), (0, 0)], 1, [2, 4]);
    assert_eq!(
        (places, stored, context_len),
        (vec![Some(2), None], vec![0..1, 1..1], vec![3, 0])
    );
}

/// Exercise 07.3, and the five prompts under three rules.
#[test]
fn buckets_of_five_prompts() {
    let lengths = [12, 3, 30, 5, 8];
    let buckets = into_buckets(&lengths, &[50.0, 80.0]);
    let found: Vec<_> = buckets.iter().map(|b| (b.width, b.prompts.as_slice())).collect();
    assert_eq!(found, [(8, &[1, 3, 4][..]), (12, &[0]), (30, &[2])]);
    let counted = |computed| Cells { useful: 58, computed };
    assert_eq!(cells(&lengths, 5, &Rule::Buckets(vec![50.0, 80.0])), counted(66));
    assert_eq!(cells(&lengths, 5, &Rule::Own), counted(150));

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

/// Exercise 07.4.
#[test]
fn decisions_of_the_time_line() {
    let window = Window::new(4, 10 * MS).unwrap();
    for (now, waiting, expected) in [
        (8, &[0, 3, 8][..], Decision::WaitUntil(10 * MS)),
        (10, &[0, 3, 8], Decision::Start(3)),
        (22, &[14, 16, 19, 21], Decision::Start(4)),
        (34, &[30], Decision::WaitUntil(40 * MS)),
        (37, &[20], Decision::Start(1)),
        (5, &[], Decision::Idle),
        (22, &[9, 14, 16, 19, 21], Decision::Start(4)),
    ] {
        let waiting: Vec<Duration> = waiting.iter().map(|at| *at * MS).collect();
        assert_eq!(decide(now * MS, &waiting, &window), expected, "at {now} ms");
    }
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
