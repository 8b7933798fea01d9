//! The experiment, told in steps.

mod alone;
mod longest;
mod opening;
mod rows;
mod shares;
mod steps;
mod wait;

use generation::Model;
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;
use static_batching::BatchState;
use training::TokenId;

const INFO: LessonInfo = LessonInfo {
    folder: "07-static-batching",
    course: include_str!("../../course.toml"),
};

/// Eight beginnings of different length.
const BEGINNINGS: [&str; 8] = [
    "Once upon a time there was a brave little fox named Tom",
    "Lily",
    "In a quiet village lived",
    "Long ago there lived a kind young rabbit called",
    "Not far from here",
    "Molly was a gentle mouse who",
    "One spring there was",
    "At the edge of a village",
];

/// New tokens of each story of the opening.
const NEW_TOKENS: usize = 32;

/// Tokens that the story needs behind a prompt at least.
const LEAST_TOKENS: usize = 16;

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    state: BatchState,
    /// The beginnings, as tokens.
    prompts: Vec<Vec<TokenId>>,
    new_tokens: usize,
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let model = Model::open(&args.model)?;
    story.model(&model.name);
    model.needs_context(steps::CONTEXT + 1)?;
    let prompts = beginnings(&model, args.prompt.as_deref())?;
    let longest = prompts.iter().max_by_key(|prompt| prompt.len());
    let room = model.room_behind(longest.map_or(&[], Vec::as_slice), LEAST_TOKENS)?;
    let mut scene = Scene {
        prompts,
        pool: Pool::new(args.threads()),
        state: BatchState::new(&model.config),
        new_tokens: args.tokens.unwrap_or(NEW_TOKENS).min(room),
        model,
    };

    opening::eight(&mut story, &mut scene)?;
    let why = "If you begin with this lesson, skip them with Enter.";
    story.recall(why, &["recall-bound", "recall-cache"]);
    let steps = rows::steps(&mut story, &scene)?;
    alone::alone(&mut story, &scene)?;
    shares::shares(&mut story, args.seed)?;
    shares::masked(&mut story, &scene)?;
    // From here on each request has a known number of tokens: no text ends by itself.
    scene.model.config.eos_token_ids.clear();
    wait::wait(&mut story, &mut scene, &steps)?;
    longest::many(&mut story, args.seed)?;
    story.say(
        "Eight rows take little more time than one. But the batch holds all its requests until the longest is done, \
         and no waiting request may take an empty row. When may requests join and leave? That is lesson 08.",
    );
    story.finish()
}

/// The eight beginnings, the reader's own in the first place if there is one; made-up tokens for a model without a
/// tokenizer.
fn beginnings(model: &Model, own: Option<&str>) -> anyhow::Result<Vec<Vec<TokenId>>> {
    let mut texts = BEGINNINGS;
    texts[0] = own.unwrap_or(texts[0]);
    match model.tokenizer {
        Some(_) => texts.iter().map(|text| Ok(model.encode_prompt(text)?)).collect(),
        None => Ok(made_up_prompts(model, [12, 2, 8, 6, 3, 5, 7, 4])),
    }
}

/// Prompts of these lengths from tokens without a meaning: for models without a tokenizer, and for timing.
fn made_up_prompts(model: &Model, lengths: impl IntoIterator<Item = usize>) -> Vec<Vec<TokenId>> {
    let lengths = lengths.into_iter().enumerate();
    lengths.map(|(text, len)| model.made_up_tokens(text, len)).collect()
}

/// Borrows prompts, as the lesson's functions take them.
fn slices(prompts: &[Vec<TokenId>]) -> Vec<&[TokenId]> {
    prompts.iter().map(Vec::as_slice).collect()
}

/// The check of a race: each entry gives what the baseline gives.
fn equal<T: PartialEq>(baseline: &T, other: &T) -> Result<(), String> {
    match baseline == other {
        true => Ok(()),
        false => Err("the other rows of the batch changed a result".to_owned()),
    }
}
