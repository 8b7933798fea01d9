//! The first minute: eight stories grow side by side.

use super::{Scene, slices};
use generation::text::TextStream;
use lab::story::Story;
use lab::term::{Tone, cut, pad, wrap};
use static_batching::{Pad, generate_batch};
use std::time::Duration;
use training::TokenId;

/// Columns of a story, which takes two lines.
const COLUMNS: usize = 74;

/// A pause after each step on a terminal, so that a reader can follow.
const STEP_PAUSE: Duration = Duration::from_millis(40);

/// One story as it grows.
struct Line<'a> {
    stream: Option<TextStream<'a>>,
    text: String,
}

impl Line<'_> {
    fn push(&mut self, token: TokenId) {
        match &mut self.stream {
            Some(stream) => self.text.push_str(&stream.push(token).replace('\n', "↵")),
            // No blank in front: a line that begins with a blank is not wrapped.
            None if self.text.is_empty() => self.text = token.0.to_string(),
            None => self.text.push_str(&format!(" {}", token.0)),
        }
    }

    /// The text on two lines, as much of it as fits.
    fn two_lines(&self) -> [String; 2] {
        let mut lines = wrap(&self.text, COLUMNS).into_iter();
        let mut two = [lines.next(), lines.next()].map(Option::unwrap_or_default);
        if lines.next().is_some() {
            two[1] = cut(&format!("{} …", two[1]), COLUMNS);
        }
        two
    }
}

/// Continues all eight together; on a terminal the reader sees them grow.
pub fn eight(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    let tokenizer = scene.model.tokenizer.as_ref();
    let begin = |prompt: &Vec<TokenId>| Line {
        stream: tokenizer.map(TextStream::continuing),
        text: tokenizer.map(|tokenizer| tokenizer.decode(prompt)).unwrap_or_default(),
    };
    let mut lines: Vec<Line<'_>> = scene.prompts.iter().map(begin).collect();
    if tokenizer.is_none() {
        story.say_as(
            Tone::Dim,
            "This model has no tokenizer, so the story shows token numbers.",
        );
    }
    story.print("\n");
    let watched = story.is_interactive();
    if watched {
        draw(story, &lines);
    }
    let (mut tokens_of_step, mut last_row) = (0, lines.len());
    let on_token = &mut |row: usize, token| {
        // Tokens come row by row: a row that is not behind the last one begins a new step.
        if watched && row <= last_row && tokens_of_step > 0 {
            redraw(story, &lines);
            std::thread::sleep(STEP_PAUSE);
            tokens_of_step = 0;
        }
        lines[row].push(token);
        tokens_of_step += 1;
        last_row = row;
    };
    let (model, prompts) = (&scene.model, slices(&scene.prompts));
    let max = vec![scene.new_tokens; prompts.len()];
    let run = generate_batch(
        model,
        &mut scene.state,
        &scene.pool,
        &prompts,
        &max,
        Pad::default(),
        on_token,
    )?;
    match watched {
        true => redraw(story, &lines),
        false => draw(story, &lines),
    }
    let new_tokens: usize = run.generations.iter().map(|g| g.tokens.len()).sum();
    story.say_as(
        Tone::Dim,
        format!(
            "Eight stories, {} steps of the model, {new_tokens} new tokens: each step continues all of them.",
            run.steps
        ),
    );
    story.values("steps", run.steps);
    story.values("new_tokens", new_tokens);
    story.values("rows_computed", run.rows_computed);
    story.values("rows_useful", run.rows_useful);
    let answers: Vec<&Vec<TokenId>> = run.generations.iter().map(|g| &g.tokens).collect();
    story.values("tokens", answers);
    Ok(())
}

/// Draws all stories over the earlier drawing.
fn redraw(story: &mut Story, lines: &[Line<'_>]) {
    story.print(format!("\x1b[{}A", 2 * lines.len()));
    draw(story, lines);
}

/// Draws all stories; on a terminal each line is filled to its end, to cover an earlier one.
fn draw(story: &mut Story, lines: &[Line<'_>]) {
    let watched = story.is_interactive();
    for text in lines.iter().flat_map(Line::two_lines) {
        let text = if watched { pad(&text, COLUMNS) } else { text };
        story.print(format!("   {text}\n"));
    }
}
