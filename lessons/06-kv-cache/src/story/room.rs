//! A full cache, and a cache that is cut back.

use super::Scene;
use generation::FinishReason;
use generation::terminal::piece;
use kv_cache::forward::forward;
use kv_cache::{ContiguousCache, session};
use lab::story::Story;
use lab::term::Tone;

/// Tokens of the answer that still fit.
const ROOM: usize = 12;

/// A text that outgrows its cache, the error of a further pass, and a cut back.
pub fn run_out(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Run out of room",
        "Memory that is allocated once has an end. Reaching it is an ordinary outcome.",
    );
    let one_more = scene.text(1);
    let mut cache = ContiguousCache::new(scene.llama(), scene.prompt.len() + ROOM);
    let (model, state, pool) = (&scene.model, &mut scene.state, &scene.pool);
    let timed = session::generate(model, state, &mut cache, pool, &scene.prompt, 1000, &mut |_| {})?;
    let cut = timed.generation;
    let reason = match cut.finish_reason {
        FinishReason::Context => "context: the cache is full",
        FinishReason::Length => "length: as many tokens as asked for",
        FinishReason::Stop => "stop: the model ended its text",
    };
    story.show_as("room for", cache.capacity(), format!("{} positions", cache.capacity()));
    story.show("tokens that came", cut.tokens.len());
    story.show_as("ended by", cut.finish_reason, reason);
    let told: Vec<String> = cut.tokens.iter().map(|token| piece(model, *token)).collect();
    story.say_as(Tone::Dim, told.join(" "));
    let compared = cut.tokens.len().min(scene.answer.len());
    if compared > 0 {
        story.say(match cut.tokens[..compared] == scene.answer[..compared] {
            true => "The same tokens as in the opening, up to the end of the room.",
            false => "These are not the tokens of the opening: the small cache changed the text.",
        });
    }
    if cut.tokens.len() == ROOM + 1 {
        story.say("One token more than there are places: the last token is written and never read.");
    }
    let refused = forward(&model.config, &model.weights, state, &mut cache, pool, &one_more);
    if let Err(error) = refused {
        story.show("a pass that goes on", error.to_string());
    }
    let held = cache.len();
    cache.truncate(scene.prompt.len().min(held))?;
    let kept = cache.len();
    let text = format!("from {held} to {kept} positions: one number is written, nothing moves");
    story.show_as("cut back", kept, text);
    Ok(())
}
