//! The experiment, told in steps.

mod bench;
mod longest;
mod opening;
mod recall;
mod rectangle;
mod row_charts;
mod rows;
mod shares;
mod steps;
mod streams;
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

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    state: BatchState,
    /// The beginnings, as tokens.
    prompts: Vec<Vec<TokenId>>,
    new_tokens: usize,
}

impl Scene {
    /// The beginnings, as the lesson's functions take them.
    fn prompts(&self) -> Vec<&[TokenId]> {
        self.prompts.iter().map(Vec::as_slice).collect()
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let model = Model::open(&args.model)?;
    story.model(&model.name);
    let prompts = beginnings(&model, args.prompt.as_deref())?;
    let mut scene = Scene {
        pool: Pool::new(args.threads()),
        state: BatchState::new(&model.config),
        prompts,
        new_tokens: args.tokens.unwrap_or(NEW_TOKENS),
        model,
    };

    opening::eight(&mut story, &mut scene)?;
    recall::recall(&mut story);
    rows::steps(&mut story, &scene)?;
    rectangle::rectangle(&mut story, &scene)?;
    rectangle::alone(&mut story, &mut scene)?;
    shares::shares(&mut story, args.seed)?;
    shares::masked(&mut story, &scene)?;
    // From here on the work of a request is to be known beforehand: no text ends by itself.
    scene.model.config.eos_token_ids.clear();
    wait::wait(&mut story, &mut scene)?;
    longest::one_batch(&mut story, &mut scene)?;
    longest::many(&mut story, args.seed)?;
    story.say(
        "Eight rows ride for little more than the price of one, and then the batch holds them: nobody leaves before the longest is done, and nobody \
         who waits takes an empty place. When may requests join and leave? That is lesson 08.",
    );
    story.finish()
}

/// The eight beginnings, the reader's own in the first place where there is one; made-up tokens for a model without a tokenizer.
fn beginnings(model: &Model, own: Option<&str>) -> anyhow::Result<Vec<Vec<TokenId>>> {
    let mut texts = BEGINNINGS;
    if let Some(own) = own {
        texts[0] = own;
    }
    match model.tokenizer {
        Some(_) => texts.iter().map(|text| Ok(model.encode_prompt(text)?)).collect(),
        None => Ok([12, 2, 8, 6, 3, 5, 7, 4]
            .iter()
            .enumerate()
            .map(|(salt, len)| made_up_tokens(model, *len, salt))
            .collect()),
    }
}

/// Tokens that mean nothing, spread over the vocabulary: for models without a tokenizer and for timing.
fn made_up_tokens(model: &Model, len: usize, salt: usize) -> Vec<TokenId> {
    let vocab_size = model.config.llama.vocab_size;
    (0..len)
        .map(|i| TokenId(((i * 7919 + salt * 6007 + 101) % vocab_size) as u32))
        .collect()
}
