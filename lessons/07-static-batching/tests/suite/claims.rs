//! The lesson's claims, as counts and on the virtual clock.

use crate::common::{MS, answers, fixture, pass, prefill, prompt, simulate, step_requests};
use generation::Model;
use lab::ledger::{self, Ledger};
use layout::pool::Pool;
use static_batching::plan::{StepRequest, static_plan};
use static_batching::rules::{Cells, Rule, cells};
use static_batching::serve::Served;
use static_batching::work;
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};
use static_batching::{BatchState, Pad, PaddedBatch, Width};
use std::time::Duration;
use training::TokenId;

/// The counts of one pass over a batch.
fn counted(model: &Model, state: &mut BatchState, batch: &PaddedBatch) -> Ledger {
    let pool = Pool::new(2);
    let (result, counted) = ledger::measure(|| pass(model, state, &pool, batch));
    result.unwrap();
    counted
}

/// The counts of one step of decoding over `batch_size` rows, after prompts of `len` tokens.
fn counted_step(batch_size: usize, len: usize) -> Ledger {
    let model = fixture("some-kv-tied-bf16");
    let mut state = BatchState::new(&model.config);
    let prompts: Vec<_> = (0..batch_size).map(|salt| prompt(len, salt)).collect();
    state.prepare(&model.config, prompts.iter().map(|_| len + 1));
    let mut batch = prefill(&model, &prompts, Pad::default()).unwrap();
    counted(&model, &mut state, &batch);
    let next: Vec<_> = prompt(batch_size, 9).into_iter().map(Some).collect();
    batch.set_step(&next, &vec![len; batch_size]);
    counted(&model, &mut state, &batch)
}

/// B1: a step reads the weights once, for one row or for eight. Each row adds only its own bytes.
#[test]
fn a_step_reads_each_weight_once_for_all_rows() {
    let bytes = |rows| counted_step(rows, 5).bytes_read;
    let (one, two) = (bytes(1), bytes(2));
    let of_a_row = two - one;
    let of_the_weights = one - of_a_row;
    for rows in [4, 8, 16] {
        assert_eq!(bytes(rows), of_the_weights + rows as u64 * of_a_row);
    }
    let weights = fixture("some-kv-tied-bf16").weights.bytes_per_pass();
    let norms_and_one_embedding = weights - of_the_weights;
    assert!(
        norms_and_one_embedding * 50 < weights,
        "products read {of_the_weights} of {weights} bytes"
    );
}

/// B1: the arithmetic grows in proportion to the rows.
#[test]
fn a_step_multiplies_for_each_row() {
    let one = counted_step(1, 5).multiply_adds;
    for rows in [2, 8, 16] {
        assert_eq!(counted_step(rows, 5).multiply_adds, rows as u64 * one);
    }
}

/// The ledger counts what the shapes say, padding and finished rows included.
#[test]
fn counted_multiply_adds_equal_the_formula() {
    let model = fixture("all-kv-untied-f32");
    let (weights, llama) = (&model.weights, &model.config.llama);
    let prompts = [prompt(3, 1), prompt(11, 2), prompt(6, 3)];
    for width in [11, 16] {
        let rule = Pad {
            width: Width::Exactly(width),
            ..Pad::default()
        };
        let mut state = BatchState::new(&model.config);
        state.prepare(&model.config, prompts.iter().map(|prompt| prompt.len() + 1));
        let mut batch = prefill(&model, &prompts, rule).unwrap();
        let bytes = weights.bytes_per_pass();
        for expected in [
            work::of_prefill(llama, bytes, &[3, 11, 6], width),
            // Two rows continue, the one in the middle is done.
            work::of_step(llama, bytes, &[4, 0, 7]),
        ] {
            assert_eq!(work::of_batch(llama, weights, &batch), expected);
            let counted = counted(&model, &mut state, &batch);
            assert_eq!(counted.multiply_adds, expected.multiply_adds());
            assert_eq!(counted.get("positions"), batch.cells() as u64);
            assert_eq!(counted.get("padded_positions"), batch.padded_cells() as u64);
            let next = Some(TokenId(7));
            batch.set_step(&[next, None, next], &[3, 11, 6]);
        }
    }
}

/// A cell of padding costs as much as a cell with a token, except for attention.
#[test]
fn padding_is_computed_in_every_product() {
    let model = fixture("all-kv-untied-f32");
    let llama = &model.config.llama;
    let narrow = work::of_prefill(llama, 0, &[8, 8], 8);
    let wide = work::of_prefill(llama, 0, &[8, 8], 24);
    assert_eq!(wide.attention_multiply_adds, narrow.attention_multiply_adds);
    let head = 2 * (llama.vocab_size * llama.hidden_size) as u64;
    assert_eq!(
        wide.linear_multiply_adds - head,
        3 * (narrow.linear_multiply_adds - head)
    );
}

/// 4096 prompts with a mean of 80 tokens and none above 512, in order of arrival.
fn lengths() -> Vec<usize> {
    let prompt = Distribution::log_normal(80.0, 0.8, 512);
    let new = Distribution::Equal(1);
    let stream = arrivals(42, 4096, &Lengths::Independent { prompt, new }, &Pace::AtOnce);
    stream.iter().map(|arrival| arrival.prompt_tokens).collect()
}

/// B2: with a mean of 80, padded to 512, 80 / 512 of the cells hold a token: 15.6 %.
#[test]
fn padding_to_the_maximum_leaves_the_mean_over_the_maximum() {
    let padded = |lengths: &[usize]| cells(lengths, 8, &Rule::Global(512));
    assert_eq!(padded(&[80; 100]).share(), 80.0 / 512.0);
    assert_eq!(padded(&[16, 144]).share(), 80.0 / 512.0);
    let lengths = lengths();
    let counted = padded(&lengths);
    let useful = lengths.iter().sum::<usize>() as u64;
    let computed = 4096 * 512;
    assert_eq!(counted, Cells { useful, computed });
    assert!((0.14..0.17).contains(&counted.share()), "{}", counted.share());
}

/// B3: the batch's own maximum recovers most of the global one's waste, and buckets recover more of it.
#[test]
fn own_widths_and_buckets_recover_most_of_the_waste() {
    let lengths = lengths();
    let percents = vec![50.0, 80.0, 95.0];
    let count = |rule: Rule| cells(&lengths, 8, &rule);
    let global = count(Rule::Global(512));
    let rules = [Rule::Own, Rule::Buckets(percents.clone()), Rule::BucketsOwn(percents)].map(count);
    let [own, buckets, both] = rules.map(|cells| 1.0 - cells.padding() as f64 / global.padding() as f64);
    assert!(own > 0.7 && buckets > 0.85, "{own}, {buckets}");
    assert!(both > buckets && buckets > own);
    // The tokens are the same under every rule.
    assert!(rules.iter().all(|cells| cells.useful == global.useful));
}

/// The claim's own machine: 50 ms of computing for one request, and the same for eight together.
fn claimed(_batch_size: usize) -> Duration {
    50 * MS
}

/// Requests a second, from the first arrival to the last answer.
fn throughput(served: &[Served]) -> f64 {
    let end = served[served.len() - 1].finished;
    served.len() as f64 / (end - served[0].arrived).as_secs_f64()
}

/// B4: a request without others waits the whole window.
#[test]
fn a_single_request_waits_the_whole_window() {
    for wait in [0, 5, 20] {
        for request in simulate(&[MS, 500 * MS], 8, wait * MS, claimed) {
            assert_eq!(request.latency(), 50 * MS + wait * MS);
            assert_eq!(request.batch_size, 1);
        }
    }
}

/// B4: the claim's 60 ms are 10 ms of waiting and 50 ms of computing together, so eight requests have to arrive within
/// 10 ms. One at a time the last of them is done after 400 ms.
#[test]
fn eight_within_the_window_are_answered_sixty_milliseconds_after_the_first() {
    let stream: Vec<Duration> = (0..8).map(|index| 10 * MS * index / 7).collect();
    let together = simulate(&stream, 8, 10 * MS, claimed);
    assert!(together.iter().all(|request| request.batch_size == 8));
    assert_eq!((together[0].latency(), together[7].latency()), (60 * MS, 50 * MS));
    let in_turn = simulate(&stream, 1, Duration::ZERO, claimed);
    assert_eq!(in_turn[7].finished, 400 * MS);
    let ratio = throughput(&together) / throughput(&in_turn);
    assert!((ratio - 400.0 / 60.0).abs() < 1e-9);
}

/// B4: eight arrivals in 10 ms are 800 a second. A machine that serves eight in 50 ms can not hold that rate; at a rate
/// that it can hold, a window of 10 ms meets one other request, not seven.
#[test]
fn eight_arrivals_in_every_window_are_more_than_the_machine_serves() {
    let stream = |per_second| -> Vec<Duration> {
        let stream = arrivals(7, 4000, &Lengths::equal(1, 1), &Pace::Poisson { per_second });
        stream.iter().map(|arrival| arrival.at).collect()
    };
    let full = simulate(&stream(800.0), 8, 10 * MS, claimed);
    assert!((throughput(&full) - 8.0 / 0.050).abs() < 1.0, "{}", throughput(&full));
    assert!(
        full[3999].latency() > Duration::from_secs(15),
        "the queue grows without end"
    );
    // The same machine with room for more shows the mean size of a batch that a window alone collects.
    let idle = simulate(&stream(100.0), 4000, 10 * MS, |_| Duration::ZERO);
    let batches: f64 = idle.iter().map(|request| 1.0 / request.batch_size as f64).sum();
    let mean = idle.len() as f64 / batches;
    assert!((1.9..2.1).contains(&mean), "{mean} requests in a window");
}

/// B4: the wait counts from the oldest request, so no request waits longer than the window while the machine is idle.
#[test]
fn the_window_closes_when_the_oldest_has_waited_long_enough() {
    let served = simulate(&[0, 9, 18, 27].map(|at| at * MS), 8, 20 * MS, claimed);
    // The requests of 0, 9 and 18 ms start at 20; that of 27 ms arrives while they are computed, until 70 ms.
    let sizes: Vec<usize> = served.iter().map(|r| r.batch_size).collect();
    assert_eq!(sizes, [3, 3, 3, 1]);
    assert_eq!(served[0].started, 20 * MS);
    // It has waited for more than 20 ms by then and starts at once.
    assert_eq!(served[3].started, served[0].finished);
}

/// B4: a busy machine fills its batches without any waiting, because the queue grows while it computes. Batching
/// multiplies the throughput; the window adds nothing there.
#[test]
fn under_load_batches_fill_by_themselves() {
    let pace = Pace::Poisson { per_second: 100.0 };
    let stream = arrivals(7, 4000, &Lengths::equal(1, 1), &pace);
    let stream: Vec<Duration> = stream.iter().map(|arrival| arrival.at).collect();
    let served = |max_batch, wait| throughput(&simulate(&stream, max_batch, wait * MS, claimed));
    let (alone, at_once, waiting) = (served(1, 0), served(8, 0), served(8, 20));
    assert!(
        at_once / alone > 4.5,
        "about five times the rate of one at a time: {}",
        at_once / alone
    );
    assert!((0.99..1.01).contains(&(waiting / at_once)), "{}", waiting / at_once);
}

/// B5: the mean of the longest of eight exponential lengths is 1 + 1/2 + … + 1/8 = 2.7 times their mean: every request
/// stays that long.
#[test]
fn the_longest_of_eight_is_far_above_the_mean() {
    let stream = arrivals(3, 8 * 4000, &Lengths::exponential(4, 200.0, 100_000), &Pace::AtOnce);
    let lengths: Vec<usize> = stream.iter().map(|a| a.new_tokens).collect();
    let plan = static_plan(&step_requests(&lengths), 8);
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    let longest = plan.steps() as f64 / plan.batches.len() as f64;
    let harmonic: f64 = (1..=8).map(|i| 1.0 / f64::from(i)).sum();
    assert!((longest / mean / harmonic - 1.0).abs() < 0.03, "{}", longest / mean);
}

/// B5 on a real model: the loop counts the steps and rows of the plan.
#[test]
fn the_plan_is_what_the_model_does() {
    let model = fixture("one-kv-untied-f16");
    let lengths = [(3, 2), (7, 8), (5, 0), (1, 1)];
    let requests = lengths.map(|(prompt_tokens, new_tokens)| StepRequest {
        arrives: 0,
        prompt_tokens,
        new_tokens,
    });
    let plan = static_plan(&requests, 4);
    let (prompts, max) = (lengths.map(|(len, _)| prompt(len, len)), lengths.map(|(_, max)| max));
    let mut state = BatchState::new(&model.config);
    let (run, counted) = ledger::measure(|| answers(&model, &mut state, &prompts, &max, Pad::default()).unwrap());
    assert_eq!((run.steps, counted.steps), (plan.steps(), plan.steps()));
    assert_eq!(run.rows_computed, plan.rows_computed);
    assert_eq!(counted.get("positions"), plan.rows_computed);
    assert_eq!(run.rows_useful, plan.rows_useful);
    let finished: Vec<u64> = plan.outcomes.iter().map(|o| o.finished).collect();
    assert_eq!(run.done_at, finished);
}
