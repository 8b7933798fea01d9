//! The first screen: one beginning, continued with four settings side by side.

use super::columns::Columns;
use super::{BEGINNINGS, Scene};
use generation::text::TextStream;
use lab::story::Story;
use lab::term::Tone;
use std::time::Duration;
use training::TokenId;

/// Number of tokens of each text.
const TOKENS: usize = 48;
/// Time for which a step is shown to a reader at a terminal.
const WATCHED: Duration = Duration::from_millis(60);
/// Heads of the columns, with temperature and top-p.
const SETTINGS: [(&str, f32, f32); 4] = [
    ("the likeliest", 0.0, 1.0),
    ("0.8, top-p 0.9", 0.8, 0.9),
    ("temperature 1", 1.0, 1.0),
    ("temperature 2", 2.0, 1.0),
];

pub fn stream(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let mut asks = Vec::new();
    for (_, temperature, top_p) in SETTINGS {
        let params = scene.params(|p| (p.temperature, p.top_p) = (temperature, top_p));
        asks.push(scene.ask(0, scene.args.tokens.unwrap_or(TOKENS), params)?);
    }
    let beginning = match (&scene.args.prompt, &scene.model.tokenizer) {
        (Some(own), _) => own.clone(),
        (None, Some(_)) => BEGINNINGS[0].to_owned(),
        (None, None) => scene.text(&asks[0].prompt).trim().to_owned(),
    };
    story.say("");
    story.say(format!("“{beginning} …”, one model, four ways to choose a token."));
    story.say("");
    let mut columns = Columns::begin(story, &SETTINGS.map(|(head, _, _)| head));
    let tokenizer = scene.model.tokenizer.as_ref();
    let mut streams = SETTINGS.map(|_| tokenizer.map(TextStream::continuing));
    let answers = scene.answer(&asks, asks.len(), &mut |token| match token {
        Some((column, token)) => match &mut streams[column] {
            Some(stream) => columns.push(column, stream.push(token)),
            None => columns.push(column, &format!(" {}", token.0)),
        },
        None => {
            columns.flow(story);
            story.linger(WATCHED);
        }
    })?;
    columns.finish(story);
    // The book shows the texts in a table: nothing in them may look like its marks.
    let plain = |answer: &Vec<TokenId>| {
        scene
            .text(answer)
            .replace(['\n', '|', '*', '_', '`'], " ")
            .trim()
            .to_owned()
    };
    let texts: Vec<String> = answers.iter().map(plain).collect();
    story.values("texts", &texts);
    story.say_as(
        Tone::Dim,
        "The same weights, the same prompt, the same pass through the model. Only the last step differs: the choice \
         of one token.",
    );
    Ok(())
}
