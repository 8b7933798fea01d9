//! Faults that real engines had, each as a test named after the right behaviour.

use crate::common::{
    At, Sampled, Setting, assert_empty, engine, engine_with, fixture, job, meta, ms, sampled, text, watched,
};
use continuous_batching::oracle::listener::Listener;
use continuous_batching::oracle::single::Single;
use continuous_batching::{Delivery, Engine, FinishReason, Refusal, Request, Runner, SeqId};
use layout::pool::Pool;
use sampling::SamplingParams;
use sampling::choice::by_params;
use scheduling::policy::{Fcfs, Priority, PriorityWithAgeing, ShortestPrompt};
use scheduling::simulate::{Setup, engine as numbers_engine, simulate};
use scheduling::step_cost::StepCost;
use scheduling::{Meta, Preemption, Scheduler, SwapSpace};

/// Two long answers in memory for little more than one: both are asked for 30 tokens after prompts of 9.
fn tight(preemption: Preemption) -> Setting {
    Setting {
        max_running: 2,
        budget: 8,
        chunk: 8,
        num_blocks: 12,
        preemption,
        host_blocks: 12,
        max_seq_len: 48,
        ..Setting::default()
    }
}

/// vllm#16832, vllm-gaudi#524: the answer was cut short, or its tokens came twice, after a request had been computed
/// again.
#[test]
fn an_answer_is_neither_cut_short_nor_doubled_after_recompute() {
    let (model, pool) = (fixture("all-kv-untied-f32"), Pool::new(1));
    for preemption in [Preemption::Recompute, Preemption::Swap] {
        let mut engine = engine(&model, &pool, tight(preemption));
        engine.limits.end_of_text.clear();
        let prompts = [text(9, 1, 270), text(9, 2, 270)];
        for prompt in &prompts {
            engine.submit_at(ms(0), Meta::default(), prompt, 30).unwrap();
        }
        let mut listener = Listener::default();
        while !engine.is_idle() {
            engine.step_at(ms(0), &mut |event| listener.take(event)).unwrap();
        }
        assert!(engine.scheduler.stats().preemptions > 0);
        let single = Single::new(&model);
        for (id, prompt) in (0..).map(SeqId).zip(&prompts) {
            let (tokens, _) = single.answer(prompt, 30, 48);
            assert_eq!(listener.tokens[&id], tokens);
            assert_eq!(listener.ends[&id], FinishReason::Length);
        }
    }
}

/// vllm#5349: after recompute what had been generated counted as prompt, and penalties that look at the output alone
/// forgot it.
#[test]
fn penalties_know_prompt_from_output_after_recompute() {
    let (model, pool) = (fixture("all-kv-untied-f32"), Pool::new(1));
    let params = SamplingParams {
        presence_penalty: 2.0,
        frequency_penalty: 1.5,
        seed: 3,
        ..SamplingParams::greedy()
    };
    let params = params.check(model.config.llama.vocab_size).unwrap();
    let (sender, seen) = std::sync::mpsc::channel();
    let engine = engine_with::<Sampled>(&model, &pool, tight(Preemption::Recompute), Box::new(Fcfs));
    let mut engine = engine.with_choice(watched(by_params(), sender));
    engine.limits.end_of_text.clear();
    let prompts = [text(9, 1, 270), text(9, 2, 270)];
    for prompt in &prompts {
        let (meta, params) = (Meta::default(), params.clone());
        engine.submit_with(prompt, 30, Sampled { meta, params }).unwrap();
    }
    let mut listener = Listener::default();
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert!(engine.scheduler.stats().preemptions > 0);
    // Every choice saw a prompt of 9 and one more token of output than the choice before it.
    let mut outputs = [0, 0];
    for (id, prompt, output) in seen.try_iter() {
        assert_eq!((prompt, output), (9, outputs[id.0 as usize]), "request {id}");
        outputs[id.0 as usize] += 1;
    }
    assert_eq!(outputs, [30, 30]);
    let mut plain = model;
    plain.config.eos_token_ids.clear();
    for (id, prompt) in (0..).map(SeqId).zip(&prompts) {
        assert_eq!(listener.tokens[&id], sampled(&plain, prompt, 30, 48, &params));
    }
}

/// vllm#25538: requests that were admitted for their first chunk only sent each other back for ever. The whole known
/// text has to fit.
#[test]
fn a_request_joins_only_when_its_whole_text_fits() {
    let mut setup = Setup::new(4, 64).with_budget(8, 8);
    // Four blocks of 16. The first holds two and grows into a third; the second needs three.
    setup.num_blocks = 4;
    let mut engine = numbers_engine(&setup, Box::new(Fcfs));
    let prompt = |len: usize| vec![training::TokenId(0); len];
    let first = engine.submit_at(ms(0), Meta::default(), &prompt(20), 20);
    let second = engine.submit_at(ms(0), Meta::default(), &prompt(40), 4);
    let (first, second) = (first.unwrap(), second.unwrap());
    let mut listener = Listener::default();
    while !engine.is_idle() {
        engine.step_at(ms(0), &mut |event| listener.take(event)).unwrap();
        if !listener.ends.contains_key(&first) {
            assert!(
                engine.queues.running.iter().all(|request| request.id != second),
                "a chunk of 8 would fit, all 40 do not"
            );
        }
    }
    assert_eq!(engine.scheduler.stats().preemptions, 0);
    assert_eq!(listener.tokens[&second].len(), 4);
}

/// The other half of vllm#25538: the oldest request keeps what it has, so it comes to its end in as many steps as if it
/// were alone.
#[test]
fn the_oldest_is_never_the_victim() {
    for preemption in [Preemption::Recompute, Preemption::Swap] {
        let mut setup = Setup::new(6, 64).with_budget(6, 4);
        setup.limits.preemption = preemption;
        (setup.num_blocks, setup.host_blocks) = (4, 4);
        let mut engine = numbers_engine(&setup, Box::new(Priority));
        engine.scheduler.start_trace();
        // The oldest is of the least urgent class of all.
        for class in [9, 0, 1, 0, 2, 0] {
            let prompt = [training::TokenId(0); 4];
            engine.submit_at(ms(0), meta(0, class), &prompt, 40).unwrap();
        }
        let mut listener = Listener::default();
        while !engine.is_idle() {
            let oldest = engine.queues.running.first().map(|request| request.id);
            engine.step_at(ms(0), &mut |event| listener.take(event)).unwrap();
            let step = engine.scheduler.trace().last().unwrap();
            assert!((step.preempted.iter()).all(|sent| Some(sent.id) != oldest), "{step:?}");
            if let Some(oldest) = oldest {
                assert!(
                    step.computed.iter().any(|share| share.id == oldest),
                    "{oldest} stood still: {step:?}"
                );
            }
        }
        assert!(engine.scheduler.stats().preemptions > 3);
        assert!(listener.tokens.values().all(|tokens| tokens.len() == 40));
    }
}

/// vllm#39734, nano-vllm#274: a request that can never fit blocked the queue for ever.
#[test]
fn what_can_never_fit_is_refused_at_submit() {
    let (model, pool) = (fixture("all-kv-untied-f32"), Pool::new(1));
    let setting = Setting {
        num_blocks: 5,
        block_size: 4,
        max_seq_len: 512,
        ..Setting::default()
    };
    let mut engine = engine(&model, &pool, setting);
    // Memory holds 20 tokens, less than the model's context and less than was asked for.
    let refused = engine.submit_at(ms(0), Meta::default(), &text(21, 1, 270), 5);
    assert_eq!(
        refused,
        Err(Refusal::PromptTooLong {
            prompt_tokens: 21,
            max_seq_len: 20
        })
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the prompt has 21 tokens, expected at most 20, the room of this engine for one request; shorten the prompt"
    );
    assert!(engine.is_idle(), "nothing is kept of it");
    // One that fits as a prompt ends when memory for one request is full.
    let id = engine.submit_at(ms(0), Meta::default(), &text(17, 1, 270), 50);
    let mut listener = Listener::default();
    engine.limits.end_of_text.clear();
    while !engine.is_idle() {
        engine.step_at(ms(0), &mut |event| listener.take(event)).unwrap();
    }
    let id = id.unwrap();
    assert_eq!(
        (listener.tokens[&id].len(), listener.ends[&id]),
        (3, FinishReason::Context)
    );
    assert_empty(&engine);
}

/// vllm#40004: strict priority starves the low class. With ageing of 50 ms a class it runs, though the urgent ones
/// never stop.
#[test]
fn a_low_class_is_served_however_many_urgent_ones_come() {
    let mut setup = Setup::new(1, 64);
    setup.cost = StepCost::equal_steps(ms(10));
    setup.horizon = ms(2900);
    // An urgent one every 10 ms, each of one step: exactly all that can be served.
    let mut jobs: Vec<_> = (0..300).map(|i| job(10 * i, 0, 1, 1)).collect();
    jobs.insert(1, job(1, 2, 1, 1));
    let strict = simulate(&setup, Box::new(Priority), &jobs).unwrap();
    assert_eq!(strict.outcomes[1].started, None, "strict priority");
    let ageing = PriorityWithAgeing { step: ms(50) };
    let aged = simulate(&setup, Box::new(ageing), &jobs).unwrap();
    assert!(
        aged.outcomes[1].waited(aged.end) <= ms(2 * 50 + 10),
        "{:?}",
        aged.outcomes[1]
    );
}

/// vllm#1026: one long prompt blocks all others. In chunks smaller than the budget it leaves room beside it, for
/// streams and for short prompts.
#[test]
fn one_long_prompt_does_not_block_all_others() {
    let jobs = [job(0, 0, 8, 60), job(1, 0, 900, 1), job(2, 0, 8, 4)];
    let run = |setup: Setup| simulate(&setup, Box::new(Fcfs), &jobs).unwrap().outcomes;
    let whole = run(Setup::new(4, 1024));
    let chunked = run(Setup::new(4, 1024).with_budget(96, 64));
    // The stream of the first one stands still for one step of 64 rows at most, not for one of 900.
    assert!(whole[0].longest_gap > ms(100), "{:?}", whole[0]);
    assert!(chunked[0].longest_gap < ms(20), "{:?}", chunked[0]);
    assert!(whole[2].ttft() > Some(ms(100)));
    assert!(chunked[2].ttft() < Some(ms(40)), "{:?}", chunked[2]);
}

/// vllm#46283, sglang#1674: blocks of an aborted request never came back. Here for one that waits in the host pool,
/// too.
#[test]
fn a_cancel_frees_blocks_and_host_pool_in_every_state() {
    let (model, pool) = (fixture("all-kv-untied-f32"), Pool::new(1));
    for preemption in [Preemption::Recompute, Preemption::Swap] {
        let mut cancelled_while_preempted = false;
        for at in 0..40 {
            for which in 0..3u64 {
                let mut engine = engine(&model, &pool, tight(preemption));
                engine.limits.end_of_text.clear();
                for seed in 0..3 {
                    let prompt = text(9, seed, 270);
                    engine.submit_at(ms(0), Meta::default(), &prompt, 30).unwrap();
                }
                let mut listener = Listener::default();
                for step in 0.. {
                    if step == at {
                        let waits = |request: &Request<Meta>| {
                            request.id == SeqId(which) && request.attached.num_preemptions > 0
                        };
                        cancelled_while_preempted |= engine.queues.waiting.iter().any(waits);
                        engine.cancel(SeqId(which));
                        engine.cancel(SeqId(which));
                        engine.check_invariants();
                    }
                    if engine.is_idle() {
                        break;
                    }
                    engine.step_at(ms(0), &mut |event| listener.take(event)).unwrap();
                }
                assert_empty(&engine);
                assert_eq!(listener.ends.len(), 3);
            }
        }
        assert!(cancelled_while_preempted, "{preemption:?}");
    }
}

/// Short ones first starves long ones; the order of arrival does not. (The policies say so; here it is seen.)
#[test]
fn the_shortest_first_lets_a_long_one_wait_as_long_as_short_ones_come() {
    let (model, pool) = (fixture("all-kv-untied-f32"), Pool::new(1));
    let setting = Setting {
        max_running: 1,
        num_blocks: 64,
        ..Setting::default()
    };
    let policies: [Box<dyn scheduling::policy::Policy>; 2] = [Box::new(ShortestPrompt), Box::new(Fcfs)];
    let mut first_tokens = Vec::new();
    for policy in policies {
        let mut engine = engine_with(&model, &pool, setting, policy);
        engine.limits.end_of_text.clear();
        let (mut listener, long) = (Listener::default(), SeqId(1));
        engine.submit_at(ms(0), Meta::default(), &text(2, 0, 270), 2).unwrap();
        engine.submit_at(ms(0), Meta::default(), &text(20, 1, 270), 1).unwrap();
        let mut first = None;
        for step in 0..40u64 {
            engine
                .submit_at(ms(step), Meta::default(), &text(2, 2, 270), 2)
                .unwrap();
            engine.step_at(ms(step), &mut |event| listener.take(event)).unwrap();
            if listener.tokens.contains_key(&long) {
                first.get_or_insert(step);
            }
        }
        first_tokens.push(first);
    }
    assert_eq!(first_tokens[0], None, "shortest first");
    assert!(first_tokens[1] < Some(10), "first come: {first_tokens:?}");
}

/// Steps at one point in time until no request is left.
#[track_caller]
fn run_on<R: Runner>(engine: &mut Engine<R, SwapSpace, Scheduler, Meta>, at: u64) {
    while !engine.is_idle() {
        engine.step_at(ms(at), &mut |_| Delivery::Taken).unwrap();
    }
}

/// A salt for each tenant (vllm#15297): what was computed for one is not found by another, also after a preemption.
#[test]
fn tenants_share_nothing_also_after_a_preemption() {
    let (model, pool) = (fixture("all-kv-untied-f32"), Pool::new(1));
    for preemption in [Preemption::Recompute, Preemption::Swap] {
        for tenants in [[7, 7], [7, 8]] {
            let mut engine = engine(&model, &pool, tight(preemption));
            engine.limits.end_of_text.clear();
            for tenant in tenants {
                let prompt = text(9, 1, 270);
                engine.submit_at(ms(0), meta(tenant, 0), &prompt, 30).unwrap();
            }
            run_on(&mut engine, 0);
            assert!(engine.scheduler.stats().preemptions > 0);
            assert_empty(&engine);
            // A third text comes when both are through: it finds what its own tenant left.
            for (tenant, finds) in [(7, true), (9, false), (0, false)] {
                let before = engine.memory.device.stats().prefix_hits;
                let prompt = text(9, 1, 270);
                engine.submit_at(ms(0), meta(tenant, 0), &prompt, 1).unwrap();
                run_on(&mut engine, 0);
                let hits = engine.memory.device.stats().prefix_hits;
                assert_eq!(hits > before, finds, "tenant {tenant} after {tenants:?}");
            }
        }
    }
}

/// A request that gives up or is cancelled before it ran leaves nothing behind, and its tenant's later requests are
/// served.
#[test]
fn a_request_that_never_ran_leaves_nothing_behind() {
    let setup = Setup::new(1, 64);
    let mut engine = numbers_engine(&setup, Box::new(Fcfs));
    engine.scheduler.limits.max_wait = Some(ms(50));
    let prompt = [training::TokenId(0); 4];
    let ids = [0, 1, 2].map(|_| engine.submit_at(ms(0), meta(3, 0), &prompt, 60).unwrap());
    engine.step_at(ms(0), &mut |_| Delivery::Taken).unwrap();
    engine.cancel(ids[1]);
    engine.step_at(ms(100), &mut |_| Delivery::Taken).unwrap();
    assert_eq!(engine.scheduler.stats().timed_out, 1);
    engine.check_invariants();
    assert_eq!((engine.queues.running.len(), engine.queues.waiting.len()), (1, 0));
    assert_eq!(continuous_batching::Memory::<Meta>::num_holders(&engine.memory), 1);
}

/// A request that became urgent by waiting is not preempted for later ones: that would be starvation, with memory in
/// the place of turns.
#[test]
fn an_aged_request_is_no_victim_for_later_ones() {
    let mut setup = Setup::new(3, 64).with_budget(6, 4);
    setup.num_blocks = 6;
    let step = ms(10);
    let mut engine = numbers_engine(&setup, Box::new(PriorityWithAgeing { step }));
    engine.scheduler.start_trace();
    let prompt = [training::TokenId(0); 4];
    let oldest = engine.submit_at(ms(0), meta(0, 0), &prompt, 60).unwrap();
    let aged = engine.submit_at(ms(0), meta(0, 5), &prompt, 60).unwrap();
    engine.step_at(ms(0), &mut |_| Delivery::Taken).unwrap();
    let later = engine.submit_at(ms(90), meta(0, 0), &prompt, 60).unwrap();
    run_on(&mut engine, 100);
    let preempted: Vec<SeqId> = (engine.scheduler.trace().iter())
        .flat_map(|step| step.preempted.iter().map(|sent| sent.id))
        .collect();
    assert_eq!(preempted.first(), Some(&later), "{preempted:?}");
    assert!(!preempted.contains(&oldest));
    assert!(preempted.len() < 60, "{aged}: {preempted:?}");
}

/// A choice that fails ends its own request; the others get their rows and their tokens, and each tenant pays for its
/// own rows.
#[test]
fn a_failed_choice_ends_its_own_request() {
    let setup = Setup::new(4, 64);
    let mut engine = numbers_engine(&setup, Box::new(Fcfs)).with_choice(Box::new(|request, logits| {
        match request.id == SeqId(0) && request.output.len() == 1 {
            true => Err(generation::GenerateError::NoLogits),
            false => generation::generate::greedy(logits),
        }
    }));
    let prompt = [training::TokenId(0); 8];
    engine.submit_at(ms(0), meta(1, 0), &prompt, 9).unwrap();
    engine.submit_at(ms(0), meta(2, 0), &prompt, 3).unwrap();
    let mut listener = Listener::default();
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert_eq!(listener.ends[&SeqId(0)], FinishReason::ChoiceFailed);
    assert_eq!(listener.ends[&SeqId(1)], FinishReason::Length);
    assert_eq!(
        (listener.tokens[&SeqId(0)].len(), listener.tokens[&SeqId(1)].len()),
        (1, 3)
    );
    let served = [1, 2].map(|tenant| engine.scheduler.quota.served_rows(scheduling::TenantId(tenant)));
    assert_eq!(served, [8 + 1, 8 + 2]);
    assert_eq!(engine.memory.device.num_held(), 0);
}
