//! The experiment, told in steps.

mod cost;
mod half;
mod inside;
mod opening;

use generation::{Model, State};
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;
use training::TokenId;

const INFO: LessonInfo = LessonInfo {
    folder: "05-generation",
    course: include_str!("../../course.toml"),
};

/// A beginning of twelve tokens in the default model's vocabulary.
const PROMPT: &str = "Once upon a time there was a brave little fox named Tom";

/// Number of tokens that the opening generates.
const NEW_TOKENS: usize = 64;

/// Number of passes that the warm-up experiment times in a fresh process.
pub const WARM_UP_PASSES: usize = 10;

/// Tokens that the story needs behind a prompt at least.
const LEAST_TOKENS: usize = 16;

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    state: State,
    /// The text to continue, as tokens.
    prompt: Vec<TokenId>,
    new_tokens: usize,
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let model = Model::open(&args.model)?;
    story.model(&model.name);
    let prompt = match &model.tokenizer {
        Some(_) => model.encode_prompt(args.prompt.as_deref().unwrap_or(PROMPT))?,
        None => model.made_up_tokens(0, 12),
    };
    let room = model.room_behind(&prompt, LEAST_TOKENS)?;
    let mut scene = Scene {
        pool: Pool::new(args.threads()),
        state: State::new(&model.config, 0),
        model,
        prompt,
        new_tokens: args.tokens.unwrap_or(NEW_TOKENS).min(room),
    };

    opening::stream(&mut story, &mut scene)?;
    opening::rows(&mut story, &scene);
    opening::candidates(&mut story, &mut scene)?;
    story.recall(
        "If you begin with this lesson, skip them with Enter; the README links the page that you need.",
        &["recall-rows", "recall-weights"],
    );
    inside::layer(&mut story, &mut scene)?;
    cost::warm_up(&mut story, &scene)?;
    cost::length(&mut story, &scene)?;
    let bandwidth = cost::roofline(&mut story, &scene)?;
    half::bytes(&mut story, &scene)?;
    half::card(&mut story, bandwidth);
    story.say(
        "Most of the work was done before: each step threw its keys and values away, and the next step computed the same \
         numbers again. What can be kept? That is lesson 06.",
    );
    story.finish()
}
