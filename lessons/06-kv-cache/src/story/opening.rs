//! The first minute: the text with lesson 05's growing bars, a prediction, and the same text with a cache.

use super::Scene;
use generation::limits::rows_of_naive_loop;
use generation::terminal::Bars;
use kv_cache::work::rows_of_cached_loop;
use kv_cache::{cache_for, session};
use lab::number;
use lab::story::{Answer, Story};
use lab::term::Tone;
use std::time::{Duration, Instant};
use training::TokenId;

/// The times of lesson 05's loop.
pub struct Naive {
    /// Seconds of each token.
    token_seconds: Vec<f64>,
    /// Seconds that fill a bar.
    full_bar: f64,
}

/// A callback that prints each token with [`Bars`] and notes the seconds since the token before.
fn watch(story: &mut Story, bars: &mut Bars<'_>, seconds: &mut Vec<f64>) -> impl FnMut(TokenId) {
    let mut last = Instant::now();
    move |token| {
        seconds.push(last.elapsed().as_secs_f64());
        bars.token(story, token, seconds[seconds.len() - 1]);
        last = Instant::now();
    }
}

/// Streams lesson 05's answer; its bars grow with the text.
pub fn stream(story: &mut Story, scene: &mut Scene) -> anyhow::Result<Naive> {
    let (model, pool) = (&scene.model, &scene.pool);
    let prompt = match &model.tokenizer {
        Some(tokenizer) => tokenizer.decode(&scene.prompt),
        None => "(made-up tokens: this model has no tokenizer, so the story shows token numbers)".into(),
    };
    story.say("");
    story.say_as(Tone::Dim, format!("Lesson 05's loop. {prompt}"));
    // The first passes of a process are slower. The time of the last step's length is the scale of the bars.
    let longest = (scene.prompt.len() + scene.new_tokens).min(model.config.llama.max_seq_len);
    let rehearsal = model.made_up_tokens(0, longest);
    let mut full_bar = f64::MAX;
    for _ in 0..3 {
        let started = Instant::now();
        model.forward(&mut scene.state, pool, &rehearsal)?;
        full_bar = full_bar.min(started.elapsed().as_secs_f64());
    }
    let (mut bars, mut token_seconds) = (Bars::new(model, full_bar), Vec::new());
    let generation = model.generate(
        &mut scene.state,
        pool,
        &scene.prompt,
        scene.new_tokens,
        &mut watch(story, &mut bars, &mut token_seconds),
    )?;
    bars.end_line(story);
    story.say_as(Tone::Dim, "Bars: time for one token, mean of a line.");
    story.values("prompt_tokens", generation.prompt_tokens);
    story.values("new_tokens", generation.tokens.len());
    story.values("finish_reason", generation.finish_reason);
    story.values("naive_token_ms", in_ms(&token_seconds));
    scene.answer = generation.tokens;
    Ok(Naive {
        token_seconds,
        full_bar,
    })
}

fn in_ms(seconds: &[f64]) -> Vec<f64> {
    seconds.iter().map(|s| s * 1e3).collect()
}

/// The prediction of the lesson, then the same text with a cache, then the answer.
pub fn cached(story: &mut Story, scene: &mut Scene, naive: &Naive) -> anyhow::Result<()> {
    let (prompt_tokens, steps) = (scene.prompt.len() as u64, scene.answer.len() as u64);
    let rows = rows_of_naive_loop(prompt_tokens, steps);
    let kept_rows = rows_of_cached_loop(prompt_tokens, steps);
    let fewer = rows as f64 / kept_rows.max(1) as f64;
    story.step(
        "Compute each row once",
        "The cache keeps what later rows read. The next step computes one row instead of all.",
    );
    if scene.answer.is_empty() {
        story.say("No token was written, so there is nothing to compare.");
        return Ok(());
    }
    let asked = story.ask(
        "rows-and-time",
        &[
            ("new", &steps),
            ("prompt", &prompt_tokens),
            ("kept_rows", &number::grouped(kept_rows)),
            ("rows", &number::grouped(rows)),
            ("fewer", &format!("{fewer:.0}")),
            ("half", &format!("{:.0}", fewer / 2.0)),
        ],
    );
    let token_seconds = stream_cached(story, scene, naive)?;
    let before: f64 = naive.token_seconds.iter().sum();
    let now: f64 = token_seconds.iter().sum();
    let faster = before / now;
    let right = match faster {
        faster if faster < 2.0 => 2,
        faster if faster < fewer / 2.0 => 1,
        _ => 0,
    };
    story.reveal(
        asked,
        Answer::Option(right),
        &[("fewer", &format!("{fewer:.0}")), ("faster", &format!("{faster:.1}"))],
    );
    story.show("rows, lesson 05", rows);
    story.show("rows, with a cache", kept_rows);
    story.show_as("the text, lesson 05", before, number::seconds(before));
    story.show_as("the text, with a cache", now, number::seconds(now));
    story.values("times_fewer_rows", fewer);
    story.values("times_faster", faster);
    Ok(())
}

/// The same answer with a cache, its bars on the scale of lesson 05's. Returns the seconds of each token.
fn stream_cached(story: &mut Story, scene: &mut Scene, naive: &Naive) -> anyhow::Result<Vec<f64>> {
    let (model, pool, state, new_tokens) = (&scene.model, &scene.pool, &mut scene.state, scene.new_tokens);
    let mut cache = cache_for(model, scene.prompt.len(), new_tokens);
    let rehearsed = 3.min(new_tokens);
    session::generate(model, state, &mut cache, pool, &scene.prompt, rehearsed, &mut |_| {})?;
    story.say("");
    let (mut bars, mut token_seconds) = (Bars::new(model, naive.full_bar), Vec::new());
    let timed = session::generate(
        model,
        state,
        &mut cache,
        pool,
        &scene.prompt,
        new_tokens,
        &mut watch(story, &mut bars, &mut token_seconds),
    )?;
    bars.end_line(story);
    anyhow::ensure!(
        timed.generation.tokens == scene.answer,
        "the cached loop wrote other tokens than lesson 05's; `cargo test -p lesson06 --test suite parity` shows the \
         first difference"
    );
    story.say_as(Tone::Dim, "The same tokens, the same scale.");
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    story.values("cached_token_ms", in_ms(&token_seconds));
    story.values("ttft_ms", timed.timings.ttft.map(ms));
    story.values("tpot_ms", timed.timings.tpot().map(ms));
    Ok(token_seconds)
}
