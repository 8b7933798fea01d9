//! Texts that end an answer, however they are cut into tokens.

use loading::Tokenizer;
use proptest::prelude::*;
use sampling::SamplingParams;
use sampling::answer::AnswerText;
use sampling::stop::StopText;
use training::TokenId;

/// Where the first stop ends first, and where it begins; of two that end together the one that begins first. By trying all ends.
fn first_stop(text: &str, stops: &[String]) -> Option<(usize, usize)> {
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let ending = stops.iter().filter(|stop| text[..end].ends_with(stop.as_str()));
        if let Some((start, index)) = ending
            .map(|stop| (end - stop.len(), stops.iter().position(|other| other == stop).unwrap()))
            .min()
        {
            return Some((start, index));
        }
    }
    None
}

/// Text over few letters, so that stops are found and nearly found all the time; with letters of more than one byte.
fn text(most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof![Just('a'), Just('b'), Just('é'), Just('好')], 0..most)
        .prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    /// However the text is cut: the pieces, put together, are the text up to the first stop.
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
            // Nothing of a stop that may still come has been shown, and not more is held back than that.
            let so_far = &text[..cut[1]];
            if found.is_none() {
                let held = &so_far[shown.len()..];
                prop_assert!(held.is_empty() || stops.iter().any(|stop| stop.starts_with(held)), "{held:?} is held back");
            }
        }
        shown.push_str(&watch.finish());
        match first_stop(&text, &stops) {
            Some((start, index)) => {
                prop_assert_eq!(shown, &text[..start]);
                prop_assert_eq!(found.map(|found| &stops[found]), Some(&stops[index]));
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
    let shown: Vec<String> = ["Hello", "\nUs", "er", ": and more"]
        .iter()
        .map(|piece| watch.push(piece).text)
        .collect();
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
fn a_beginning_that_is_no_stop_is_shown_as_soon_as_that_is_known() {
    let mut watch = StopText::new(&stops(&["aab"]));
    let shown: Vec<String> = ["a", "a", "a", "c"]
        .iter()
        .map(|piece| watch.push(piece).text)
        .collect();
    assert_eq!(shown, ["", "", "a", "aac"]);
}

/// A tokenizer whose tokens are cut anywhere: this workbook's.
fn tokenizer() -> Tokenizer {
    generation::Model::open("stories").unwrap().tokenizer.unwrap()
}

/// What a reader sees of these tokens.
fn seen(tokenizer: &Tokenizer, tokens: &[TokenId], params: &SamplingParams) -> (String, bool) {
    let (mut answer, mut shown) = (AnswerText::new(tokenizer, params), String::new());
    for token in tokens {
        shown.push_str(&answer.push(*token));
    }
    let is_over = answer.is_over();
    (shown + &answer.finish(), is_over)
}

/// Tokens to text to stop, for each way to cut a text out of a story as a stop; characters are split over tokens, too.
#[test]
fn tokens_become_the_text_before_the_stop() {
    let tokenizer = tokenizer();
    let text = " The owl said: “你好, Grüße!” and flew 🦉 away. The end.";
    let tokens = tokenizer.encode(text, false).unwrap();
    let whole = generation::text::decode_continuation(&tokenizer, &tokens);
    let borders: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
    for start in &borders {
        for len in [1, 2, 5] {
            let stop: String = whole[*start..].chars().take(len).collect();
            let params = SamplingParams {
                stop: vec![stop.clone(), "never".to_owned()],
                ..SamplingParams::default()
            };
            let (shown, is_over) = seen(&tokenizer, &tokens, &params);
            assert!(is_over, "{stop:?} was not found");
            assert_eq!(shown, whole[..whole.find(&stop).unwrap()]);
        }
    }
    assert_eq!(seen(&tokenizer, &tokens, &SamplingParams::default()), (whole, false));
}

/// The token is no part of the answer; what was held back is.
#[test]
fn a_token_ends_the_answer_too() {
    let tokenizer = tokenizer();
    let tokens = tokenizer.encode(" one two three", false).unwrap();
    let params = SamplingParams {
        stop_ids: vec![tokens[tokens.len() - 1]],
        stop: stops(&["two four"]),
        ..SamplingParams::default()
    };
    let (shown, is_over) = seen(&tokenizer, &tokens, &params);
    let expected = generation::text::decode_continuation(&tokenizer, &tokens[..tokens.len() - 1]);
    assert_eq!((shown, is_over), (expected, true));
}

/// Half a character at the end becomes one replacement character, after whatever was held back.
#[test]
fn half_a_character_at_the_end_is_not_lost() {
    let tokenizer = tokenizer();
    let tokens = tokenizer.encode(" ab好", false).unwrap();
    let params = SamplingParams {
        stop: stops(&["bc"]),
        ..SamplingParams::default()
    };
    let cut = &tokens[..tokens.len() - 1];
    let expected = generation::text::decode_continuation(&tokenizer, cut);
    assert!(
        expected.ends_with('\u{fffd}'),
        "{expected:?} is to end within a character"
    );
    assert_eq!(seen(&tokenizer, cut, &params).0, expected);
}
