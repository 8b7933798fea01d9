//! The first screen: texts that grow side by side, and two questions on earlier lessons.

use super::Scene;
use super::columns::Columns;
use anyhow::Context;
use continuous_batching::trace::{Recorder, StepTrace};
use continuous_batching::{Delivery, Event, FinishReason, SeqId, Status};
use generation::candidates::visible;
use generation::text::TextStream;
use lab::story::{Choice, Prediction, Story};
use lab::term::{Tone, cut};
use std::collections::BTreeMap;
use std::time::Duration;
use training::TokenId;

/// Slots of the opening: as many texts as fit beside each other.
const SLOTS: usize = 3;

/// Beginnings, and how many tokens each goes on for: to the end of a sentence, with the checkpoint that comes with this workbook.
const TEXTS: [(&str, usize); 6] = [
    ("Once upon a time", 9),
    ("Not so long ago there lived", 38),
    ("Mia the mouse wanted to build", 7),
    ("Ben the bear was sad.", 20),
    ("One spring Emma the duck", 23),
    ("Long ago there was a little", 16),
];

/// How long a step is shown to a reader at a terminal.
const WATCHED: Duration = Duration::from_millis(60);

/// A text to go on from.
struct Ask {
    prompt: Vec<TokenId>,
    /// As the reader sees it.
    shown: String,
    new_tokens: usize,
}

/// The six texts; the reader's own in the place of the first.
fn asks(scene: &Scene) -> anyhow::Result<Vec<Ask>> {
    let ask = |(index, (text, new_tokens)): (usize, &(&str, usize))| {
        let own = scene.prompt.as_deref().filter(|_| index == 0);
        let text = own.unwrap_or(text);
        let (prompt, shown) = match &scene.model.tokenizer {
            Some(_) => (scene.model.encode_prompt(text)?, text.to_owned()),
            None => {
                let tokens = scene.model.made_up_tokens(index, 4);
                let numbers = tokens.iter().map(|token| format!("{} ", token.0));
                let shown = numbers.collect();
                (tokens, shown)
            }
        };
        Ok(Ask {
            prompt,
            shown,
            new_tokens: scene.tokens.unwrap_or(*new_tokens),
        })
    };
    TEXTS.iter().enumerate().map(ask).collect()
}

/// Streams six texts through three slots.
pub fn stream(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let asks = asks(scene)?;
    let longest = asks.iter().map(|ask| ask.prompt.len().saturating_add(ask.new_tokens));
    let mut engine = scene.engine(SLOTS, longest.max().unwrap_or(1));
    let mut shown: BTreeMap<SeqId, &str> = BTreeMap::new();
    for ask in &asks {
        let id = engine.submit(&ask.prompt, ask.new_tokens);
        let id = id.with_context(|| format!("the text {:?} of --prompt", cut(&ask.shown, 40)))?;
        shown.insert(id, &ask.shown);
    }
    let num_texts = asks.len();
    story.say("");
    story.say(format!(
        "{num_texts} texts, {SLOTS} slots. Downwards is time; ▸ joins, ■ leaves."
    ));
    story.say("");
    let mut recorder = Recorder::default();
    let mut streams: BTreeMap<SeqId, TextStream<'_>> = BTreeMap::new();
    let mut columns = Columns::begin(story, SLOTS);
    while !engine.is_idle() {
        // What a step says, to be shown when it is known who sits where.
        let mut pieces: Vec<(SeqId, String)> = Vec::new();
        recorder.step(&mut engine, &mut |event| {
            say(scene, &event, &mut streams, &mut pieces);
            Delivery::Taken
        })?;
        let Some(step) = recorder.steps.last() else {
            break;
        };
        show_step(story, &mut columns, step, &pieces, &shown);
    }
    columns.end_line(story);
    let prefills = |seat: &&continuous_batching::trace::Seat| seat.status == Status::Prefilling;
    let seats = recorder.steps.iter().flat_map(|step| &step.computed);
    story.values("steps", engine.num_steps());
    story.values("prefills", seats.filter(prefills).count());
    story.values("trace", &recorder.steps);
    // Looked up, not taken for granted: the parts of the engine may be a reader's own.
    let stays_empty = |step: &StepTrace| !step.waiting.is_empty() && step.computed.len() < SLOTS;
    let slots = match recorder.steps.iter().any(stays_empty) {
        false => "No slot stays empty for a step as long as somebody waits.",
        true => "A slot stayed empty while somebody waited: look at who joins.",
    };
    let steps = engine.num_steps();
    story.say_as(Tone::Dim, format!("Steps in all: {steps}. {slots}"));
    Ok(())
}

/// The text of an event; the token's number where the model has no tokenizer.
fn say<'a>(
    scene: &'a Scene,
    event: &Event<'_>,
    streams: &mut BTreeMap<SeqId, TextStream<'a>>,
    pieces: &mut Vec<(SeqId, String)>,
) {
    match (event, &scene.model.tokenizer) {
        (Event::Token { id, token }, Some(tokenizer)) => {
            let stream = streams.entry(*id).or_insert_with(|| TextStream::continuing(tokenizer));
            pieces.push((*id, stream.push(*token).to_owned()));
        }
        (Event::Token { id, token }, None) => pieces.push((*id, format!(" {}", token.0))),
        (Event::Finished { id, .. }, _) => {
            let rest = streams.remove(id).map_or("", TextStream::finish);
            pieces.push((*id, rest.to_owned()));
        }
    }
}

/// Shows who joined, what was said, and who left.
fn show_step(
    story: &mut Story,
    columns: &mut Columns,
    step: &StepTrace,
    pieces: &[(SeqId, String)],
    shown: &BTreeMap<SeqId, &str>,
) {
    let slot_of = |id: &SeqId| {
        let seat = step.computed.iter().find(|seat| seat.id == *id);
        seat.map(|seat| seat.slot.0)
    };
    let joined: Vec<(usize, &str)> = (step.joined.iter())
        .filter_map(|id| Some((slot_of(id)?, *shown.get(id)?)))
        .collect();
    if !joined.is_empty() {
        columns.join(story, step.step as usize + 1, &joined);
    }
    for (id, text) in pieces {
        if let Some(slot) = slot_of(id) {
            columns.piece(slot, text);
        }
    }
    for (id, reason) in &step.finished {
        if let Some(slot) = slot_of(id) {
            columns.leave(slot, mark(*reason));
        }
    }
    columns.end_step(story);
    if story.is_interactive() {
        // Slow enough to be watched: by itself all of it is over in a blink.
        std::thread::sleep(WATCHED);
    }
}

/// How an end is shown.
fn mark(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop | FinishReason::Length => "■",
        FinishReason::Context => "■ full",
        FinishReason::Cancelled | FinishReason::ChoiceFailed => "✗",
    }
}

/// A token as a reader can see it; the number where the model has no tokenizer.
pub fn piece(scene: &Scene, token: TokenId) -> String {
    match &scene.model.tokenizer {
        Some(tokenizer) => visible(tokenizer, token),
        None => token.0.to_string(),
    }
}

/// Two questions on earlier lessons.
pub fn recall(story: &mut Story) {
    story.step(
        "Two questions from before",
        "If you begin with this lesson, skip them with Enter; lesson 07's page has what you need.",
    );
    story.predict(Prediction {
        id: "recall-batch",
        question: "Lesson 07: why does a step of eight rows cost little more than a step of one?",
        options: &[
            Choice {
                text: "eight threads compute one row each",
                answer_to_wrong: Some("One row keeps all threads busy already: they share the weights out among them."),
            },
            Choice {
                text: "the weights are read once for all eight",
                answer_to_wrong: None,
            },
            Choice {
                text: "seven of the rows are padding and are skipped",
                answer_to_wrong: Some("Padding is computed in every matrix product. Only attention skips it."),
            },
        ],
        answer: 1,
        because: "One row waits for memory. The arithmetic of seven more fits into that wait.",
    });
    story.predict(Prediction {
        id: "recall-cache",
        question: "Lesson 06: a text of 20 tokens is in the cache. What does the next step need, to say what follows token 21?",
        options: &[
            Choice { text: "all 21 tokens once more", answer_to_wrong: Some("Their keys and values are kept: nothing else of them is ever read.") },
            Choice { text: "token 21 and its position", answer_to_wrong: None },
            Choice { text: "the text of the answer so far", answer_to_wrong: Some("The model has no text. What it needs of the tokens before stands in the cache.") },
        ],
        answer: 1,
        because: "One row at position 20, counted from 0, attends to what is stored and to itself. Whose row stands beside it in the batch means nothing to it.",
    });
}
