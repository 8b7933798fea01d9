//! The experiment, told in steps.

mod cost;
mod inside;
mod opening;

use generation::{Model, State, terminal};
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

/// New tokens of the opening.
const NEW_TOKENS: usize = 64;

/// Passes of a fresh process that the warm-up experiment times.
pub const WARM_UP_PASSES: usize = 10;

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    state: State,
    /// The text to continue, as tokens.
    prompt: Vec<TokenId>,
    new_tokens: usize,
}

impl Scene {
    fn piece(&self, token: TokenId) -> String {
        terminal::piece(&self.model, token)
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let model = Model::open(&args.model)?;
    story.model(&model.name);
    let pool = Pool::new(args.threads());
    let state = State::new(&model.config, 0);
    let prompt = match (&model.tokenizer, &args.prompt) {
        (Some(_), Some(text)) => model.encode_prompt(text)?,
        (Some(_), None) => model.encode_prompt(PROMPT)?,
        (None, _) => model.made_up_tokens(0, 12),
    };
    let new_tokens = args.tokens.unwrap_or(NEW_TOKENS);
    let mut scene = Scene {
        model,
        pool,
        state,
        prompt,
        new_tokens,
    };

    opening::stream(&mut story, &mut scene)?;
    opening::rows(&mut story, &scene)?;
    opening::candidates(&mut story, &mut scene)?;
    inside::recall(&mut story);
    inside::layer(&mut story, &mut scene)?;
    cost::warm_up(&mut story, &scene)?;
    cost::length(&mut story, &mut scene)?;
    cost::roofline(&mut story, &mut scene)?;
    story.say(
        "Sixty-four tokens, and most of the work was done before. Each step threw its keys and values away and the next one \
         computed the same numbers again. What may be kept? That is lesson 06.",
    );
    story.finish()
}
