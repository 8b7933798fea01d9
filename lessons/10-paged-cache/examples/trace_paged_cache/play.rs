//! Plays a scenario: lesson 08's engine over blocks that are watched.

use super::scenarios::Scenario;
use super::sentences::name;
use super::watch::Watch;
use super::{BLOCK_SIZE, MAX_SEQ_LEN, Recorded, State};
use anyhow::ensure;
use continuous_batching::oracle::expected::Expected;
use continuous_batching::oracle::{self, Oracle};
use continuous_batching::request::Request;
use continuous_batching::{Delivery, Engine, Memory, SeqId};
use generation::generate::greedy;
use paged_cache::{BlockManager, PagedCache, Sharing};
use training::TokenId;

/// Each word is a token.
#[derive(Default)]
pub(super) struct Words(pub(super) Vec<String>);

impl Words {
    fn tokens(&mut self, text: &str) -> Vec<TokenId> {
        let of_word = |word: &str| {
            let known = self.0.iter().position(|other| other == word);
            let id = known.unwrap_or_else(|| {
                self.0.push(word.into());
                self.0.len() - 1
            });
            TokenId(id as u32)
        };
        text.split(' ').map(of_word).collect()
    }
}

/// Plays one scenario. Request `i` has the number `i`.
pub(super) fn play(scenario: &Scenario, words: &mut Words) -> anyhow::Result<Recorded> {
    let prompts: Vec<Vec<TokenId>> = (scenario.asks.iter()).map(|asks| words.tokens(asks.prompt)).collect();
    let answers: Vec<Vec<TokenId>> = (scenario.asks.iter()).map(|asks| words.tokens(asks.answer)).collect();
    let num_answers: Vec<usize> = answers.iter().map(Vec::len).collect();
    let mut engine = engine(scenario, words.0.clone(), answers);
    let mut step = 0;
    let mut arrived = 0;
    while arrived < prompts.len() || !engine.is_idle() {
        while arrived < prompts.len() && scenario.asks[arrived].arrives <= step {
            let id = engine.submit(&prompts[arrived], num_answers[arrived])?;
            ensure!(id.0 as usize == arrived, "{id} is not {arrived}");
            if scenario.asks[arrived].sibling {
                let parent = Some(SeqId(0));
                let wish = Wish {
                    parent,
                    ..Wish::default()
                };
                engine.memory.cache.pages_mut().wish(id, wish);
            }
            engine.memory.states[arrived] = State::Waiting;
            arrived += 1;
        }
        for (i, asks) in scenario.asks.iter().enumerate() {
            if asks.cancelled.contains(&step) {
                cancel(&mut engine, i);
            }
        }
        engine.step(&mut |_| Delivery::Taken)?;
        engine.check_invariants();
        step += 1;
    }
    let watch = engine.memory;
    ensure!(watch.num_holders() == 0, "somebody kept a block");
    Ok(Recorded {
        name: scenario.name.into(),
        about: scenario.about.into(),
        prompts: (scenario.asks.iter()).map(|asks| asks.prompt.into()).collect(),
        frames: watch.frames,
    })
}

/// An engine over the oracle and blocks that are watched. It writes the given answers, and compares at each token what the oracle has read.
fn engine(scenario: &Scenario, words: Vec<String>, answers: Vec<Vec<TokenId>>) -> Engine<Oracle, Watch> {
    let oracle = Oracle::new(MAX_SEQ_LEN);
    let mut pages = BlockManager::new(scenario.num_blocks, BLOCK_SIZE, MAX_SEQ_LEN);
    if !scenario.prefix_cache {
        pages = pages.without_prefix_cache();
    }
    let cache = PagedCache::new(oracle.config(), pages);
    let mut watch = Watch::new(cache, words, scenario.asks.len());
    watch.news.say(format!(
        "{} blocks, with room for {BLOCK_SIZE} tokens each. All are on the free list, and block 0 is the next one to be handed out.",
        scenario.num_blocks
    ));
    watch.show();
    Engine::new(oracle, watch, oracle::limits(MAX_SEQ_LEN, 4)).with_choice(Box::new(
        move |request: &Request, logits: &mut [f32]| {
            let mut text = Expected::new(MAX_SEQ_LEN);
            let expected = request.tokens().map(|token| text.push(token)).last();
            assert_eq!(Some(greedy(logits)?), expected, "the cache was read wrongly");
            Ok(answers[request.id.0 as usize][request.output.len()])
        },
    ))
}

fn cancel(engine: &mut Engine<Oracle, Watch>, request: usize) {
    let state = engine.memory.states[request];
    let name = name(request);
    engine.memory.cancelling = true;
    engine.cancel(SeqId(request as u64));
    engine.memory.cancelling = false;
    match state {
        State::Running => return,
        State::Waiting => engine.memory.news.say(format!(
            "{name} is cancelled while it waits. It holds nothing, so nothing comes back."
        )),
        _ => engine.memory.news.say(format!(
            "{name} is cancelled once more. It holds nothing any more: nothing happens."
        )),
    }
    engine.memory.states[request] = State::Cancelled;
    engine.memory.news.kind("cancel");
    engine.memory.show();
}
