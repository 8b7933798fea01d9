//! The first screen: one beginning, continued at several settings side by side; and two questions on earlier lessons.

use super::columns::Columns;
use super::{Ask, Scene};
use generation::text::TextStream;
use lab::story::{Choice, Prediction, Story};
use lab::term::Tone;
use sampling::SamplingParams;
use std::time::Duration;

/// Tokens of each text.
const TOKENS: usize = 48;
/// How long a step is shown to a reader at a terminal.
const WATCHED: Duration = Duration::from_millis(60);

/// Heads of the columns, temperature and top-p.
const SETTINGS: [(&str, f32, f32); 4] = [
    ("the likeliest", 0.0, 1.0),
    ("0.8, top-p 0.9", 0.8, 0.9),
    ("temperature 1", 1.0, 1.0),
    ("temperature 2", 2.0, 1.0),
];

/// Streams one beginning at four settings.
pub fn stream(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let prompt = scene.beginning(0)?;
    let ask = |(_, temperature, top_p): &(&str, f32, f32)| Ask {
        prompt: prompt.clone(),
        new_tokens: scene.tokens.unwrap_or(TOKENS),
        params: SamplingParams {
            temperature: *temperature,
            top_p: *top_p,
            seed: scene.seed,
            ..SamplingParams::default()
        },
    };
    let asks: Vec<Ask> = SETTINGS.iter().map(ask).collect();
    story.say("");
    let beginning = match &scene.prompt {
        Some(own) => own.clone(),
        None if scene.model.tokenizer.is_some() => super::BEGINNINGS[0].to_owned(),
        None => scene.text(&prompt).trim().to_owned(),
    };
    story.say(format!("“{beginning} …”, one model, four ways to choose a token."));
    story.say("");
    let heads = SETTINGS.map(|(head, _, _)| head);
    let mut columns = Columns::begin(story, &heads);
    let tokenizer = scene.model.tokenizer.as_ref();
    let mut streams: Vec<_> = (heads.iter()).map(|_| tokenizer.map(TextStream::continuing)).collect();
    let answers = scene.answer(&asks, asks.len(), &mut |token| match token {
        Some((column, token)) => match &mut streams[column] {
            Some(stream) => columns.push(column, stream.push(token)),
            None => columns.push(column, &format!(" {}", token.0)),
        },
        None => {
            columns.flow(story);
            if story.is_interactive() {
                std::thread::sleep(WATCHED);
            }
        }
    })?;
    columns.finish(story);
    story.values("answers", &answers);
    story.say_as(
        Tone::Dim,
        "The same weights, the same prompt, the same pass through the model. Only the last step differs: how one token is chosen.",
    );
    Ok(())
}

/// Two questions on earlier lessons.
pub fn recall(story: &mut Story) {
    story.step(
        "Two questions from before",
        "If you come here from lesson 05, skip the second one with Enter.",
    );
    story.predict(Prediction {
        id: "recall-logits",
        question: "Lesson 05: what does a pass through the model give?",
        options: &[
            Choice {
                text: "a word",
                answer_to_wrong: Some("It knows no words: it ends in a matrix product with as many rows as the vocabulary has tokens."),
            },
            Choice { text: "one number for each token of the vocabulary", answer_to_wrong: None },
            Choice {
                text: "the likeliest token and its probability",
                answer_to_wrong: Some("That is what a choice makes of it. The pass ends with the numbers, and does not know what is done with them."),
            },
        ],
        answer: 1,
        because: "A row of logits, [vocab_size]. Until now the largest one won, and the others were thrown away.",
    });
    story.predict(Prediction {
        id: "recall-company",
        question: "Lesson 08: 64 requests share batches, and then each runs alone. How many of the answers differ?",
        options: &[
            Choice { text: "none", answer_to_wrong: None },
            Choice {
                text: "some: sums run in another order in a larger batch",
                answer_to_wrong: Some("In many engines they do. Here each output has one accumulator that runs over k in one order, whatever the batch."),
            },
            Choice {
                text: "all but those that ran alone",
                answer_to_wrong: Some("Rows share the weights that are read, and no number."),
            },
        ],
        answer: 0,
        because: "No bit of a row depends on its company. So a draw must not, either, or it would all be lost in the last step.",
    });
}
