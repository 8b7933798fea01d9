//! The real model: requests that run in chunks, over shared blocks, preempted and swapped, get token for token what
//! lesson 06 gives each of them alone, and with seeds what lesson 09 draws for each alone. Each run also shows that its
//! subject did happen.

use crate::common::{At, Sampled, Setting, assert_empty, engine, engine_with, fixture, ms, sampled, stories, text};
use continuous_batching::SeqId;
use continuous_batching::oracle::listener::Listener;
use continuous_batching::oracle::single::Single;
use generation::Model;
use layout::pool::Pool;
use sampling::SamplingParams;
use sampling::choice::by_params;
use scheduling::policy::Fcfs;
use scheduling::stats::ScheduleStats;
use scheduling::{Meta, Preemption};
use training::TokenId;

/// Prompts of 1 to 30 tokens, every second one with a beginning that many share, and 1 to 22 tokens asked for.
fn requests(model: &Model, count: usize) -> Vec<(Vec<TokenId>, usize)> {
    let vocab_size = model.config.llama.vocab_size;
    let shared = text(13, 1, vocab_size);
    (0..count)
        .map(|i| {
            let own = text(1 + i * 7 % 17, i as u32, vocab_size);
            let prompt = match i % 2 {
                0 => own,
                _ => shared.iter().chain(&own).copied().collect(),
            };
            (prompt, 1 + i * 5 % 22)
        })
        .collect()
}

/// What happened in a run.
struct Happened {
    stats: ScheduleStats,
    hits: u64,
    back: u64,
}

/// Submits at most `burst` requests before each step, and compares all answers with single runs.
#[track_caller]
fn together_equals_alone(model: &Model, setting: Setting, burst: usize, count: usize) -> Happened {
    let pool = Pool::new(2);
    let mut engine = engine(model, &pool, setting);
    let (requests, mut listener) = (requests(model, count), Listener::default());
    let mut rest = requests.iter();
    for step in 0.. {
        for (prompt, max_new_tokens) in rest.by_ref().take(burst) {
            let id = engine.submit_at(ms(step), Meta::default(), prompt, *max_new_tokens);
            id.unwrap();
        }
        if engine.is_idle() && rest.len() == 0 {
            break;
        }
        engine.step_at(ms(step), &mut |event| listener.take(event)).unwrap();
        engine.check_invariants();
        assert!(engine.batch.num_rows() <= setting.budget);
    }
    assert_empty(&engine);
    let single = Single::new(model);
    for (id, (prompt, max_new_tokens)) in requests.iter().enumerate() {
        let id = SeqId(id as u64);
        let (tokens, reason) = single.answer(prompt, *max_new_tokens, setting.max_seq_len);
        assert_eq!(listener.tokens[&id], tokens, "request {id}");
        assert_eq!(listener.ends[&id], reason, "request {id}");
    }
    Happened {
        stats: engine.scheduler.stats(),
        hits: engine.memory.device.stats().prefix_hits,
        back: engine.memory.stats().back,
    }
}

#[test]
fn chunked_runs_equal_single_runs() {
    for name in ["all-kv-untied-f32", "llama3-rope-bf16", "sharded-bf16"] {
        let setting = Setting {
            num_blocks: 200,
            prefix_cache: false,
            ..Setting::default()
        };
        let happened = together_equals_alone(&fixture(name), setting, 3, 20);
        assert!(happened.stats.chunks > 20, "{name}: {:?}", happened.stats);
        assert_eq!((happened.stats.preemptions, happened.hits), (0, 0));
    }
}

#[test]
fn runs_with_prefix_hits_equal_single_runs() {
    for name in ["some-kv-tied-bf16", "one-kv-untied-f16"] {
        let setting = Setting {
            num_blocks: 200,
            ..Setting::default()
        };
        let happened = together_equals_alone(&fixture(name), setting, 2, 20);
        assert!(happened.hits > 50, "{name}: {} hits", happened.hits);
    }
}

#[test]
fn runs_preempted_by_recompute_equal_single_runs() {
    for name in ["some-kv-tied-bf16", "linear-rope-tied-f32"] {
        for prefix_cache in [false, true] {
            let setting = Setting {
                prefix_cache,
                ..Setting::default()
            };
            let happened = together_equals_alone(&fixture(name), setting, 4, 24);
            assert!(happened.stats.preemptions > 3, "{name}: {:?}", happened.stats);
            assert!(happened.stats.recomputed_tokens > 0);
            assert_eq!(happened.stats.swapped, 0);
        }
    }
}

#[test]
fn runs_preempted_by_swap_equal_single_runs() {
    for name in ["no-prefix-f16", "rope-parameters-bf16"] {
        for prefix_cache in [false, true] {
            let setting = Setting {
                preemption: Preemption::Swap,
                host_blocks: 18,
                prefix_cache,
                ..Setting::default()
            };
            let happened = together_equals_alone(&fixture(name), setting, 4, 24);
            assert!(happened.stats.swapped > 3, "{name}: {:?}", happened.stats);
            assert!(happened.back > 0, "{name}: no request came back");
        }
    }
}

/// Blocks of one position, and blocks as long as a whole text.
#[test]
fn the_size_of_blocks_changes_no_token() {
    for (block_size, num_blocks) in [(1, 64), (64, 2), (5, 13)] {
        let setting = Setting {
            block_size,
            num_blocks,
            ..Setting::default()
        };
        together_equals_alone(&fixture("sharded-bf16"), setting, 4, 12);
    }
}

/// The trained model, with all of it at once.
#[test]
fn the_trained_model_answers_together_as_alone() {
    for (preemption, host_blocks) in [(Preemption::Recompute, 0), (Preemption::Swap, 25)] {
        let setting = Setting {
            preemption,
            host_blocks,
            ..Setting::default()
        };
        let happened = together_equals_alone(&stories(), setting, 4, 12);
        assert!(happened.stats.preemptions > 0 && happened.stats.chunks > 1);
        assert!(happened.hits > 0);
    }
}

/// Sixty-four requests, each with a seed and parameters of its own, under a small budget and with few blocks: what
/// lesson 09 draws for each alone.
#[test]
fn sixty_four_sampled_requests_equal_their_single_runs() {
    const MAX_SEQ_LEN: usize = 64;
    let (model, pool) = (fixture("some-kv-tied-bf16"), Pool::new(2));
    let vocab_size = model.config.llama.vocab_size;
    let of_request = |i: usize| {
        let params = SamplingParams {
            temperature: [0.0, 0.7, 1.0, 1.5][i % 4],
            top_k: [0, 40][i % 2],
            top_p: [1.0, 0.9, 0.8][i % 3],
            repetition_penalty: [1.0, 1.3][i / 2 % 2],
            presence_penalty: [0.0, 0.5][i / 3 % 2],
            frequency_penalty: [0.0, 0.3][i / 5 % 2],
            seed: 1000 + i as u64,
            ..SamplingParams::default()
        };
        params.check(vocab_size).unwrap()
    };
    let requests = requests(&model, 64);
    let alone: Vec<Vec<TokenId>> = (requests.iter().enumerate())
        .map(|(i, (prompt, new))| sampled(&model, prompt, *new, MAX_SEQ_LEN, &of_request(i)))
        .collect();
    for (preemption, host_blocks) in [(Preemption::Recompute, 0), (Preemption::Swap, 20)] {
        let setting = Setting {
            max_running: 8,
            budget: 12,
            chunk: 5,
            num_blocks: 20,
            preemption,
            host_blocks,
            max_seq_len: MAX_SEQ_LEN,
            ..Setting::default()
        };
        let engine = engine_with::<Sampled>(&model, &pool, setting, Box::new(Fcfs));
        let mut engine = engine.with_choice(by_params());
        for (i, (prompt, new)) in requests.iter().enumerate() {
            let (meta, params) = (Meta::default(), of_request(i));
            engine.submit_with(prompt, *new, Sampled { meta, params }).unwrap();
        }
        let mut listener = Listener::default();
        engine.run(&mut |event| listener.take(event)).unwrap();
        assert_empty(&engine);
        let stats = engine.scheduler.stats();
        assert!(stats.preemptions > 5 && stats.chunks > 1, "{stats:?}");
        assert_eq!(engine.memory.stats().back > 0, host_blocks > 0);
        for (i, expected) in alone.iter().enumerate() {
            assert_eq!(
                &listener.tokens[&SeqId(i as u64)],
                expected,
                "request {i}, {preemption:?}"
            );
        }
    }
}

/// Lesson 08's schedule, which this one supersedes, on the same requests.
#[test]
fn without_bounds_it_schedules_as_lesson_08() {
    use continuous_batching::{Engine, EngineLimits, ModelRunner, SlotCache, Slots};
    let (model, pool) = (fixture("some-kv-tied-bf16"), Pool::new(1));
    let requests = requests(&model, 12);
    let limits = EngineLimits::of_model(&model.config, 3);
    let cache = SlotCache::new(&model.config.llama, 3, 64);
    let runner = ModelRunner::new(&model, &pool, cache, 3, 64);
    let mut before = Engine::new(runner, Slots::new(3, 64), limits);
    let setting = Setting {
        max_running: 3,
        budget: usize::MAX,
        chunk: usize::MAX,
        num_blocks: 3 * 16,
        prefix_cache: false,
        ..Setting::default()
    };
    let setting = Setting {
        budget: 1000,
        ..setting
    };
    let mut now = engine(&model, &pool, setting);
    for (prompt, new) in &requests {
        before.submit(prompt, *new).unwrap();
        now.submit_at(ms(0), Meta::default(), prompt, *new).unwrap();
    }
    let (mut heard_before, mut heard_now) = (Listener::default(), Listener::default());
    while !before.is_idle() || !now.is_idle() {
        before.step(&mut |event| heard_before.take(event)).unwrap();
        now.step_at(ms(0), &mut |event| heard_now.take(event)).unwrap();
        assert_eq!(heard_before.tokens, heard_now.tokens, "step {}", before.num_steps());
    }
    assert_eq!(heard_before.ends, heard_now.ends);
}
