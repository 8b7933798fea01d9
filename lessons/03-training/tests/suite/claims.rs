//! The claims of this lesson, as counts and as numbers that are the same on every machine.

use crate::common::{grammar, literature, tokenizer};
use layout::pool::Pool;
use std::sync::Arc;
use training::LlamaConfig;
use training::corpus::evaluation::{EvalSize, Evaluation};
use training::eval::fingerprint;
use training::order::Experiment;
use training::split::Split;
use training::train::nats_per_token;
use training::trainer::Schedule;

/// D1, the training half: from the same tokens, a shuffled order teaches both kinds of text, file order only the last
/// kind.
#[test]
fn training_wants_shuffled_samples() {
    let size = EvalSize {
        stories: 6,
        chapters: 1,
        tasks: 0,
        prompts: 0,
    };
    let schedule = Schedule {
        batch_size: 4,
        seq_len: 64,
        peak_rate: 5e-3,
        warmup_steps: 10,
        ..Schedule::for_tokens(160 * 256)
    };
    let experiment = Experiment {
        literature: literature(),
        tokenizer: tokenizer(),
        config: LlamaConfig {
            hidden_size: 32,
            intermediate_size: 64,
            num_layers: 1,
            num_heads: 2,
            num_kv_heads: 2,
            head_dim: 16,
            max_seq_len: 64,
            ..LlamaConfig::stories()
        },
        schedule,
        seed: 1,
        pool: Arc::new(Pool::new(2)),
    };
    let held_out = experiment.held_out(size);
    let [shuffled, in_order] = experiment.orders().map(|(_, order)| {
        let learned = experiment.learn(order, || ()).unwrap();
        nats_per_token(&learned.model, &held_out.stories, 2000)
    });
    assert!(
        in_order > shuffled + 0.3,
        "stories: {shuffled} shuffled, {in_order} in order"
    );
}

/// D2: what is measured is fixed. A change of grammar, split, vocabulary, corpus or evaluation set changes this number,
/// and with it every published figure: then all of them have to be measured again.
#[test]
fn the_evaluation_set_is_what_it_was_when_figures_were_published() {
    let size = EvalSize {
        stories: 50,
        chapters: 3,
        tasks: 50,
        prompts: 20,
    };
    let set = Evaluation::new(grammar(), literature(), tokenizer(), Split::Test, size);
    assert_eq!(
        fingerprint(&set),
        "d9f454e73ba5bec62ce002a5ff646f22e4a0bc38648ab9a7c3780d76b2d15dae"
    );
}

/// D2: this lesson measures models without any inference code; it depends on no lesson that has some.
#[test]
fn evaluation_depends_on_no_inference_code() {
    let manifest = include_str!("../../Cargo.toml");
    for number in 4..=22 {
        assert!(!manifest.contains(&format!("lesson{number:02}")), "lesson {number}");
    }
}
