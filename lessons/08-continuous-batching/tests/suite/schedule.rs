//! Which request holds which slot: traces as snapshots, and refusals in words.

use crate::common::scheduler;
use crate::trace::{self, StepTrace};
use continuous_batching::{Delivery, Refusal, SeqId, Status};
use static_batching::plan::{StepRequest, static_plan};
use training::TokenId;

/// Steps until all requests are over. A request is (step before which it is submitted, prompt tokens, new tokens), a
/// cancel is (step, id).
fn trace(num_slots: usize, requests: &[(u64, usize, usize)], cancels: &[(u64, u64)]) -> Vec<StepTrace> {
    let mut engine = scheduler(num_slots, num_slots);
    let mut steps = Vec::new();
    let last = requests.iter().map(|request| request.0).max().unwrap();
    while engine.num_steps() <= last || !engine.is_idle() {
        let now = engine.num_steps();
        for (_, prompt, new) in requests.iter().filter(|request| request.0 == now) {
            engine.submit(&vec![TokenId(1); *prompt], *new).unwrap();
        }
        for (_, id) in cancels.iter().filter(|cancel| cancel.0 == now) {
            engine.cancel(SeqId(*id));
        }
        steps.extend(trace::step(&mut engine, &mut |_| Delivery::Taken).unwrap());
        engine.check_invariants();
    }
    steps
}

/// The steps as lines of text: a line for a step, a column for a slot. `P` computes a prompt, `D` decodes, with the
/// request's number; `·` is empty.
fn picture(steps: &[StepTrace], num_slots: usize) -> String {
    let mut text = String::new();
    for step in steps {
        text += &format!("{:>4} ", step.step);
        for slot in 0..num_slots {
            let seat = step.computed.iter().find(|seat| seat.slot.0 == slot);
            let sign = match seat {
                Some(seat) if seat.status == Status::Prefilling => format!("P{}", seat.id),
                Some(seat) => format!("D{}", seat.id),
                None => "·".to_owned(),
            };
            text += &format!(" {sign:<4}");
        }
        let waiting: Vec<String> = step.waiting.iter().map(SeqId::to_string).collect();
        let finished = step.finished.iter().map(|(id, reason)| format!("{id} {reason:?}"));
        let (waiting, finished) = (waiting.join(" "), finished.collect::<Vec<_>>().join(", "));
        text += &format!("  waiting [{waiting}]  finished [{finished}]\n");
    }
    text
}

/// Lengths 2, 8, 3, 3 on two slots: eleven steps in static batches, eight here.
#[test]
fn lengths_2_8_3_3_on_two_slots_take_eight_steps_instead_of_eleven() {
    let lengths = [2, 8, 3, 3];
    let plan = lengths.map(|new_tokens| StepRequest {
        arrives: 0,
        prompt_tokens: 4,
        new_tokens,
    });
    assert_eq!(static_plan(&plan, 2).steps(), 11);
    let steps = trace(2, &lengths.map(|new_tokens| (0, 4, new_tokens)), &[]);
    assert_eq!(steps.len(), 8);
    insta::assert_snapshot!("lengths_2_8_3_3", picture(&steps, 2));
}

/// Arrivals, a request that needs nothing, a cancel while waiting and one while decoding, and steps in which nothing
/// happens.
#[test]
fn joining_and_leaving_at_every_step() {
    let requests = [
        (0, 3, 4),
        (0, 2, 2),
        (1, 5, 6),
        (1, 1, 0),
        (2, 2, 3),
        (3, 4, 2),
        (12, 2, 1),
    ];
    let steps = trace(2, &requests, &[(3, 4), (4, 2)]);
    insta::assert_snapshot!("joining_and_leaving", picture(&steps, 2));
}

/// The trace as figures and charts read it.
#[test]
fn a_trace_is_json_and_comes_back() {
    let steps = trace(1, &[(0, 2, 2), (0, 1, 1)], &[]);
    let text = serde_json::to_string_pretty(&steps).unwrap();
    assert_eq!(serde_json::from_str::<Vec<StepTrace>>(&text).unwrap(), steps);
    insta::assert_snapshot!("trace_json", text);
}

#[test]
fn refusals_say_what_was_found_and_what_to_do() {
    let refusals = [
        Refusal::EmptyPrompt,
        Refusal::PromptTooLong {
            prompt_tokens: 513,
            max_seq_len: 512,
        },
        Refusal::UnknownToken {
            token_id: 2048,
            position: 3,
            vocab_size: 2048,
        },
    ];
    insta::assert_snapshot!("refusals", refusals.map(|refusal| refusal.to_string()).join("\n"));
}
