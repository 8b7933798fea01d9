//! What the lesson claims, as counts.

use crate::common::{self, At, job, ms, stories, text};
use continuous_batching::runner::NoModel;
use continuous_batching::{Admission, Delivery, Engine, EngineLimits, Memory, Request, SeqId};
use generation::State;
use lab::ledger;
use layout::pool::Pool;
use paged_cache::{BlockManager, PagedCache};
use scheduling::meta::Candidate;
use scheduling::policy::{Fcfs, Policy};
use scheduling::simulate::{Setup, simulate};
use scheduling::step_cost::StepCost;
use scheduling::swap_space::Reclaim;
use scheduling::{Meta, Scheduler, StepLimits};
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use training::TokenId;

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

/// Memory that always has room, and counts how often it is asked.
#[derive(Default)]
struct Asked {
    holders: Vec<SeqId>,
    grows: u64,
}

impl<X> Memory<X> for Asked {
    fn max_seq_len(&self) -> usize {
        64
    }
    fn admit(&mut self, request: &mut Request<X>) -> Admission {
        self.holders.push(request.id);
        Admission::Admitted
    }
    fn grow(&mut self, _id: SeqId, _num_tokens: usize) -> bool {
        self.grows += 1;
        true
    }
    fn free(&mut self, id: SeqId) -> bool {
        let place = self.holders.iter().position(|holder| *holder == id);
        place.map(|place| self.holders.swap_remove(place)).is_some()
    }
    fn holds(&self, id: SeqId) -> bool {
        self.holders.contains(&id)
    }
    fn num_holders(&self) -> usize {
        self.holders.len()
    }
    fn write_table(&self, _id: SeqId, _table: &mut Vec<u32>) {}
    fn check_invariants(&self) {}
}

impl Reclaim for Asked {
    fn swap_out(&mut self, _id: SeqId) -> usize {
        0
    }
    fn drop_blocks(&mut self, _id: SeqId) -> bool {
        false
    }
    fn stored_tokens(&self, _id: SeqId) -> usize {
        0
    }
}

/// The cost of a decision: memory is asked once for each running request, and the policy compares only when a place is
/// free, then once for each waiting request.
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
    let comparisons = Arc::new(AtomicU64::new(0));
    let policy = Box::new(Compared(comparisons.clone()));
    let scheduler = Scheduler::new(StepLimits::with_budget(4096), policy);
    let mut engine: Engine<_, _, _, Meta> = Engine::with(NoModel::new(1), Asked::default(), scheduler, limits);
    for i in 0..RUNNING + 100 {
        let new = if i == 7 { 3 } else { 20 };
        engine.submit(&[TokenId(0); 3], new).unwrap();
    }
    let mut step = || {
        let grows = engine.memory.grows;
        comparisons.store(0, Relaxed);
        engine.step(&mut |_| Delivery::Taken).unwrap();
        (engine.memory.grows - grows, comparisons.load(Relaxed))
    };
    // 256 join: each is found among those that are left, and admission takes the memory for its rows.
    assert_eq!(step(), (0, (100..RUNNING as u64 + 100).sum()));
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
        engine.submit_at(ms(0), Meta::default(), &prompt, 5).unwrap();
        let mut tokens = Vec::new();
        let (_, counted) = ledger::measure(|| {
            while !engine.is_idle() {
                let taken = &mut |event: continuous_batching::Event<'_>| {
                    if let continuous_batching::Event::Token { token, .. } = event {
                        tokens.push(token);
                    }
                    Delivery::Taken
                };
                engine.step_at(ms(0), taken).unwrap();
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

/// The aha of the lesson: chunking spreads the stall. The longest gap of a stream shrinks with the chunk, the time of
/// all steps together grows.
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
        setup.host_blocks = 1_000;
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
    let mut blocks = BlockManager::new(16, 4, 64);
    let mut cache = PagedCache::new(llama, 16, 4);
    let prompt = text(9, 1, 2048);
    let mut request = Request::new(SeqId(0), &prompt, 4, 64);
    assert_eq!(blocks.admit(&mut request), Admission::Admitted);
    let mut batch = |tokens: &[TokenId], first: usize| {
        let mut batch = continuous_batching::Batch::default();
        batch.tokens.extend_from_slice(tokens);
        batch.positions.extend(first..first + tokens.len());
        batch.sequences.push(continuous_batching::BatchSequence {
            id: SeqId(0),
            first_row: 0,
            num_rows: tokens.len(),
            wants_logits: false,
        });
        Memory::<()>::complete(&mut blocks, &mut batch);
        batch
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
