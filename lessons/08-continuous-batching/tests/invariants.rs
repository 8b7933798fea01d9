//! Properties of the parts: slots against a plain list, batches against the requests they are made of, admission against a count.

use continuous_batching::admission::admit;
use continuous_batching::queues::Queues;
use continuous_batching::ragged::build_batch;
use continuous_batching::{Batch, EngineLimits, FinishReason, Memory, Request, SeqId, SlotId, Slots, Status};
use proptest::prelude::*;
use training::TokenId;

/// What one does to slots.
#[derive(Clone, Debug)]
enum Operation {
    Take(u64),
    Release(u64),
    SetLen(u64, usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (0..8u64).prop_map(Operation::Take),
        (0..8u64).prop_map(Operation::Release),
        (0..8u64, 0..5usize).prop_map(|(id, len)| Operation::SetLen(id, len)),
    ]
}

proptest! {
    /// A stack of free slots and a list of owners say the same.
    #[test]
    fn slots_behave_as_a_stack_of_free_ones(
        num_slots in 0..6usize,
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        let mut slots = Slots::new(num_slots, 4);
        let mut free: Vec<usize> = (0..num_slots).rev().collect();
        let mut owners: Vec<(u64, usize, usize)> = Vec::new();
        for operation in operations {
            match operation {
                Operation::Take(id) => {
                    if owners.iter().any(|owner| owner.0 == id) {
                        continue;
                    }
                    let expected = free.pop();
                    prop_assert_eq!(slots.take(SeqId(id)), expected.map(SlotId));
                    owners.extend(expected.map(|slot| (id, slot, 0)));
                }
                Operation::Release(id) => {
                    let place = owners.iter().position(|owner| owner.0 == id);
                    prop_assert_eq!(slots.release(SeqId(id)), place.is_some());
                    free.extend(place.map(|place| owners.remove(place).1));
                }
                Operation::SetLen(id, len) => {
                    if let Some(owner) = owners.iter_mut().find(|owner| owner.0 == id) {
                        slots.set_len(SlotId(owner.1), len);
                        owner.2 = len;
                    }
                }
            }
            slots.check_invariants();
            prop_assert_eq!(slots.num_free(), free.len());
            prop_assert_eq!(slots.num_holders(), owners.len());
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
        batch.check_invariants();
        prop_assert_eq!(batch.sequences.len(), running.len());
        for (sequence, request) in batch.sequences.iter().zip(&running) {
            prop_assert_eq!(sequence.id, request.id);
            prop_assert!(sequence.wants_logits);
            let tokens: Vec<TokenId> = request.tokens().skip(request.num_computed).collect();
            prop_assert_eq!(&batch.tokens[sequence.rows()], &tokens[..]);
            prop_assert_eq!(batch.positions[sequence.first_row], request.num_computed);
            prop_assert_eq!(batch.positions[sequence.last_row()], request.num_tokens() - 1);
        }
    }

    /// The oldest join, as many as places and slots allow, and no one else.
    #[test]
    fn the_oldest_join_while_there_is_room(
        waiting in 0..8u64,
        running in 0..4u64,
        num_slots in 0..6usize,
        max_running in 1..6usize,
    ) {
        let mut slots = Slots::new(num_slots.max(running as usize), 8);
        let mut queues = Queues::default();
        let request = |id| Request::new(SeqId(id), &[TokenId(1)], 3, 8);
        for id in 0..running {
            let mut runs = request(id);
            runs.status = Status::Decoding;
            slots.take(runs.id);
            queues.running.push(runs);
        }
        queues.waiting.extend((running..running + waiting).map(request));
        let places = max_running.saturating_sub(running as usize);
        let expected = places.min(slots.num_free()).min(waiting as usize);
        prop_assert_eq!(admit(&mut queues, &mut slots, max_running), expected);
        queues.check_invariants();
        let ids: Vec<u64> = queues.running.iter().map(|request| request.id.0).collect();
        prop_assert_eq!(ids, (0..running + expected as u64).collect::<Vec<_>>());
        let joined = &queues.running[running as usize..];
        prop_assert!(joined.iter().all(|r| r.status == Status::Prefilling && slots.holds(r.id)));
        prop_assert!(queues.waiting.iter().all(|r| !slots.holds(r.id)));
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

#[test]
#[should_panic(expected = "gap")]
fn a_gap_between_stored_positions_is_our_own_bug() {
    use continuous_batching::{BatchSequence, KvCache, SlotCache};
    let config = continuous_batching::oracle::config(8);
    let mut cache = SlotCache::new(&config, 1, 8);
    let mut request = Request::new(SeqId(0), &[TokenId(1)], 3, 8);
    let _ = cache.admit(&mut request);
    let batch = Batch {
        tokens: vec![TokenId(1)],
        positions: vec![3],
        sequences: vec![BatchSequence {
            id: SeqId(0),
            first_row: 0,
            num_rows: 1,
            wants_logits: true,
        }],
    };
    let _ = cache.begin(&batch);
}
