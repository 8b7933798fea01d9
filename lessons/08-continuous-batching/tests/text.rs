//! Text as it comes, for many requests at a time.

mod common;

use common::{engine, stories};
use continuous_batching::oracle::listener::Listener;
use continuous_batching::text::TextStreams;
use continuous_batching::{Delivery, Event, FinishReason, SeqId};
use generation::Model;
use generation::text::decode_continuation;
use layout::pool::Pool;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use training::TokenId;

/// The pieces of each request add up to the one-shot decode of its output, however many stream at once.
#[test]
fn the_pieces_of_each_request_add_up_to_its_text() {
    let (model, pool) = (stories(), Pool::new(2));
    let tokenizer = model.tokenizer().unwrap();
    let mut engine = engine(&model, &pool, 3, 64);
    let prompts = [
        "Once upon a time",
        "The little 你",
        "Tom and Lily",
        "A dog 🦊 ran",
        "It was",
    ];
    for (i, prompt) in prompts.iter().enumerate() {
        engine.submit(&model.encode_prompt(prompt).unwrap(), 8 + 3 * i).unwrap();
    }
    let mut streams = TextStreams::new(tokenizer);
    let (mut texts, mut listener) = (BTreeMap::<SeqId, String>::new(), Listener::default());
    engine
        .run(&mut |event| {
            let _ = listener.take(event);
            streams.push(&event, &mut |id, piece| {
                texts.entry(id).or_default().push_str(piece);
                Delivery::Taken
            })
        })
        .unwrap();
    assert_eq!(streams.num_open(), 0);
    for (id, tokens) in &listener.tokens {
        assert_eq!(texts[id], decode_continuation(tokenizer, tokens), "request {id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The same for any tokens, characters in pieces and bytes that are none among them, in any order of the requests.
    #[test]
    fn whatever_tokens_come_the_pieces_add_up_to_the_one_shot_text(
        tokens in prop::collection::vec((0u64..4, any::<prop::sample::Index>()), 0..120),
    ) {
        static MODEL: OnceLock<Model> = OnceLock::new();
        let model = MODEL.get_or_init(stories);
        let tokenizer = model.tokenizer().unwrap();
        let mut outputs: [Vec<TokenId>; 4] = Default::default();
        let mut texts: [String; 4] = Default::default();
        let mut streams = TextStreams::new(tokenizer);
        let mut take = |event: &Event<'_>| {
            streams.push(event, &mut |id, piece| {
                texts[id.0 as usize].push_str(piece);
                Delivery::Taken
            })
        };
        for (id, index) in &tokens {
            let token = TokenId(index.index(tokenizer.vocab_size()) as u32);
            outputs[*id as usize].push(token);
            let _ = take(&Event::Token { id: SeqId(*id), token });
        }
        for (id, output) in outputs.iter().enumerate() {
            let (id, reason) = (SeqId(id as u64), FinishReason::Length);
            let _ = take(&Event::Finished { id, reason, output });
        }
        for (text, output) in texts.iter().zip(&outputs) {
            prop_assert_eq!(text, &decode_continuation(tokenizer, output));
        }
    }
}

/// A character that is cut off by the end is shown as such, and does not turn up in another request's text.
#[test]
fn what_is_held_back_is_flushed_at_its_own_end() {
    let model = stories();
    let tokenizer = model.tokenizer().unwrap();
    let pieces = tokenizer.encode("你", false).unwrap();
    assert!(pieces.len() > 1, "the character is more than one token");
    let mut streams = TextStreams::new(tokenizer);
    let mut texts = BTreeMap::<SeqId, String>::new();
    let mut take = |streams: &mut TextStreams<'_>, event: Event<'_>| {
        streams.push(&event, &mut |id, piece| {
            texts.entry(id).or_default().push_str(piece);
            Delivery::Taken
        })
    };
    let token = |id, token| Event::Token { id: SeqId(id), token };
    let end = |id| Event::Finished {
        id: SeqId(id),
        reason: FinishReason::Length,
        output: &[],
    };
    let _ = take(&mut streams, token(0, pieces[0]));
    for piece in &pieces {
        let _ = take(&mut streams, token(1, *piece));
    }
    let _ = take(&mut streams, end(0));
    let _ = take(&mut streams, end(1));
    let _ = take(&mut streams, end(2));
    assert_eq!(texts[&SeqId(0)], "\u{fffd}");
    assert_eq!(texts[&SeqId(1)], "你");
    assert!(!texts.contains_key(&SeqId(2)), "it had no token");
}

/// The receiver is asked at every token, also while a character is incomplete.
#[test]
fn a_receiver_that_is_gone_is_noticed_at_the_next_token() {
    let model = stories();
    let tokenizer = model.tokenizer().unwrap();
    let first = tokenizer.encode("你", false).unwrap()[0];
    let mut streams = TextStreams::new(tokenizer);
    let event = Event::Token {
        id: SeqId(0),
        token: first,
    };
    let delivery = streams.push(&event, &mut |_, piece| {
        assert_eq!(piece, "");
        Delivery::ReceiverGone
    });
    assert_eq!(delivery, Delivery::ReceiverGone);
}
