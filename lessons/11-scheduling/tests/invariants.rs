//! What holds in every step, whatever is asked: budget, order, progress; and memory that leaves and comes back.

mod common;

use common::{meta, ms};
use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::oracle::listener::Listener;
use continuous_batching::{Admission, Memory, Request, SeqId};
use paged_cache::{Pages, Promise};
use proptest::prelude::*;
use scheduling::memory::GivesBack;
use scheduling::policy::{FairQuota, Fcfs, PlacesPerClass, Policy, Priority, PriorityWithAgeing, ShortestPrompt};
use scheduling::simulate::{Setup, engine};
use scheduling::{Preemption, SwapSpace};
use training::TokenId;

fn policy(number: usize) -> Box<dyn Policy> {
    match number {
        0 => Box::new(Fcfs),
        1 => Box::new(ShortestPrompt),
        2 => Box::new(Priority),
        3 => Box::new(PriorityWithAgeing { step: ms(3) }),
        4 => Box::new(PlacesPerClass { places: 1 }),
        _ => Box::new(FairQuota),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Progress: in every step the oldest of those who run keeps its memory and gets a row. So it ends, and then the next one is the oldest; and everybody
    /// gets all of its tokens. No step has more rows than its budget, no part is longer than a chunk, and no stream stands still.
    #[test]
    fn there_is_progress_in_every_step(
        plan in prop::collection::vec((1..30usize, 1..30usize, 0..3u32, 0..3u8), 1..12),
        places in 1..6usize,
        more_rows in 0..9usize,
        chunk in 1..12usize,
        more_blocks in 0..10usize,
        which in 0..6usize,
        swap in prop::option::of(0..90usize),
    ) {
        let mut setup = Setup::new(places, 60).with_budget(places + more_rows, chunk);
        setup.block_size = 4;
        setup.num_blocks = 15 + more_blocks;
        setup.host_tokens = swap.unwrap_or(0);
        setup.limits.preemption = if swap.is_some() { Preemption::Swap } else { Preemption::Recompute };
        let mut engine = engine(&setup, policy(which));
        engine.start_trace();
        for (prompt, new, tenant, class) in &plan {
            engine.submit(ms(0), meta(*tenant, *class), &vec![TokenId(0); *prompt], *new).unwrap();
        }
        let (mut listener, mut steps) = (Listener::default(), 0);
        while !engine.is_idle() {
            let oldest = engine.queues.running.first().map(|entry| entry.id());
            let streams: Vec<SeqId> = engine.queues.running.iter()
                .filter(|entry| entry.missing() == 1).map(|entry| entry.id()).collect();
            engine.step(ms(steps), &mut |event| listener.take(event)).unwrap();
            engine.check_invariants();
            let step = engine.trace().last().unwrap();
            prop_assert!(step.num_rows() <= places + more_rows);
            prop_assert!(step.computed.iter().all(|share| share.rows <= chunk));
            let sent_back = |id: SeqId| step.sent_back.iter().any(|sent| sent.id == id);
            let computed = |id: SeqId| step.computed.iter().any(|share| share.id == id);
            if let Some(oldest) = oldest {
                prop_assert!(!sent_back(oldest) && computed(oldest), "{step:?}");
            }
            prop_assert!(streams.iter().all(|id| computed(*id) || sent_back(*id)), "{step:?}");
            prop_assert!(step.sent_back.is_empty() || step.joined.is_empty(), "{step:?}");
            steps += 1;
            prop_assert!(steps < 20_000, "no end");
        }
        for (id, (_, new, ..)) in (0..).map(SeqId).zip(&plan) {
            prop_assert_eq!(listener.tokens[&id].len(), *new);
        }
        prop_assert_eq!(engine.memory.num_holders(), 0);
        prop_assert_eq!(engine.memory.device().num_held(), 0);
    }
}

/// Blocks of 4 for sequences of up to 16 tokens.
fn memory(num_blocks: usize, host_tokens: usize) -> SwapSpace<Pages> {
    let pages = Pages::new(num_blocks, 4, 16).promising(Promise::Known);
    SwapSpace::new(pages.without_prefix_cache(), host_tokens)
}

/// Admits a request with a prompt of `len` and computes all of it, as far as memory is concerned.
fn computed(memory: &mut SwapSpace<Pages>, id: u64, len: usize) -> Request {
    let mut request = Request::new(SeqId(id), &vec![TokenId(0); len], 4, 16);
    assert_eq!(memory.admit(&mut request), Admission::Admitted);
    let batch = Batch {
        tokens: request.prompt.clone(),
        positions: (0..len).collect(),
        sequences: vec![BatchSequence {
            id: request.id,
            first_row: 0,
            num_rows: len,
            wants_logits: true,
        }],
    };
    (memory.device_mut().begin(&batch, &mut Vec::new())).unwrap();
    memory.device_mut().commit(&batch);
    request
}

#[test]
fn what_is_swapped_out_frees_its_blocks_and_comes_back_whole() {
    let mut memory = memory(4, 20);
    let mut request = computed(&mut memory, 0, 7);
    request.output.push(TokenId(0));
    assert_eq!(memory.device().num_held(), 2);
    assert_eq!(memory.swap_out(SeqId(0)), 7);
    assert_eq!((memory.device().num_held(), memory.num_stored()), (0, 1));
    memory.check_invariants();
    assert_eq!(memory.swap_in(&mut request), Admission::Admitted);
    assert_eq!((request.num_computed, memory.num_stored()), (7, 0));
    assert_eq!(memory.device().num_held(), 2);
    assert_eq!(
        (memory.stats().out, memory.stats().back, memory.stats().tokens),
        (1, 1, 14)
    );
    assert!(memory.release(SeqId(0)) && !memory.release(SeqId(0)));
    memory.check_invariants();
}

#[test]
fn a_pool_that_is_full_takes_nothing_and_changes_nothing() {
    let mut memory = memory(4, 10);
    computed(&mut memory, 0, 7);
    computed(&mut memory, 1, 4);
    assert_eq!(memory.swap_out(SeqId(0)), 7);
    assert_eq!(memory.swap_out(SeqId(1)), 0, "3 tokens of room, 4 wanted");
    assert!(memory.holds(SeqId(1)));
    assert_eq!(memory.stored_tokens(), 7);
}

#[test]
fn one_that_does_not_fit_back_stays_in_the_pool() {
    let mut memory = memory(4, 10);
    let mut request = computed(&mut memory, 0, 7);
    memory.swap_out(SeqId(0));
    computed(&mut memory, 1, 12);
    assert_eq!(memory.swap_in(&mut request), Admission::NoRoom);
    assert_eq!((memory.num_stored(), request.num_computed), (1, 0));
    memory.release(SeqId(1));
    assert_eq!(memory.swap_in(&mut request), Admission::Admitted);
}

/// A step that failed after its pass has written keys and values for tokens that nobody has heard the answer to. Sent back then, a request comes back with its
/// last token still to compute: without a row it would never get another token.
#[test]
fn after_a_step_that_failed_a_row_is_left_to_compute() {
    let mut memory = memory(4, 20);
    let mut request = computed(&mut memory, 0, 7);
    assert_eq!(memory.swap_out(SeqId(0)), 7);
    assert_eq!(memory.swap_in(&mut request), Admission::Admitted);
    assert_eq!((request.num_computed, request.num_tokens()), (6, 7));
}

#[test]
fn a_cancelled_one_leaves_the_pool() {
    let mut memory = memory(4, 20);
    computed(&mut memory, 0, 7);
    memory.swap_out(SeqId(0));
    assert!(memory.release(SeqId(0)));
    assert_eq!((memory.num_stored(), memory.num_holders()), (0, 0));
}
