//! Counts allocations of the whole process, so this file holds one test only.

use lab::alloc::{CountingAllocator, snapshot};
use sampling::counted::made_up_logits;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Once a vocabulary was seen, no choice allocates: not for other parameters, not for a flat row that keeps all tokens, not for a text that grows.
#[test]
fn a_choice_allocates_nothing_after_warm_up() {
    const VOCAB_SIZE: usize = 2048;
    let steep = made_up_logits(VOCAB_SIZE, 1);
    let flat = vec![0.0; VOCAB_SIZE];
    let mut row = vec![0.0; VOCAB_SIZE];
    let base = SamplingParams {
        logprobs: Some(20),
        ..SamplingParams::default()
    };
    let settings = [
        base.clone(),
        SamplingParams::greedy(),
        SamplingParams {
            top_k: 50,
            top_p: 0.9,
            ..base.clone()
        },
        SamplingParams {
            top_k: VOCAB_SIZE - 1,
            ..base.clone()
        },
        SamplingParams {
            top_p: 0.999,
            min_p: 1e-6,
            ..base.clone()
        },
        SamplingParams {
            repetition_penalty: 1.2,
            frequency_penalty: 0.5,
            logit_bias: vec![(TokenId(3), f32::NEG_INFINITY)],
            ..base
        },
    ];
    let settings = settings.map(|params| params.check(VOCAB_SIZE).unwrap());
    let text: Vec<TokenId> = (0..VOCAB_SIZE as u32).map(TokenId).collect();
    let mut allocations = || {
        let mut sampler = Sampler::new();
        // Warm-up: one choice with logprobs, and one with a penalty; the shortest text and the steep row.
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
    // The thread of the test harness may allocate now and then; a sampler that allocates does so each time.
    let fewest = (0..5).map(|_| allocations()).min();
    assert_eq!(fewest, Some(0));
}
