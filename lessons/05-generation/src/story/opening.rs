//! The first minute: a text, the number of rows behind it, and the candidates for each token.

use super::Scene;
use generation::candidates::{Candidate, most_likely};
use generation::limits::rows_of_naive_loop;
use generation::terminal::{Bars, piece};
use generation::{FinishReason, Generation};
use lab::race::median;
use lab::story::Story;
use lab::term::{self, Tone};
use std::time::Instant;
use training::TokenId;

/// Time of a token that fills its bar, as a number of passes over the prompt.
const FULL_BAR: f64 = 5.0;

/// Streams the answer in lines, each with a bar: the mean time of its tokens.
pub fn stream(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    let prompt = match &scene.model.tokenizer {
        Some(tokenizer) => tokenizer.decode(&scene.prompt),
        None => "(twelve made-up tokens: this model has no tokenizer, so you see token numbers)".into(),
    };
    story.say("");
    story.say_as(Tone::Dim, &prompt);
    // The first passes of a process are slower (a later step shows it); the bars are to show the length alone.
    let mut pass = 0.0;
    for _ in 0..3 {
        let begun = Instant::now();
        scene.model.forward(&mut scene.state, &scene.pool, &scene.prompt)?;
        pass = begun.elapsed().as_secs_f64();
    }
    let mut bars = Bars::new(&scene.model, pass * FULL_BAR);
    let mut token_ms = Vec::new();
    let mut last = Instant::now();
    let mut on_token = |token: TokenId| {
        let seconds = last.elapsed().as_secs_f64();
        token_ms.push(seconds * 1e3);
        bars.token(story, token, seconds);
        // The next token's time begins here: printing is not part of it.
        last = Instant::now();
    };
    let (state, tokens) = (&mut scene.state, scene.new_tokens);
    let generation = scene
        .model
        .generate(state, &scene.pool, &scene.prompt, tokens, &mut on_token)?;
    bars.end_line(story);
    record(story, scene, &generation, &token_ms);
    Ok(())
}

fn record(story: &mut Story, scene: &mut Scene, generation: &Generation, token_ms: &[f64]) {
    let ended = match generation.finish_reason {
        FinishReason::Stop => "the model ended its text",
        FinishReason::Length => "the token limit is reached",
        FinishReason::Context => "the context is full",
    };
    story.say_as(
        Tone::Dim,
        format!("Bars: time for one token, mean of a line. The end: {ended}."),
    );
    story.values("prompt_tokens", generation.prompt_tokens);
    story.values("new_tokens", generation.tokens.len());
    story.values("tokens", &generation.tokens);
    story.values("finish_reason", generation.finish_reason);
    story.values("token_ms", token_ms);
    let line = token_ms.len().min(8);
    if line > 0 {
        story.values("first_ms", median(&token_ms[..line]));
        story.values("last_ms", median(&token_ms[token_ms.len() - line..]));
    }
    if let Some(tokenizer) = &scene.model.tokenizer {
        let text = [&scene.prompt[..], &generation.tokens].concat();
        story.values("text", tokenizer.decode(&text).replace('\n', " "));
    }
    // The next step counts what was computed, so the step that returned the end-of-text token counts too.
    scene.new_tokens = generation.tokens.len() + usize::from(generation.finish_reason == FinishReason::Stop);
}

/// Asks for the number of rows that the loop computed: the number on which this lesson turns.
pub fn rows(story: &mut Story, scene: &Scene) {
    let (prompt, new) = (scene.prompt.len() as u64, scene.new_tokens as u64);
    story.step("Count the rows", "A row is one token on its way through all layers.");
    let naive = rows_of_naive_loop(prompt, new);
    let distinct = prompt + new.saturating_sub(1);
    let again = naive - distinct;
    story.predict_with(
        "rows-computed",
        &[
            ("new", &new),
            ("prompt", &prompt),
            ("second", &(prompt + 1)),
            ("distinct", &distinct),
            ("naive", &naive),
            ("again", &again),
        ],
    );
    story.show("rows computed", naive);
    story.show("different rows", distinct);
    let share = 100.0 * again as f64 / naive.max(1) as f64;
    story.show_as("computed again", again, format!("{share:.0} %"));
}

/// Number of tokens that a walk along the candidates generates.
const WALK: usize = 8;
/// Number of candidates shown at each token.
const SHOWN: usize = 5;

/// Continues the reader's own prompts and shows the five best candidates at each token.
pub fn candidates(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "See what else the model could have said",
        "The loop takes the token with the largest number. These are the next ones.",
    );
    let vocab_size = scene.model.config.llama.vocab_size;
    story.predict_with("what-comes-out", &[("vocab", &vocab_size)]);
    if scene.model.tokenizer.is_none() {
        story.say("This model has no tokenizer, so it can not read a text of yours. With `--model stories` it can.");
        return walk(story, scene, scene.prompt.clone());
    }
    let mut question = "Type a beginning of your own (Enter: go on)";
    let mut walked = false;
    while let Some(text) = story.ask_line(question) {
        question = "Another beginning? (Enter: go on)";
        walked = true;
        match scene.model.encode_prompt(&text) {
            Ok(tokens) if tokens.len() + WALK <= scene.model.config.llama.max_seq_len => walk(story, scene, tokens)?,
            Ok(tokens) => story.say(format!(
                "{} tokens are too many for this model's context; try a shorter text.",
                tokens.len()
            )),
            Err(error) => story.say(error.to_string()),
        }
    }
    if !walked {
        walk(story, scene, scene.prompt.clone())?;
    }
    Ok(())
}

/// Continues `tokens` greedily and shows the best candidates at each step.
fn walk(story: &mut Story, scene: &mut Scene, mut tokens: Vec<TokenId>) -> anyhow::Result<()> {
    const CHOSEN: usize = 16;
    const OTHER: usize = 14;
    let mut steps: Vec<Vec<Candidate>> = Vec::new();
    story.print(format!("\n   {}{}\n", term::pad("chosen", CHOSEN), "the next four"));
    for _ in 0..WALK {
        let logits = scene.model.forward(&mut scene.state, &scene.pool, &tokens)?;
        let best = most_likely(logits, SHOWN);
        let Some(chosen) = best.first().copied() else {
            break;
        };
        let shown = |c: &Candidate| format!("{} {}", piece(&scene.model, c.token), share(c.probability));
        let others: String = best[1..].iter().map(|c| term::pad(&shown(c), OTHER) + " ").collect();
        let first = story.paint(Tone::Strong, &term::pad(&shown(&chosen), CHOSEN));
        story.print(format!("   {first}{}\n", others.trim_end()));
        steps.push(best);
        tokens.push(chosen.token);
        if scene.model.config.eos_token_ids.contains(&chosen.token) {
            break;
        }
    }
    story.say_as(Tone::Dim, "· is a space: it belongs to the token after it.");
    story.values("candidates", steps);
    Ok(())
}

/// A probability in per cent, with two decimals where it is below one.
fn share(probability: f32) -> String {
    match 100.0 * probability {
        percent if percent >= 1.0 => format!("{percent:.0}%"),
        percent => format!("{percent:.2}%"),
    }
}
