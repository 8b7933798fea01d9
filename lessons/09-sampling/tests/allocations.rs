//! Counts the allocations of the whole process, so this program has a single test.

use lab::alloc::{CountingAllocator, snapshot};
use sampling::counted::made_up_logits;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// After the first choices with a vocabulary no choice allocates: not with other parameters, not for a flat row that
/// keeps all tokens, not for a longer text.
#[test]
fn a_choice_allocates_nothing_after_warm_up() {
    const VOCAB_SIZE: usize = 2048;
    let (steep, flat, mut row) = (
        made_up_logits(VOCAB_SIZE, 1),
        vec![0.0; VOCAB_SIZE],
        vec![0.0; VOCAB_SIZE],
    );
    let base = || SamplingParams::default().with(|p| p.logprobs = Some(20));
    let bias = vec![(TokenId(3), f32::NEG_INFINITY)];
    let settings = [
        base(),
        SamplingParams::greedy(),
        base().with(|p| (p.top_k, p.top_p) = (50, 0.9)),
        base().with(|p| p.top_k = VOCAB_SIZE - 1),
        base().with(|p| (p.top_p, p.min_p) = (0.999, 1e-6)),
        base().with(|p| (p.repetition_penalty, p.frequency_penalty, p.logit_bias) = (1.2, 0.5, bias)),
    ];
    let settings = settings.map(|params| params.check(VOCAB_SIZE).unwrap());
    let text: Vec<TokenId> = (0..VOCAB_SIZE as u32).map(TokenId).collect();
    let mut allocations = || {
        let mut sampler = Sampler::new();
        // Warm-up: one choice with log probabilities and one with a penalty, on the shortest text and the steep row.
        for params in [&settings[0], &settings[5]] {
            row.copy_from_slice(&steep);
            sampler.sample(params, &text[..1], &text[..1], &mut row).unwrap();
        }
        let before = snapshot().allocations;
        for params in &settings {
            for len in [1, 100, VOCAB_SIZE] {
                for logits in [&steep, &flat] {
                    row.copy_from_slice(logits);
                    let (prompt, output) = text[..len].split_at(len / 2);
                    sampler.sample(params, prompt, output, &mut row).unwrap();
                }
            }
        }
        snapshot().allocations - before
    };
    // The thread of the test harness allocates now and then; a sampler that allocates does so each time.
    let fewest = (0..5).map(|_| allocations()).min();
    assert_eq!(fewest, Some(0));
}
