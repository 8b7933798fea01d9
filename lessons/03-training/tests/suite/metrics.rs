//! The metrics: perplexity over windows, overlap equal to the usual packages, baselines that are distributions. (The
//! windows themselves are an exercise.)

use std::collections::BTreeMap;

use crate::common::{grammar, ids as tokens};
use proptest::prelude::*;
use serde::Deserialize;
use training::TokenId;
use training::corpus::evaluation::StoryPrompt;
use training::grammar::{QuestionKind, TaskItem};
use training::metrics::judge::{Pair, Tally, b_stands_first, judge, sign_test};
use training::metrics::tasks::Completion;
use training::metrics::{bleu, distinct_n, repetition, rouge_l, score_document, story_report, task_accuracy, words};
use training::ngram::{MAX_ORDER, Ngram};
use training::split::Split;

const VOCAB: usize = 11;

/// A pretend model: the logits at a position are a function of the last `reach` tokens up to it.
fn logits(reach: usize) -> impl FnMut(&[TokenId], &mut [f32]) {
    move |inputs, out| {
        for (position, row) in out.chunks_exact_mut(VOCAB).enumerate() {
            let seen = &inputs[(position + 1).saturating_sub(reach)..=position];
            for (token, logit) in row.iter_mut().enumerate() {
                let mixed = seen
                    .iter()
                    .fold(token as u64 + 1, |sum, id| (sum * 31 + u64::from(id.0)) % 1009);
                *logit = mixed as f32 / 200.0;
            }
        }
    }
}

#[test]
fn one_window_equals_the_direct_sum() {
    let text = tokens(&[0, 3, 5, 7, 1, 1, 4, 10, 9, 2, 0]);
    let mut model = logits(usize::MAX >> 1);
    let mut direct = 0.0;
    for position in 0..text.len() - 1 {
        let mut rows = vec![0.0; (position + 1) * VOCAB];
        model(&text[..=position], &mut rows);
        let row: Vec<f64> = rows[position * VOCAB..].iter().map(|&logit| f64::from(logit)).collect();
        let sum: f64 = row.iter().map(|logit| logit.exp()).sum();
        direct += sum.ln() - row[text[position + 1].index()];
    }
    let score = score_document(&text, 16, 16, VOCAB, &mut model);
    assert_eq!(score.tokens, text.len() - 1);
    assert!((score.nats - direct).abs() < 1e-5, "{} {direct}", score.nats);
}

proptest! {
    /// A model that looks back 3 tokens can not tell how the text was cut, if every window keeps 2 tokens of context.
    #[test]
    fn the_cut_does_not_matter_to_a_model_that_sees_all_it_looks_at(
        ids in prop::collection::vec(0u32..VOCAB as u32, 2..80), window in 4usize..30, context in 2usize..4,
    ) {
        let text = tokens(&ids);
        let whole = score_document(&text, 100, 100, VOCAB, &mut logits(3));
        let cut = score_document(&text, window, window - context, VOCAB, &mut logits(3));
        prop_assert_eq!(whole.tokens, cut.tokens);
        prop_assert!((whole.nats - cut.nats).abs() < 1e-6);
    }

    #[test]
    fn an_ngram_model_is_a_distribution(
        ids in prop::collection::vec(0u32..VOCAB as u32, 1..60), before in prop::collection::vec(0u32..VOCAB as u32, 0..5),
    ) {
        let mut model = Ngram::new(VOCAB);
        model.count(&tokens(&ids));
        for order in 1..=MAX_ORDER {
            let before = tokens(&before);
            let sum: f64 = (0..VOCAB as u32).map(|id| model.probability(&before, TokenId(id), order)).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "order {} sums to {}", order, sum);
        }
    }

    #[test]
    fn overlap_is_in_range_and_whole_for_equal_texts(text in "[a-e ]{1,60}", other in "[a-e ]{1,60}") {
        let (text, other) = (words(&text), words(&other));
        prop_assert!((0.0..=1.0).contains(&rouge_l(&text, &other)));
        prop_assert!((rouge_l(&text, &other) - rouge_l(&other, &text)).abs() < 1e-12);
        if !text.is_empty() && !other.is_empty() {
            let value = bleu(std::slice::from_ref(&text), std::slice::from_ref(&other));
            prop_assert!((0.0..=1.0).contains(&value));
            let equal = bleu(std::slice::from_ref(&text), std::slice::from_ref(&text));
            prop_assert!((equal - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn perplexity_of_a_uniform_model_is_the_vocabulary() {
    let text = tokens(&[0, 1, 2, 3, 4]);
    let mut score = score_document(&text, 3, 1, VOCAB, &mut |_: &[TokenId], out: &mut [f32]| out.fill(7.0));
    assert!((score.perplexity() - VOCAB as f64).abs() < 1e-9);
    // Four tokens of log2(11) bits over eight bytes.
    score.bytes = 8;
    assert!((score.bits_per_byte() - 4.0 * (VOCAB as f64).log2() / 8.0).abs() < 1e-9);
}

#[test]
fn ngrams_follow_witten_and_bell() {
    let mut model = Ngram::new(4);
    model.count(&tokens(&[1, 2, 1, 3, 1, 2]));
    // Unigrams: 1 three times, 2 twice, 3 once; six tokens, three kinds.
    let unigram = |count: f64| (count + 3.0 / 4.0) / 9.0;
    assert!((model.probability(&[], TokenId(2), 3) - unigram(2.0)).abs() < 1e-12);
    assert!((model.probability(&[], TokenId(0), 3) - unigram(0.0)).abs() < 1e-12);
    // After 1: 2 twice, 3 once; three followers, two kinds.
    let bigram = (2.0 + 2.0 * unigram(2.0)) / 5.0;
    assert!((model.probability(&tokens(&[1]), TokenId(2), 3) - bigram).abs() < 1e-12);
    // After 3 1: 2 once.
    assert!((model.probability(&tokens(&[3, 1]), TokenId(2), 3) - (1.0 + bigram) / 2.0).abs() < 1e-12);
    // An unknown history leaves the shorter one alone.
    assert!((model.probability(&tokens(&[0, 1]), TokenId(2), 3) - bigram).abs() < 1e-12);
    let direct: f64 = (1..4)
        .map(|at| {
            -model
                .probability(&tokens(&[0, 1, 2, 1])[..at], tokens(&[0, 1, 2, 1])[at], 2)
                .ln()
        })
        .sum();
    assert!((model.nats(&tokens(&[0, 1, 2, 1]), 2) - direct).abs() < 1e-12);
}

#[derive(Deserialize)]
struct Overlap {
    name: String,
    candidates: Vec<String>,
    references: Vec<String>,
    bleu: f64,
    rouge_l: Vec<f64>,
}

#[test]
fn bleu_and_rouge_equal_the_usual_packages() {
    let golden: Vec<Overlap> = serde_json::from_str(include_str!("golden/overlap.json")).unwrap();
    assert!(golden.len() >= 10);
    for case in golden {
        let [a, b] = [&case.candidates, &case.references].map(|texts| {
            texts
                .iter()
                .map(|text| text.split_whitespace().collect())
                .collect::<Vec<Vec<&str>>>()
        });
        let ours = bleu(&a, &b);
        assert!(
            (ours - case.bleu).abs() < 1e-9,
            "{}: BLEU {ours}, sacrebleu {}",
            case.name,
            case.bleu
        );
        for (index, expected) in case.rouge_l.iter().enumerate() {
            let ours = rouge_l(&a[index], &b[index]);
            assert!(
                (ours - expected).abs() < 1e-9,
                "{}: ROUGE-L {ours}, rouge-score {expected}",
                case.name
            );
        }
    }
}

#[test]
fn words_keep_apostrophes_and_part_punctuation() {
    assert_eq!(
        words("\"I don't,\" said Mia."),
        ["\"", "I", "don't", ",", "\"", "said", "Mia", "."]
    );
    assert_eq!(words("  你好!\n"), ["你好", "!"]);
}

#[test]
fn diversity_tells_loops_from_prose() {
    let loop_: Vec<&str> = "the cat sat the cat sat the cat sat".split(' ').collect();
    let prose: Vec<&str> = "one day a small fox went to look for shells".split(' ').collect();
    assert!((repetition(&loop_, 2) - 5.0 / 8.0).abs() < 1e-12);
    assert_eq!(repetition(&prose, 2), 0.0);
    assert_eq!(distinct_n(&[&prose], 1), 1.0);
    // Ten copies of a good story are one story.
    assert!((distinct_n(&[&prose; 10], 1) - 0.1).abs() < 1e-12);
    assert_eq!(distinct_n::<Vec<&str>, &str>(&[], 2), 0.0);
}

#[test]
fn task_accuracy_is_by_kind_and_exact() {
    let item = |kind, answer: &str| TaskItem {
        kind,
        prompt: String::new(),
        answer: answer.to_string(),
    };
    let items = [
        item(QuestionKind::Who, "It was Mia."),
        item(QuestionKind::Who, "It was Tom."),
        item(QuestionKind::Colour, "It was red."),
    ];
    let report = task_accuracy(&items, |item| match item.kind {
        QuestionKind::Who => " It was Mia.\n".to_string(),
        _ => "It was redder.".to_string(),
    });
    assert_eq!(report.questions, 3);
    assert!((report.accuracy - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(report.by_kind, BTreeMap::from([("colour", 0.0), ("who", 0.5)]));
}

#[test]
fn the_grammar_itself_tells_perfect_stories_and_a_cut_one_is_faulty() {
    let grammar = grammar();
    let prompts: Vec<StoryPrompt> = training::corpus::evaluation::story_prompts(grammar, Split::Test, 20);
    let perfect = story_report(grammar, &prompts, |prompt| Completion {
        text: prompt.reference.clone(),
        ended: true,
    });
    assert_eq!(perfect.consistent, 1.0, "{:?}", perfect.faults);
    assert!((perfect.bleu - 1.0).abs() < 1e-9 && (perfect.rouge_l - 1.0).abs() < 1e-9);
    let cut = story_report(grammar, &prompts, |prompt| Completion {
        text: prompt.reference[..prompt.reference.len() - 30].to_string(),
        ended: true,
    });
    assert_eq!(cut.consistent, 0.0);
    let endless = story_report(grammar, &prompts, |prompt| Completion {
        text: prompt.reference.clone(),
        ended: false,
    });
    assert_eq!(endless.faults["does not end"], 20);
}

/// The exact binomial values, as `scipy.stats.binomtest(a, a + b).pvalue` gives them.
#[test]
fn the_sign_test_is_the_exact_binomial_one() {
    #[track_caller]
    fn check(a: u64, b: u64, expected: f64) {
        for p in [sign_test(a, b), sign_test(b, a)] {
            assert!((p - expected).abs() < 1e-12, "{a} to {b}: {p} instead of {expected}");
        }
    }
    check(0, 0, 1.0);
    check(1, 0, 1.0);
    check(5, 5, 1.0);
    check(5, 0, 0.0625);
    check(8, 2, 112.0 / 1024.0);
    check(15, 5, 2.0 * 21_700.0 / 1_048_576.0);
    assert!(sign_test(2000, 0) >= 0.0 && sign_test(2000, 1900).is_finite());
}

fn pairs(num_pairs: usize) -> Vec<Pair> {
    let pair = |index: usize| Pair {
        prompt: format!("prompt {index}"),
        a: format!("a wrote {index}"),
        b: format!("b wrote {index}"),
    };
    (0..num_pairs).map(pair).collect()
}

/// A judge who always takes the text of A, wherever it stands.
#[test]
fn choices_go_to_the_hidden_author() {
    let (seed, pairs) = (7, pairs(12));
    let keys = |index| if b_stands_first(seed, index) { "2\n" } else { "1\n" };
    let typed: String = (0..pairs.len()).map(keys).collect();
    assert!(
        typed.contains('1') && typed.contains('2'),
        "both sides occur: {typed:?}"
    );
    let mut shown = Vec::new();
    let tally = judge(&pairs, seed, &mut typed.as_bytes(), &mut shown).unwrap();
    assert_eq!(tally, Tally { a: 12, b: 0, ties: 0 });
    let shown = String::from_utf8(shown).unwrap();
    let first = if b_stands_first(seed, 0) {
        "1) b wrote 0"
    } else {
        "1) a wrote 0"
    };
    assert!(
        shown.contains(first) && shown.contains("Pair 12 of 12: prompt 11"),
        "{shown}"
    );
}

#[test]
fn ties_other_keys_and_an_early_end_are_no_choices() {
    let mut equal = pairs(4);
    equal[0].b = equal[0].a.clone();
    let judged = |typed: &str| judge(&equal, 1, &mut typed.as_bytes(), &mut Vec::<u8>::new()).unwrap();
    assert_eq!(
        judged(""),
        Tally {
            ties: 1,
            ..Tally::default()
        },
        "equal texts are not shown"
    );
    assert_eq!(judged("=\n＝\nx\n\n=\n").ties, 4);
    assert_eq!(judged("q\n1\n2\n"), judged(""));
}
