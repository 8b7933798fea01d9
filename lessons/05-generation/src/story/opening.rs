//! The first minute: text, the count of rows, and what else could have been said.

use super::Scene;
use generation::candidates::{Candidate, most_likely};
use generation::limits::rows_of_naive_loop;
use generation::text::TextStream;
use generation::{FinishReason, Generation};
use lab::number;
use lab::story::{Choice, Prediction, Story};
use lab::term::{self, Tone};
use std::time::Instant;
use training::TokenId;

/// Tokens on one line of the opening, with one bar.
const TOKENS_A_LINE: usize = 8;
/// Columns for their text.
const TEXT_COLUMNS: usize = 46;
/// Columns that the first line's bar takes; the others grow against it.
const FIRST_BAR: usize = 4;
/// Most columns of a bar.
const LONGEST_BAR: usize = 19;

/// One line: eight tokens and the time that one of them took.
struct Line {
    text: String,
    tokens: usize,
    seconds: f64,
}

/// Streams the answer, each line with a bar of the time that its tokens took.
pub fn stream(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    let prompt: String = match &scene.model.tokenizer {
        Some(tokenizer) => tokenizer.decode(&scene.prompt),
        None => "(twelve made-up tokens: this model has no tokenizer, so you see token numbers)".into(),
    };
    story.say("");
    story.say_as(Tone::Dim, &prompt);
    let mut line = Line {
        text: String::new(),
        tokens: 0,
        seconds: 0.0,
    };
    let mut first = None;
    let mut token_ms = Vec::new();
    let tokenizer = scene.model.tokenizer.as_ref();
    let mut text = tokenizer.map(TextStream::continuing);
    // The first passes of a process are slower (a later step shows it); the bars are to show the length alone.
    for _ in 0..3 {
        scene.model.forward(&mut scene.state, &scene.pool, &scene.prompt)?;
    }
    let mut last = Instant::now();
    let generation = scene.model.generate(
        &mut scene.state,
        &scene.pool,
        &scene.prompt,
        scene.new_tokens,
        &mut |token| {
            let seconds = last.elapsed().as_secs_f64();
            token_ms.push(seconds * 1e3);
            let piece = match &mut text {
                Some(text) => text.push(token).replace('\n', "↵"),
                None => format!(" {}", token.0),
            };
            if line.tokens == 0 {
                story.print("   ");
            }
            // A line does not begin with the blank between two words.
            let piece = if line.tokens == 0 { piece.trim_start() } else { &piece };
            story.print(piece);
            line.text.push_str(piece);
            line.tokens += 1;
            line.seconds += seconds;
            if line.tokens == TOKENS_A_LINE {
                end_line(story, &mut line, &mut first);
            }
            last = Instant::now();
        },
    )?;
    let rest = text.map_or("", TextStream::finish);
    line.text.push_str(rest);
    story.print(rest);
    if line.tokens > 0 {
        end_line(story, &mut line, &mut first);
    }
    record(story, scene, &generation, &token_ms);
    Ok(())
}

/// Ends a line with its bar.
fn end_line(story: &mut Story, line: &mut Line, first: &mut Option<f64>) {
    let seconds = line.seconds / line.tokens as f64;
    let unit = *first.get_or_insert(seconds) / FIRST_BAR as f64;
    let bar = term::bar(seconds / unit / LONGEST_BAR as f64, LONGEST_BAR);
    let blanks = " ".repeat(TEXT_COLUMNS.saturating_sub(term::width(&line.text)) + 2);
    story.print(format!(
        "{blanks}{} {}\n",
        story.paint(Tone::Accent, &bar),
        number::seconds(seconds)
    ));
    *line = Line {
        text: String::new(),
        tokens: 0,
        seconds: 0.0,
    };
}

fn record(story: &mut Story, scene: &mut Scene, generation: &Generation, token_ms: &[f64]) {
    let ended = match generation.finish_reason {
        FinishReason::Stop => "the model ended its text",
        FinishReason::Length => "as many tokens as asked for",
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
    // What follows counts what was computed, the step that found the end included.
    scene.new_tokens = generation.tokens.len() + usize::from(generation.finish_reason == FinishReason::Stop);
}

/// How many rows was that? The lesson's one number.
pub fn rows(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let (prompt, new) = (scene.prompt.len() as u64, scene.new_tokens as u64);
    story.step("Count the rows", "A row is one token on its way through all layers.");
    let naive = rows_of_naive_loop(prompt, new);
    let distinct = prompt + new.saturating_sub(1);
    let texts = [new.to_string(), distinct.to_string(), naive.to_string()];
    let because = format!(
        "The loop keeps nothing: step by step {prompt} + {} + … + {distinct} rows. Only {distinct} of them are different: {} \
         of {naive} were computed before.",
        prompt + 1,
        naive - distinct
    );
    story.predict(Prediction {
        id: "rows-computed",
        question: &format!("{new} new tokens after a prompt of {prompt}: how many rows did that compute?"),
        options: &[
            Choice {
                text: &texts[0],
                answer_to_wrong: Some("One row a token would do if the model remembered the others. It is a function: it remembers nothing."),
            },
            Choice {
                text: &texts[1],
                answer_to_wrong: Some("So many different rows there are, each token once. But the loop calls the model with the whole text each time."),
            },
            Choice { text: &texts[2], answer_to_wrong: None },
        ],
        answer: 2,
        because: &because,
    });
    story.show("rows computed", naive);
    story.show("different rows", distinct);
    story.show_as(
        "computed again",
        naive - distinct,
        format!("{:.0} %", 100.0 * (naive - distinct) as f64 / naive.max(1) as f64),
    );
    Ok(())
}

/// Tokens of a walk along the candidates.
const WALK: usize = 8;
/// Candidates shown at each token.
const SHOWN: usize = 5;

/// The reader's own prompt, and at each token the five best candidates.
pub fn candidates(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    let vocab_size = scene.model.config.llama.vocab_size;
    story.step(
        "See what else it could have said",
        "The loop takes the largest number. Here are the runners-up.",
    );
    let numbers = format!("{vocab_size} numbers, one for each token that it knows");
    story.predict(Prediction {
        id: "what-comes-out",
        question: "You give the model a text. What does it return?",
        options: &[
            Choice { text: "the next word", answer_to_wrong: Some("Words are made outside: the loop picks a token, the tokenizer makes it text.") },
            Choice { text: &numbers, answer_to_wrong: None },
            Choice { text: "the rest of the text", answer_to_wrong: Some("One call gives the chances of one token. The rest comes from calling again.") },
        ],
        answer: 1,
        because: "Logits: a score for each token of the vocabulary. Softmax makes shares of them. Greedy choice takes the largest.",
    });
    if scene.model.tokenizer.is_none() {
        story.say("This model has no tokenizer, so there is no text to try. With `--model stories` you can type your own here.");
        return walk(story, scene, scene.prompt.clone()).map(|_| ());
    }
    let mut typed = false;
    while let Some(text) = story.ask_line(if typed {
        "Another beginning? (Enter: go on)"
    } else {
        "Type a beginning of your own (Enter: go on)"
    }) {
        typed = true;
        match scene.model.encode_prompt(&text) {
            Ok(tokens) if tokens.len() + WALK <= scene.model.config.llama.max_seq_len => {
                walk(story, scene, tokens)?;
            }
            Ok(tokens) => story.say(format!(
                "{} tokens are too many for this model's context; try a shorter text.",
                tokens.len()
            )),
            Err(error) => story.say(error.to_string()),
        }
    }
    if !typed {
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
        let shown = |c: &Candidate| format!("{} {}", scene.piece(c.token), share(c.probability));
        let others: String = best[1..].iter().map(|c| term::pad(&shown(c), OTHER) + " ").collect();
        let row = format!(
            "   {}{}\n",
            story.paint(Tone::Strong, &term::pad(&shown(&chosen), CHOSEN)),
            others.trim_end()
        );
        story.print(row);
        steps.push(best);
        tokens.push(chosen.token);
        if scene.model.config.eos_token_ids.contains(&chosen.token) {
            break;
        }
    }
    story.say_as(Tone::Dim, "· is a blank: it belongs to the token after it.");
    story.values("candidates", steps);
    Ok(())
}

/// A share in per cent, with as many digits as say something.
fn share(probability: f32) -> String {
    match 100.0 * probability {
        percent if percent >= 1.0 => format!("{percent:.0}%"),
        percent => format!("{percent:.2}%"),
    }
}
