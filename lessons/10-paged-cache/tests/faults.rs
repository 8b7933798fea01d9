//! Faults that real engines had with blocks and prefixes, each as a test of what is right.

use continuous_batching::{
    Admission, Batch, BatchSequence, Engine, EngineLimits, Memory, Refusal, Request, SeqId,
};
use lab::ledger;
use paged_cache::hash::{Before, BlockHash, Salt};
use paged_cache::{BlockId, Pages, Wish};
use training::TokenId;

const BLOCK_SIZE: usize = 4;

/// Blocks of four positions, for texts of up to 32 tokens.
fn pages(num_blocks: usize) -> Pages {
    Pages::new(num_blocks, BLOCK_SIZE, 32)
}

fn ids(tokens: impl IntoIterator<Item = u32>) -> Vec<TokenId> {
    tokens.into_iter().map(TokenId).collect()
}

/// A request with this prompt, which wants `max_new` tokens.
fn request(id: u64, prompt: &[TokenId], max_new: usize) -> Request {
    Request::new(SeqId(id), prompt, max_new, 32)
}

/// Admits a request and returns how many of its tokens were there.
#[track_caller]
fn admit(pages: &mut Pages, request: &mut Request) -> usize {
    let admission = pages.admit(request);
    pages.check_invariants();
    assert_eq!(admission, Admission::Admitted, "{request:?}");
    request.num_computed
}

/// The rows of a request that are not computed.
fn rows(request: &Request) -> Batch {
    let tokens: Vec<TokenId> = request.tokens().skip(request.num_computed).collect();
    Batch {
        positions: (request.num_computed..request.num_tokens()).collect(),
        sequences: vec![BatchSequence {
            id: request.id,
            first_row: 0,
            num_rows: tokens.len(),
            wants_logits: true,
        }],
        tokens,
    }
}

/// Computes what is missing, and takes `token` as the next one. Returns the blocks that were copied.
#[track_caller]
fn step(pages: &mut Pages, request: &mut Request, token: u32) -> Vec<(BlockId, BlockId)> {
    let batch = rows(request);
    let mut copied = Vec::new();
    pages.begin(&batch, &mut copied).unwrap();
    pages.commit(&batch);
    pages.check_invariants();
    request.num_computed = request.num_tokens();
    request.output.push(TokenId(token));
    copied
}

/// A request that is admitted, computed once, and gone again.
#[track_caller]
fn run(pages: &mut Pages, id: u64, prompt: &[TokenId]) {
    let mut request = request(id, prompt, 1);
    admit(pages, &mut request);
    step(pages, &mut request, 0);
    assert!(pages.release(request.id));
    pages.check_invariants();
}

/// Whether the whole pool is free and promised to nobody.
#[track_caller]
fn check_all_free(pages: &Pages) {
    pages.check_invariants();
    assert_eq!(pages.num_held(), 0);
    assert_eq!(pages.num_unpromised(), pages.allocator().num_blocks());
    assert_eq!(pages.num_holders(), 0);
}

/// vllm#46283, sglang#1674: blocks of an aborted request never came back.
#[test]
fn abort_frees_in_every_state() {
    let prompt = ids(0..9);
    for steps in 0..4 {
        let mut pages = pages(8);
        let mut request = request(0, &prompt, 8);
        admit(&mut pages, &mut request);
        for token in 0..steps {
            step(&mut pages, &mut request, token);
        }
        assert!(pages.release(request.id), "after {steps} steps");
        check_all_free(&pages);
    }
    // Between the beginning of a pass and its end.
    let mut pages = pages(8);
    let mut request = request(0, &prompt, 8);
    admit(&mut pages, &mut request);
    pages.begin(&rows(&request), &mut Vec::new()).unwrap();
    assert!(pages.release(request.id));
    check_all_free(&pages);
}

/// vllm#18485: an abort of a request that never got blocks, or a second abort, panicked.
#[test]
fn abort_of_a_request_without_blocks_and_a_second_abort_do_nothing() {
    let mut pages = pages(8);
    assert!(!pages.release(SeqId(7)));
    run(&mut pages, 0, &ids(0..9));
    assert!(!pages.release(SeqId(0)));
    check_all_free(&pages);
}

/// atlas#373: freeing one sequence took away what another one held.
#[test]
fn each_owner_drops_only_its_own_reference() {
    let mut pages = pages(16);
    let prompt = ids(0..9);
    let (mut first, mut second) = (request(0, &prompt, 4), request(1, &prompt, 4));
    admit(&mut pages, &mut first);
    step(&mut pages, &mut first, 50);
    assert_eq!(admit(&mut pages, &mut second), 8, "two full blocks");
    let shared: Vec<BlockId> = pages.table(second.id).unwrap().blocks.clone();
    assert!(pages.release(first.id));
    for block in &shared {
        assert_eq!(pages.allocator().ref_count(*block), 1, "{block:?}");
    }
    step(&mut pages, &mut second, 51);
    assert!(pages.release(second.id));
    check_all_free(&pages);
}

/// kvcached#362: a block that was handed out again kept the name of its old content.
#[test]
fn a_block_that_is_handed_out_again_loses_its_name() {
    let mut pages = pages(4);
    run(&mut pages, 0, &ids(0..9));
    assert_eq!(pages.prefix().unwrap().len(), 2);
    // Other texts take all four blocks, one after the other.
    run(&mut pages, 1, &ids(100..115));
    assert_eq!(pages.stats().evictions, 2);
    let mut again = request(2, &ids(0..9), 1);
    assert_eq!(admit(&mut pages, &mut again), 0, "its content is gone");
}

/// The block that is published second under one name may be freed and used again without taking the name from the first.
#[test]
fn a_name_is_taken_from_the_block_that_has_it() {
    let mut pages = pages(16);
    let prompt = ids(0..9);
    let (mut first, mut second) = (request(0, &prompt, 4), request(1, &prompt, 4));
    // Both join before anything is computed, so both compute the same blocks.
    assert_eq!(admit(&mut pages, &mut first), 0);
    assert_eq!(admit(&mut pages, &mut second), 0);
    step(&mut pages, &mut first, 50);
    step(&mut pages, &mut second, 50);
    assert_eq!(pages.prefix().unwrap().len(), 2, "one name for one content");
    pages.release(second.id);
    let mut other = request(2, &ids(100..131), 1);
    admit(&mut pages, &mut other);
    step(&mut pages, &mut other, 50);
    let mut third = request(3, &prompt, 1);
    assert_eq!(
        admit(&mut pages, &mut third),
        8,
        "the first one's blocks still have their names"
    );
}

/// vLLM's own tests: an allocation that was half done left counts raised.
#[test]
fn a_request_that_does_not_fit_takes_nothing() {
    let mut pages = pages(6);
    let mut holder = request(0, &ids(0..13), 3);
    admit(&mut pages, &mut holder);
    step(&mut pages, &mut holder, 50);
    // Two of its blocks are there and held, three more would be needed, two are free.
    let mut large = request(1, &ids(0..9), 10);
    assert_eq!(pages.admit(&mut large), Admission::NoRoom);
    pages.check_invariants();
    assert_eq!(large.num_computed, 0);
    for block in &pages.table(holder.id).unwrap().blocks {
        assert_eq!(pages.allocator().ref_count(*block), 1, "{block:?}");
    }
    pages.release(holder.id);
    check_all_free(&pages);
}

/// vLLM's own tests: the new blocks of a request were those that it had just hit.
#[test]
fn hits_are_pinned_before_anything_is_taken() {
    let mut pages = pages(4);
    run(&mut pages, 0, &ids(0..9));
    // All blocks are free. The request hits two of them and needs the other two; the oldest free ones are the two that it hits.
    let mut request = request(1, &ids(0..13), 3);
    assert_eq!(admit(&mut pages, &mut request), 8);
    let hit: Vec<BlockId> = pages.table(request.id).unwrap().blocks.clone();
    step(&mut pages, &mut request, 50);
    let table = &pages.table(request.id).unwrap().blocks;
    assert_eq!(table[..2], hit[..], "what was hit stays");
    assert_eq!(table.len(), 4);
    assert!(table[2..].iter().all(|block| !hit.contains(block)));
}

/// mistral.rs#1376, nano-vllm#144: a prompt that was there as a whole left no row to compute, so there were no logits.
#[test]
fn a_prompt_that_is_there_as_a_whole_still_has_a_row_to_compute() {
    let mut pages = pages(8);
    let prompt = ids(0..8);
    run(&mut pages, 0, &prompt);
    assert_eq!(pages.prefix().unwrap().len(), 2, "both blocks are full");
    let mut again = request(1, &prompt, 1);
    assert_eq!(
        admit(&mut pages, &mut again),
        4,
        "the last block is given back"
    );
}

/// nano-vllm#66: lengths at the border of a block.
#[test]
fn hits_are_right_at_every_border() {
    for block_size in [1, 2, 3, 4] {
        for len in 1..=13usize {
            let mut pages = Pages::new(16, block_size, 16);
            let prompt = ids(0..len as u32);
            let mut first = Request::new(SeqId(0), &prompt, 1, 16);
            admit(&mut pages, &mut first);
            step(&mut pages, &mut first, 50);
            pages.release(first.id);
            let mut again = Request::new(SeqId(1), &prompt, 1, 16);
            let expected = (len - 1) / block_size * block_size;
            assert_eq!(
                admit(&mut pages, &mut again),
                expected,
                "{len} tokens in blocks of {block_size}"
            );
        }
    }
}

/// vllm#29387: a block could be hit before its keys were written.
#[test]
fn a_block_is_published_after_the_write() {
    let mut pages = pages(16);
    let prompt = ids(0..9);
    let (mut first, mut second) = (request(0, &prompt, 4), request(1, &prompt, 4));
    admit(&mut pages, &mut first);
    let batch = rows(&first);
    pages.begin(&batch, &mut Vec::new()).unwrap();
    assert_eq!(
        admit(&mut pages, &mut second),
        0,
        "the pass has begun and not ended"
    );
    pages.commit(&batch);
    let mut third = request(2, &prompt, 4);
    assert_eq!(admit(&mut pages, &mut third), 8);
}

/// vllm#15297, openvino.genai#3722: a weak hash served another request's keys.
#[test]
fn tokens_are_compared_on_a_hit() {
    let mut pages = pages(16).with_hash(|_: &Before, _: &[TokenId]| BlockHash([0; 32]));
    run(&mut pages, 0, &ids(0..9));
    let mut other = request(1, &ids(100..109), 1);
    assert_eq!(
        admit(&mut pages, &mut other),
        0,
        "another text with the same hash"
    );
    let mut same = request(2, &ids(0..9), 1);
    // Under one hash for everything only one block has a name at a time; what is found is right.
    let hits = admit(&mut pages, &mut same);
    assert!(hits <= 8);
}

/// One tenant could find out what another had asked, by how fast the answer came.
#[test]
fn texts_of_another_salt_are_never_hit() {
    let mut pages = pages(16);
    let prompt = ids(0..9);
    run(&mut pages, 0, &prompt);
    for (id, salt, hits) in [(1, 5, 0), (2, 0, 8), (3, 5, 0)] {
        let wish = Wish {
            salt: Salt(salt),
            ..Wish::default()
        };
        pages.wish(SeqId(id), wish);
        let mut request = request(id, &prompt, 1);
        assert_eq!(admit(&mut pages, &mut request), hits, "salt {salt}");
        pages.release(request.id);
    }
}

/// vllm-ascend#2083: blocks were hashed although prefix caching was off.
#[test]
fn the_switch_gates_hashing_too() {
    let hashed = |pages: &mut Pages| {
        let (_, counted) = ledger::measure(|| {
            run(pages, 0, &ids(0..9));
            run(pages, 1, &ids(0..9));
        });
        counted.get("blocks_hashed")
    };
    assert!(hashed(&mut pages(16)) >= 2);
    let mut off = pages(16).without_prefix_cache();
    assert_eq!(hashed(&mut off), 0);
    assert_eq!(off.stats().prefix_queries, 0);
    assert!(off.prefix().is_none());
}

/// sglang's own tests: a miss was skipped, and a later block of the chain used.
#[test]
fn the_first_miss_ends_the_match() {
    let mut pages = pages(16);
    run(&mut pages, 0, &ids(0..13));
    // Blocks one and three are those of the first text; block two is not.
    let mixed: Vec<TokenId> = [&ids(0..4)[..], &ids(90..94), &ids(8..13)].concat();
    let mut request = request(1, &mixed, 1);
    assert_eq!(admit(&mut pages, &mut request), 4);
}

/// vllm#39734, nano-vllm#274: a request that could never fit blocked the queue for ever.
#[test]
fn what_can_never_fit_is_refused_at_submit() {
    let runner = continuous_batching::runner::NoModel::new(200);
    let limits = EngineLimits {
        max_running: 4,
        max_new_tokens: usize::MAX,
        max_seq_len: 1000,
        vocab_size: 200,
        end_of_text: Vec::new(),
    };
    let mut engine = Engine::new(runner, Pages::new(3, BLOCK_SIZE, 1000), limits);
    let refused = engine.submit(&ids(0..13), 1).unwrap_err();
    assert!(
        matches!(
            refused,
            Refusal::PromptTooLong {
                prompt_tokens: 13,
                max_seq_len: 12
            }
        ),
        "{refused}"
    );
    engine.submit(&ids(0..12), 0).unwrap();
}

/// A block that two hold is copied before one of them writes, and only then.
#[test]
fn a_shared_block_is_copied_before_a_write() {
    let mut pages = pages(16);
    let prompt = ids(0..6);
    let mut parent = request(0, &prompt, 6);
    admit(&mut pages, &mut parent);
    step(&mut pages, &mut parent, 50);
    let wish = Wish {
        parent: Some(parent.id),
        ..Wish::default()
    };
    pages.wish(SeqId(1), wish);
    let mut child = request(1, &prompt, 6);
    assert_eq!(admit(&mut pages, &mut child), 5, "all but the last row");
    let held = pages.num_held();
    let copied = step(&mut pages, &mut child, 60);
    assert_eq!(copied.len(), 1);
    assert_eq!(pages.num_held(), held + 1);
    // Both write on, each into its own block.
    assert!(step(&mut pages, &mut parent, 51).is_empty());
    assert!(step(&mut pages, &mut child, 61).is_empty());
    let (a, b) = (
        pages.table(parent.id).unwrap(),
        pages.table(child.id).unwrap(),
    );
    assert_eq!(a.blocks[0], b.blocks[0], "the full block is kept once");
    assert_ne!(a.blocks[1], b.blocks[1]);
}

/// Of a text that nobody holds any more the end is evicted before the beginning: a beginning alone is of use, an end alone is not.
#[test]
fn the_tail_is_evicted_first() {
    let mut pages = pages(4);
    run(&mut pages, 0, &ids(0..13));
    // One block more is needed than are free without a name.
    run(&mut pages, 1, &ids(100..106));
    let mut again = request(2, &ids(0..13), 1);
    let hits = admit(&mut pages, &mut again);
    assert_eq!(hits, 8, "the third block went, the first two are there");
}

/// Hits and use, counted.
#[test]
fn hits_and_use_are_counted() {
    let mut pages = pages(16);
    run(&mut pages, 0, &ids(0..9));
    let mut again = request(1, &ids(0..9), 4);
    admit(&mut pages, &mut again);
    let stats = pages.stats();
    assert_eq!((stats.prefix_queries, stats.prefix_hits), (18, 8));
    assert_eq!(stats.hit_rate(), 8.0 / 18.0);
    step(&mut pages, &mut again, 50);
    assert_eq!(
        pages.usage(),
        9.0 / 12.0,
        "nine positions in three blocks of four"
    );
}
