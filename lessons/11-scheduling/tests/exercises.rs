//! What each exercise must do, smallest case first. One group an exercise, each with its own function and nothing that
//! another one writes; `whole` at the end plays all of them together.

use fixtures::expect;

/// The options of a question in `course.toml`, and which of them it calls right.
fn question(id: &str) -> (Vec<String>, usize) {
    fixtures::question(include_str!("../course.toml"), id)
}

/// 11.1 Fill the budget: how many rows each running request gets, the oldest first.
mod ex_11_1_budget {
    use super::expect;
    use scheduling::exercises::budget::fill;

    /// What each gets, written over what an earlier step left behind.
    fn filled(budget: usize, chunk: usize, missing: &[usize]) -> Vec<usize> {
        let mut rows = vec![77; missing.len()];
        fill(budget, chunk, missing, &mut rows);
        rows
    }

    #[track_caller]
    fn check(budget: usize, chunk: usize, missing: &[usize], expected: &[usize]) {
        let what = format!("budget {budget}, chunk {chunk}, missing {missing:?}: rows");
        expect(&what, filled(budget, chunk, missing), expected);
    }

    #[test]
    fn one_stream_gets_one_row() {
        check(8, 4, &[1], &[1]);
        check(8, 4, &[1, 1, 1], &[1, 1, 1]);
    }

    /// A prompt that is older than the streams.
    #[test]
    fn streams_get_their_row_before_any_prompt() {
        check(4, 4, &[9, 1, 1], &[2, 1, 1]);
        check(3, 3, &[9, 1, 1], &[1, 1, 1]);
    }

    #[test]
    fn a_prompt_takes_what_is_left() {
        check(5, 8, &[1, 7], &[1, 4]);
        check(2, 8, &[1, 7], &[1, 1]);
    }

    #[test]
    fn no_prompt_gets_more_than_a_chunk() {
        check(16, 4, &[9], &[4]);
        check(16, 4, &[9, 1, 9, 9], &[4, 1, 4, 4]);
    }

    #[test]
    fn no_request_gets_more_than_it_misses() {
        check(16, 4, &[3, 1, 2], &[3, 1, 2]);
    }

    #[test]
    fn the_oldest_prompt_goes_first() {
        check(7, 4, &[9, 9, 9], &[4, 3, 0]);
        check(6, 9, &[5, 1, 5], &[5, 1, 0]);
    }

    #[test]
    fn what_stood_in_rows_is_forgotten() {
        check(2, 2, &[9, 9], &[2, 0]);
        check(0, 2, &[1, 9], &[0, 0]);
        check(5, 2, &[], &[]);
    }

    /// Lesson 08's step: everything that is missing.
    #[test]
    fn without_a_bound_everybody_gets_everything() {
        check(usize::MAX, usize::MAX, &[900, 1, 40], &[900, 1, 40]);
    }

    /// All small cases: the sum stays within the budget, and nothing is left over while a request could still use it.
    #[test]
    fn the_budget_is_kept_and_used() {
        for (budget, chunk) in (1..7).flat_map(|budget| (1..4).map(move |chunk| (budget, chunk))) {
            for code in 0..216usize {
                let missing = [1 + code % 6, 1 + code / 6 % 6, 1 + code / 36];
                let rows = filled(budget, chunk, &missing);
                let most: usize = missing.iter().map(|missing| (*missing).min(chunk)).sum();
                let what = format!("budget {budget}, chunk {chunk}, missing {missing:?}: rows {rows:?}, their sum");
                expect(&what, rows.iter().sum::<usize>(), most.min(budget));
            }
        }
    }
}

/// 11.2 Waiting makes urgent: the class that a request counts as.
mod ex_11_2_ageing {
    use super::expect;
    use scheduling::Class;
    use scheduling::exercises::ageing::effective_class;
    use std::time::Duration;

    #[track_caller]
    fn check(class: u8, waited_ms: u64, step_ms: u64, expected: u8) {
        let ms = Duration::from_millis;
        expect(
            &format!("class {class}, {waited_ms} ms of waiting, {step_ms} ms a class"),
            effective_class(Class(class), ms(waited_ms), ms(step_ms)),
            Class(expected),
        );
    }

    #[test]
    fn a_new_request_is_in_its_own_class() {
        check(0, 0, 100, 0);
        check(3, 0, 100, 3);
    }

    #[test]
    fn one_class_for_each_full_step() {
        check(3, 100, 100, 2);
        check(3, 250, 100, 1);
        check(3, 300, 100, 0);
    }

    #[test]
    fn a_part_of_a_step_is_nothing() {
        check(1, 1, 100, 1);
        check(3, 99, 100, 3);
        check(3, 199, 100, 2);
    }

    #[test]
    fn no_class_is_more_urgent_than_zero() {
        check(0, 1000, 100, 0);
        check(2, 900, 100, 0);
    }

    /// 256 steps and 258 steps: what eight bits keep of them is 0 and 2.
    #[test]
    fn a_long_wait_does_not_wrap() {
        check(3, 25_600, 100, 0);
        check(3, 25_800, 100, 0);
        check(255, 25_400, 100, 1);
        check(255, 86_400_000, 1, 0);
    }

    #[test]
    fn steps_shorter_than_a_second_count() {
        check(2, 20, 10, 0);
        let us = Duration::from_micros;
        expect(
            "class 2, 1500 us of waiting, 1000 us a class",
            effective_class(Class(2), us(1500), us(1000)),
            Class(1),
        );
    }

    #[test]
    fn without_a_step_no_request_ages() {
        check(2, 1000, 0, 2);
    }
}

/// 11.3 Choose a victim: whose memory is taken back.
mod ex_11_3_victim {
    use super::expect;
    use scheduling::Class;
    use scheduling::exercises::victim::choose_victim;

    #[track_caller]
    fn check(classes: &[u8], first: usize, expected: Option<usize>) {
        let of_class: Vec<Class> = classes.iter().copied().map(Class).collect();
        expect(
            &format!("classes {classes:?}, oldest first, those before place {first} are scheduled"),
            choose_victim(&of_class, first),
            expected,
        );
    }

    #[test]
    fn of_one_class_the_youngest_pays() {
        check(&[0, 0, 0], 0, Some(2));
        check(&[2, 2, 2, 2], 1, Some(3));
    }

    #[test]
    fn the_least_urgent_class_pays() {
        check(&[0, 2, 0], 0, Some(1));
        check(&[1, 0, 3, 1, 2], 0, Some(2));
    }

    #[test]
    fn of_the_least_urgent_the_youngest_pays() {
        check(&[0, 2, 2, 1], 0, Some(2));
    }

    #[test]
    fn the_oldest_is_never_preempted() {
        check(&[9, 0, 0], 0, Some(2));
        check(&[9, 0], 0, Some(1));
    }

    #[test]
    fn no_scheduled_request_is_chosen() {
        check(&[0, 9, 0, 1], 2, Some(3));
        check(&[0, 9, 9, 0], 3, Some(3));
    }

    #[test]
    fn the_one_that_asks_may_have_to_go_itself() {
        check(&[0, 0, 3, 1], 2, Some(2));
        check(&[0, 0], 1, Some(1));
    }

    #[test]
    fn without_a_victim_the_answer_is_none() {
        check(&[5], 0, None);
        check(&[], 0, None);
        check(&[0, 0], 2, None);
    }

    /// All small cases, against the rule in words.
    #[test]
    fn the_rule_holds_for_all_small_cases() {
        for code in 0..256usize {
            let classes = [code % 4, code / 4 % 4, code / 16 % 4, code / 64].map(|c| c as u8);
            for first in 0..=4 {
                let allowed: Vec<usize> = (0..4).filter(|p| *p >= first && *p != 0).collect();
                let worst = allowed.iter().map(|place| classes[*place]).max();
                let mut of_worst = allowed.iter().filter(|place| Some(classes[**place]) == worst);
                check(&classes, first, of_worst.next_back().copied());
            }
        }
    }
}

/// 11.4 Preempt, lose nothing: what changes in a request whose memory is taken.
mod ex_11_4_preempt {
    use super::expect;
    use continuous_batching::{Request, SeqId, Status};
    use scheduling::exercises::recompute::preempt;
    use scheduling::stats::ScheduleStats;
    use scheduling::swap_space::Reclaim;
    use scheduling::{Class, Meta, Preemption, TenantId};
    use std::time::Duration;
    use training::TokenId;

    /// The calls of memory, in order.
    #[derive(Debug, PartialEq)]
    enum Asked {
        SwapOut(u64),
        DropBlocks(u64),
    }

    /// Memory whose pool takes `takes` tokens.
    struct Notes {
        takes: usize,
        asked: Vec<Asked>,
    }

    impl Reclaim for Notes {
        fn swap_out(&mut self, id: SeqId) -> usize {
            self.asked.push(Asked::SwapOut(id.0));
            self.takes
        }

        fn drop_blocks(&mut self, id: SeqId) -> bool {
            self.asked.push(Asked::DropBlocks(id.0));
            true
        }

        fn stored_tokens(&self, _id: SeqId) -> usize {
            0
        }
    }

    /// Request 7: prompt of 4, output of 3, of these the first 6 computed.
    fn decoding() -> Request<Meta> {
        let ids = |tokens: &[u32]| -> Vec<TokenId> { tokens.iter().copied().map(TokenId).collect() };
        let meta = Meta {
            tenant: TenantId(5),
            class: Class(2),
            arrival: Duration::from_millis(40),
            num_preemptions: 0,
        };
        let mut request = Request::with(SeqId(7), &ids(&[50, 51, 52, 53]), 10, 64, meta);
        request.output = ids(&[60, 61, 62]);
        request.num_computed = 6;
        request.status = Status::Decoding;
        request
    }

    const WHAT: &str = "request 7, prompt of 4, output of 3, 6 of these computed";

    fn preempted(request: &mut Request<Meta>, kind: Preemption, takes: usize) -> (Vec<Asked>, ScheduleStats) {
        let mut memory = Notes {
            takes,
            asked: Vec::new(),
        };
        let mut stats = ScheduleStats::default();
        preempt(request, kind, &mut memory, &mut stats);
        (memory.asked, stats)
    }

    #[test]
    fn it_waits_and_nothing_is_computed() {
        let mut request = decoding();
        preempted(&mut request, Preemption::Recompute, 0);
        expect(
            &format!("{WHAT}: status and tokens computed"),
            (request.status, request.num_computed),
            (Status::Waiting, 0),
        );
    }

    #[test]
    fn the_answer_so_far_is_kept() {
        let mut request = decoding();
        preempted(&mut request, Preemption::Recompute, 0);
        let output: Vec<u32> = request.output.iter().map(|token| token.0).collect();
        expect(&format!("{WHAT}: output"), output, [60, 61, 62]);
    }

    #[test]
    fn prompt_and_answer_stay_apart() {
        let mut request = decoding();
        preempted(&mut request, Preemption::Recompute, 0);
        let prompt: Vec<u32> = request.prompt.iter().map(|token| token.0).collect();
        expect(&format!("{WHAT}: prompt"), prompt, [50, 51, 52, 53]);
    }

    #[test]
    fn as_many_tokens_are_asked_for_as_before() {
        let mut request = decoding();
        preempted(&mut request, Preemption::Recompute, 0);
        expect(
            &format!("{WHAT}, 10 new tokens asked for: asked for afterwards"),
            request.max_new_tokens,
            10usize,
        );
    }

    #[test]
    fn it_keeps_its_place_in_the_order_of_arrival() {
        let mut request = decoding();
        preempted(&mut request, Preemption::Recompute, 0);
        let meta = request.attached;
        expect(
            &format!("{WHAT}: number, arrival in ms, tenant, class"),
            (request.id.0, meta.arrival.as_millis(), meta.tenant.0, meta.class.0),
            (7u64, 40u128, 5u32, 2u8),
        );
    }

    #[test]
    fn memory_is_freed_once() {
        let recompute = preempted(&mut decoding(), Preemption::Recompute, 6).0;
        expect("recompute: calls of memory", recompute, [Asked::DropBlocks(7)]);
        let swap = preempted(&mut decoding(), Preemption::Swap, 6).0;
        expect(
            "swap, and the pool took 6 tokens: calls of memory",
            swap,
            [Asked::SwapOut(7)],
        );
    }

    #[test]
    fn where_the_pool_is_full_the_blocks_are_dropped() {
        let mut request = decoding();
        let (asked, stats) = preempted(&mut request, Preemption::Swap, 0);
        expect(
            "swap, and the pool took 0 tokens: calls of memory",
            asked,
            [Asked::SwapOut(7), Asked::DropBlocks(7)],
        );
        expect(
            "the same: times swapped, tokens to compute again",
            (stats.swapped, stats.recomputed_tokens),
            (0, 6),
        );
    }

    #[test]
    fn on_the_device_nothing_is_computed() {
        let mut request = decoding();
        let (_, stats) = preempted(&mut request, Preemption::Swap, 6);
        expect(
            &format!("{WHAT}, swapped: tokens computed on the device"),
            request.num_computed,
            0usize,
        );
        expect(
            "the same: times swapped, tokens to compute again",
            (stats.swapped, stats.recomputed_tokens),
            (1, 0),
        );
    }

    #[test]
    fn all_that_was_computed_is_counted() {
        let (_, stats) = preempted(&mut decoding(), Preemption::Recompute, 0);
        expect(
            &format!("{WHAT}: tokens to compute again"),
            stats.recomputed_tokens,
            6u64,
        );
        // In the middle of its prompt: a chunk of 3 is computed.
        let mut request = decoding();
        request.output.clear();
        request.num_computed = 3;
        request.status = Status::Prefilling;
        let (_, stats) = preempted(&mut request, Preemption::Recompute, 0);
        expect(
            "prompt of 4, 3 of these computed: tokens to compute again",
            stats.recomputed_tokens,
            3u64,
        );
    }

    #[test]
    fn every_time_is_counted() {
        let mut request = decoding();
        let mut memory = Notes {
            takes: 6,
            asked: Vec::new(),
        };
        let mut stats = ScheduleStats::default();
        for kind in [Preemption::Swap, Preemption::Recompute] {
            request.num_computed = 6;
            request.status = Status::Decoding;
            preempt(&mut request, kind, &mut memory, &mut stats);
        }
        expect(
            "swapped, then dropped: preemptions of this request, of all, swapped",
            (request.attached.num_preemptions, stats.preemptions, stats.swapped),
            (2, 2, 1),
        );
    }

    /// What it computes when it is admitted again follows from three numbers; nothing else has to be remembered.
    #[test]
    fn all_known_tokens_are_the_next_rows_and_the_last_one_asks() {
        let mut request = decoding();
        preempted(&mut request, Preemption::Recompute, 0);
        let rows = request.tokens().skip(request.num_computed);
        let rows: Vec<u32> = rows.map(|token| token.0).collect();
        expect(
            &format!("{WHAT}, dropped, admitted again: tokens of its rows"),
            rows,
            [50, 51, 52, 53, 60, 61, 62],
        );
        // Chunks of 4: positions 0 to 3, then 4 to 6.
        let wants: Vec<bool> = [4, 7].map(|end| end == request.num_tokens()).into();
        expect("which of its chunks asks for logits", wants, [false, true]);
    }
}

/// 11.9 Tokens that come twice: the next rows of a request, and whether a token is wanted.
mod ex_11_9_next_part {
    use super::expect;
    use continuous_batching::{Request, SeqId};
    use scheduling::exercises::part::next_part;
    use training::TokenId;

    /// A request with a prompt and an answer of these lengths, of which the first `computed` tokens are computed, gets
    /// `rows` rows.
    #[track_caller]
    fn check(prompt: usize, output: usize, computed: usize, rows: usize, expected: (usize, usize, bool)) {
        let mut request = Request::new(SeqId(0), &vec![TokenId(7); prompt], 10, 64);
        request.output = vec![TokenId(8); output];
        request.num_computed = computed;
        let (part, wants) = next_part(&request, rows);
        expect(
            &format!(
                "prompt of {prompt}, answer of {output}, {computed} of these computed, {rows} rows: first position, end, token wanted"
            ),
            (part.start, part.end, wants),
            expected,
        );
    }

    #[test]
    fn a_whole_prompt_asks_for_its_token() {
        check(4, 0, 0, 4, (0, 4, true));
    }

    #[test]
    fn the_first_part_of_a_prompt_asks_for_nothing() {
        check(4, 0, 0, 3, (0, 3, false));
        check(4, 0, 3, 1, (3, 4, true));
    }

    #[test]
    fn one_that_writes_asks_with_its_newest_token() {
        check(4, 3, 6, 1, (6, 7, true));
    }

    /// Preempted, with its blocks dropped: positions 0 to 2, 3 to 5, and 6. The second part lies behind the prompt, and
    /// its next token is known.
    #[test]
    fn an_answer_that_is_read_again_asks_for_nothing_before_its_end() {
        check(4, 3, 0, 3, (0, 3, false));
        check(4, 3, 3, 3, (3, 6, false));
        check(4, 3, 6, 3, (6, 7, true));
    }

    #[test]
    fn a_part_that_ends_with_the_prompt_asks_for_nothing_when_an_answer_follows() {
        check(4, 3, 0, 4, (0, 4, false));
    }

    #[test]
    fn a_part_ends_with_the_text() {
        check(4, 1, 2, 9, (2, 5, true));
    }
}

/// 11.5 Catch starvation: a test that tells the right scheduler from eight unjust ones.
mod ex_11_5_starvation {
    use scheduling::exercises::starvation::test_starvation;
    use scheduling::unjust::{UNJUST, correct};

    /// Unjust schedulers that the test must find out, by what they do.
    #[track_caller]
    fn finds_out(faults: &[&str]) {
        let unseen: Vec<&str> = faults
            .iter()
            .filter(|fault| {
                let unjust = UNJUST.iter().find(|(what, _)| what == *fault);
                let (_, make) = unjust.unwrap_or_else(|| panic!("no unjust scheduler that {fault}"));
                test_starvation(make).is_ok()
            })
            .copied()
            .collect();
        assert!(
            unseen.is_empty(),
            "test_starvation returns Ok for the scheduler that {}",
            unseen.join(", and for the one that ")
        );
    }

    #[test]
    fn the_right_scheduler_passes() {
        let seen = test_starvation(&correct);
        assert!(seen.is_ok(), "the right scheduler\n  expected Ok\n  found    {seen:?}");
    }

    #[test]
    fn a_flood_is_tried() {
        finds_out(&[
            "never lets waiting count",
            "counts waiting from the last step in which anybody joined",
        ]);
    }

    #[test]
    fn every_class_is_tried() {
        finds_out(&["lets waiting count for one class and no more"]);
    }

    #[test]
    fn requests_of_one_class_are_tried() {
        finds_out(&[
            "lets the shortest of a class go first",
            "lets the youngest of a class go first",
        ]);
    }

    #[test]
    fn a_large_one_is_tried() {
        finds_out(&["lets a request that fits pass one that finds no room"]);
    }

    #[test]
    fn a_preempted_request_is_tried() {
        finds_out(&["counts waiting anew when a request is preempted"]);
    }

    #[test]
    fn priority_is_tried() {
        finds_out(&["treats all classes alike"]);
    }

    /// No scheduler was left out above.
    #[test]
    fn every_unjust_scheduler_is_found_out() {
        finds_out(&UNJUST.map(|(what, _)| what));
    }
}

/// 11.6 What chunks are worth.
mod ex_11_6_chunks {
    use super::{expect, question};
    use scheduling::step_cost::StepCost;
    use std::time::Duration;

    #[test]
    fn eight_chunks_cost_seven_constants_more() {
        let cost = StepCost {
            per_pair: Duration::ZERO,
            ..StepCost::default()
        };
        let (whole, chunk) = (cost.of_counts(512 + 1, 0), cost.of_counts(64 + 1, 0));
        let us = |time: Duration| time.as_micros();
        expect("whole, in us", us(whole), 70_125u128);
        expect("one chunk, in us", us(chunk), 14_125u128);
        // Seven more steps, and seven more rows of the stream.
        let more = 7 * (cost.constant + cost.per_row);
        expect("eight chunks, in us", us(8 * chunk), us(whole + more));
        let (options, answer) = question("11.6");
        expect("the right option says more", options[answer].starts_with("more"), true);
    }
}

/// 11.7 The price of priority.
mod ex_11_7_priority {
    use super::{expect, question};
    use continuous_batching::SeqId;
    use scheduling::meta::Candidate;
    use scheduling::policy::{Fcfs, Policy, Priority, first};
    use scheduling::{Class, TenantId};
    use std::time::Duration;

    /// Turns that each class waits for in all: (urgent, others).
    fn waiting(policy: &dyn Policy) -> (usize, usize) {
        let mut left: Vec<Candidate> = (0..8u64)
            .map(|id| Candidate {
                id: SeqId(id),
                arrival: Duration::from_millis(id),
                tenant: TenantId(0),
                class: Class(u8::from(id % 2 == 0)),
                prompt_tokens: 1,
                missing_tokens: 1,
                served_tokens: 0,
                class_running: 0,
            })
            .collect();
        let mut waited = [0, 0];
        for turn in 0..8 {
            let place = first(policy, Duration::from_secs(1), left.iter().copied()).unwrap();
            waited[usize::from(left.remove(place).class.0)] += turn;
        }
        (waited[0], waited[1])
    }

    #[test]
    fn what_the_urgent_ones_gain_the_others_lose() {
        let (in_order, urgent_first) = (waiting(&Fcfs), waiting(&Priority));
        expect("first come: turns that urgent and others wait", in_order, (16, 12));
        expect("urgent first", urgent_first, (6, 22));
        let (options, answer) = question("11.7");
        expect("the sums", in_order.0 + in_order.1, urgent_first.0 + urgent_first.1);
        expect("the right option", options[answer].as_str(), "nothing");
    }
}

/// 11.8 What is left of a text.
mod ex_11_8_text {
    use super::{expect, question};
    use continuous_batching::{EngineLimits, Request, SeqId};
    use training::TokenId;

    #[test]
    fn all_known_tokens_are_computed_again() {
        let limits = EngineLimits {
            max_running: 1,
            max_new_tokens: 64,
            max_seq_len: 512,
            vocab_size: 8,
            end_of_text: Vec::new(),
        };
        let mut request = Request::new(SeqId(0), &[TokenId(1); 12], 64, 512);
        for _ in 0..30 {
            request.accept(TokenId(2), &limits);
        }
        // Nothing of it is in memory any more.
        request.num_computed = 0;
        let rows = request.num_tokens() - request.num_computed;
        let (options, answer) = question("11.8");
        expect("the right option", options[answer].as_str(), rows.to_string());
        expect("the first option, its prompt", options[0].starts_with("12"), true);
    }
}

/// All of them together.
mod whole {
    use super::expect;
    use scheduling::policy::{Fcfs, PriorityWithAgeing};
    use scheduling::simulate::{Job, Setup, engine, simulate};
    use scheduling::step_cost::StepCost;
    use scheduling::trace::picture;
    use scheduling::{Class, Meta, Preemption};
    use std::time::Duration;
    use training::TokenId;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn job(at: u64, class: u8, prompt_tokens: usize, new_tokens: usize) -> Job {
        let meta = Meta {
            class: Class(class),
            ..Meta::default()
        };
        Job {
            at: ms(at),
            meta,
            prompt_tokens,
            new_tokens,
        }
    }

    /// Budget 4, chunks of 3: the stream of request 0 never stops while request 1 reads its prompt of 7, in parts.
    #[test]
    fn a_long_prompt_stops_no_stream() {
        let setup = Setup::new(4, 64).with_budget(4, 3);
        let mut engine = engine(&setup, Box::new(Fcfs));
        engine.scheduler.start_trace();
        let submit = |engine: &mut scheduling::simulate::NumbersEngine, prompt, new| {
            let prompt = vec![TokenId(0); prompt];
            engine.submit(&prompt, new).unwrap();
        };
        submit(&mut engine, 2, 5);
        submit(&mut engine, 7, 1);
        while !engine.is_idle() {
            let taken = &mut |_: continuous_batching::Event<'_>| continuous_batching::Delivery::Taken;
            scheduling::trace::step(&mut engine, taken).unwrap();
            engine.check_invariants();
        }
        let drawn = picture(engine.scheduler.trace(), 2);
        let cells: Vec<Vec<&str>> = (drawn.lines())
            .map(|line| line.split_whitespace().skip(1).take(2).collect())
            .collect();
        let expected = [["2", "2+"], ["1", "3+"], ["1", "2"], ["1", "·"], ["1", "·"]];
        expect(&format!("rows of both in each step\n{drawn}"), cells, expected);
    }

    /// Two texts that can not both be long, by recompute and by swap: every request gets all of its tokens, and one was
    /// preempted.
    #[test]
    fn two_texts_in_the_memory_of_one_both_end() {
        for preemption in [Preemption::Recompute, Preemption::Swap] {
            let mut setup = Setup::new(2, 32);
            setup.limits.preemption = preemption;
            (setup.num_blocks, setup.host_blocks) = (2, 4);
            let done = simulate(&setup, Box::new(Fcfs), &[job(0, 0, 8, 20), job(0, 0, 8, 20)]);
            let done = done.unwrap();
            let tokens: Vec<usize> = done.outcomes.iter().map(|outcome| outcome.tokens).collect();
            expect(&format!("{preemption:?}: tokens"), tokens, [20, 20]);
            expect("a request was preempted", done.stats.preemptions > 0, true);
            expect(
                "tokens computed again, swaps back",
                (done.stats.recomputed_tokens > 0, done.swaps.back > 0),
                (preemption == Preemption::Recompute, preemption == Preemption::Swap),
            );
        }
    }

    /// Steps of 10 ms, one place, urgent requests all the time: class 2 runs after 2 x 50 ms of ageing.
    #[test]
    fn a_patient_request_gets_its_turn() {
        let mut setup = Setup::new(1, 32);
        setup.cost = StepCost::equal_steps(ms(10));
        let mut jobs: Vec<Job> = (0..40).map(|i| job(5 * i, 0, 1, 1)).collect();
        jobs.insert(1, job(1, 2, 1, 1));
        let policy = PriorityWithAgeing { step: ms(50) };
        let done = simulate(&setup, Box::new(policy), &jobs).unwrap();
        let joined_before = (done.outcomes.iter())
            .filter(|other| other.arrived >= ms(101) && other.started < done.outcomes[1].started)
            .count();
        expect("requests that came 100 ms later and went first", joined_before, 0usize);
    }
}
