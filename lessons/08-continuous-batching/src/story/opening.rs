//! The first screen: texts that grow side by side.

use super::Scene;
use super::columns::Columns;
use super::trace::{self, StepTrace};
use anyhow::Context;
use continuous_batching::{Delivery, Event, FinishReason, SeqId, Status};
use generation::text::TextStream;
use lab::story::Story;
use lab::term::{Tone, cut};
use std::collections::BTreeMap;
use std::time::Duration;
use training::TokenId;

/// Slots of the opening: the number of texts that fit beside each other on a screen.
const SLOTS: usize = 3;

/// Beginnings, and the number of tokens that each goes on for: to the end of a sentence, with the checkpoint of this
/// workbook.
const TEXTS: [(&str, usize); 6] = [
    ("Once upon a time", 9),
    ("Not so long ago there lived", 38),
    ("Mia the mouse wanted to build", 7),
    ("Ben the bear was sad.", 20),
    ("One spring Emma the duck", 23),
    ("Long ago there was a little", 16),
];

/// Streams six texts through three slots. The reader's own text takes the place of the first one.
pub fn stream(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let mut asks: Vec<(Vec<TokenId>, String, usize)> = Vec::new();
    for (index, (text, new_tokens)) in TEXTS.into_iter().enumerate() {
        let text = scene.prompt.as_deref().filter(|_| index == 0).unwrap_or(text);
        let (prompt, shown) = match &scene.model.tokenizer {
            Some(_) => (scene.model.encode_prompt(text)?, text.to_owned()),
            None => {
                let tokens = scene.model.made_up_tokens(index, 4);
                let shown = tokens.iter().map(|token| format!("{} ", token.0)).collect();
                (tokens, shown)
            }
        };
        asks.push((prompt, shown, scene.tokens.unwrap_or(new_tokens)));
    }
    let longest = asks
        .iter()
        .map(|(prompt, _, new_tokens)| prompt.len().saturating_add(*new_tokens));
    let mut engine = scene.engine(SLOTS, longest.max().unwrap_or(1));
    for (prompt, shown, new_tokens) in &asks {
        let accepted = engine.submit(prompt, *new_tokens);
        accepted.with_context(|| format!("the text {:?} of --prompt", cut(shown, 40)))?;
    }
    let num_texts = asks.len();
    story.say("");
    story.say(format!(
        "{num_texts} texts, {SLOTS} slots. Downwards is time; ▸ joins, ■ leaves."
    ));
    story.say("");
    let mut streams: BTreeMap<SeqId, TextStream<'_>> = BTreeMap::new();
    let mut columns = Columns::begin(story, SLOTS);
    let mut steps: Vec<StepTrace> = Vec::new();
    while !engine.is_idle() {
        // The text of a step. It is shown when the step is over and the slots of its requests are known.
        let mut pieces: Vec<(SeqId, String)> = Vec::new();
        let step = trace::step(&mut engine, &mut |event| {
            pieces.extend(piece_of(scene, &mut streams, &event));
            Delivery::Taken
        })?;
        let Some(step) = step else { break };
        let slot_of = |id: &SeqId| step.computed.iter().find(|seat| seat.id == *id).map(|seat| seat.slot.0);
        let joined = step
            .joined
            .iter()
            .filter_map(|id| Some((slot_of(id)?, asks[id.0 as usize].1.as_str())));
        let joined: Vec<(usize, &str)> = joined.collect();
        if !joined.is_empty() {
            columns.join(story, &joined);
        }
        for (id, piece) in &pieces {
            slot_of(id).into_iter().for_each(|slot| columns.piece(slot, piece));
        }
        for (id, reason) in &step.finished {
            slot_of(id)
                .into_iter()
                .for_each(|slot| columns.leave(slot, mark(*reason)));
        }
        columns.end_step(story);
        steps.push(step);
        // Slow enough to be watched: by itself the run is over at once.
        story.linger(Duration::from_millis(60));
    }
    columns.end_line(story);
    let seats = steps.iter().flat_map(|step| &step.computed);
    story.values("steps", engine.num_steps());
    story.values(
        "prefills",
        seats.filter(|seat| seat.status == Status::Prefilling).count(),
    );
    story.values("trace", &steps);
    // Counted rather than assumed, because functions of the engine may be the reader's own.
    let has_empty_slot = |step: &StepTrace| !step.waiting.is_empty() && step.computed.len() < SLOTS;
    let slots = match steps.iter().any(has_empty_slot) {
        false => "No slot stays empty for a step as long as a request waits.",
        true => "A slot stayed empty while a request waited: look at which requests join.",
    };
    let steps = engine.num_steps();
    story.say_as(Tone::Dim, format!("Steps in all: {steps}. {slots}"));
    Ok(())
}

/// The text of an event; the token's number where the model has no tokenizer.
fn piece_of<'a>(
    scene: &'a Scene,
    streams: &mut BTreeMap<SeqId, TextStream<'a>>,
    event: &Event<'_>,
) -> Option<(SeqId, String)> {
    let piece = match (event, &scene.model.tokenizer) {
        (Event::Token { id, token }, Some(tokenizer)) => {
            let stream = streams.entry(*id).or_insert_with(|| TextStream::continuing(tokenizer));
            stream.push(*token).to_owned()
        }
        (Event::Token { token, .. }, None) => format!(" {}", token.0),
        // If the answer ends inside a character, `finish` replaces what there is of it.
        (Event::Finished { id, .. }, _) => streams.remove(id)?.finish().to_owned(),
    };
    Some((event.id(), piece))
}

/// The mark of an end.
fn mark(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop | FinishReason::Length => "■",
        FinishReason::Context => "■ full",
        FinishReason::Cancelled | FinishReason::ChoiceFailed => "✗",
    }
}
