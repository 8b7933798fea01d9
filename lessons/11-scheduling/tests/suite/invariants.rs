//! What holds in every step, whatever is asked: budget, order, progress; and memory that leaves and comes back.

use crate::common::{At, meta, ms};
use continuous_batching::oracle::listener::Listener;
use continuous_batching::{Admission, Memory, Request, SeqId};
use paged_cache::{BlockManager, Reserve};
use proptest::prelude::*;
use scheduling::meta::missing_rows;
use scheduling::policy::{FairQuota, Fcfs, PlacesPerClass, Policy, Priority, PriorityWithAgeing, ShortestPrompt};
use scheduling::simulate::{Setup, engine};
use scheduling::swap_space::Reclaim;
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

    /// Progress: in every step the oldest running request keeps its memory and gets a row. So it ends, and then the
    /// next one is the oldest; and every request gets all of its tokens. No step has more rows than its budget, no part
    /// is longer than a chunk, and no stream stands still.
    #[test]
    fn there_is_progress_in_every_step(
        plan in prop::collection::vec((1..30usize, 1..30usize, 0..3u32, 0..3u8), 1..12),
        places in 1..6usize,
        more_rows in 0..9usize,
        chunk in 1..12usize,
        more_blocks in 0..10usize,
        which in 0..6usize,
        swap in prop::option::of(0..24usize),
    ) {
        let mut setup = Setup::new(places, 60).with_budget(places + more_rows, chunk);
        setup.block_size = 4;
        setup.num_blocks = 15 + more_blocks;
        setup.host_blocks = swap.unwrap_or(0);
        setup.limits.preemption = if swap.is_some() { Preemption::Swap } else { Preemption::Recompute };
        let mut engine = engine(&setup, policy(which));
        engine.scheduler.start_trace();
        for (prompt, new, tenant, class) in &plan {
            engine.submit_at(ms(0), meta(*tenant, *class), &vec![TokenId(0); *prompt], *new).unwrap();
        }
        let (mut listener, mut steps) = (Listener::default(), 0);
        while !engine.is_idle() {
            let oldest = engine.queues.running.first().map(|request| request.id);
            let streams: Vec<SeqId> = engine.queues.running.iter()
                .filter(|request| missing_rows(request, 0) == 1).map(|request| request.id).collect();
            engine.step_at(ms(steps), &mut |event| listener.take(event)).unwrap();
            engine.check_invariants();
            let step = engine.scheduler.trace().last().unwrap();
            prop_assert!(step.num_rows() <= places + more_rows);
            prop_assert!(step.computed.iter().all(|share| share.rows <= chunk));
            let preempted = |id: SeqId| step.preempted.iter().any(|one| one.id == id);
            let computed = |id: SeqId| step.computed.iter().any(|share| share.id == id);
            if let Some(oldest) = oldest {
                prop_assert!(!preempted(oldest) && computed(oldest), "{step:?}");
            }
            prop_assert!(streams.iter().all(|id| computed(*id) || preempted(*id)), "{step:?}");
            prop_assert!(step.preempted.is_empty() || step.joined.is_empty(), "{step:?}");
            steps += 1;
            prop_assert!(steps < 20_000, "no end");
        }
        for (id, (_, new, ..)) in (0..).map(SeqId).zip(&plan) {
            prop_assert_eq!(listener.tokens[&id].len(), *new);
        }
        prop_assert_eq!(engine.memory.num_stored(), 0);
        prop_assert_eq!(engine.memory.device.num_held(), 0);
    }
}

/// Blocks of 4 for sequences of up to 16 tokens, and a host pool.
struct Subject(SwapSpace);

fn subject(num_blocks: usize, num_host_blocks: usize) -> Subject {
    let blocks = BlockManager::new(num_blocks, 4, 16).reserving(Reserve::Known);
    Subject(SwapSpace::new(blocks.without_prefix_cache(), num_host_blocks))
}

impl Subject {
    fn admit(&mut self, request: &mut Request) -> Admission {
        let admission = self.0.admit(request);
        Memory::<()>::check_invariants(&self.0);
        admission
    }

    /// Admits a request with a prompt of `len` tokens; all of them are computed, and one more is known.
    fn computed(&mut self, id: u64, len: usize) -> Request {
        let mut request = Request::new(SeqId(id), &vec![TokenId(0); len], 4, 16);
        assert_eq!(self.admit(&mut request), Admission::Admitted);
        self.copies();
        request.num_computed = len;
        self.0.note_computed(&request);
        request.output.push(TokenId(0));
        request
    }

    fn swap_out(&mut self, id: u64) -> usize {
        let num_stored = self.0.swap_out(SeqId(id));
        Memory::<()>::check_invariants(&self.0);
        num_stored
    }

    fn free(&mut self, id: u64) -> bool {
        let held = Memory::<()>::free(&mut self.0, SeqId(id));
        Memory::<()>::check_invariants(&self.0);
        held
    }

    /// The copies that the next pass makes first.
    fn copies(&mut self) -> Vec<(u32, u32)> {
        let mut copies = Vec::new();
        Memory::<()>::take_copies(&mut self.0, &mut copies);
        copies
    }
}

/// Blocks of the device are numbered from 0, blocks of the host pool behind them.
#[test]
fn a_swap_is_a_list_of_copies_and_comes_back_whole() {
    let mut subject = subject(4, 5);
    let mut request = subject.computed(0, 7);
    assert_eq!(subject.0.device.num_held(), 2);
    assert_eq!(subject.swap_out(0), 7);
    assert_eq!((subject.0.device.num_held(), subject.0.num_stored()), (0, 1));
    assert_eq!(subject.copies(), [(0, 4), (1, 5)]);
    request.num_computed = 0;
    assert_eq!(subject.admit(&mut request), Admission::Admitted);
    assert_eq!((request.num_computed, subject.0.num_stored()), (7, 0));
    // The device hands out the blocks that are free for the longest time.
    assert_eq!(subject.copies(), [(4, 2), (5, 3)]);
    let stats = subject.0.stats();
    assert_eq!((stats.out, stats.back, stats.tokens), (1, 1, 14));
    assert!(subject.free(0) && !subject.free(0));
}

/// Blocks that a swap frees may be taken again before the next pass. That pass copies them out before it writes a row.
#[test]
fn a_block_is_copied_out_before_it_is_overwritten() {
    let mut subject = subject(2, 2);
    subject.computed(0, 7);
    subject.swap_out(0);
    let mut second = Request::new(SeqId(1), &[TokenId(0); 7], 1, 16);
    assert_eq!(subject.admit(&mut second), Admission::Admitted);
    let table = subject.0.device.table(SeqId(1)).unwrap().blocks.clone();
    assert_eq!(table, [0, 1].map(paged_cache::BlockId));
    assert_eq!(subject.copies(), [(0, 2), (1, 3)]);
}

#[test]
fn a_pool_without_room_takes_nothing_and_changes_nothing() {
    let mut subject = subject(4, 2);
    subject.computed(0, 7);
    subject.computed(1, 4);
    assert_eq!(subject.swap_out(0), 7);
    assert_eq!(subject.swap_out(1), 0, "both blocks of the pool are taken");
    assert!(Memory::<()>::holds(&subject.0, SeqId(1)));
    assert_eq!((subject.0.stored_tokens(SeqId(0)), subject.0.num_stored()), (7, 1));
}

#[test]
fn a_request_that_does_not_fit_back_stays_in_the_pool() {
    let mut subject = subject(4, 2);
    let mut request = subject.computed(0, 7);
    subject.swap_out(0);
    request.num_computed = 0;
    subject.computed(1, 12);
    assert_eq!(subject.admit(&mut request), Admission::NoRoom);
    assert_eq!((subject.0.num_stored(), request.num_computed), (1, 0));
    subject.free(1);
    assert_eq!(subject.admit(&mut request), Admission::Admitted);
}

#[test]
fn a_cancelled_request_leaves_the_pool() {
    let mut subject = subject(4, 5);
    subject.computed(0, 7);
    subject.swap_out(0);
    assert!(subject.free(0));
    assert_eq!((subject.0.num_stored(), Memory::<()>::num_holders(&subject.0)), (0, 0));
}
