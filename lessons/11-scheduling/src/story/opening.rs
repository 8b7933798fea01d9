//! The first screen: one text, twice, with the time of each token; and two questions on earlier lessons.

use super::stall::{self, BEFORE, TOKENS};
use super::world::in_ms;
use super::{Scene, stall::Seen};
use generation::candidates::visible;
use lab::story::Story;
use lab::term::{self, Tone};
use training::TokenId;

/// Width of a bar.
const COLUMNS: usize = 24;
/// The text that is continued.
const TEXT: &str = "Once upon a time";

/// What the stream begins with.
pub fn prompt(scene: &Scene) -> anyhow::Result<Vec<TokenId>> {
    match &scene.model.tokenizer {
        Some(_) => {
            let text = scene.prompt.as_deref().unwrap_or(TEXT);
            Ok(scene.model.encode_prompt(text)?)
        }
        None => Ok(scene.model.made_up_tokens(0, 4)),
    }
}

/// Streams a text while a long prompt arrives: read whole, and in chunks.
pub fn two_streams(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let prompt = prompt(scene)?;
    // The first run of each pays for what is allocated once.
    let run = |chunk: usize| {
        stall::in_chunks(scene, &prompt, chunk)?;
        stall::in_chunks(scene, &prompt, chunk)
    };
    let (whole, chunked) = (run(usize::MAX)?, run(64)?);
    let long = stall::long_prompt(scene).len();
    story.say("");
    story.say(format!(
        "A text is generated token by token. After {BEFORE} tokens another client sends a prompt of {long} tokens. Each bar is the time that the next token took."
    ));
    story.say("");
    let most = whole.longest().max(chunked.longest());
    let head = |name: &str| term::pad(name, COLUMNS + 10);
    story.say_as(
        Tone::Dim,
        format!(
            "{} {}{}",
            term::pad("token", 14),
            head("the prompt is read whole"),
            head("in chunks of 64")
        ),
    );
    let bar = |seen: &Seen, index: usize| {
        let gap = seen.gaps()[index - 1];
        let share = gap.as_secs_f64() / most.as_secs_f64().max(1e-9);
        let text = format!("{} {:.1} ms", term::bar(share, COLUMNS).trim_end(), in_ms(gap));
        term::pad(&text, COLUMNS + 10)
    };
    for index in BEFORE - 3..TOKENS.min(BEFORE + 12) {
        if index == BEFORE {
            story.say_as(Tone::Dim, format!("{:>14}", "▼ it arrives"));
        }
        let shown = match &scene.model.tokenizer {
            Some(tokenizer) => visible(tokenizer, whole.tokens[index]),
            None => whole.tokens[index].0.to_string(),
        };
        let (left, right) = (bar(&whole, index), bar(&chunked, index));
        story.print(format!(
            "   {} {}{}\n",
            term::pad(&shown, 14),
            story.paint(Tone::Accent, &left),
            story.paint(Tone::Accent, &right)
        ));
        if story.is_interactive() {
            std::thread::sleep(whole.gaps()[index - 1].max(std::time::Duration::from_millis(40)));
        }
    }
    anyhow::ensure!(whole.tokens == chunked.tokens, "the two runs wrote different texts");
    story.values("longest_whole_ms", in_ms(whole.longest()));
    story.values("longest_chunked_ms", in_ms(chunked.longest()));
    story.say_as(
        Tone::Dim,
        "The tokens are the same, and so is the work of the prompt. What differs is which tokens wait for it, and when.",
    );
    Ok(())
}

/// Two questions on earlier lessons.
pub fn recall(story: &mut Story) {
    story.step(
        "Two questions from before",
        "If you begin with this lesson, skip them with Enter; the pages of lessons 08 and 10 have what you need.",
    );
    story.predict("recall-step");
    story.predict("recall-blocks");
}
