//! The rectangle of a batch with real tokens, and the proof that the other rows change nothing.

use super::{Scene, equal, slices};
use generation::terminal::piece;
use generation::{Generation, State};
use kv_cache::cache_for;
use lab::race::Race;
use lab::story::Story;
use lab::table::Table;
use lab::term;
use static_batching::{BatchState, Pad, PaddedBatch, Padding, Width, generate_batch};
use std::cell::RefCell;

/// Columns of the rectangle that fit on a screen.
const SHOWN: usize = 5;

/// Three prompts as a rectangle, with both sides of padding.
pub fn rectangle(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Make a rectangle",
        "A product takes rows of one matrix. Prompts are of different length, so some cells hold no token: ░ is \
         padding.",
    );
    let mut prompts = slices(&scene.prompts);
    prompts.sort_by_key(|prompt| prompt.len());
    // Three different lengths, if there are three.
    let mut distinct = prompts.clone();
    distinct.dedup_by_key(|prompt| prompt.len());
    if distinct.len() >= 3 {
        prompts = distinct;
    }
    let prompts = [prompts[2], prompts[1], prompts[0]];
    let width = Width::Longest;
    for (side, title) in [(Padding::Left, "left"), (Padding::Right, "right")] {
        let batch = PaddedBatch::prefill(&scene.model.config.llama, &prompts, Pad { side, width })?;
        let columns = batch.width().min(SHOWN);
        let header = [title.to_owned(), "start, len".to_owned()].into_iter();
        let header: Vec<String> = header
            .chain((0..columns).map(|column| format!("col {column}")))
            .collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut table = Table::new(&header);
        for (row, span) in batch.spans().iter().enumerate() {
            let cell = |column: usize| {
                let cell = row * batch.width() + column;
                match batch.positions()[cell] {
                    Some(position) => format!(
                        "{} {position}",
                        term::cut(&piece(&scene.model, batch.tokens()[cell]), 7)
                    ),
                    None => "░".to_owned(),
                }
            };
            let head = [format!("row {row}"), format!("{}, {}", span.start, span.len)];
            table.row(head.into_iter().chain((0..columns).map(cell)));
        }
        story.table(&table);
    }
    story.say(
        "The number behind a token is its position in its own sequence. Padding has no position: its keys are not \
         stored, and it attends to nothing. Its cells go through every matrix product all the same.",
    );
    Ok(())
}

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
