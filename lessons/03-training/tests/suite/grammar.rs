//! The story grammar: texts are clean English, a text determines its choices, the entropy is exact, the checker sees
//! faults.

use std::collections::{HashMap, HashSet};

use crate::common::grammar;
use proptest::prelude::*;
use training::grammar::mark::Mark;
use training::grammar::words::{SLOTS, words};
use training::grammar::{Fault, IM_START, Kind, QuestionKind, Verdict, content_key, facts};
use training::split::Split;

fn documents(count: u64) -> impl Iterator<Item = training::grammar::Document> {
    let grammar = grammar();
    (0..count).map(move |index| grammar.document(3, Split::Train, index))
}

/// The entropy bound rests on this: if two choice sequences gave one text, the text's probability would be their sum.
#[test]
fn a_text_has_exactly_one_derivation_and_it_is_the_one_that_made_it() {
    let grammar = grammar();
    for document in documents(3000) {
        let found = grammar.derivations(&document.text, 10);
        assert_eq!(found.len(), 1, "{}", document.text);
        assert_eq!(found[0].choices, document.path.choices);
        assert_eq!(found[0].bindings, document.path.bindings);
        assert!((found[0].nats - document.nats).abs() < 1e-9);
    }
}

#[test]
fn text_is_clean_english() {
    for document in documents(3000) {
        let text = &document.text;
        for wrong in [
            "  ", " .", " ,", "..", " !", " ?", "{", "}", "[", "]", " a a", " a e", " a i", " a o", " a u", "\n ",
        ] {
            assert!(!text.contains(wrong), "`{wrong}` in {text}");
        }
        let sentences = text.split(". ").skip(1).filter_map(|sentence| sentence.chars().next());
        assert!(
            sentences.into_iter().all(|first| first.is_uppercase() || first == '"'),
            "{text}"
        );
        assert_eq!(text.matches('"').count() % 2, 0, "{text}");
        assert!(text.len() > 300 && text.len() < 1300, "{} bytes: {text}", text.len());
    }
}

#[test]
fn every_plot_word_and_kind_of_question_occurs() {
    let grammar = grammar();
    assert!(grammar.plot_names().len() >= 12);
    let mut seen: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut marks = HashSet::new();
    for document in documents(3000) {
        for (slot, word) in facts(&document.path.bindings) {
            seen.entry(slot).or_default().insert(word);
        }
        marks.extend(document.path.marks.iter().copied());
    }
    for (slot, domain) in SLOTS {
        assert_eq!(seen[slot].len(), words(domain).len(), "{slot}");
    }
    assert_eq!(marks.len(), grammar.plot_names().len() + 3 + QuestionKind::ALL.len());
}

#[test]
fn the_answer_to_a_question_stands_in_the_story() {
    let grammar = grammar();
    for index in 0..1000 {
        let item = grammar.task_item(9, Split::Test, index);
        assert!(item.prompt.ends_with("<|im_end|>\n<|im_start|>assistant\n"));
        let fact = item
            .answer
            .trim_end_matches('.')
            .rsplit_once(" was ")
            .or(item.answer.trim_end_matches('.').rsplit_once(" were "));
        let fact = fact
            .expect("an answer is `It was …` or `There were …`")
            .1
            .trim_start_matches("to ");
        let story = item.prompt.split("\n\n").next().unwrap().to_lowercase();
        assert!(story.contains(&fact.to_lowercase()), "{fact} in {story}");
        assert!(matches!(
            grammar.check(&format!("{}{}<|im_end|>\n", item.prompt, item.answer)),
            Verdict::Consistent(_)
        ));
    }
}

/// A drill asks for a word of its own facts. It names no hero's animal, so that no content of a split is in it.
#[test]
fn the_answer_to_a_drill_stands_in_its_facts() {
    let mut kinds = HashSet::new();
    for index in 0..1000 {
        let drill = grammar().drill(3, index);
        let (facts, turns) = drill.text.split_once("\n\n").expect("facts before the first question");
        for turn in turns.split(&format!("{IM_START}assistant\n")).skip(1) {
            let answer = turn.split('.').next().expect("an answer").trim();
            let words = ["It was to ", "It was ", "There were "];
            let word = words.iter().find_map(|opening| answer.strip_prefix(opening));
            let word = word.unwrap_or_else(|| panic!("another form of answer: {answer}"));
            assert!(facts.to_lowercase().contains(&word.to_lowercase()), "{}", drill.text);
        }
        assert!(
            !training::grammar::facts(&drill.path.bindings).contains_key("animal"),
            "{}",
            drill.text
        );
        kinds.extend(drill.path.marks.iter().filter_map(|mark| match mark {
            Mark::Question(kind) => Some(*kind),
            _ => None,
        }));
        assert_eq!(drill, grammar().drill(3, index));
    }
    assert_eq!(kinds.len(), QuestionKind::ALL.len());
    assert_ne!(grammar().drill(3, 0), grammar().drill(4, 0));
}

#[test]
fn an_asked_for_story_is_about_what_was_asked() {
    let grammar = grammar();
    for document in documents(2000).filter(|document| document.kind == Kind::Chat) {
        let request = document.text.lines().nth(1).unwrap().trim_end_matches("<|im_end|>");
        let reply = document
            .text
            .split("assistant\n")
            .nth(1)
            .unwrap()
            .trim_end()
            .trim_end_matches("<|im_end|>");
        let subject = request.split(" about ").nth(1).unwrap();
        for word in subject
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| word.len() > 3 && !["named", "called"].contains(word))
        {
            assert!(reply.contains(word), "{word} of {request} in {reply}");
        }
        assert!(matches!(grammar.check_reply(request, reply), Verdict::Consistent(_)));
    }
}

#[test]
fn held_out_content_never_occurs_in_training() {
    let grammar = grammar();
    let keys = |split, count| -> HashSet<String> {
        (0..count)
            .map(|index| content_key(&grammar.document(5, split, index).path.bindings))
            .collect()
    };
    let train = keys(Split::Train, 4000);
    assert!(keys(Split::Test, 1000).is_disjoint(&train));
    assert!(keys(Split::Validation, 1000).is_disjoint(&train));
    // Other seeds change the documents, not the sides.
    let other: HashSet<String> = (0..2000)
        .map(|index| content_key(&grammar.document(6, Split::Test, index).path.bindings))
        .collect();
    assert!(other.is_disjoint(&train));
}

/// A story of which every fact is known, for the faults below.
fn story_with(slot: &str) -> (String, String) {
    let grammar = grammar();
    let document = grammar.story(4, Split::Test, 2);
    (document.text, facts(&document.path.bindings)[slot].to_string())
}

#[track_caller]
fn check_changed(slot: &str) {
    let grammar = grammar();
    let (text, word) = story_with(slot);
    let domain = SLOTS.iter().find(|(name, _)| *name == slot).unwrap().1;
    let start = word.as_bytes()[0];
    let other = words(domain)
        .into_iter()
        .find(|other| *other != word && other.as_bytes()[0] != start && !text.contains(other))
        .unwrap();
    let last = text.rfind(&word).unwrap();
    let changed = format!("{}{}{}", &text[..last], other, &text[last + word.len()..]);
    match grammar.check_story(&changed) {
        Verdict::Faulty {
            at,
            fault: Fault::Changed { expected, .. },
        } => {
            assert!(expected.contains(&word), "expected {expected}");
            assert!(at <= last && last < at + 12);
        }
        other => panic!("{other:?} for {changed}"),
    }
}

#[test]
fn a_name_that_changes_is_a_fault() {
    check_changed("hero");
}

#[test]
fn a_thing_that_changes_is_a_fault() {
    check_changed("thing");
}

#[test]
fn a_colour_that_changes_is_a_fault() {
    check_changed("colour");
}

#[test]
fn a_story_that_does_not_end_is_a_fault() {
    let grammar = grammar();
    let (text, _) = story_with("hero");
    for cut in 1..text.len() - 1 {
        let verdict = grammar.check_story(&text[..cut]);
        let unfinished = matches!(verdict, Verdict::Faulty { at, fault: Fault::Unfinished } if at == cut);
        assert!(unfinished, "{verdict:?} for {}", &text[..cut]);
    }
}

#[test]
fn another_story_than_the_asked_for_one_is_a_fault() {
    let grammar = grammar();
    let document = documents(100).find(|document| document.kind == Kind::Chat).unwrap();
    let reply = document
        .text
        .split("assistant\n")
        .nth(1)
        .unwrap()
        .trim_end()
        .trim_end_matches("<|im_end|>");
    let animal = facts(&document.path.bindings)["animal"];
    let other = if animal == "fox" { "pig" } else { "fox" };
    let request = format!("Tell me a story about a {other}.");
    assert!(matches!(grammar.check_reply(&request, reply), Verdict::Faulty { .. }));
}

/// Empirical check of the bookkeeping: the mean surprise of the plot choice is the logarithm of the number of plots.
#[test]
fn documents_are_drawn_with_the_probabilities_on_record() {
    let mut plots: HashMap<u16, f64> = HashMap::new();
    for document in documents(8000) {
        *plots.entry(document.path.choices[1]).or_default() += 1.0;
    }
    let expected = 8000.0 / plots.len() as f64;
    let chi2: f64 = plots.values().map(|count| (count - expected).powi(2) / expected).sum();
    assert!(chi2 < 45.0, "15 degrees of freedom, chi squared {chi2}");
}

proptest! {
    #[test]
    fn the_checker_takes_any_text_without_panic(text in ".{0,200}", cut in 0usize..400, index in 0u64..200) {
        let grammar = grammar();
        let story = grammar.document(1, Split::Train, index).text;
        let cut = (0..=cut.min(story.len())).rev().find(|cut| story.is_char_boundary(*cut)).unwrap();
        let mixed = format!("{}{text}", &story[..cut]);
        if let Verdict::Faulty { at, .. } = grammar.check(&mixed) {
            prop_assert!(mixed.is_char_boundary(at));
        }
        grammar.check_story(&text);
        grammar.check_reply(&text, &mixed);
    }

    #[test]
    fn the_same_address_gives_the_same_document(seed in any::<u64>(), index in any::<u64>()) {
        let grammar = grammar();
        let once = grammar.document(seed, Split::Train, index);
        prop_assert_eq!(&once, &grammar.document(seed, Split::Train, index));
        prop_assert!(once.kind != Kind::Plain || !once.text.contains(IM_START));
    }
}
