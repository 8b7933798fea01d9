//! The lesson's claims, as counts and on the virtual clock.

mod common;

use common::{fixture, prompt, slices};
use lab::ledger::{self, Ledger};
use layout::pool::Pool;
use static_batching::clock::VirtualClock;
use static_batching::forward::forward;
use static_batching::plan::{StepRequest, static_plan};
use static_batching::rules::{Rule, cells};
use static_batching::serve::{Served, Window, serve};
use static_batching::work;
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};
use static_batching::{BatchRun, BatchState, Pad, PaddedBatch, Width, generate_batch};
use std::convert::Infallible;
use std::time::Duration;

/// One counted step of decoding over `batch_size` rows, after prompts of `len` tokens.
fn counted_step(batch_size: usize, len: usize) -> Ledger {
    let model = fixture("some-kv-tied-bf16");
    let (mut state, pool) = (BatchState::new(&model.config), Pool::new(2));
    let prompts: Vec<_> = (0..batch_size).map(|salt| prompt(len, salt)).collect();
    state.prepare(&model.config, prompts.iter().map(|_| len + 1));
    let llama = &model.config.llama;
    let mut batch = PaddedBatch::prefill(llama, &slices(&prompts), Pad::default()).unwrap();
    let (config, weights) = (&model.config, &model.weights);
    let caches = &mut state.caches;
    forward(config, weights, &mut state.state, caches, &pool, &batch).unwrap();
    let next: Vec<_> = prompt(batch_size, 9).into_iter().map(Some).collect();
    batch.set_step(&next, &vec![len; batch_size]);
    let scratch = &mut state.state;
    let mut step = || forward(config, weights, scratch, caches, &pool, &batch).map(|_| ());
    ledger::measure(|| step().unwrap()).1
}

/// B1: a step reads the weights once, for one row or for eight. What grows with the rows is what each brings along.
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

/// B1: the arithmetic does grow, in proportion.
#[test]
fn a_step_multiplies_for_each_row() {
    let one = counted_step(1, 5).multiply_adds;
    for rows in [2, 8, 16] {
        assert_eq!(counted_step(rows, 5).multiply_adds, rows as u64 * one);
    }
}

/// What the ledger counts is what the shapes say, padding and rows that are done included.
#[test]
fn counted_multiply_adds_equal_the_formula() {
    let model = fixture("all-kv-untied-f32");
    let (config, weights, llama) = (&model.config, &model.weights, &model.config.llama);
    let prompts = [prompt(3, 1), prompt(11, 2), prompt(6, 3)];
    for width in [11, 16] {
        let rule = Pad {
            width: Width::Exactly(width),
            ..Pad::default()
        };
        let (mut state, pool) = (BatchState::new(config), Pool::new(2));
        state.prepare(config, prompts.iter().map(|prompt| prompt.len() + 1));
        let mut batch = PaddedBatch::prefill(llama, &slices(&prompts), rule).unwrap();
        let bytes = weights.bytes_per_pass();
        for expected in [
            work::of_prefill(llama, bytes, &[3, 11, 6], width),
            // Two rows go on, the one in the middle is done.
            work::of_step(llama, bytes, &[4, 0, 7]),
        ] {
            assert_eq!(work::of_batch(llama, weights, &batch), expected);
            let (caches, scratch) = (&mut state.caches, &mut state.state);
            let mut pass = || forward(config, weights, scratch, caches, &pool, &batch).map(|_| ());
            let (_, counted) = ledger::measure(|| pass().unwrap());
            assert_eq!(counted.multiply_adds, expected.multiply_adds());
            assert_eq!(counted.get("positions"), batch.cells() as u64);
            assert_eq!(counted.get("padded_positions"), batch.padded_cells() as u64);
            let next = Some(training::TokenId(7));
            batch.set_step(&[next, None, next], &[3, 11, 6]);
        }
    }
}

/// A cell of padding costs what a cell with a token costs, but for attention.
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

/// 4096 prompts with a mean of 80 tokens and none above 512, as they come.
fn lengths() -> Vec<usize> {
    let prompt = Distribution::log_normal(80.0, 0.8, 512);
    let new = Distribution::Equal(1);
    let lengths = Lengths::Independent { prompt, new };
    let stream = arrivals(42, 4096, &lengths, &Pace::AtOnce);
    stream.iter().map(|arrival| arrival.prompt_tokens).collect()
}

/// B2: mean 80, padded to 512: 80 / 512 of the cells hold a token, 15.6 %.
#[test]
fn padding_to_the_maximum_leaves_the_mean_over_the_maximum() {
    assert_eq!(cells(&[80; 100], 8, &Rule::Global(512)).share(), 80.0 / 512.0);
    assert_eq!(cells(&[16, 144], 8, &Rule::Global(512)).share(), 80.0 / 512.0);
    let lengths = lengths();
    let counted = cells(&lengths, 8, &Rule::Global(512));
    let tokens: usize = lengths.iter().sum();
    assert_eq!((counted.useful, counted.computed), (tokens as u64, 4096 * 512));
    assert!((0.14..0.17).contains(&counted.share()), "{}", counted.share());
}

/// B3: the batch's own maximum recovers most of what the global one wastes, and buckets more of it.
#[test]
fn own_widths_and_buckets_recover_most_of_the_waste() {
    let lengths = lengths();
    let percents = vec![50.0, 80.0, 95.0];
    let count = |rule: Rule| cells(&lengths, 8, &rule);
    let global = count(Rule::Global(512));
    let own = count(Rule::Own);
    let buckets = count(Rule::Buckets(percents.clone()));
    let both = count(Rule::BucketsOwn(percents));
    let recovered = |cells: static_batching::rules::Cells| 1.0 - cells.padding() as f64 / global.padding() as f64;
    assert!(recovered(own) > 0.7, "{}", recovered(own));
    assert!(recovered(buckets) > 0.85, "{}", recovered(buckets));
    assert!(recovered(both) > recovered(buckets) && recovered(buckets) > recovered(own));
    // Whatever the rule, the tokens are the same.
    assert!([own, buckets, both].iter().all(|c| c.useful == global.useful));
}

const MS: Duration = Duration::from_millis(1);

/// The claim's own machine: 50 ms for one request, 60 ms for eight, evenly between.
fn batch_time(batch_size: usize) -> Duration {
    Duration::from_micros(50_000 + 10_000 * (batch_size as u64 - 1) / 7)
}

fn simulate(stream: &[Duration], max_batch: usize, max_wait_ms: u32) -> Vec<Served> {
    let window = Window::new(max_batch, max_wait_ms * MS).unwrap();
    let run = &mut |clock: &mut VirtualClock, ids: std::ops::Range<usize>| {
        clock.advance(batch_time(ids.len()));
        Ok::<(), Infallible>(())
    };
    serve(&mut VirtualClock::new(), stream, &window, run).unwrap()
}

fn poisson(per_second: f64, count: usize) -> Vec<Duration> {
    let stream = arrivals(7, count, &Lengths::equal(1, 1), &Pace::Poisson { per_second });
    stream.iter().map(|arrival| arrival.at).collect()
}

/// Requests a second, from the first arrival to the last answer.
fn throughput(served: &[Served]) -> f64 {
    let end = served[served.len() - 1].finished;
    served.len() as f64 / (end - served[0].arrived).as_secs_f64()
}

/// B4: one that is alone waits the whole window for nobody.
#[test]
fn a_lonely_request_pays_the_whole_wait() {
    for wait in [0, 5, 20] {
        let served = simulate(&[MS, 500 * MS], 8, wait);
        for request in served {
            assert_eq!(request.latency(), 50 * MS + wait * MS);
            assert_eq!(request.batch_size, 1);
        }
    }
}

/// B4: eight that come together are served in 60 ms; one at a time the last one waits for 400.
#[test]
fn eight_at_once_take_little_longer_than_one() {
    let together = simulate(&[Duration::ZERO; 8], 8, 20);
    assert!(
        together
            .iter()
            .all(|r| r.latency() == 60 * MS && r.waited() == Duration::ZERO)
    );
    let in_turn = simulate(&[Duration::ZERO; 8], 1, 0);
    assert_eq!(in_turn[7].latency(), 400 * MS);
    let ratio = throughput(&together) / throughput(&in_turn);
    assert!((ratio - 400.0 / 60.0).abs() < 1e-9);
}

/// B4: the wait counts from the oldest request, so nobody waits longer than the window while the machine is idle.
#[test]
fn the_window_closes_when_the_oldest_has_waited_long_enough() {
    let stream: Vec<Duration> = [0, 9, 18, 27].map(|at| at * MS).to_vec();
    let served = simulate(&stream, 8, 20);
    // 0, 9 and 18 ms start at 20; 27 ms comes while they are computed, until 72.857 ms.
    let sizes: Vec<usize> = served.iter().map(|r| r.batch_size).collect();
    assert_eq!(sizes, [3, 3, 3, 1]);
    assert_eq!(served[0].started, 20 * MS);
    // It has waited for more than 20 ms by then and starts at once.
    assert_eq!(served[3].started, served[0].finished);
}

/// B4, what the claim leaves out: a busy machine fills its batches without any waiting, for the queue grows while it computes. The window
/// multiplies nothing there; batching does.
#[test]
fn under_load_batches_fill_by_themselves() {
    let stream = poisson(100.0, 4000);
    let (alone, at_once, waiting) = (
        simulate(&stream, 1, 0),
        simulate(&stream, 8, 0),
        simulate(&stream, 8, 20),
    );
    let times = throughput(&at_once) / throughput(&alone);
    assert!(times > 4.5, "five times what one at a time can do: {times}");
    let gain = throughput(&waiting) / throughput(&at_once);
    assert!((0.99..1.01).contains(&gain), "{gain}");
}

fn step_requests(new_tokens: &[usize]) -> Vec<StepRequest> {
    let request = |new_tokens: &usize| StepRequest {
        arrives: 0,
        prompt_tokens: 4,
        new_tokens: *new_tokens,
    };
    new_tokens.iter().map(request).collect()
}

/// B5: of 2 and 8 tokens, the 2 are handed back after 8 steps.
#[test]
fn short_requests_wait_for_the_longest_of_their_batch() {
    let plan = static_plan(&step_requests(&[2, 8, 3, 3]), 2);
    let waits: Vec<u64> = plan.outcomes.iter().map(|o| o.returned - o.finished).collect();
    assert_eq!(waits, [6, 0, 0, 0]);
    assert_eq!(plan.steps(), 11);
}

/// B5: the mean of the longest of eight exponential lengths is 1 + 1/2 + … + 1/8 = 2.7 times their mean: so much longer does everybody stay.
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

/// B5 on a real model: the plan's steps and rows are those that the loop counts.
#[test]
fn the_plan_is_what_the_model_does() {
    let model = fixture("one-kv-untied-f16");
    let lengths = [(3, 2), (7, 8), (5, 0), (1, 1)];
    let requests: Vec<StepRequest> = lengths
        .iter()
        .map(|(prompt_tokens, new_tokens)| StepRequest {
            arrives: 0,
            prompt_tokens: *prompt_tokens,
            new_tokens: *new_tokens,
        })
        .collect();
    let plan = static_plan(&requests, 4);
    let prompts: Vec<_> = lengths.iter().map(|(len, _)| prompt(*len, *len)).collect();
    let max: Vec<_> = lengths.iter().map(|(_, max)| *max).collect();
    let (mut state, pool) = (BatchState::new(&model.config), Pool::new(1));
    let rule = Pad::default();
    let prompts = slices(&prompts);
    let (run, counted) = ledger::measure(|| -> BatchRun {
        generate_batch(&model, &mut state, &pool, &prompts, &max, rule, &mut |_, _| {}).unwrap()
    });
    assert_eq!((run.steps, counted.steps), (plan.steps(), plan.steps()));
    assert_eq!(run.rows_computed, plan.rows_computed);
    assert_eq!(counted.get("positions"), plan.rows_computed);
    assert_eq!(run.rows_useful, plan.rows_useful);
    let finished: Vec<u64> = plan.outcomes.iter().map(|o| o.finished).collect();
    assert_eq!(run.done_at, finished);
}
