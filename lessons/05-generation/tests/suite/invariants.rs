//! Properties that hold for every input.

use generation::characters::take_complete_characters;
use generation::generate::{generate, greedy};
use generation::limits::rows_of_naive_loop;
use generation::text::{TextStream, decode_continuation};
use generation::{FinishReason, GenerateError, Limits};
use loading::Tokenizer;
use proptest::prelude::*;
use training::TokenId;

/// The byte-level tokenizer of a fixture folder, with special tokens.
fn byte_level() -> Tokenizer {
    Tokenizer::from_file(&fixtures::model("some-kv-tied-bf16").join("tokenizer.json")).unwrap()
}

#[track_caller]
fn streams_to_its_own_decode(tokenizer: &Tokenizer, tokens: &[TokenId]) {
    let mut stream = TextStream::new(tokenizer);
    let mut streamed = String::new();
    for token in tokens {
        // A piece is a &str, so it can not end inside a character. It must not replace a character too early either.
        streamed.push_str(stream.push(*token));
    }
    streamed.push_str(stream.finish());
    assert_eq!(streamed, tokenizer.decode(tokens));
}

/// Emoji, Chinese, accents, joiners and lone marks.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "你好",
        "世界",
        "🦊",
        "👩‍🚀",
        "🇩🇪",
        "naïve",
        " café",
        "\n",
        "a",
        " the",
        "\u{0301}",
        "ß",
        "日本語",
        "…",
    ]);
    prop::collection::vec(prop_oneof![pieces.prop_map(str::to_owned), any::<String>()], 0..6).prop_map(|p| p.concat())
}

proptest! {
    /// The pieces of a stream add up to the one-shot decode, whatever the text.
    #[test]
    fn streamed_text_equals_the_one_shot_decode(text in any_text()) {
        let tokenizer = byte_level();
        let tokens = tokenizer.encode(&text, false).unwrap();
        streams_to_its_own_decode(&tokenizer, &tokens);
    }

    /// The same for tokens that no text would give: incomplete characters, special tokens, ids without a piece.
    #[test]
    fn any_tokens_stream_to_their_one_shot_decode(ids in prop::collection::vec(0u32..400, 0..40)) {
        let tokens: Vec<TokenId> = ids.into_iter().map(TokenId).collect();
        streams_to_its_own_decode(&byte_level(), &tokens);
    }

    /// Wherever bytes are cut into pieces, the characters taken are those of the whole.
    #[test]
    fn pieces_of_bytes_add_up_to_the_lossy_decode(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0xe0u8..0xf5, 0x80u8..0xc0], 0..60),
        cuts in prop::collection::vec(1usize..6, 60),
    ) {
        let (mut waiting, mut text, mut rest) = (Vec::new(), String::new(), bytes.as_slice());
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            waiting.extend_from_slice(piece);
            let taken = take_complete_characters(&waiting, &mut text);
            waiting.drain(..taken);
            prop_assert!(waiting.len() <= 3);
        }
        if !waiting.is_empty() {
            text.push('\u{fffd}');
        }
        prop_assert_eq!(text, String::from_utf8_lossy(&bytes).into_owned());
    }

    /// The choice is the first of the largest.
    #[test]
    fn greedy_is_the_first_of_the_largest(logits in prop::collection::vec(-3i8..3, 1..50)) {
        let logits: Vec<f32> = logits.into_iter().map(f32::from).collect();
        let chosen = greedy(&logits).unwrap().index();
        prop_assert!(logits.iter().all(|logit| *logit <= logits[chosen]));
        prop_assert!(logits[..chosen].iter().all(|logit| *logit < logits[chosen]));
    }

    /// The limits hold whatever tokens the model returns, and the finish reason is the true one.
    #[test]
    fn the_loop_keeps_its_limits(
        prompt_len in 1usize..20,
        max_new_tokens in 0usize..20,
        max_seq_len in 1usize..30,
        says in prop::collection::vec(0u32..8, 40),
    ) {
        let limits = Limits { max_new_tokens, max_seq_len, end_of_text: vec![TokenId(0), TokenId(7)] };
        let prompt = vec![TokenId(3); prompt_len];
        let (mut steps, mut rows, mut streamed) = (0, 0, Vec::new());
        let result = generate(
            &prompt,
            &limits,
            &mut |tokens| {
                steps += 1;
                rows += tokens.len() as u64;
                Ok(TokenId(says[steps - 1]))
            },
            &mut |token| streamed.push(token),
        );
        if prompt_len > max_seq_len {
            let refused = matches!(result, Err(GenerateError::PromptTooLong { .. }));
            prop_assert!(refused);
            return Ok(());
        }
        let generation = result.unwrap();
        prop_assert_eq!(&generation.tokens, &streamed);
        prop_assert!(streamed.len() <= max_new_tokens && prompt_len + streamed.len() <= max_seq_len);
        prop_assert!(streamed.iter().all(|token| !limits.end_of_text.contains(token)));
        prop_assert_eq!(generation.rows_recomputed(), rows);
        prop_assert_eq!(rows_of_naive_loop(prompt_len as u64, steps as u64), rows);
        match generation.finish_reason {
            FinishReason::Stop => prop_assert!(says[steps - 1] == 0 || says[steps - 1] == 7),
            FinishReason::Length => prop_assert_eq!(streamed.len(), max_new_tokens),
            FinishReason::Context => prop_assert_eq!(prompt_len + streamed.len(), max_seq_len),
        }
    }
}

#[test]
fn the_largest_logit_wins_and_of_equal_ones_the_lowest_id() {
    assert_eq!(greedy(&[-1.0, 3.0, 2.0]).unwrap(), TokenId(1));
    assert_eq!(greedy(&[-5.0, -3.0, -4.0]).unwrap(), TokenId(1), "all may be negative");
    assert_eq!(greedy(&[f32::NEG_INFINITY; 3]).unwrap(), TokenId(0));
    assert_eq!(greedy(&[1.0, 7.0, 7.0, 7.0]).unwrap(), TokenId(1));
}

/// Every comparison with NaN is false, so a plain search would step over it and hide damaged weights.
#[test]
fn a_logit_that_is_not_a_number_is_an_error() {
    for place in 0..3 {
        let mut logits = [1.0, 2.0, 3.0];
        logits[place] = f32::NAN;
        let error = greedy(&logits).unwrap_err();
        assert!(matches!(error, GenerateError::NotANumber { token_id } if token_id == place));
    }
    assert!(matches!(greedy(&[]), Err(GenerateError::NoLogits)));
}

/// A vocabulary without a piece for 你 encodes it as two or three tokens: nothing is shown before the last one.
#[test]
fn a_character_split_over_tokens_is_shown_once_and_whole() {
    let tokenizer = byte_level();
    let tokens = tokenizer.encode("你", false).unwrap();
    assert!(tokens.len() >= 2, "the vocabulary has no piece for it");
    let mut stream = TextStream::new(&tokenizer);
    let (last, before) = tokens.split_last().unwrap();
    for token in before {
        assert_eq!(stream.push(*token), "");
    }
    assert_eq!(stream.push(*last), "你");
    assert_eq!(stream.finish(), "");
}

/// A limit may fall inside a character: its beginning is shown as one replacement character.
#[test]
fn an_unfinished_character_at_the_end_is_replaced() {
    let tokenizer = byte_level();
    let mut tokens = tokenizer.encode("ok 你", false).unwrap();
    tokens.pop();
    streams_to_its_own_decode(&tokenizer, &tokens);
    assert_eq!(decode_continuation(&tokenizer, &tokens), "ok \u{fffd}");
}

#[test]
fn a_long_text_is_decoded_once() {
    let tokenizer = byte_level();
    let text = "Once upon a time 你好 🦊. ".repeat(200);
    let tokens = tokenizer.encode(&text, false).unwrap();
    streams_to_its_own_decode(&tokenizer, &tokens);
}
