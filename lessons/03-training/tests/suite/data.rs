//! The data layer: nothing leaks, windows are a function of their number, labels are shifted once, order is kept where
//! it must be, and the vocabulary is what the configuration says.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::common::{grammar, literature, tokenizer};
use proptest::prelude::*;
use training::TokenId;
use training::corpus::evaluation::{EVAL_SEED, EvalSize};
use training::corpus::literature::{CorpusError, long_paragraphs};
use training::corpus::{Cursor, EvalDocument, Evaluation, Literature, Order, StreamOptions, TrainingStream};
use training::exercises::{inputs_and_targets, split_of};
use training::grammar::{IM_START, Kind};
use training::split::Split;
use training::tokenizer::{END_OF_TEXT_ID, IM_END_ID, IM_START_ID, Tokenizer, VOCAB_SIZE};

/// A few chapters, so that epochs are short.
fn small_stream(options: StreamOptions) -> TrainingStream {
    let chapters = literature()
        .of(Split::Train)
        .take(3)
        .map(|chapter| (chapter.title.clone(), chapter.text[..900].to_string()));
    let mut kept = Vec::new();
    for (title, mut text) in chapters {
        while split_of(&text) != Split::Train {
            text.push('.');
        }
        kept.push((title, text));
    }
    TrainingStream::new(
        grammar().clone(),
        &Literature::from_chapters(kept),
        tokenizer().clone(),
        options,
    )
}

fn windows(stream: &mut TrainingStream, count: usize, len: usize) -> Vec<Vec<TokenId>> {
    (0..count)
        .map(|_| {
            let mut window = Vec::new();
            stream.next_window(len, &mut window);
            window
        })
        .collect()
}

#[test]
fn the_books_are_whole_and_free_of_matter_that_is_not_theirs() {
    let chapters = literature().chapters();
    assert!(chapters.len() > 400, "{}", chapters.len());
    let bytes: usize = chapters.iter().map(|chapter| chapter.text.len()).sum();
    assert!((5_000_000..5_300_000).contains(&bytes), "{bytes}");
    assert!(
        chapters[0]
            .text
            .starts_with("Emma Woodhouse, handsome, clever, and rich")
    );
    for chapter in chapters {
        for wrong in ["FINIS", "THE END", "Gutenberg", "\r", "_", "  "] {
            assert!(!chapter.text.contains(wrong), "{wrong:?} in {}", chapter.title);
        }
    }
}

/// Evaluation text in training is the fault that makes every number too good. Whole chapters and long paragraphs.
#[test]
fn no_held_out_text_is_in_the_training_chapters() {
    let of = |split: Split| -> HashSet<&str> {
        literature()
            .of(split)
            .flat_map(|chapter| long_paragraphs(&chapter.text))
            .collect()
    };
    let (train, validation, test) = (of(Split::Train), of(Split::Validation), of(Split::Test));
    assert!(train.len() > 5000 && validation.len() > 200 && test.len() > 200);
    assert!(train.is_disjoint(&test) && train.is_disjoint(&validation) && validation.is_disjoint(&test));
}

#[test]
fn the_split_follows_content_not_place() {
    let text = |n: usize| {
        (
            format!("chapter {n}"),
            format!("{} {n}", "It was a long and rainy day by the sea.".repeat(5)),
        )
    };
    let forwards = Literature::from_chapters((0..60).map(text));
    let backwards = Literature::from_chapters((0..60).rev().map(text));
    for chapter in forwards.chapters() {
        let same = backwards
            .chapters()
            .iter()
            .find(|other| other.title == chapter.title)
            .unwrap();
        assert_eq!(same.split, chapter.split);
    }
    // The same content under two titles is on one side.
    let twice = Literature::from_chapters([("a".to_string(), text(7).1), ("b".to_string(), text(7).1)]);
    assert_eq!(twice.chapters()[0].split, twice.chapters()[1].split);
}

#[test]
fn a_training_chapter_loses_paragraphs_that_a_held_out_one_has() {
    let letter =
        "My dear sister, I write to you in haste, for the post is about to leave and I have so much to tell you.";
    let chapters: Vec<(String, String)> = (0..60)
        .map(|n| (n.to_string(), format!("Something of its own, number {n}.\n\n{letter}")))
        .collect();
    let books = Literature::from_chapters(chapters);
    let holders: HashSet<Split> = books
        .chapters()
        .iter()
        .filter(|chapter| chapter.text.contains(letter))
        .map(|chapter| chapter.split)
        .collect();
    assert_eq!(holders, HashSet::from([Split::Test]));
    assert_eq!(books.chapters().len(), 60);
}

#[test]
fn a_resumed_stream_reads_on_where_it_stopped() {
    let mut whole = small_stream(StreamOptions::default());
    let expected = windows(&mut whole, 40, 65);
    let mut first = small_stream(StreamOptions::default());
    windows(&mut first, 17, 65);
    let cursor: Cursor = serde_json::from_str(&serde_json::to_string(&first.cursor()).unwrap()).unwrap();
    let mut second = small_stream(StreamOptions::default());
    second.seek(cursor);
    assert_eq!(windows(&mut second, 23, 65), expected[17..]);
    let batch = small_stream(StreamOptions::default()).next_batch(4, 65);
    assert_eq!(batch, expected[..4].concat());
}

#[test]
fn the_mix_is_as_asked_and_other_seeds_give_other_text() {
    let stream = small_stream(StreamOptions::default());
    let stories = (0..1000).filter(|&number| stream.source(number).0).count();
    assert_eq!(stories, 650);
    // Both kinds are numbered without a gap.
    for kind in [true, false] {
        let numbers: Vec<u64> = (0..1000)
            .map(|n| stream.source(n))
            .filter(|s| s.0 == kind)
            .map(|s| s.1)
            .collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    }
    let mut other = small_stream(StreamOptions {
        seed: 43,
        ..StreamOptions::default()
    });
    assert_ne!(
        windows(&mut other, 5, 65),
        windows(&mut small_stream(StreamOptions::default()), 5, 65)
    );
}

/// Recitals stand in place of some of the first story windows; every other window is what it would be without them.
#[test]
fn recitals_take_their_share_of_the_first_story_windows() {
    let with = StreamOptions {
        recital_share: 0.5,
        recital_windows: 40,
        ..StreamOptions::default()
    };
    let with = windows(&mut small_stream(with), 100, 129);
    let without = small_stream(StreamOptions::default());
    let mut seen = 0;
    for (number, window) in with.iter().enumerate() {
        let mut plain = Vec::new();
        without.window(number as u64, 129, &mut plain);
        let (is_story, index) = without.source(number as u64);
        let is_recital = tokenizer().decode(window).contains("Say it again: ");
        assert_eq!(is_recital, *window != plain, "window {number}");
        assert!(!is_recital || (is_story && index < 40), "window {number}");
        seen += usize::from(is_recital);
    }
    assert_eq!(seen, 20, "half of 40");
}

/// Drills stand in place of every fourth story window; every other window is what it would be without them.
#[test]
fn drills_take_their_share_of_all_story_windows() {
    let with = StreamOptions {
        drill_share: 0.25,
        ..StreamOptions::default()
    };
    let with = windows(&mut small_stream(with), 100, 129);
    let without = small_stream(StreamOptions::default());
    let (mut seen, mut num_stories) = (0, 0);
    for (number, window) in with.iter().enumerate() {
        let mut plain = Vec::new();
        without.window(number as u64, 129, &mut plain);
        let (is_story, index) = without.source(number as u64);
        num_stories += usize::from(is_story);
        let is_drill = *window != plain;
        assert_eq!(is_drill, is_story && index % 4 == 3, "window {number}");
        // 128 tokens hold several drills, and hardly a story with its question.
        let text = tokenizer().decode(window);
        assert!(
            !is_drill || text.matches(IM_START).count() >= 4,
            "window {number}: {text}"
        );
        seen += usize::from(is_drill);
    }
    assert_eq!(seen, num_stories / 4);
}

/// Claim D1, the training side: shuffled means that neighbours in the text are not neighbours in the stream.
#[test]
fn training_reads_the_books_shuffled_and_anew_in_each_epoch() {
    let books_only = StreamOptions {
        story_share: 0.0,
        ..StreamOptions::default()
    };
    let in_order = StreamOptions {
        order: Order::InOrder { num_windows: 1000 },
        ..books_only.clone()
    };
    let text: Vec<TokenId> = windows(&mut small_stream(in_order), 12, 33)
        .iter()
        .flat_map(|w| w[..32].to_vec())
        .collect();
    let shuffled = windows(&mut small_stream(books_only.clone()), 60, 33);
    let place = |window: &Vec<TokenId>| text.windows(24).position(|part| part == &window[..24]);
    let follows = shuffled
        .windows(2)
        .filter(|pair| matches!((place(&pair[0]), place(&pair[1])), (Some(a), Some(b)) if b == a + 32));
    assert!(follows.count() <= 4, "shuffled windows follow each other");
    let mut again = small_stream(books_only);
    assert_eq!(windows(&mut again, 60, 33), shuffled, "the shuffle is seeded");
}

/// Claim D1, the other side: what is evaluated keeps its order, so answers stand beside their questions.
#[test]
fn evaluation_keeps_the_order_of_its_documents() {
    let (grammar, tokenizer) = (grammar(), tokenizer());
    let set = Evaluation::new(grammar, literature(), tokenizer, Split::Test, EvalSize::SMALL);
    for (index, document) in set.stories.iter().enumerate() {
        let expected = grammar.document(EVAL_SEED, Split::Test, index as u64);
        assert_eq!(
            *document,
            EvalDocument::new(&expected.text, Some(expected.nats), tokenizer)
        );
    }
    let titles: Vec<&str> = literature()
        .of(Split::Test)
        .map(|chapter| chapter.title.as_str())
        .collect();
    assert!(titles.iter().position(|t| t.starts_with("Emma")) < titles.iter().position(|t| t.starts_with("Moby-Dick")));
    assert_eq!(set.tasks.len(), EvalSize::SMALL.tasks);
    // A longer set begins with the shorter one.
    let longer = EvalSize {
        stories: 60,
        ..EvalSize::SMALL
    };
    let longer = Evaluation::new(grammar, literature(), tokenizer, Split::Test, longer);
    assert_eq!(longer.stories[..40], set.stories[..]);
}

/// The bound that training is held against.
#[test]
fn the_entropy_bound_is_near_four_tenths_of_a_nat() {
    let set = Evaluation::new(
        grammar(),
        literature(),
        tokenizer(),
        Split::Test,
        EvalSize {
            stories: 400,
            ..EvalSize::SMALL
        },
    );
    let bound = set.story_bound();
    assert!((0.36..0.39).contains(&bound), "{bound}");
}

/// Labels that are not shifted make the loss fall to zero; labels that are shifted twice keep it high.
#[test]
fn labels_are_the_inputs_one_position_on() {
    let mut stream = small_stream(StreamOptions {
        story_share: 1.0,
        ..StreamOptions::default()
    });
    let mut window = Vec::new();
    stream.next_window(129, &mut window);
    let (inputs, labels) = inputs_and_targets(&window);
    assert_eq!((inputs.len(), labels.len()), (128, 128));
    assert_eq!(inputs[0], END_OF_TEXT_ID);
    assert_eq!(inputs[1..], labels[..127]);
    let text = tokenizer().decode(&labels[..40]);
    let document = grammar().document(42, Split::Train, 0);
    assert!(document.text.starts_with(text.trim_end_matches('\u{fffd}')), "{text}");
}

#[test]
fn story_windows_hold_whole_documents_but_for_the_last() {
    let mut stream = small_stream(StreamOptions {
        story_share: 1.0,
        ..StreamOptions::default()
    });
    let tokenizer = tokenizer();
    let grammar = grammar();
    for window in windows(&mut stream, 5, 513) {
        let documents: Vec<&[TokenId]> = window[1..].split(|&token| token == END_OF_TEXT_ID).collect();
        assert!(documents.len() >= 2);
        for document in &documents[..documents.len() - 1] {
            let text = tokenizer.decode(document);
            assert_eq!(grammar.derivations(&text, 2).len(), 1, "{text}");
        }
    }
}

#[test]
fn the_committed_vocabulary_is_as_configured() {
    let tokenizer = tokenizer();
    assert_eq!(tokenizer.vocab_size(), VOCAB_SIZE);
    assert_eq!(
        tokenizer.encode("<|endoftext|><|im_start|><|im_end|>"),
        [END_OF_TEXT_ID, IM_START_ID, IM_END_ID]
    );
    assert_eq!(tokenizer.encode("1814").len(), 4, "digits stand alone");
    assert_eq!(tokenizer.encode(" there was a fox").len(), 4);
    // The longest document fits a window of 512 with room to spare.
    let longest = (0..500)
        .map(|index| tokenizer.encode(&grammar().document(1, Split::Train, index).text).len())
        .max();
    assert!(longest < Some(300), "{longest:?}");
}

#[test]
fn training_a_vocabulary_twice_gives_the_same_bytes() {
    let grammar = grammar();
    let texts: Vec<String> = (0..300)
        .map(|index| grammar.document(1, Split::Train, index).text)
        .collect();
    let train = || {
        Tokenizer::train(texts.iter().map(String::as_str), 500)
            .unwrap()
            .to_json()
    };
    let json = train();
    assert_eq!(json, train());
    let tokenizer = Tokenizer::from_json(&json).unwrap();
    assert_eq!(tokenizer.vocab_size(), 500);
}

#[test]
fn a_missing_or_damaged_corpus_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Literature::load(folder.path()).unwrap_err();
    assert!(matches!(missing, CorpusError::Unreadable { .. }));
    assert!(missing.to_string().contains("git checkout data/corpus"), "{missing}");
    std::fs::write(folder.path().join("austen.txt.gz"), b"no gzip at all").unwrap();
    assert!(matches!(
        Literature::load(folder.path()),
        Err(CorpusError::Unreadable { .. })
    ));
    let broken = Tokenizer::load(&PathBuf::from("/nowhere/tokenizer.json")).unwrap_err();
    assert!(broken.to_string().starts_with("/nowhere/tokenizer.json: "));
    assert!(Tokenizer::from_json("{}").is_err());
}

/// Samples of the stories, to be read by a human when they change.
#[test]
fn sample_documents() {
    let grammar = grammar();
    let mut text = String::new();
    for kind in [Kind::Plain, Kind::Chat, Kind::Questions] {
        let mut documents = (0..)
            .map(|index| grammar.document(42, Split::Train, index))
            .filter(|document| document.kind == kind);
        for document in documents.by_ref().take(4) {
            text += &format!(
                "--- {kind:?}, {} choices\n{}\n",
                document.path.choices.len(),
                document.text
            );
        }
    }
    insta::assert_snapshot!(text);
}

proptest! {
    #[test]
    fn text_survives_encoding(text in "\\PC{0,80}") {
        let tokenizer = tokenizer();
        prop_assert_eq!(tokenizer.decode(&tokenizer.encode(&text)), text);
    }

    #[test]
    fn a_window_has_its_length_and_no_foreign_token(number in any::<u32>(), len in 2usize..300) {
        static STREAM: Mutex<Option<TrainingStream>> = Mutex::new(None);
        let mut shared = STREAM.lock().unwrap();
        let stream = shared.get_or_insert_with(|| small_stream(StreamOptions::default()));
        let mut window = Vec::new();
        stream.window(u64::from(number), len, &mut window);
        prop_assert_eq!(window.len(), len);
        prop_assert!(window.iter().all(|token| token.index() < VOCAB_SIZE));
        let mut again = Vec::new();
        stream.window(u64::from(number), len, &mut again);
        prop_assert_eq!(window, again);
    }
}
