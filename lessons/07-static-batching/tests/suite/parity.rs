//! A row of a batch against its single run in lesson 06: the same tokens, the same bits, whatever the other rows are.

use crate::common::{alone, answers, fixture, logits_alone, pass, prefill, prompt, slices};
use generation::{FinishReason, Model, Weights};
use half::bf16;
use kv_cache::ContiguousCache;
use layout::pool::Pool;
use loading::{LoadError, TensorInfo, WeightSource};
use proptest::prelude::*;
use static_batching::{BatchState, Pad, PaddedBatch, Padding, Width, generate_batch};
use std::sync::LazyLock;
use training::TokenId;

/// Compares the answers of a batch with single runs.
#[track_caller]
fn check(model: &Model, prompts: &[Vec<TokenId>], max: &[usize], rule: Pad, threads: usize) {
    let (mut state, pool) = (BatchState::new(&model.config), Pool::new(threads));
    let mut streamed = vec![Vec::new(); prompts.len()];
    let on_token = &mut |row: usize, token| streamed[row].push(token);
    let run = generate_batch(model, &mut state, &pool, &slices(prompts), max, rule, on_token).unwrap();
    assert_eq!(run.generations.len(), prompts.len());
    for (row, prompt) in prompts.iter().enumerate() {
        assert_eq!(
            run.generations[row],
            alone(model, prompt, max[row]),
            "{}, row {row} of lengths {:?}, {rule:?}, {threads} threads",
            model.name,
            prompts.iter().map(Vec::len).collect::<Vec<_>>()
        );
        assert_eq!(run.generations[row].tokens, streamed[row]);
    }
}

/// Compares the logits of every step of a batch with `single`, those of single runs. Row `i` gets the tokens of
/// `further[i]` after its prompt, and is padding after them.
#[track_caller]
fn check_logits(
    single: &[Vec<Vec<f32>>],
    model: &Model,
    prompts: &[Vec<TokenId>],
    further: &[Vec<TokenId>],
    rule: Pad,
    threads: usize,
) {
    let (mut state, pool) = (BatchState::new(&model.config), Pool::new(threads));
    let room = prompts.iter().zip(further).map(|(p, f)| p.len() + f.len());
    state.prepare(&model.config, room);
    let mut batch = prefill(model, prompts, rule).unwrap();
    let longest = further.iter().map(Vec::len).max().unwrap();
    for step in 0..=longest {
        let logits = pass(model, &mut state, &pool, &batch).unwrap();
        for (row, logits) in logits.chunks_exact(model.config.llama.vocab_size).enumerate() {
            if let Some(expected) = single[row].get(step) {
                assert!(
                    logits == expected,
                    "{}, {rule:?}, {threads} threads: row {row}, step {step}",
                    model.name
                );
            }
        }
        let next: Vec<_> = further.iter().map(|f| f.get(step).copied()).collect();
        let cached: Vec<_> = state.caches.iter().map(ContiguousCache::len).collect();
        batch.set_step(&next, &cached);
    }
}

const SIDES: [Padding; 2] = [Padding::Left, Padding::Right];

fn rules(longest: usize) -> impl Iterator<Item = Pad> {
    let widths = [Width::Longest, Width::Exactly(longest), Width::Exactly(longest + 7)];
    SIDES
        .into_iter()
        .flat_map(move |side| widths.map(|width| Pad { side, width }))
}

/// Every fixture: other heads, other rotary scaling, tied or not.
#[test]
fn a_row_has_the_tokens_of_its_single_run() {
    for name in fixtures::MODELS {
        let (model, lengths) = (fixture(name), [5, 1, 17, 16, 2]);
        let prompts = [0, 1, 2, 3, 4].map(|salt| prompt(lengths[salt], salt));
        for rule in rules(17) {
            check(&model, &prompts, &[9, 4, 1, 0, 12], rule, 2);
        }
    }
}

#[test]
fn a_row_has_the_logits_of_its_single_run_bit_for_bit() {
    for name in fixtures::MODELS {
        let model = fixture(name);
        let prompts = [prompt(3, 1), prompt(9, 2), prompt(1, 3)];
        let further = [prompt(4, 4), vec![], prompt(2, 5)];
        let single = [0, 1, 2].map(|row| logits_alone(&model, &prompts[row], &further[row]));
        for rule in rules(9) {
            for threads in [1, 2, 3] {
                check_logits(&single, &model, &prompts, &further, rule, threads);
            }
        }
    }
}

/// An untied model whose embedding of the filler is not a number.
struct Poisoned<'a>(&'a (dyn WeightSource + Send + Sync));

impl WeightSource for Poisoned<'_> {
    fn names(&self) -> Vec<String> {
        self.0.names()
    }
    fn info(&self, name: &str) -> Option<TensorInfo> {
        self.0.info(name)
    }
    fn read_f32(&self, name: &str, out: &mut Vec<f32>) -> Result<(), LoadError> {
        self.0.read_f32(name, out)?;
        if name == "model.embed_tokens.weight" {
            let width = self.0.info(name).unwrap().shape[1];
            out[..width].fill(f32::NAN);
        }
        Ok(())
    }
    fn read_bf16(&self, name: &str, out: &mut Vec<bf16>) -> Result<(), LoadError> {
        self.0.read_bf16(name, out)
    }
    fn stored_bytes(&self) -> u64 {
        self.0.stored_bytes()
    }
}

/// Padding is skipped and not multiplied by zero: NaN times zero is NaN, so one key of padding would spoil the row.
#[test]
fn padding_that_is_no_number_changes_no_row() {
    let path = fixtures::model("all-kv-untied-f32");
    let folder = loading::open(path.to_str().unwrap()).unwrap();
    let mut model = fixture("all-kv-untied-f32");
    let (prompts, further) = ([prompt(2, 1), prompt(8, 2)], [vec![], prompt(3, 5)]);
    let single = [0, 1].map(|row| logits_alone(&model, &prompts[row], &further[row]));
    model.weights = Weights::packed_f32(&folder.config.llama, &Poisoned(&*folder.weights)).unwrap();
    for rule in rules(8) {
        check_logits(&single, &model, &prompts, &further, rule, 2);
    }
}

/// The end of text ends one row and no other.
#[test]
fn an_end_of_text_ends_its_own_row_only() {
    let mut model = fixture("some-kv-tied-bf16");
    let prompts = [prompt(4, 1), prompt(7, 2), prompt(5, 3)];
    let first = alone(&model, &prompts[0], 6);
    model.config.eos_token_ids = vec![first.tokens[3]];
    for rule in rules(7) {
        check(&model, &prompts, &[20, 20, 3], rule, 2);
    }
    let ended = alone(&model, &prompts[0], 20);
    assert_eq!(ended.finish_reason, FinishReason::Stop);
}

/// A prompt that fills the context leaves no room for an answer; the other rows have theirs.
#[test]
fn a_full_context_ends_its_own_row_only() {
    let mut model = fixture("all-kv-untied-f32");
    model.config.llama.max_seq_len = 12;
    for rule in rules(12) {
        check(
            &model,
            &[prompt(12, 1), prompt(10, 2), prompt(3, 3)],
            &[5, 5, 5],
            rule,
            1,
        );
    }
}

/// The state of an earlier batch serves the next one like a new state.
#[test]
fn a_used_state_gives_the_answers_of_a_fresh_one() {
    let model = fixture("one-kv-untied-f16");
    let mut used = BatchState::new(&model.config);
    let run = |state: &mut BatchState, lengths: &[usize], max: usize| {
        let prompts: Vec<_> = lengths.iter().map(|len| prompt(*len, *len)).collect();
        answers(&model, state, &prompts, &vec![max; lengths.len()], Pad::default()).unwrap()
    };
    run(&mut used, &[20, 3, 9, 14], 10);
    for lengths in [&[2, 5][..], &[1], &[4, 30, 4, 4, 4, 4]] {
        let fresh = run(&mut BatchState::new(&model.config), lengths, 6);
        assert_eq!(run(&mut used, lengths, 6), fresh);
    }
}

/// Eight beginnings on the trained model, its end of text in force.
#[test]
fn eight_stories_are_the_stories_that_each_would_be_alone() {
    let model = Model::open("stories").unwrap();
    let texts = [
        "Once upon a time",
        "The fox",
        "One day Lily went to the market with her father and",
        "Tom",
        "In the garden there was a",
        "A little bird",
        "Anna had a red ball. She",
        "It was",
    ];
    let prompts = texts.map(|text| model.encode_prompt(text).unwrap());
    check(&model, &prompts, &[24, 3, 16, 24, 8, 24, 1, 24], Pad::default(), 2);
}

/// Two small models, opened once: grouped and ungrouped heads.
static SMALL: LazyLock<[Model; 2]> = LazyLock::new(|| ["all-kv-untied-f32", "some-kv-tied-bf16"].map(fixture));

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any other rows, side of the padding, width and number of threads.
    #[test]
    fn other_rows_change_no_token(
        rows in prop::collection::vec((1usize..20, 0usize..1000, 0usize..7), 1..7),
        side in prop::sample::select(&SIDES),
        extra in 0usize..6,
        threads in 1usize..4,
        which in 0usize..2,
    ) {
        let prompts: Vec<_> = rows.iter().map(|(len, salt, _)| prompt(*len, *salt)).collect();
        let max: Vec<_> = rows.iter().map(|(.., max)| *max).collect();
        let longest = rows.iter().map(|(len, ..)| *len).max().unwrap();
        let width = Width::Exactly(longest + extra);
        check(&SMALL[which], &prompts, &max, Pad { side, width }, threads);
    }
}

/// A batch of one prompt of four tokens, computed.
fn one_prompt(model: &Model) -> (BatchState, PaddedBatch) {
    let mut state = BatchState::new(&model.config);
    state.prepare(&model.config, [8].into_iter());
    let batch = prefill(model, &[prompt(4, 1)], Pad::default()).unwrap();
    pass(model, &mut state, &Pool::new(1), &batch).unwrap();
    (state, batch)
}

/// The tokens of a step are checked like those of a prompt, before anything is computed.
#[test]
fn a_step_with_an_unknown_token_is_refused_and_changes_nothing() {
    let model = fixture("some-kv-tied-bf16");
    let (mut state, mut batch) = one_prompt(&model);
    batch.set_step(&[Some(TokenId(60_000))], &[4]);
    let error = pass(&model, &mut state, &Pool::new(1), &batch).unwrap_err();
    assert!(error.to_string().contains("60000"), "{error}");
    assert_eq!(state.caches[0].len(), 4);
    batch.set_step(&[Some(TokenId(7))], &[4]);
    pass(&model, &mut state, &Pool::new(1), &batch).unwrap();
    assert_eq!(state.caches[0].len(), 5);
}

/// A batch refuses a cache that holds another text, because it would read the other text's keys.
#[test]
#[should_panic(expected = "a cache of 4 positions is not the one that this batch goes on with")]
fn a_cache_of_another_text_is_not_gone_on_with() {
    let model = fixture("some-kv-tied-bf16");
    let (mut state, batch) = one_prompt(&model);
    let _ = pass(&model, &mut state, &Pool::new(1), &batch);
}
