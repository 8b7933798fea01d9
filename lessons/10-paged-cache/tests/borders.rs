//! Borders and counts of the prefix cache: what stands beside `blocks.rs`.

use continuous_batching::{Admission, Batch, BatchSequence, Engine, EngineLimits, Memory, Refusal, Request, SeqId};
use paged_cache::Pages;
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

/// Computes what is missing, and takes `token` as the next one.
#[track_caller]
fn step(pages: &mut Pages, request: &mut Request, token: u32) {
    let batch = rows(request);
    pages.begin(&batch, &mut Vec::new()).unwrap();
    pages.commit(&batch);
    pages.check_invariants();
    request.num_computed = request.num_tokens();
    request.output.push(TokenId(token));
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
    assert_eq!(pages.usage(), 9.0 / 12.0, "nine positions in three blocks of four");
}
