//! The first screen: one text, twice, with the time of each token.

use super::Scene;
use super::stall::{self, BEFORE, Seen, TOKENS};
use super::world::in_ms;
use generation::GenerateError;
use generation::candidates::visible;
use lab::story::Story;
use lab::term::{self, Tone};
use std::time::Duration;
use training::TokenId;

/// Width of a bar.
const COLUMNS: usize = 18;
/// Width of a token.
const TOKEN: usize = 14;

/// What the stream begins with.
///
/// # Errors
/// When the prompt is empty, or it and the longest stream of the story do not fit the context.
pub fn prompt(scene: &Scene) -> anyhow::Result<Vec<TokenId>> {
    let prompt = match &scene.model.tokenizer {
        Some(_) => {
            let text = scene.prompt.as_deref().unwrap_or("Once upon a time");
            scene.model.encode_prompt(text)?
        }
        None => scene.model.made_up_tokens(0, 4),
    };
    anyhow::ensure!(!prompt.is_empty(), GenerateError::EmptyPrompt);
    scene.model.needs_context(stall::most_tokens(scene) + 1)?;
    let most = scene.context() - stall::most_tokens(scene);
    anyhow::ensure!(
        prompt.len() <= most,
        "--prompt: expected at most {most} tokens in a context of {}, so that the stream lasts while a long prompt is read, \
         found {}; use a shorter text",
        scene.context(),
        prompt.len()
    );
    Ok(prompt)
}

/// Streams a text while a long prompt arrives: read whole, and in chunks.
pub fn two_streams(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let prompt = prompt(scene)?;
    // The first run of each pays for what is allocated once.
    let run = |chunk: usize| {
        stall::in_chunks(scene, &prompt, chunk, TOKENS)?;
        stall::in_chunks(scene, &prompt, chunk, TOKENS)
    };
    let (whole, chunked) = (run(usize::MAX)?, run(64)?);
    let long = stall::long_prompt(scene).len();
    story.say("");
    story.say(format!(
        "A text is generated token by token. After {BEFORE} tokens another client sends a prompt of {long} tokens. Each bar is the time that the next token took."
    ));
    story.say("");
    let most = whole.longest().max(chunked.longest()).as_secs_f64().max(1e-9);
    let line = |token: &str, left: &str, right: &str| {
        format!(" {} {}{right}", term::pad(token, TOKEN), term::pad(left, COLUMNS + 10))
    };
    story.say_as(Tone::Dim, line("token", "the prompt is read whole", "in chunks of 64"));
    let bar = |seen: &Seen, index: usize| {
        let gap = seen.gaps()[index - 1];
        let bar = term::bar(gap.as_secs_f64() / most, COLUMNS);
        format!("{} {:.1} ms", bar.trim_end(), in_ms(gap))
    };
    for index in BEFORE - 3..TOKENS.min(BEFORE + 12) {
        if index == BEFORE {
            story.say_as(Tone::Dim, format!(" {:>TOKEN$}", "▼ it arrives"));
        }
        let shown = match &scene.model.tokenizer {
            Some(tokenizer) => visible(tokenizer, whole.tokens[index]),
            None => whole.tokens[index].0.to_string(),
        };
        story.say_as(Tone::Accent, line(&shown, &bar(&whole, index), &bar(&chunked, index)));
        story.linger(whole.gaps()[index - 1].max(Duration::from_millis(40)));
    }
    anyhow::ensure!(whole.tokens == chunked.tokens, "the two runs wrote different texts");
    story.values("longest_whole_ms", in_ms(whole.longest()));
    story.values("longest_chunked_ms", in_ms(chunked.longest()));
    story.values("quiet_ms", whole.alone.ms());
    story.say_as(
        Tone::Dim,
        "The tokens are the same, and so is the work of the prompt. What differs is which tokens wait for it, and when.",
    );
    Ok(())
}
