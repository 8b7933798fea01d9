//! The first minute: the text with lesson 05's growing bars, a prediction, and the same text with a cache.

use super::bars::Bars;
use super::{Scene, choice};
use generation::limits::rows_of_naive_loop;
use kv_cache::work::rows_of_cached_loop;
use kv_cache::{cache_for, session};
use lab::number;
use lab::story::{Choice, Prediction, Story};
use lab::term::Tone;
use std::time::Instant;

/// What lesson 05's loop took for each token, in seconds.
pub struct Naive {
    token_seconds: Vec<f64>,
    /// Seconds behind a full bar.
    full_bar: f64,
}

/// Streams lesson 05's answer, the bars growing with the text.
pub fn stream(story: &mut Story, scene: &mut Scene) -> anyhow::Result<Naive> {
    let (model, pool) = (&scene.model, &scene.pool);
    let prompt: String = match &model.tokenizer {
        Some(tokenizer) => tokenizer.decode(&scene.prompt),
        None => "(made-up tokens: this model has no tokenizer, so you see token numbers)".into(),
    };
    story.say("");
    story.say_as(Tone::Dim, format!("Lesson 05's loop. {prompt}"));
    // The first passes of a process are slower; and the last step's length gives the scale of the bars.
    let longest = (scene.prompt.len() + scene.new_tokens).min(model.config.llama.max_seq_len);
    let rehearsal = model.made_up_tokens(0, longest);
    let mut full_bar = f64::MAX;
    for _ in 0..3 {
        let started = Instant::now();
        model.forward(&mut scene.state, pool, &rehearsal)?;
        full_bar = full_bar.min(started.elapsed().as_secs_f64());
    }
    let mut bars = Bars::new(model, full_bar);
    let mut token_seconds = Vec::new();
    let mut last = Instant::now();
    let generation = model.generate(&mut scene.state, pool, &scene.prompt, scene.new_tokens, &mut |token| {
        let seconds = last.elapsed().as_secs_f64();
        token_seconds.push(seconds);
        bars.token(story, token, seconds);
        last = Instant::now();
    })?;
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

/// Two questions on earlier lessons: what the next steps stand on.
pub fn recall(story: &mut Story) {
    story.step("Two questions on earlier lessons", "What follows stands on these two.");
    story.predict(Prediction {
        id: "recall-rows",
        question: "Lesson 02: a matrix of weights multiplies 8 rows at once instead of one row. What does that cost?",
        options: &[
            Choice { text: "8 times as much", answer_to_wrong: Some("The arithmetic is 8 times as much, but one row waits for the weights, and they are read once for all 8.") },
            Choice { text: "about 1.3 times as much", answer_to_wrong: None },
            Choice { text: "nothing more", answer_to_wrong: Some("Nearly. The additions and a second pass over some data can be measured: 1.3 times.") },
        ],
        answer: 1,
        because: "1, 8, 32 and 128 rows cost about 1, 1.3, 2.4 and 7.3 times one row. Remember it for the next step.",
    });
    story.predict(Prediction {
        id: "recall-past",
        question: "Lesson 05: a text of 20 tokens gets a 21st. What changes in the rows of the first 20?",
        options: &[
            Choice { text: "all of them: every row sees every other", answer_to_wrong: Some("A row at position i sees positions 0 to i. The 21st token stands behind all of them.") },
            Choice { text: "the last one: its next token is known now", answer_to_wrong: Some("Its logits predicted what follows. That something follows does not change them.") },
            Choice { text: "not one bit", answer_to_wrong: None },
        ],
        answer: 2,
        because: "A row depends on the rows before it and on nothing else. What can not change need not be computed twice.",
    });
}

/// The prediction of the lesson, then the same text with a cache, then the answer.
pub fn cached(story: &mut Story, scene: &mut Scene, naive: &Naive) -> anyhow::Result<()> {
    let prompt_tokens = scene.prompt.len() as u64;
    let steps = scene.answer.len() as u64;
    let rows = rows_of_naive_loop(prompt_tokens, steps);
    let kept_rows = rows_of_cached_loop(prompt_tokens, steps);
    let fewer = rows as f64 / kept_rows.max(1) as f64;
    story.step(
        "Compute each row once",
        "Keep what a row leaves behind, and the next step computes one row instead of all.",
    );
    if scene.answer.is_empty() {
        story.say("No token was written, so there is nothing to compare.");
        return Ok(());
    }
    let question = format!(
        "{} new tokens after {prompt_tokens}: {} rows instead of {}, {fewer:.0} times fewer. How much faster is the text?",
        scene.answer.len(),
        number::grouped(kept_rows),
        number::grouped(rows),
    );
    let texts = [
        format!("about {fewer:.0} times"),
        format!("between 2 and {:.0} times", fewer / 2.0),
        "less than 2 times: the weights are read as often".to_owned(),
    ];
    let answers = [
        "That would be so if a row alone cost what a row in company costs. But rows of one call share the weights.",
        "It was measured just now, on this machine: see below.",
        "The weights are read once a step in both loops. But a step of a hundred rows waits for arithmetic, not for weights.",
    ];
    let prediction = |answer: usize| {
        let option = |at: usize| choice(&texts[at], at == answer, answers[at]);
        [option(0), option(1), option(2)]
    };
    let asked = |options: &[Choice<'_>], answer: usize, because: &str, story: &mut Story, guess| {
        let prediction = Prediction {
            id: "rows-and-time",
            question: &question,
            options,
            answer,
            because,
        };
        match guess {
            None => Some(story.ask_old(&prediction)),
            Some(guess) => {
                story.reveal_old(&prediction, guess);
                None
            }
        }
    };
    let guess = asked(&prediction(1), 1, "", story, None);
    let token_seconds = stream_cached(story, scene, naive)?;
    let total = |seconds: &[f64]| seconds.iter().sum::<f64>();
    let (before, now) = (total(&naive.token_seconds), total(&token_seconds));
    let faster = before / now;
    let answer = match faster {
        faster if faster < 2.0 => 2,
        faster if faster < fewer / 2.0 => 1,
        _ => 0,
    };
    let because = format!(
        "{fewer:.0} times fewer rows, {faster:.1} times faster. The rows that were saved shared the weights that each step reads anyway; \
         the one row that is left pays for all of them."
    );
    asked(&prediction(answer), answer, &because, story, guess);
    story.show("rows, lesson 05", rows);
    story.show("rows, with a cache", kept_rows);
    story.show_as("the text, lesson 05", before, number::seconds(before));
    story.show_as("the text, with a cache", now, number::seconds(now));
    story.values("times_fewer_rows", fewer);
    story.values("times_faster", faster);
    Ok(())
}

/// The same answer with a cache, its bars on the scale of lesson 05's.
fn stream_cached(story: &mut Story, scene: &mut Scene, naive: &Naive) -> anyhow::Result<Vec<f64>> {
    let (model, pool) = (&scene.model, &scene.pool);
    let mut cache = cache_for(model, scene.prompt.len(), scene.new_tokens);
    let rehearsed = session::generate(
        model,
        &mut scene.state,
        &mut cache,
        pool,
        &scene.prompt,
        3.min(scene.new_tokens),
        &mut |_| {},
    )?;
    drop(rehearsed);
    story.say("");
    let mut bars = Bars::new(model, naive.full_bar);
    let mut token_seconds = Vec::new();
    let mut last = Instant::now();
    let timed = session::generate(
        model,
        &mut scene.state,
        &mut cache,
        pool,
        &scene.prompt,
        scene.new_tokens,
        &mut |token| {
            let seconds = last.elapsed().as_secs_f64();
            token_seconds.push(seconds);
            bars.token(story, token, seconds);
            last = Instant::now();
        },
    )?;
    bars.end_line(story);
    anyhow::ensure!(
        timed.generation.tokens == scene.answer,
        "the cached loop wrote other tokens than lesson 05's; `cargo test -p lesson06 --test parity` says where they part"
    );
    story.say_as(Tone::Dim, "The same tokens, the same scale.");
    story.values("cached_token_ms", in_ms(&token_seconds));
    story.values("ttft_ms", timed.timings.ttft.map(|t| t.as_secs_f64() * 1e3));
    story.values("tpot_ms", timed.timings.tpot().map(|t| t.as_secs_f64() * 1e3));
    Ok(token_seconds)
}
