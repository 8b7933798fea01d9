//! The rectangle of a batch with real tokens, and the proof that company changes nothing.

use super::Scene;
use generation::candidates::visible;
use generation::{Generation, State};
use kv_cache::cache_for;
use lab::race::Race;
use lab::story::Story;
use lab::table::Table;
use lab::term;
use static_batching::{BatchState, Pad, PaddedBatch, Padding, Width, generate_batch};
use std::cell::RefCell;
use training::TokenId;

/// Columns of the rectangle that fit on a screen.
const SHOWN: usize = 5;

/// Three prompts as a rectangle, both ways.
pub fn rectangle(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Make a rectangle",
        "A product wants rows of one matrix. Prompts are of different length, so some cells hold no token: ░ is padding.",
    );
    let mut prompts = scene.prompts();
    prompts.sort_by_key(|prompt| prompt.len());
    // Of different lengths, where there are three.
    let mut distinct = prompts.clone();
    distinct.dedup_by_key(|prompt| prompt.len());
    if distinct.len() >= 3 {
        prompts = distinct;
    }
    let mut prompts = [prompts[0], prompts[1], prompts[2]];
    prompts.reverse();
    for side in [Padding::Left, Padding::Right] {
        let rule = Pad {
            side,
            width: Width::Longest,
        };
        let batch = PaddedBatch::prefill(&scene.model.config.llama, &prompts, rule)?;
        show(story, scene, &batch, side);
    }
    story.say(
        "The number behind a token is its position in its own sequence. Padding has none: it leaves no keys behind, and it attends to nothing. \
         Its cells go through every matrix product all the same.",
    );
    Ok(())
}

fn show(story: &mut Story, scene: &Scene, batch: &PaddedBatch, side: Padding) {
    let columns = batch.width().min(SHOWN);
    let numbers: Vec<String> = (0..columns).map(|column| format!("col {column}")).collect();
    let title = match side {
        Padding::Left => "left",
        Padding::Right => "right",
    };
    let header: Vec<&str> = [title, "start, len"]
        .into_iter()
        .chain(numbers.iter().map(String::as_str))
        .collect();
    let mut table = Table::new(&header);
    for (row, span) in batch.spans().iter().enumerate() {
        let cell = |column| {
            let cell = row * batch.width() + column;
            match batch.positions()[cell] {
                Some(position) => format!("{} {position}", piece(scene, batch.tokens()[cell])),
                None => "░".to_owned(),
            }
        };
        let head = [format!("row {row}"), format!("{}, {}", span.start, span.len)];
        table.row(head.into_iter().chain((0..columns).map(cell)));
    }
    story.table(&table);
}

fn piece(scene: &Scene, token: TokenId) -> String {
    match &scene.model.tokenizer {
        Some(tokenizer) => term::cut(&visible(tokenizer, token), 7),
        None => format!("‹{}›", token.0),
    }
}

/// The eight stories together and each alone: the same tokens, another time.
pub fn alone(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Take the company away",
        "The same eight stories once more: one after the other by lesson 06's loop, and together. The race stops if a single token differs.",
    );
    let (model, pool, new_tokens) = (&scene.model, &scene.pool, scene.new_tokens);
    let prompts = scene.prompts.clone();
    let slices: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
    let max = vec![new_tokens; prompts.len()];
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(1);
    let single = RefCell::new((
        State::new(&model.config, longest),
        cache_for(model, longest, new_tokens),
    ));
    let in_turn = || -> Vec<Generation> {
        let (state, cache) = &mut *single.borrow_mut();
        let one = |prompt: &&[TokenId]| {
            let timed = kv_cache::session::generate(model, state, cache, pool, prompt, new_tokens, &mut |_| {});
            timed.expect("the beginnings are short").generation
        };
        slices.iter().map(one).collect()
    };
    let together = |rule: Pad| {
        let state = RefCell::new(BatchState::new(&model.config));
        let (slices, max) = (&slices, &max);
        move || -> Vec<Generation> {
            let state = &mut *state.borrow_mut();
            let run = generate_batch(model, state, pool, slices, max, rule, &mut |_, _| {});
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
        .entry("together, padding right and wider", None, together(right))
        .check(|alone, together| match alone == together {
            true => Ok(()),
            false => Err("a row's tokens changed in company".to_owned()),
        });
    let result = story.race(race)?;
    story.say(format!(
        "Every token is the same, whoever stands beside it and wherever the padding is. Together the eight take {:.1} times less time.",
        result.ratio("together, padding left", "one after the other")
    ));
    Ok(())
}
