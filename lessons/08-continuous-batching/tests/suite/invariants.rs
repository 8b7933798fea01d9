//! Properties of the parts: slots against a plain list, batches against the requests they are made of, admission
//! against a count.

use continuous_batching::exercises::admission::admit;
use continuous_batching::exercises::ragged::build_batch;
use continuous_batching::queues::Queues;
use continuous_batching::slots::Slot;
use continuous_batching::{Batch, EngineLimits, FinishReason, Memory, Request, SeqId, SlotId, Slots, Status};
use proptest::prelude::*;
use training::TokenId;

/// `Slots` serve requests with anything attached; here with nothing.
fn grow(slots: &mut Slots, id: u64, num_tokens: usize) -> bool {
    Memory::<()>::grow(slots, SeqId(id), num_tokens)
}

fn free(slots: &mut Slots, id: u64) -> bool {
    Memory::<()>::free(slots, SeqId(id))
}

fn check_invariants(slots: &Slots) {
    Memory::<()>::check_invariants(slots);
}

/// What is done to slots.
#[derive(Clone, Debug)]
enum Operation {
    Take(u64),
    Free(u64),
    Grow(u64, usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (0..8u64).prop_map(Operation::Take),
        (0..8u64).prop_map(Operation::Free),
        (0..8u64, 0..7usize).prop_map(|(id, len)| Operation::Grow(id, len)),
    ]
}

proptest! {
    /// A stack of free slots and a list of owners say the same.
    #[test]
    fn slots_behave_as_a_stack_of_free_ones(
        num_slots in 0..6usize,
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        const CAPACITY: usize = 4;
        let mut slots = Slots::new(num_slots, CAPACITY);
        let mut unused: Vec<usize> = (0..num_slots).rev().collect();
        let mut owners: Vec<(u64, usize, usize)> = Vec::new();
        for operation in operations {
            match operation {
                Operation::Take(id) => {
                    if owners.iter().any(|owner| owner.0 == id) {
                        continue;
                    }
                    let expected = unused.pop();
                    prop_assert_eq!(slots.take(SeqId(id)), expected.map(SlotId));
                    owners.extend(expected.map(|slot| (id, slot, 0)));
                }
                Operation::Free(id) => {
                    let place = owners.iter().position(|owner| owner.0 == id);
                    prop_assert_eq!(free(&mut slots, id), place.is_some());
                    unused.extend(place.map(|place| owners.remove(place).1));
                }
                Operation::Grow(id, len) => {
                    if let Some(owner) = owners.iter_mut().find(|owner| owner.0 == id) {
                        let fits = len <= CAPACITY;
                        prop_assert_eq!(grow(&mut slots, id, len), fits);
                        owner.2 = if fits { len } else { owner.2 };
                    }
                }
            }
            check_invariants(&slots);
            prop_assert_eq!(slots.num_free(), unused.len());
            prop_assert_eq!(Memory::<()>::num_holders(&slots), owners.len());
            for (id, slot, len) in &owners {
                prop_assert_eq!(slots.find(SeqId(*id)), Some(SlotId(*slot)));
                prop_assert_eq!(slots.len(SlotId(*slot)), *len);
            }
        }
    }

    /// Each request's uncomputed tokens, at their own positions, and nothing of the batch before.
    #[test]
    fn a_batch_holds_what_is_not_computed_yet(
        lengths in prop::collection::vec((1..6usize, 0..5usize, 0..9usize), 0..6),
        left_over in 0..4usize,
    ) {
        let running: Vec<Request> = (lengths.iter().enumerate())
            .map(|(index, (prompt, output, computed))| {
                let tokens = |from: usize, count: usize| -> Vec<TokenId> {
                    (from..from + count).map(|i| TokenId((100 * index + i) as u32)).collect()
                };
                let mut request = Request::new(SeqId(index as u64), &tokens(0, *prompt), 9, 32);
                request.output = tokens(*prompt, *output);
                request.num_computed = *computed.min(&(prompt + output - 1));
                request
            })
            .collect();
        let mut batch = Batch::default();
        batch.tokens.extend(vec![TokenId(7); left_over]);
        batch.positions.extend(vec![3; left_over]);
        build_batch(&running, &mut batch);
        for index in 0..running.len() {
            batch.add_table(|table| table.push(index as u32));
        }
        batch.check_invariants();
        prop_assert_eq!(batch.sequences.len(), running.len());
        for (index, (sequence, request)) in batch.sequences.iter().zip(&running).enumerate() {
            prop_assert_eq!(sequence.id, request.id);
            prop_assert!(sequence.wants_logits);
            let tokens: Vec<TokenId> = request.tokens().skip(request.num_computed).collect();
            prop_assert_eq!(&batch.tokens[sequence.rows()], &tokens[..]);
            prop_assert_eq!(batch.positions[sequence.first_row], request.num_computed);
            prop_assert_eq!(batch.positions[sequence.last_row()], request.num_tokens() - 1);
            prop_assert!(sequence.rows().all(|row| batch.table_of_row(row) == [index as u32]));
            let (first, last) = (sequence.first_row, sequence.last_row());
            prop_assert!(batch.same_sequence(first, last));
            prop_assert!(first == 0 || !batch.same_sequence(first - 1, first));
        }
    }

    /// The oldest join, as many as places and slots allow, and no others.
    #[test]
    fn the_oldest_join_while_there_is_room(
        waiting in 0..8u64,
        running in 0..4u64,
        num_slots in 0..6usize,
        max_running in 1..6usize,
    ) {
        let mut slots = Slots::new(num_slots.max(running as usize), 8);
        let mut queues = Queues::default();
        for id in 0..running + waiting {
            let mut request = Request::new(SeqId(id), &[TokenId(1)], 3, 8);
            if id < running {
                let _ = slots.admit(&mut request);
                request.status = Status::Decoding;
                queues.running.push(request);
            } else {
                queues.waiting.push_back(request);
            }
        }
        let room = slots.num_free().min(max_running.saturating_sub(running as usize));
        let expected = room.min(waiting as usize);
        prop_assert_eq!(admit(&mut queues, &mut slots, max_running), expected);
        queues.check_invariants();
        let ids: Vec<u64> = queues.running.iter().map(|request| request.id.0).collect();
        prop_assert_eq!(ids, (0..running + expected as u64).collect::<Vec<_>>());
        let joined = &queues.running[running as usize..];
        prop_assert!(joined.iter().all(|r| r.status == Status::Prefilling && slots.find(r.id).is_some()));
        prop_assert!(queues.waiting.iter().all(|r| slots.find(r.id).is_none()));
    }

    /// A request ends with the first reason that comes, and never grows beyond its limits.
    #[test]
    fn a_request_ends_once_and_within_its_limits(
        prompt in 1..8usize,
        max_new_tokens in 1..8usize,
        tokens in prop::collection::vec(0..5u32, 12),
    ) {
        let limits = EngineLimits {
            max_running: 1,
            max_new_tokens: usize::MAX,
            max_seq_len: 8,
            vocab_size: 5,
            end_of_text: vec![TokenId(4)],
        };
        let mut request = Request::new(SeqId(0), &vec![TokenId(0); prompt], max_new_tokens, 8);
        prop_assume!(request.exhausted(8).is_none());
        let room = max_new_tokens.min(8 - prompt);
        let mut told = Vec::new();
        for token in tokens {
            request.advance(request.num_tokens() - request.num_computed);
            told.extend(request.accept(TokenId(token), &limits));
            prop_assert_eq!(&request.output, &told);
            prop_assert_eq!(request.num_computed + usize::from(token != 4), request.num_tokens());
            let expected = match token {
                4 => Some(FinishReason::Stop),
                _ if told.len() == max_new_tokens => Some(FinishReason::Length),
                _ if told.len() == room => Some(FinishReason::Context),
                _ => None,
            };
            match expected {
                Some(reason) => {
                    prop_assert_eq!(request.status, Status::Finished(reason));
                    return Ok(());
                }
                None => prop_assert_eq!(request.status, Status::Decoding),
            }
        }
        prop_assert!(false, "the context ends every request");
    }
}

/// unified-cache-management#1053: the same place freed twice corrupts the free list.
#[test]
fn nothing_is_freed_twice() {
    let mut slots = Slots::new(3, 8);
    let taken = [0, 1].map(|id| slots.take(SeqId(id)).unwrap());
    assert!(free(&mut slots, 0));
    assert!(!free(&mut slots, 0));
    check_invariants(&slots);
    assert_eq!(slots.num_free(), 2);
    // Two requests get two slots.
    let [a, b] = [5, 6].map(|id| slots.take(SeqId(id)).unwrap());
    assert_ne!(a, b);
    assert_eq!(a, taken[0], "the slot that became free last is taken first");
    assert_eq!(slots.take(SeqId(7)), None);
    check_invariants(&slots);
}

/// The length that an earlier owner reached is no length of the next one.
#[test]
fn a_new_owner_begins_with_length_zero() {
    let mut slots = Slots::new(1, 8);
    let slot = slots.take(SeqId(0)).unwrap();
    assert!(grow(&mut slots, 0, 5));
    assert!(free(&mut slots, 0));
    assert_eq!(slots.len(slot), 0);
    slots.take(SeqId(1)).unwrap();
    let owner = SeqId(1);
    assert_eq!(slots.all()[slot.0], Slot::Held { owner, len: 0 });
}

/// A sequence never grows beyond its slot, and a refused growth changes nothing.
#[test]
fn growing_beyond_the_capacity_is_refused() {
    let mut slots = Slots::new(1, 8);
    let slot = slots.take(SeqId(0)).unwrap();
    assert!(grow(&mut slots, 0, 8));
    assert!(!grow(&mut slots, 0, 9));
    assert_eq!(slots.len(slot), 8);
}
