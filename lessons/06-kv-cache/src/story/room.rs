//! Where the room ends: a full cache, a cut back, and what a fixed length costs when nothing cuts it off.

use super::Scene;
use super::runs::text_of;
use generation::{FinishReason, State};
use kv_cache::forward::forward;
use kv_cache::work::of_chunk;
use kv_cache::{ContiguousCache, masked, session};
use lab::race::Race;
use lab::story::Story;
use lab::term::Tone;
use std::cell::RefCell;

/// Tokens of the answer that still fit.
const ROOM: usize = 12;

/// A text that outgrows its cache, an error, a cut back, and attention over the whole length.
pub fn run_out(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Run out of room",
        "Memory that is asked for once has an end. Reaching it is an outcome, not an accident.",
    );
    let prompt = scene.prompt.clone();
    let mut cache = ContiguousCache::new(scene.llama(), prompt.len() + ROOM);
    let (model, state, pool) = (&scene.model, &mut scene.state, &scene.pool);
    let timed = session::generate(model, state, &mut cache, pool, &prompt, 1000, &mut |_| {})?;
    let cut = timed.generation;
    let reason = match cut.finish_reason {
        FinishReason::Context => "context: the cache is full",
        FinishReason::Length => "length: as many tokens as asked for",
        FinishReason::Stop => "stop: the model ended its text",
    };
    story.show_as("room for", cache.capacity(), format!("{} positions", cache.capacity()));
    story.show("tokens that came", cut.tokens.len());
    story.show_as("ended by", cut.finish_reason, reason);
    let same = cut.tokens.iter().zip(&scene.answer).take_while(|(a, b)| a == b).count();
    let told: Vec<String> = cut.tokens.iter().map(|token| scene.piece(*token)).collect();
    story.say_as(Tone::Dim, told.join(" "));
    let compared = cut.tokens.len().min(scene.answer.len());
    if compared > 0 {
        story.say(match same == compared {
            true => "The same tokens as in the opening, up to the cut.",
            false => "These are not the tokens of the opening: the cut changed what came before it.",
        });
    }
    if cut.tokens.len() == ROOM + 1 {
        story.say("One more than there are places: the last token is written and never read.");
    }
    let one_more = text_of(scene, 1);
    let (config, weights) = (&scene.model.config, &scene.model.weights);
    let refused = forward(config, weights, &mut scene.state, &mut cache, &scene.pool, &one_more);
    if let Err(error) = refused {
        story.show("a pass that goes on", error.to_string());
    }
    let held = cache.len();
    cache.truncate(prompt.len().min(held))?;
    story.show_as(
        "cut back",
        cache.len(),
        format!(
            "from {held} to {} positions: one number is written, nothing moves",
            cache.len()
        ),
    );
    fixed_length(story, scene)
}

/// Context of the last race.
const CONTEXT: usize = 32;

/// A mask over the whole length against a length that is cut off where the text ends.
fn fixed_length(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let (model, pool) = (&scene.model, &scene.pool);
    let llama = &model.config.llama;
    let capacity = llama.max_seq_len.min(2048);
    if capacity <= CONTEXT + 1 {
        return Ok(());
    }
    story.say("");
    story.say(format!(
        "The other end of a fixed length: frameworks that compile a pass for one shape attend to all {capacity} places and mask what is not there. \
         Here a row's context is a length, and the loop is cut off at it. After {CONTEXT} tokens:"
    ));
    let text = text_of(scene, CONTEXT + 1);
    let state = RefCell::new(State::new(&model.config, 0));
    let cache = RefCell::new(ContiguousCache::new(llama, capacity));
    let (config, weights) = (&model.config, &model.weights);
    let expect = "the tokens are inside the vocabulary and the context";
    {
        let (mut state, mut cache) = (state.borrow_mut(), cache.borrow_mut());
        forward(config, weights, &mut state, &mut cache, pool, &text[..CONTEXT])?;
    }
    let step = |use_mask: bool| {
        let (mut state, mut cache) = (state.borrow_mut(), cache.borrow_mut());
        cache.truncate(CONTEXT).expect("the prompt was cached first");
        let new = &text[CONTEXT..];
        let logits = match use_mask {
            true => masked::forward(config, weights, &mut state, &mut cache, pool, new),
            false => forward(config, weights, &mut state, &mut cache, pool, new),
        };
        logits.expect(expect).to_vec()
    };
    let race = Race::new("fixed-length", "One token, early in the text")
        .unit("ms")
        .rounds(7)
        .at_least(std::time::Duration::from_millis(20))
        .entry("cut off at the context", None, || step(false))
        .entry("masked to the whole length", None, || step(true))
        .baseline("cut off at the context")
        .check(|cut, masked| match cut == masked {
            true => Ok(()),
            false => Err("other logits".to_owned()),
        });
    let result = story.race(race)?;
    let (seen, all) = (
        of_chunk(llama, CONTEXT, 1).attention_multiply_adds,
        of_chunk(llama, capacity - 1, 1).attention_multiply_adds,
    );
    story.show_as(
        "attention, counted",
        all / seen,
        format!("{:.1} times as many multiply-adds", all as f64 / seen as f64),
    );
    let slower = result.ratio("cut off at the context", "masked to the whole length");
    story.show_as(
        "the token",
        slower,
        format!("{slower:.2} times as long, and the same bits"),
    );
    Ok(())
}
