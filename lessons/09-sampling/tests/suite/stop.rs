//! Stop texts, cut into tokens in every way.

use generation::text::decode_continuation;
use loading::Tokenizer;
use proptest::prelude::*;
use sampling::SamplingParams;
use sampling::answer::AnswerText;
use sampling::stop::StopText;
use training::TokenId;

/// Start and index of the stop that ends first; of two that end together, of the one that begins first. Tries all ends.
fn first_stop(text: &str, stops: &[String]) -> Option<(usize, usize)> {
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let ending = (stops.iter().enumerate()).filter(|(_, stop)| text[..end].ends_with(stop.as_str()));
        let first = ending.map(|(index, stop)| (end - stop.len(), index)).min();
        if first.is_some() {
            return first;
        }
    }
    None
}

/// Text over few letters, so that stops are often found or nearly found. Some letters have more than one byte.
fn text(most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof![Just('a'), Just('b'), Just('é'), Just('好')], 0..most)
        .prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    /// For all cuts: the released pieces together are the text up to the first stop.
    #[test]
    fn releases_add_up_to_the_text_before_the_stop(
        text in text(40),
        stops in proptest::collection::vec(text(5).prop_filter("a stop", |stop| !stop.is_empty()), 0..4),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12),
    ) {
        let borders: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| *cut.get(&borders)).chain([0, text.len()]).collect();
        cuts.sort_unstable();
        let (mut watch, mut shown, mut found) = (StopText::new(&stops), String::new(), None);
        for cut in cuts.windows(2) {
            let released = watch.push(&text[cut[0]..cut[1]]);
            shown.push_str(&released.text);
            found = released.stop;
            // Exactly the beginning of a stop that may still come is held back.
            let so_far = &text[..cut[1]];
            if found.is_none() {
                let held = &so_far[shown.len()..];
                let may_stop = held.is_empty() || stops.iter().any(|stop| stop.starts_with(held));
                prop_assert!(may_stop, "{held:?} is held back");
            }
        }
        shown.push_str(&watch.finish());
        match first_stop(&text, &stops) {
            Some((start, index)) => {
                prop_assert_eq!(shown, &text[..start]);
                prop_assert_eq!(found, Some(index));
            }
            None => {
                prop_assert_eq!(shown, text);
                prop_assert_eq!(found, None);
            }
        }
    }
}

fn stops(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_stop_split_over_pieces_is_found_and_its_beginning_is_not_shown() {
    let mut watch = StopText::new(&stops(&["\nUser:"]));
    let shown = ["Hello", "\nUs", "er", ": and more"].map(|piece| watch.push(piece).text);
    assert_eq!(shown, ["Hello", "", "", ""]);
    assert_eq!(watch.push("nothing more").stop, Some(0));
    assert_eq!(watch.finish(), "");
}

#[test]
fn held_back_text_comes_out_at_the_end() {
    let mut watch = StopText::new(&stops(&["</s>"]));
    assert_eq!(watch.push("a < b and </").text, "a < b and ");
    assert_eq!(watch.finish(), "</");
}

#[test]
fn a_beginning_that_becomes_no_stop_is_shown_at_once() {
    let mut watch = StopText::new(&stops(&["aab"]));
    let shown = ["a", "a", "a", "c"].map(|piece| watch.push(piece).text);
    assert_eq!(shown, ["", "", "a", "aac"]);
}

/// This workbook's tokenizer, whose tokens may end within a character.
fn tokenizer() -> Tokenizer {
    generation::Model::open("stories").unwrap().tokenizer.unwrap()
}

/// The text that is shown for these tokens, and whether a stop has ended it.
fn seen(tokenizer: &Tokenizer, tokens: &[TokenId], params: &SamplingParams) -> (String, bool) {
    let (mut answer, mut shown) = (AnswerText::new(tokenizer, params), String::new());
    for token in tokens {
        shown.push_str(&answer.push(*token));
    }
    let is_over = answer.is_over();
    (shown + &answer.finish(), is_over)
}

/// Every short part of a text is once the stop, in a text whose characters are split over tokens too.
#[test]
fn tokens_become_the_text_before_the_stop() {
    let tokenizer = tokenizer();
    let text = " The owl said: “你好, Grüße!” and flew 🦉 away. The end.";
    let tokens = tokenizer.encode(text, false).unwrap();
    let whole = decode_continuation(&tokenizer, &tokens);
    let borders: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
    for start in &borders {
        for len in [1, 2, 5] {
            let stop: String = whole[*start..].chars().take(len).collect();
            let params = SamplingParams::default().with(|p| p.stop = stops(&[&stop, "never"]));
            let (shown, is_over) = seen(&tokenizer, &tokens, &params);
            assert!(is_over, "{stop:?} was not found");
            assert_eq!(shown, whole[..whole.find(&stop).unwrap()]);
        }
    }
    assert_eq!(seen(&tokenizer, &tokens, &SamplingParams::default()), (whole, false));
}

/// The stop token is not part of the answer; text that was held back is.
#[test]
fn a_token_ends_the_answer_too() {
    let tokenizer = tokenizer();
    let tokens = tokenizer.encode(" one two three", false).unwrap();
    let [before @ .., last] = &tokens[..] else {
        panic!("no tokens")
    };
    let params = SamplingParams::default().with(|p| (p.stop_ids, p.stop) = (vec![*last], stops(&["two four"])));
    let expected = decode_continuation(&tokenizer, before);
    assert_eq!(seen(&tokenizer, &tokens, &params), (expected, true));
}

/// Half a character at the end becomes one replacement character, after the text that was held back.
#[test]
fn half_a_character_at_the_end_is_not_lost() {
    let tokenizer = tokenizer();
    let tokens = tokenizer.encode(" ab好", false).unwrap();
    let params = SamplingParams::default().with(|p| p.stop = stops(&["bc"]));
    let cut = &tokens[..tokens.len() - 1];
    let expected = decode_continuation(&tokenizer, cut);
    assert!(
        expected.ends_with('\u{fffd}'),
        "{expected:?} must end within a character"
    );
    assert_eq!(seen(&tokenizer, cut, &params).0, expected);
}
