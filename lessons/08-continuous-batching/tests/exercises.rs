//! What each exercise must do, smallest case first. The group of an exercise calls its own function and none of the
//! others; the group `whole` at the end runs all of them together.

use continuous_batching::{Admission, Memory, Request, SeqId, Status};
use fixtures::expect;
use training::TokenId;

/// Token ids.
fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

/// A running request: the first `num_computed` of its tokens are in memory.
fn running(id: u64, prompt: &[u32], output: &[u32], num_computed: usize) -> Request {
    let mut request = Request::new(SeqId(id), &ids(prompt), 8, 64);
    request.output = ids(output);
    request.num_computed = num_computed;
    request.status = match num_computed {
        0 => Status::Prefilling,
        _ => Status::Decoding,
    };
    request
}

/// The options of a question in `course.toml`, and the index of the right one.
fn question(id: &str) -> (Vec<String>, usize) {
    fixtures::question(include_str!("../course.toml"), id)
}

/// Memory for a number of tokens. A request takes as many as its prompt has, so some requests find no room where others
/// do.
struct Room {
    tokens: usize,
    held: Vec<(SeqId, usize)>,
}

impl Room {
    fn of(tokens: usize) -> Room {
        Room {
            tokens,
            held: Vec::new(),
        }
    }

    fn holders(&self) -> Vec<u64> {
        self.held.iter().map(|(id, _)| id.0).collect()
    }
}

impl Memory for Room {
    fn max_seq_len(&self) -> usize {
        64
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        let used: usize = self.held.iter().map(|(_, tokens)| tokens).sum();
        if used + request.prompt.len() > self.tokens {
            return Admission::NoRoom;
        }
        self.held.push((request.id, request.prompt.len()));
        Admission::Admitted
    }

    fn grow(&mut self, _: SeqId, _: usize) -> bool {
        true
    }

    fn free(&mut self, id: SeqId) -> bool {
        let before = self.held.len();
        self.held.retain(|(held, _)| *held != id);
        self.held.len() < before
    }

    fn holds(&self, id: SeqId) -> bool {
        self.held.iter().any(|(held, _)| *held == id)
    }

    fn num_holders(&self) -> usize {
        self.held.len()
    }

    fn write_table(&self, id: SeqId, table: &mut Vec<u32>) {
        table.push(id.0 as u32);
    }

    fn check_invariants(&self) {}
}

/// 08.1 The ragged batch: what running requests need computed, as flat rows.
mod ex_08_1_ragged_batch {
    use super::{expect, running};
    use continuous_batching::exercises::ragged::build_batch;
    use continuous_batching::{Batch, Request};
    use training::TokenId;

    fn numbers(tokens: &[TokenId]) -> Vec<u32> {
        tokens.iter().map(|token| token.0).collect()
    }

    /// The requests in words, and their batch.
    fn built(requests: &[Request]) -> (String, Batch) {
        let words = requests.iter().map(|request| {
            let (prompt, output) = (numbers(&request.prompt), numbers(&request.output));
            let (id, computed) = (request.id, request.num_computed);
            format!("request {id} with prompt {prompt:?} and output {output:?}, {computed} of these computed")
        });
        let words = words.collect::<Vec<_>>().join("; ");
        let mut batch = Batch::default();
        build_batch(requests, &mut batch);
        (words, batch)
    }

    /// The sequences as (id, first_row, num_rows).
    fn shares(batch: &Batch) -> Vec<(u64, usize, usize)> {
        let sequences = batch.sequences.iter();
        sequences.map(|s| (s.id.0, s.first_row, s.num_rows)).collect()
    }

    #[track_caller]
    fn has_tokens(requests: &[Request], expected: &[u32]) {
        let (what, batch) = built(requests);
        expect(&format!("{what}: tokens"), numbers(&batch.tokens), expected);
    }

    #[track_caller]
    fn has_positions(requests: &[Request], expected: &[usize]) {
        let (what, batch) = built(requests);
        expect(&format!("{what}: positions"), batch.positions, expected);
    }

    #[track_caller]
    fn has_shares(requests: &[Request], expected: &[(u64, usize, usize)]) {
        let (what, batch) = built(requests);
        expect(&format!("{what}: (id, first_row, num_rows)"), shares(&batch), expected);
    }

    #[test]
    fn a_request_that_just_joined_brings_its_whole_prompt() {
        let requests = [running(1, &[50, 51, 52], &[], 0)];
        has_tokens(&requests, &[50, 51, 52]);
        has_positions(&requests, &[0, 1, 2]);
        has_shares(&requests, &[(1, 0, 3)]);
    }

    #[test]
    fn positions_begin_at_zero_in_each_prompt() {
        let requests = [running(1, &[50, 51], &[], 0), running(2, &[70, 71], &[], 0)];
        has_positions(&requests, &[0, 1, 0, 1]);
    }

    /// Keys and values of all tokens before it are in memory.
    #[test]
    fn a_request_that_decodes_brings_its_newest_token() {
        let requests = [running(1, &[50, 51, 52], &[60, 61], 4)];
        has_tokens(&requests, &[61]);
        has_positions(&requests, &[4]);
    }

    /// The position of a row says which keys it sees and how far it is turned. Row 1 of the batch is not position 1 of
    /// its text.
    #[test]
    fn positions_count_within_a_sequence_not_within_the_batch() {
        let requests = [running(1, &[50, 51, 52], &[60], 3), running(2, &[70, 71], &[], 0)];
        has_positions(&requests, &[3, 0, 1]);
    }

    #[test]
    fn first_row_counts_rows_not_requests() {
        let requests = [
            running(1, &[50, 51, 52], &[], 0),
            running(2, &[70], &[71], 1),
            running(3, &[80, 81], &[], 0),
        ];
        has_shares(&requests, &[(1, 0, 3), (2, 3, 1), (3, 4, 2)]);
    }

    /// Lesson 07 would make this a rectangle of 2 x 4.
    #[test]
    fn no_request_is_padded_to_the_longest() {
        let requests = [running(1, &[50, 51, 52, 53], &[], 0), running(2, &[70], &[71], 1)];
        has_tokens(&requests, &[50, 51, 52, 53, 71]);
    }

    /// Two of five tokens are in memory, so three are to be computed: neither all of them nor one.
    #[test]
    fn all_tokens_that_are_not_in_memory_are_computed() {
        let requests = [running(1, &[50, 51, 52], &[60, 61], 2)];
        has_tokens(&requests, &[52, 60, 61]);
        has_positions(&requests, &[2, 3, 4]);
    }

    #[test]
    fn every_request_wants_the_token_after_its_last_row() {
        let (what, batch) = built(&[running(1, &[50, 51], &[], 0), running(2, &[70], &[71], 1)]);
        let wants: Vec<bool> = batch.sequences.iter().map(|s| s.wants_logits).collect();
        expect(&format!("{what}: wants_logits"), wants, [true, true]);
    }

    /// The batch of the step before is passed in, so that its memory is used again.
    #[test]
    fn the_rows_of_the_step_before_are_removed() {
        let mut batch = Batch::default();
        build_batch(&[running(1, &[50, 51], &[], 0)], &mut batch);
        build_batch(&[running(1, &[50, 51], &[60], 2)], &mut batch);
        let what = "request 1 brings its prompt [50, 51], and in the next step 60: second batch";
        expect(&format!("{what}: tokens"), numbers(&batch.tokens), [60]);
        expect(&format!("{what}: positions"), &batch.positions[..], [2]);
        expect(
            &format!("{what}: (id, first_row, num_rows)"),
            shares(&batch),
            [(1, 0, 1)],
        );
        build_batch::<()>(&[], &mut batch);
        let left = (batch.num_rows(), batch.sequences.len());
        expect("no request runs: number of rows and sequences", left, (0, 0));
    }
}

/// 08.2 Admit: which requests join, first come, first served.
mod ex_08_2_admit {
    use super::{Room, expect, running};
    use continuous_batching::exercises::admission::admit;
    use continuous_batching::queues::Queues;
    use continuous_batching::{Request, SeqId, Status};

    /// Requests with prompts of these lengths wait, with ids from 1; requests 7, 8, … run. Compares who runs, who
    /// waits, and how many joined.
    #[track_caller]
    fn check(prompts: &[usize], num_running: u64, room: &mut Room, max_running: usize, run: &[u64]) -> Queues {
        let mut queues = Queues::default();
        for (prompt, id) in prompts.iter().zip(1..) {
            let request = Request::new(SeqId(id), &super::ids(&vec![9; *prompt]), 8, 64);
            queues.waiting.push_back(request);
        }
        queues
            .running
            .extend((7..7 + num_running).map(|id| running(id, &[9], &[9], 1)));
        let joined = admit(&mut queues, room, max_running);
        let what = format!(
            "requests with prompts of {prompts:?} tokens wait, {num_running} run, {max_running} may run, memory has room for {} tokens",
            room.tokens
        );
        let in_order = |request: &Request| request.id.0;
        let found: Vec<u64> = queues.running.iter().map(in_order).collect();
        expect(&format!("{what}: requests that run"), found, run);
        let expected = run.len() - num_running as usize;
        let waiting: Vec<u64> = queues.waiting.iter().map(in_order).collect();
        let left: Vec<u64> = (1..=prompts.len() as u64).skip(expected).collect();
        expect(&format!("{what}: requests that wait"), waiting, left);
        expect(&format!("{what}: number that joined"), joined, expected);
        queues
    }

    #[test]
    fn the_oldest_joins_first() {
        check(&[1, 1, 1], 0, &mut Room::of(64), 1, &[1]);
    }

    /// Four places, three waiting requests: all of them join now, not one in each step.
    #[test]
    fn as_many_join_as_there_is_room_for() {
        check(&[1, 1, 1], 0, &mut Room::of(64), 4, &[1, 2, 3]);
    }

    /// A static batch would let no request in before all of its own are done.
    #[test]
    fn running_requests_keep_no_other_out() {
        check(&[1, 1], 1, &mut Room::of(64), 2, &[7, 1]);
    }

    #[test]
    fn at_most_max_running_requests_run() {
        check(&[1], 2, &mut Room::of(64), 2, &[7, 8]);
    }

    /// Memory that was reserved for a request that does not join is lost: no request frees it.
    #[test]
    fn memory_is_held_by_running_requests_only() {
        let mut room = Room::of(64);
        let queues = check(&[1, 1, 1], 0, &mut room, 2, &[1, 2]);
        let run: Vec<u64> = queues.running.iter().map(|request| request.id.0).collect();
        let what = "1, 2 and 3 wait, two may run: requests that hold memory, against those that run";
        expect(what, room.holders(), run);
    }

    /// Request 1 needs 5, request 2 would fit. If 2 joined first, and the next small one after it, 1 would wait for
    /// ever.
    #[test]
    fn no_request_overtakes_one_that_finds_no_room() {
        check(&[5, 2], 0, &mut Room::of(3), 4, &[]);
    }

    /// Its status until its prompt is computed.
    #[test]
    fn a_request_that_joins_is_prefilling() {
        let queues = check(&[1, 1], 0, &mut Room::of(64), 1, &[1]);
        expect("1 joined: its status", queues.running[0].status, Status::Prefilling);
        expect("2 waits: its status", queues.waiting[0].status, Status::Waiting);
    }

    #[test]
    fn with_an_empty_queue_nothing_happens() {
        let queues = check(&[], 1, &mut Room::of(64), 2, &[7]);
        expect("7 runs: its status", queues.running[0].status, Status::Decoding);
    }
}

/// 08.3 Recycle: a slot goes back to the free list.
mod ex_08_3_recycle {
    use super::expect;
    use continuous_batching::SeqId;
    use continuous_batching::exercises::recycle::recycle;
    use continuous_batching::slots::{Slot, SlotId};

    fn held(owner: u64) -> Slot {
        Slot::Held {
            owner: SeqId(owner),
            len: 3,
        }
    }

    fn free(next: Option<usize>) -> Slot {
        Slot::Free { next: next.map(SlotId) }
    }

    /// The slots on the free list, in order; at most eight, so that a circle ends.
    fn on_the_list(slots: &[Slot], first_free: Option<SlotId>) -> Vec<usize> {
        let next = |slot: &SlotId| match slots[slot.0] {
            Slot::Free { next } => next,
            Slot::Held { .. } => None,
        };
        std::iter::successors(first_free, next)
            .map(|slot| slot.0)
            .take(8)
            .collect()
    }

    #[test]
    fn a_slot_that_is_freed_is_free() {
        let (mut slots, mut first_free) = ([held(7)], None);
        let freed = recycle(&mut slots, &mut first_free, SlotId(0), SeqId(7));
        let what = "one slot, held by 7, and 7 frees it";
        expect(&format!("{what}: returned"), freed, true);
        expect(&format!("{what}: slot 0"), slots[0], free(None));
        expect(&format!("{what}: first_free"), first_free, Some(SlotId(0)));
    }

    /// The list is a chain: the slot that was first until now comes behind the new first one.
    #[test]
    fn slots_on_the_list_stay_on_it() {
        let (mut slots, mut first_free) = ([held(7), free(None), free(Some(1))], Some(SlotId(2)));
        recycle(&mut slots, &mut first_free, SlotId(0), SeqId(7));
        expect(
            "2 and 1 are free, in this order, and 0 is freed: the free list",
            on_the_list(&slots, first_free),
            [0, 2, 1],
        );
    }

    /// If the slot were on the list twice, two requests would get it.
    #[test]
    fn a_second_free_changes_nothing() {
        let (mut slots, mut first_free) = ([held(7)], None);
        recycle(&mut slots, &mut first_free, SlotId(0), SeqId(7));
        let again = recycle(&mut slots, &mut first_free, SlotId(0), SeqId(7));
        expect(
            "one slot, freed twice: the free list",
            on_the_list(&slots, first_free),
            [0],
        );
        expect("7 frees slot 0 a second time: returned", again, false);
    }

    /// 7 left, 9 holds its slot now, and a late cancel of 7 arrives.
    #[test]
    fn the_next_owner_keeps_the_slot() {
        let (mut slots, mut first_free) = ([held(9), free(None)], Some(SlotId(1)));
        let freed = recycle(&mut slots, &mut first_free, SlotId(0), SeqId(7));
        expect("slot 0 is held by 9, and 7 frees it: slot 0", slots[0], held(9));
        expect("the same: the free list", on_the_list(&slots, first_free), [1]);
        expect("the same: returned", freed, false);
    }

    #[test]
    fn other_slots_stay_as_they_are() {
        let (mut slots, mut first_free) = ([held(4), held(7), held(5)], None);
        recycle(&mut slots, &mut first_free, SlotId(1), SeqId(7));
        expect(
            "4, 7 and 5 hold slots 0 to 2, and 7 leaves: slots 0 and 2",
            [slots[0], slots[2]],
            [held(4), held(5)],
        );
    }
}

/// 08.4 One step: schedule, forward, choose, publish. The engine here has a scheduler, a memory and a model of its own.
mod ex_08_4_step {
    use super::{Room, expect, ids};
    use continuous_batching::exercises::step::step;
    use continuous_batching::queues::Queues;
    use continuous_batching::{
        Batch, BatchSequence, Delivery, Engine, EngineError, EngineLimits, Event, Memory, Runner, Schedule, SeqId,
        Status,
    };
    use generation::GenerateError;

    /// All waiting requests join at once. Each brings its tokens that are not computed.
    struct AllAtOnce;

    impl Schedule<Room> for AllAtOnce {
        fn schedule(&mut self, queues: &mut Queues, memory: &mut Room, _: &EngineLimits, batch: &mut Batch) {
            for mut request in std::mem::take(&mut queues.waiting) {
                let _ = memory.admit(&mut request);
                request.status = Status::Prefilling;
                queues.running.push(request);
            }
            for request in &queues.running {
                let first_row = batch.tokens.len();
                for (position, token) in request.tokens().enumerate().skip(request.num_computed) {
                    batch.tokens.push(token);
                    batch.positions.push(position);
                }
                batch.sequences.push(BatchSequence {
                    id: request.id,
                    first_row,
                    num_rows: batch.tokens.len() - first_row,
                    wants_logits: true,
                });
            }
        }
    }

    /// A model that counts: after token n it says n + 1.
    struct Successor {
        /// Number of sequences in each call.
        calls: Vec<usize>,
        /// Is called while the model computes.
        meanwhile: Box<dyn FnMut()>,
        /// The request whose logits are NaN.
        broken: Option<SeqId>,
        /// Whether the pass fails.
        fails: bool,
        logits: Vec<f32>,
    }

    const VOCAB: usize = 32;

    impl Runner for Successor {
        fn forward(&mut self, batch: &Batch) -> Result<&mut [f32], EngineError> {
            self.calls.push(batch.sequences.len());
            (self.meanwhile)();
            if self.fails {
                return Err(EngineError::Forward(GenerateError::NoLogits.into()));
            }
            self.logits.clear();
            for sequence in batch.sampling() {
                let says = batch.tokens[sequence.last_row()].index() + 1;
                let row = self.logits.len();
                self.logits.resize(row + VOCAB, 0.0);
                self.logits[row + says] = 1.0;
                if self.broken == Some(sequence.id) {
                    self.logits[row..].fill(f32::NAN);
                }
            }
            Ok(&mut self.logits)
        }
    }

    type TestEngine = Engine<Successor, Room, AllAtOnce>;

    /// An engine with requests of these prompts and lengths. Ids count from 0, and token 30 ends a text.
    fn engine(requests: &[(&[u32], usize)]) -> TestEngine {
        let limits = EngineLimits {
            max_running: 4,
            max_new_tokens: 16,
            max_seq_len: 32,
            vocab_size: VOCAB,
            end_of_text: ids(&[30]),
        };
        let runner = Successor {
            calls: Vec::new(),
            meanwhile: Box::new(|| {}),
            broken: None,
            fails: false,
            logits: Vec::new(),
        };
        let mut engine = Engine::with(runner, Room::of(1000), AllAtOnce, limits);
        for (prompt, new_tokens) in requests {
            engine.submit(&ids(prompt), *new_tokens).unwrap();
        }
        engine
    }

    /// An event in words.
    fn told(event: &Event<'_>) -> String {
        match event {
            Event::Token { id, token } => format!("{id} says {}", token.0),
            Event::Finished { id, reason, .. } => format!("{id} ends: {reason:?}"),
        }
    }

    /// One step, and the events that it reports.
    #[track_caller]
    fn stepped(engine: &mut TestEngine) -> Vec<String> {
        let mut heard = Vec::new();
        let done = step(engine, &mut |event| {
            heard.push(told(&event));
            Delivery::Taken
        });
        done.unwrap_or_else(|error| panic!("step returned an error: {error}"));
        heard
    }

    /// The tokens among the events, without the ends.
    fn tokens(mut heard: Vec<String>) -> Vec<String> {
        heard.retain(|event| event.contains(" says "));
        heard
    }

    #[test]
    fn one_request_gets_one_token_a_step() {
        let mut engine = engine(&[(&[5, 6], 3)]);
        let what = "a model that says n + 1 after n, request 0 with prompt [5, 6]";
        expect(&format!("{what}: first step"), stepped(&mut engine), ["0 says 7"]);
        expect(&format!("{what}: second step"), stepped(&mut engine), ["0 says 8"]);
    }

    /// Row i of the logits belongs to the i-th sequence that wants one, however many rows of the batch each has.
    #[test]
    fn each_request_gets_the_token_of_its_own_row() {
        let mut engine = engine(&[(&[1, 2, 3], 4), (&[10], 4), (&[20, 21], 4)]);
        expect(
            "prompts [1, 2, 3], [10] and [20, 21] in one step",
            stepped(&mut engine),
            ["0 says 4", "1 says 11", "2 says 22"],
        );
    }

    #[test]
    fn one_pass_serves_all_requests() {
        let mut engine = engine(&[(&[1], 4), (&[10], 4), (&[20], 4)]);
        stepped(&mut engine);
        expect(
            "three requests, one step: number of sequences in each call of the model",
            engine.runner.calls,
            [3],
        );
    }

    /// A request that was submitted before the step is in it.
    #[test]
    fn the_schedule_comes_before_the_pass() {
        let mut engine = engine(&[(&[1], 4)]);
        stepped(&mut engine);
        engine.submit(&ids(&[10, 11]), 4).unwrap();
        expect(
            "0 runs, 1 is submitted: the next step",
            stepped(&mut engine),
            ["0 says 3", "1 says 12"],
        );
    }

    /// Its last token and its end come in the same step, and after the step it holds no memory.
    #[test]
    fn a_request_that_ends_frees_its_memory_in_the_same_step() {
        let mut engine = engine(&[(&[1], 1), (&[10], 4)]);
        let heard = stepped(&mut engine);
        let what = "request 0 asks for one token, request 1 for four, one step";
        let running: Vec<u64> = engine.queues.running.iter().map(|request| request.id.0).collect();
        expect(&format!("{what}: requests that run"), running, [1]);
        expect(
            &format!("{what}: requests that hold memory"),
            engine.memory.holders(),
            [1],
        );
        expect(
            &format!("{what}: events"),
            heard,
            ["0 says 2", "1 says 11", "0 ends: Length"],
        );
    }

    /// The model says 30 after 29, and 30 ends a text.
    #[test]
    fn an_end_of_text_token_is_reported_as_an_end() {
        let mut engine = engine(&[(&[28], 4)]);
        let mut heard = stepped(&mut engine);
        heard.extend(stepped(&mut engine));
        heard.extend(stepped(&mut engine));
        expect(
            "the model says 29, then 30, which ends a text: all events",
            heard,
            ["0 says 29", "0 ends: Stop"],
        );
    }

    #[test]
    fn a_request_cancelled_while_the_model_computes_gets_no_token() {
        let mut engine = engine(&[(&[1], 4), (&[10], 4)]);
        let canceller = engine.canceller();
        engine.runner.meanwhile = Box::new(move || canceller.send(SeqId(0)).unwrap());
        expect(
            "request 0 is cancelled while the model computes for 0 and 1: tokens of this step",
            tokens(stepped(&mut engine)),
            ["1 says 11"],
        );
    }

    #[test]
    fn a_receiver_that_is_gone_ends_only_its_own_request() {
        let mut engine = engine(&[(&[1], 4), (&[10], 4)]);
        let mut heard = Vec::new();
        let done = step(&mut engine, &mut |event| {
            heard.push(told(&event));
            match event.id() {
                SeqId(0) => Delivery::ReceiverGone,
                _ => Delivery::Taken,
            }
        });
        assert!(
            done.is_ok(),
            "the receiver of request 0 is gone\n  expected a step that goes on\n  found    {done:?}"
        );
        expect(
            "the receiver of request 0 is gone: tokens of this step",
            tokens(heard),
            ["0 says 2", "1 says 11"],
        );
        expect("tokens of the next step", tokens(stepped(&mut engine)), ["1 says 12"]);
    }

    /// Logits of NaN are the fault of one request: the others are served as if it were not there.
    #[test]
    fn a_failed_choice_ends_only_its_own_request() {
        let mut engine = engine(&[(&[1], 4), (&[10], 4), (&[20], 4)]);
        engine.runner.broken = Some(SeqId(1));
        let mut heard = Vec::new();
        let done = step(&mut engine, &mut |event| {
            heard.push(told(&event));
            Delivery::Taken
        });
        let what = "the logits of request 1 are NaN";
        assert!(
            done.is_ok(),
            "{what}\n  expected a step that goes on\n  found    {done:?}"
        );
        expect(
            &format!("{what}: events of this step"),
            heard,
            ["0 says 2", "2 says 21", "1 ends: ChoiceFailed"],
        );
        engine.runner.broken = None;
        expect(
            &format!("{what} in one step: events of the next one"),
            stepped(&mut engine),
            ["0 says 3", "2 says 22"],
        );
    }

    /// A cancel that arrives at the last moment before the first token is told still counts, also where another choice
    /// failed.
    #[test]
    fn cancels_are_looked_at_before_any_token_is_told() {
        let mut engine = engine(&[(&[1], 4), (&[10], 4), (&[20], 4)]);
        let canceller = engine.canceller();
        engine.runner.broken = Some(SeqId(0));
        engine.choose = Box::new(move |request, logits| {
            // The choice of request 2 comes last, after the pass.
            if request.id == SeqId(2) {
                canceller.send(SeqId(1)).unwrap();
            }
            generation::generate::greedy(logits)
        });
        expect(
            "request 1 is cancelled while the token of request 2 is chosen: tokens of this step",
            tokens(stepped(&mut engine)),
            ["2 says 21"],
        );
    }

    /// A pass that fails has computed nothing, so nothing is reported and no row counts as computed.
    #[test]
    fn a_failed_pass_reports_nothing() {
        let mut engine = engine(&[(&[1], 4), (&[10], 0)]);
        engine.runner.fails = true;
        let mut heard = Vec::new();
        let done = step(&mut engine, &mut |event| {
            heard.push(told(&event));
            Delivery::Taken
        });
        assert!(
            matches!(done, Err(EngineError::Forward(_))),
            "the pass fails\n  expected its error\n  found    {done:?}"
        );
        expect("the pass fails: events of this step", heard, Vec::<String>::new());
        let computed: Vec<usize> = engine.queues.running.iter().map(|r| r.num_computed).collect();
        expect("the pass fails: computed tokens of request 0", computed, [0]);
    }

    /// The rows of the pass are in memory now, whatever became of their requests.
    #[test]
    fn the_rows_of_the_pass_count_as_computed() {
        let mut engine = engine(&[(&[1, 2, 3], 4)]);
        stepped(&mut engine);
        let request = &engine.queues.running[0];
        expect(
            "request 0 with prompt [1, 2, 3], after one step: num_computed",
            request.num_computed,
            3usize,
        );
        expect("the same: its status", request.status, Status::Decoding);
    }

    /// A request that asks for no token is over when it is submitted. The next step reports its end, though it computes
    /// nothing.
    #[test]
    fn ends_are_reported_even_when_nothing_is_computed() {
        let mut engine = engine(&[(&[1], 0)]);
        expect(
            "request 0 asks for no token and is alone: events of this step",
            stepped(&mut engine),
            ["0 ends: Length"],
        );
        expect("events of the next step", stepped(&mut engine), Vec::<String>::new());
    }
}

/// 08.5 A test of cancellation: it accepts the right engine and rejects each careless one.
mod ex_08_5_cancellation {
    use continuous_batching::careless::{CARELESS, correct};
    use continuous_batching::exercises::cancellation::test_cancellation;

    /// Careless engines that the test must reject, named by what they do.
    #[track_caller]
    fn rejects(faults: &[&str]) {
        let accepted: Vec<&str> = faults
            .iter()
            .filter(|fault| {
                let careless = CARELESS.iter().find(|(what, _)| what == *fault);
                let (_, make) = careless.unwrap_or_else(|| panic!("no careless engine that {fault}"));
                test_cancellation(make).is_ok()
            })
            .copied()
            .collect();
        assert!(
            accepted.is_empty(),
            "test_cancellation returns Ok for the engine that {}",
            accepted.join(", and for the one that ")
        );
    }

    #[test]
    fn the_right_engine_is_accepted() {
        let seen = test_cancellation(&correct);
        assert!(seen.is_ok(), "the right engine\n  expected Ok\n  found    {seen:?}");
    }

    #[test]
    fn the_cancelled_request_is_looked_at() {
        rejects(&["leaves a cancelled request in the queue"]);
    }

    #[test]
    fn a_cancel_in_the_queue_is_tried() {
        rejects(&[
            "leaves a cancelled request in the queue",
            "moves the last waiting request to the place of the cancelled one",
        ]);
    }

    #[test]
    fn a_cancel_too_many_is_tried() {
        rejects(&[
            "frees the slot once more at a second cancel",
            "frees the slot of a request that had ended, though another one holds it now",
        ]);
    }

    #[test]
    fn a_cancel_during_a_step_is_tried() {
        rejects(&[
            "keeps the slot of a request that is cancelled in its first step",
            "gives out the token of a request that was cancelled during the step",
            "frees the slot twice when the cancel comes during the last step",
        ]);
    }

    #[test]
    fn the_other_requests_are_looked_at() {
        rejects(&["does not free the slot", "frees the slot and goes on giving out tokens"]);
    }

    /// All of them, none left out above.
    #[test]
    fn every_careless_engine_is_rejected() {
        rejects(&CARELESS.map(|(what, _)| what));
    }
}

/// 08.6 Eleven steps or eight: lesson 07's plan, and slots that are refilled by hand.
mod ex_08_6_steps {
    use super::{expect, question};
    use static_batching::plan::{StepRequest, static_plan};

    const LENGTHS: [usize; 4] = [2, 8, 3, 3];

    /// Steps on two slots where each request takes the slot that is free first, in the step after it became free.
    fn refilled() -> usize {
        let mut busy_until = [0; 2];
        for length in LENGTHS {
            *busy_until.iter_mut().min().unwrap() += length;
        }
        busy_until.into_iter().max().unwrap()
    }

    #[test]
    fn refilled_slots_take_as_many_steps_as_the_answer_says() {
        let (options, answer) = question("08.6");
        expect("the right option", options[answer].as_str(), refilled().to_string());
    }

    /// One after the other, and two at a time in batches with a wait window of zero.
    #[test]
    fn the_wrong_options_are_the_wrong_ideas() {
        let request = |new_tokens| StepRequest {
            arrives: 0,
            prompt_tokens: 4,
            new_tokens,
        };
        let batches = static_plan(&LENGTHS.map(request), 2).steps();
        let (options, _) = question("08.6");
        let one_by_one: usize = LENGTHS.iter().sum();
        expect(
            "the first two options",
            &options[..2],
            [one_by_one.to_string(), batches.to_string()],
        );
    }
}

/// 08.7 What mixed lengths cost a static batch: by formula and by lesson 07's plan over many drawn lengths.
mod ex_08_7_gain {
    use super::question;
    use static_batching::plan::{StepRequest, static_plan};
    use static_batching::workload::{Lengths, Pace, arrivals};

    /// Steps of static batches over steps in which every slot works, for lengths of this kind.
    fn counted(lengths: &Lengths, batch_size: usize) -> f64 {
        let drawn = arrivals(1, 40_000, lengths, &Pace::AtOnce);
        let requests: Vec<StepRequest> = drawn
            .iter()
            .map(|arrival| StepRequest {
                arrives: 0,
                prompt_tokens: arrival.prompt_tokens,
                new_tokens: arrival.new_tokens,
            })
            .collect();
        let tokens: usize = drawn.iter().map(|arrival| arrival.new_tokens).sum();
        static_plan(&requests, batch_size).steps() as f64 / (tokens as f64 / batch_size as f64)
    }

    fn harmonic(n: usize) -> f64 {
        (1..=n).map(|i| 1.0 / i as f64).sum()
    }

    #[test]
    fn the_gain_of_exponential_lengths_is_a_harmonic_sum() {
        let exponential = Lengths::exponential(4, 40.0, 100_000);
        for batch_size in [5, 8, 32] {
            let (expected, found) = (harmonic(batch_size), counted(&exponential, batch_size));
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "batch {batch_size}: 1 + 1/2 + … = {expected:.2}, counted {found:.2}"
            );
        }
        let (options, answer) = question("08.7");
        assert_eq!(options[answer], format!("{:.1} times", harmonic(8)));
    }

    #[test]
    fn equal_lengths_have_nothing_to_gain() {
        assert_eq!(counted(&Lengths::equal(4, 40), 8), 1.0);
    }
}

/// 08.8 One request alone: lesson 06's loop and a request's own life have as many passes.
mod ex_08_8_alone {
    use super::{expect, ids, question};
    use continuous_batching::{EngineLimits, Request, SeqId};
    use generation::Limits;
    use training::TokenId;

    #[test]
    fn an_answer_takes_as_many_steps_as_it_has_tokens() {
        let prompt = ids(&[1; 12]);
        let limits = EngineLimits {
            max_running: 8,
            max_new_tokens: 64,
            max_seq_len: 512,
            vocab_size: 8,
            end_of_text: Vec::new(),
        };
        let mut request = Request::new(SeqId(0), &prompt, 64, 512);
        let mut steps = 0;
        while !request.is_finished() {
            request.accept(TokenId(1), &limits);
            steps += 1;
        }
        let mut passes = 0;
        let alone = Limits {
            max_new_tokens: 64,
            max_seq_len: 512,
            end_of_text: Vec::new(),
        };
        let next = &mut |_: &[TokenId]| {
            passes += 1;
            Ok(TokenId(1))
        };
        kv_cache::generate::generate(&prompt, &alone, next, &mut |_| {}).unwrap();
        expect("steps of a request, and passes of lesson 06's loop", steps, passes);
        let (options, answer) = question("08.8");
        expect("the right option", options[answer].as_str(), steps.to_string());
        expect(
            "the first option, all slots on one text",
            options[0].as_str(),
            (steps / 8).to_string(),
        );
    }
}

/// 08.9 One call of the model: a pass over a batch of eight gives eight tokens, the same ones as eight passes.
mod ex_08_9_one_loop {
    use super::{expect, ids, question};
    use continuous_batching::batch::{Batch, BatchSequence};
    use continuous_batching::{ModelRunner, Runner, SeqId, SlotCache};
    use generation::Model;
    use generation::generate::greedy;
    use layout::pool::Pool;
    use training::TokenId;

    /// Prompts as one batch, the i-th in slot i.
    fn batch_of(prompts: &[Vec<TokenId>]) -> Batch {
        let mut batch = Batch::default();
        for (prompt, slot) in prompts.iter().zip(0..) {
            batch.sequences.push(BatchSequence {
                id: SeqId(u64::from(slot)),
                first_row: batch.tokens.len(),
                num_rows: prompt.len(),
                wants_logits: true,
            });
            batch.tokens.extend(prompt);
            batch.positions.extend(0..prompt.len());
            batch.add_table(|table| table.push(slot));
        }
        batch
    }

    #[test]
    fn one_call_serves_eight_requests() {
        let model = Model::open(fixtures::model("some-kv-tied-bf16").to_str().unwrap()).unwrap();
        let pool = Pool::new(2);
        let prompts: Vec<Vec<TokenId>> = (1..=8u32)
            .map(|length| ids(&(0..length).map(|i| 7 * i + length).collect::<Vec<_>>()))
            .collect();
        let cache = SlotCache::new(&model.config.llama, 8, 16);
        let mut runner = ModelRunner::new(&model, &pool, cache, 8, 16);
        let logits = runner.forward(&batch_of(&prompts)).unwrap();
        let rows = logits.chunks_exact(model.config.llama.vocab_size);
        let together: Vec<TokenId> = rows.map(|row| greedy(row).unwrap()).collect();
        let mut state = generation::State::new(&model.config, 8);
        let alone: Vec<TokenId> = prompts
            .iter()
            .map(|prompt| greedy(model.forward(&mut state, &pool, prompt).unwrap()).unwrap())
            .collect();
        expect("one call for eight requests: their tokens", together, alone);
        let (options, answer) = question("08.9");
        expect("the right option", options[answer].as_str(), 1.to_string());
    }
}

/// All of them together.
mod whole {
    use super::{expect, ids};
    use continuous_batching::runner::NoModel;
    use continuous_batching::{Delivery, Engine, EngineLimits, Event, Memory, ModelRunner, Runner, SlotCache, Slots};
    use generation::Model;
    use layout::pool::Pool;
    use std::collections::BTreeMap;

    /// Runs to the end, which has to come within `most_steps` steps: an engine that gives out nothing would go on for
    /// ever.
    #[track_caller]
    fn run<R: Runner, M: Memory>(
        engine: &mut Engine<R, M>,
        most_steps: usize,
        on_event: &mut dyn FnMut(Event<'_>) -> Delivery,
        after_step: &mut dyn FnMut(&Engine<R, M>),
    ) {
        for _ in 0..most_steps {
            if engine.is_idle() {
                return;
            }
            engine.step(on_event).unwrap();
            after_step(engine);
        }
        let (runs, waits) = (engine.queues.running.len(), engine.queues.waiting.len());
        assert!(
            engine.is_idle(),
            "after {most_steps} steps\n  expected all requests to be over\n  found    {runs} that run and {waits} that wait"
        );
    }

    /// Lengths 2, 8, 3 and 3 on two slots: eight steps, and both slots are in use until all requests have joined.
    #[test]
    fn four_requests_on_two_slots_take_eight_steps() {
        let limits = EngineLimits {
            max_running: 2,
            max_new_tokens: 64,
            max_seq_len: 64,
            vocab_size: 4,
            end_of_text: Vec::new(),
        };
        let mut engine = Engine::new(NoModel::new(4), Slots::new(2, 64), limits);
        for length in [2, 8, 3, 3] {
            engine.submit(&ids(&[1, 2]), length).unwrap();
        }
        let mut running = Vec::new();
        run(&mut engine, 32, &mut |_| Delivery::Taken, &mut |engine| {
            running.push(engine.batch.sequences.len());
        });
        expect(
            "lengths 2, 8, 3, 3 on two slots: requests in each step",
            running,
            vec![2; 8],
        );
        expect("the same: free slots at the end", engine.memory.num_free(), 2usize);
    }

    /// The tokens were computed by `transformers`, one prompt at a time; here all prompts share two slots.
    #[test]
    fn a_small_model_answers_many_as_the_reference_answers_each() {
        let golden = fixtures::golden("some-kv-tied-bf16");
        let mut model = Model::open(fixtures::model("some-kv-tied-bf16").to_str().unwrap()).unwrap();
        model.config.eos_token_ids.clear();
        let (pool, capacity) = (Pool::new(2), model.config.llama.max_seq_len);
        let cache = SlotCache::new(&model.config.llama, 2, capacity);
        let runner = ModelRunner::new(&model, &pool, cache, 2, capacity);
        let limits = EngineLimits::of_model(&model.config, 2);
        let mut engine = Engine::new(runner, Slots::new(2, capacity), limits);
        let mut expected = BTreeMap::new();
        for case in &golden.cases {
            let id = engine.submit(&ids(&case.prompt_tokens), case.greedy_tokens.len());
            expected.insert(id.unwrap(), (&case.name, ids(&case.greedy_tokens)));
        }
        let most_steps = golden.cases.iter().map(|case| case.greedy_tokens.len() + 1).sum();
        let mut on_event = |event: Event<'_>| {
            if let Event::Finished { id, output, .. } = event {
                let (name, tokens) = &expected[&id];
                expect(&format!("{}, prompt {name:?}", golden.model), output, tokens.as_slice());
            }
            Delivery::Taken
        };
        run(&mut engine, most_steps, &mut on_event, &mut |_| {});
        engine.check_invariants();
    }
}
