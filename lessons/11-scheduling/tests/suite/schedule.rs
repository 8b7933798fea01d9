//! The rows of each step, as pictures, and what the figure reads.

use crate::common::{At, meta, ms};
use continuous_batching::{Delivery, Event};
use scheduling::Preemption;
use scheduling::policy::{Fcfs, Policy, Priority};
use scheduling::simulate::{Setup, engine};
use scheduling::trace::{StepTrace, picture};
use training::TokenId;

/// Requests of (class, prompt, new tokens), all there at the start.
fn traced(setup: &Setup, policy: Box<dyn Policy>, requests: &[(u8, usize, usize)]) -> Vec<StepTrace> {
    let mut engine = engine(setup, policy);
    engine.scheduler.start_trace();
    for (class, prompt, new) in requests {
        let prompt = vec![TokenId(0); *prompt];
        engine.submit_at(ms(0), meta(0, *class), &prompt, *new).unwrap();
    }
    let mut now = 0;
    while !engine.is_idle() {
        engine.step_at(ms(now), &mut |_: Event<'_>| Delivery::Taken).unwrap();
        now += 10;
    }
    engine.scheduler.trace().to_vec()
}

/// Budget 8, chunks of 6: a stream, a long prompt in parts, a short one beside it.
#[test]
fn streams_first_then_prompts_in_chunks() {
    let setup = Setup::new(4, 64).with_budget(8, 6);
    let trace = traced(&setup, Box::new(Fcfs), &[(0, 2, 6), (0, 15, 2), (0, 3, 3)]);
    insta::assert_snapshot!(picture(&trace, 3));
}

/// Four blocks of 4, full after the prompts. The oldest grows first and stays, though it is of the lowest class; of the
/// others 2 goes, which is less urgent than its neighbours, and then 3, the youngest. By recompute they come back with
/// all they have, by swap with one row.
#[test]
fn the_youngest_of_the_lowest_class_gives_way() {
    let mut setup = Setup::new(4, 16).with_budget(12, 12);
    (setup.block_size, setup.num_blocks, setup.host_blocks) = (4, 4, 16);
    let requests = [(2, 3, 9), (0, 3, 5), (1, 3, 5), (0, 3, 5)];
    let forgotten = traced(&setup, Box::new(Priority), &requests);
    insta::assert_snapshot!("by_recompute", picture(&forgotten, 4));
    setup.limits.preemption = Preemption::Swap;
    let copied = traced(&setup, Box::new(Priority), &requests);
    insta::assert_snapshot!("by_swap", picture(&copied, 4));
}

#[test]
fn a_trace_is_written_and_read_as_json() {
    let setup = Setup::new(2, 64).with_budget(4, 4);
    let trace = traced(&setup, Box::new(Fcfs), &[(1, 6, 1)]);
    let written = serde_json::to_string_pretty(&trace).unwrap();
    let read: Vec<StepTrace> = serde_json::from_str(&written).unwrap();
    assert_eq!(read, trace);
    insta::assert_snapshot!(written);
}

#[test]
#[should_panic(expected = "a budget of 3 rows for 4 running requests: each needs a row in every step")]
fn a_budget_below_one_row_for_each_request_is_a_bug() {
    let mut setup = Setup::new(4, 64);
    setup.limits.max_step_tokens = 3;
    traced(&setup, Box::new(Fcfs), &[(0, 2, 2)]);
}
