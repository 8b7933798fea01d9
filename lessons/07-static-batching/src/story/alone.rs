//! The proof that the other rows of a batch change nothing.

use super::{Scene, equal, slices};
use generation::{Generation, State};
use kv_cache::cache_for;
use lab::race::Race;
use lab::story::Story;
use static_batching::{BatchState, Pad, Padding, Width, generate_batch};
use std::cell::RefCell;

/// The eight stories together and each alone: the same tokens, another time.
pub fn alone(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Compare with single runs",
        "The same eight stories once more: one after the other by lesson 06's loop, and together. If one token \
         differs, the race stops.",
    );
    let (model, pool, new_tokens) = (&scene.model, &scene.pool, scene.new_tokens);
    let slices = &slices(&scene.prompts);
    let longest = slices.iter().map(|prompt| prompt.len()).max().unwrap_or(1);
    let single = RefCell::new((
        State::new(&model.config, longest),
        cache_for(model, longest, new_tokens),
    ));
    let in_turn = || -> Vec<Generation> {
        let (state, cache) = &mut *single.borrow_mut();
        let one = |prompt: &&[_]| {
            let timed = kv_cache::session::generate(model, state, cache, pool, prompt, new_tokens, &mut |_| {});
            timed.expect("the beginnings are short").generation
        };
        slices.iter().map(one).collect()
    };
    let together = |rule: Pad| {
        let (state, max) = (
            RefCell::new(BatchState::new(&model.config)),
            vec![new_tokens; slices.len()],
        );
        move || -> Vec<Generation> {
            let run = generate_batch(model, &mut state.borrow_mut(), pool, slices, &max, rule, &mut |_, _| {});
            run.expect("the beginnings are short").generations
        }
    };
    let right = Pad {
        side: Padding::Right,
        width: Width::Exactly(longest + 9),
    };
    let race = Race::new("eight-stories", "Eight stories")
        .unit("ms")
        .rounds(3)
        .baseline("one after the other")
        .entry("one after the other", None, in_turn)
        .entry("together, padding left", None, together(Pad::default()))
        .entry("together, padding right and wider", None, together(right));
    let result = story.race(race.check(equal))?;
    story.say(format!(
        "Every token is the same, whatever the other rows are and wherever the padding stands. Together the eight take \
         {:.1} times less time.",
        result.ratio("together, padding left", "one after the other")
    ));
    Ok(())
}
