//! What the lesson claims, as counts.

mod common;

use common::{job, ms, stories, text};
use continuous_batching::runner::NoModel;
use continuous_batching::{Admission, Delivery, EngineLimits, Memory, Request, SeqId};
use generation::State;
use lab::ledger;
use layout::pool::Pool;
use paged_cache::{PagedCache, Pages, Promise};
use scheduling::entry::Candidate;
use scheduling::memory::Device;
use scheduling::policy::{Fcfs, Policy};
use scheduling::simulate::{Setup, simulate};
use scheduling::step_cost::StepCost;
use scheduling::{Engine, Meta, StepLimits, SwapSpace, TenantId};
use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use training::TokenId;

/// Lesson 10's numbers, which count how often they are asked for room.
struct Asked {
    pages: Pages,
    reserves: Cell<u64>,
}

impl Memory for Asked {
    fn max_seq_len(&self) -> usize {
        self.pages.max_seq_len()
    }
    fn admit(&mut self, request: &mut Request) -> Admission {
        self.pages.admit(request)
    }
    fn release(&mut self, id: SeqId) -> bool {
        self.pages.release(id)
    }
    fn holds(&self, id: SeqId) -> bool {
        self.pages.holds(id)
    }
    fn num_holders(&self) -> usize {
        self.pages.num_holders()
    }
    fn check_invariants(&self) {
        self.pages.check_invariants();
    }
}

impl Device for Asked {
    fn reserve(&mut self, id: SeqId, num_tokens: usize) -> bool {
        self.reserves.set(self.reserves.get() + 1);
        self.pages.reserve(id, num_tokens)
    }
    fn take_back(&mut self, id: SeqId) -> bool {
        self.pages.take_back(id)
    }
    fn share_among(&mut self, id: SeqId, tenant: TenantId) {
        self.pages.share_among(id, tenant);
    }
    fn len(&self, id: SeqId) -> usize {
        Device::len(&self.pages, id)
    }
    fn read_out(&self, _id: SeqId, _out: &mut Vec<f32>) {}
    fn write_in(&mut self, id: SeqId, tokens: &[TokenId], from: &[f32]) {
        self.pages.write_in(id, tokens, from);
    }
}

/// First come, first served, which counts its comparisons.
struct Compared(Arc<AtomicU64>);

impl Policy for Compared {
    fn name(&self) -> &'static str {
        "counted"
    }
    fn compare(&self, now: Duration, a: &Candidate, b: &Candidate) -> Ordering {
        self.0.fetch_add(1, Relaxed);
        Fcfs.compare(now, a, b)
    }
}

/// What a step decides costs: memory is asked once for each request that runs, and the policy compares only when a place is free, then once for each one that waits.
#[test]
fn a_step_with_256_running_requests_asks_memory_256_times() {
    const RUNNING: usize = 256;
    let limits = EngineLimits {
        max_running: RUNNING,
        max_new_tokens: usize::MAX,
        max_seq_len: 64,
        vocab_size: 1,
        end_of_text: Vec::new(),
    };
    let memory = Asked {
        pages: Pages::new(RUNNING * 4, 16, 64).promising(Promise::Known),
        reserves: Cell::new(0),
    };
    let comparisons = Arc::new(AtomicU64::new(0));
    let mut engine = Engine::new(
        NoModel::new(1),
        SwapSpace::new(memory, 0),
        StepLimits::with_budget(limits, 4096),
        Box::new(Compared(comparisons.clone())),
    );
    for i in 0..RUNNING + 100 {
        let new = if i == 7 { 3 } else { 20 };
        engine.submit(ms(0), Meta::default(), &[TokenId(0); 3], new).unwrap();
    }
    let mut step = || {
        let reserves = engine.memory.device().reserves.get();
        comparisons.store(0, Relaxed);
        engine.step(ms(0), &mut |_| Delivery::Taken).unwrap();
        let asked = engine.memory.device().reserves.get() - reserves;
        (asked, comparisons.load(Relaxed))
    };
    // 256 join: each is found among those that are left.
    let (asked, compared) = step();
    assert_eq!(asked, 0, "whoever joins is promised room by admission");
    assert_eq!(compared, (100..RUNNING as u64 + 100).sum::<u64>());
    assert_eq!(step(), (256, 0));
    assert_eq!(step(), (256, 0));
    // Request 7 has left, and one of 100 takes its place.
    assert_eq!(step(), (255, 99));
    assert_eq!(step(), (256, 0));
}

/// Q2: the rows of a prompt in chunks are those of the prompt, counted on the real model; and its bits are lesson 05's.
#[test]
fn chunks_change_no_row_and_no_bit() {
    let (model, pool) = (stories(), Pool::new(1));
    let prompt = text(70, 3, 2048);
    let run = |chunk: usize| {
        let mut engine = common::engine(
            &model,
            &pool,
            common::Setting {
                budget: 80,
                chunk,
                num_blocks: 40,
                max_seq_len: 128,
                ..Default::default()
            },
        );
        engine.submit(ms(0), Meta::default(), &prompt, 5).unwrap();
        let mut tokens = Vec::new();
        let (_, counted) = ledger::measure(|| {
            while !engine.is_idle() {
                let taken = &mut |event: continuous_batching::Event<'_>| {
                    if let continuous_batching::Event::Token { token, .. } = event {
                        tokens.push(token);
                    }
                    Delivery::Taken
                };
                engine.step(ms(0), taken).unwrap();
            }
        });
        (tokens, counted)
    };
    let (whole, all_at_once) = run(80);
    let (chunked, in_parts) = run(16);
    assert_eq!(whole, chunked);
    assert_eq!(all_at_once.get("positions"), 70 + 4);
    assert_eq!(in_parts.get("positions"), 70 + 4);
    assert_eq!((all_at_once.steps, in_parts.steps), (5, 4 + 5));
    assert_eq!(all_at_once.multiply_adds, in_parts.multiply_adds);
}

/// The aha of the lesson: chunking spreads the stall. The longest gap of a stream shrinks with the chunk, the time of all steps together grows.
#[test]
fn chunking_spreads_the_stall_and_adds_no_throughput() {
    let jobs = [job(0, 0, 8, 200), job(50, 0, 2048, 1)];
    let run = |chunk: usize| {
        let setup = Setup::new(4, 4096).with_budget(usize::MAX, chunk);
        let done = simulate(&setup, Box::new(Fcfs), &jobs).unwrap();
        (done.outcomes[0].longest_gap, done.end, done.stats.rows)
    };
    let (whole, large, small) = (run(usize::MAX), run(256), run(64));
    assert!(
        whole.0 > 4 * large.0 && large.0 > 2 * small.0,
        "{whole:?} {large:?} {small:?}"
    );
    assert_eq!((whole.2, large.2), (large.2, small.2), "rows");
    // The stream has its 200 tokens either way; the prompt's constants are what is added.
    assert!(
        whole.1 <= large.1 && large.1 <= small.1,
        "{whole:?} {large:?} {small:?}"
    );
}

/// Preemption costs rows or copies, and they are counted: by recompute every known token once more, by swap none.
#[test]
fn recompute_costs_rows_and_swap_costs_copies() {
    use scheduling::Preemption;
    let jobs: Vec<_> = (0..8).map(|i| job(i, 0, 40, 120)).collect();
    let run = |preemption| {
        let mut setup = Setup::new(8, 256).with_budget(256, 256);
        setup.num_blocks = 30;
        setup.host_tokens = 10_000;
        setup.limits.preemption = preemption;
        simulate(&setup, Box::new(Fcfs), &jobs).unwrap()
    };
    let (again, copied) = (run(Preemption::Recompute), run(Preemption::Swap));
    let needed = 8 * (40 + 120 - 1);
    assert!(again.stats.preemptions > 3 && copied.stats.preemptions > 3);
    assert_eq!(again.stats.rows, needed + again.stats.recomputed_tokens);
    assert_eq!(again.swaps.tokens, 0);
    assert_eq!(copied.stats.rows, needed);
    assert_eq!(
        (copied.swaps.out, copied.swaps.out),
        (copied.stats.swapped, copied.swaps.back)
    );
    assert!(copied.swaps.tokens > 0);
}

/// One model of a step, twice: over blocks, the pass counts the pairs that the stated cost counts.
#[test]
fn the_stated_cost_counts_the_pairs_of_the_pass() {
    let (model, pool) = (stories(), Pool::new(1));
    let llama = &model.config.llama;
    let pages = Pages::new(16, 4, 64);
    let mut cache = PagedCache::new(llama, pages);
    let prompt = text(9, 1, 2048);
    let mut request = Request::new(SeqId(0), &prompt, 4, 64);
    assert_eq!(cache.admit(&mut request), Admission::Admitted);
    let batch = |tokens: &[TokenId], first: usize| continuous_batching::Batch {
        tokens: tokens.to_vec(),
        positions: (first..first + tokens.len()).collect(),
        sequences: vec![continuous_batching::BatchSequence {
            id: SeqId(0),
            first_row: 0,
            num_rows: tokens.len(),
            wants_logits: false,
        }],
    };
    let mut state = State::new(&model.config, 0);
    let mut work = |batch: &continuous_batching::Batch| {
        let (_, counted) = ledger::measure(|| {
            continuous_batching::forward::forward(&model.config, &model.weights, &mut state, &mut cache, &pool, batch)
                .unwrap();
        });
        counted.multiply_adds
    };
    // 5 rows at positions 0 to 4, and 4 rows at 5 to 8: 15 and 30 pairs.
    let (first, second) = (batch(&prompt[..5], 0), batch(&prompt[5..], 5));
    let cost = StepCost {
        constant: Duration::ZERO,
        per_row: Duration::ZERO,
        per_pair: Duration::from_nanos(1),
        per_copied: Duration::ZERO,
    };
    assert_eq!(cost.of(&first).as_nanos(), 15);
    assert_eq!(cost.of(&second).as_nanos(), 30);
    // A pair is two products of head_dim for each head and layer; a row is the same everywhere.
    let pair = (2 * llama.num_layers * llama.num_heads * llama.head_dim) as u64;
    let (first, second) = (work(&first) - 15 * pair, work(&second) - 30 * pair);
    assert_eq!(first * 4, second * 5);
}
