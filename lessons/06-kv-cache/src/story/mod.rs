//! The experiment, told in steps.

mod growth;
mod kept;
mod loops;
mod opening;
mod order;
mod passes;
mod room;

use generation::{Model, State};
use kv_cache::work::of_chunk;
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;
use training::{LlamaConfig, TokenId};

const INFO: LessonInfo = LessonInfo {
    folder: "06-kv-cache",
    course: include_str!("../../course.toml"),
};

/// A beginning of sixteen tokens in the default model's vocabulary.
const PROMPT: &str = "Once upon a time there was a brave little fox named Tom. In the morning";

/// New tokens of the opening: those of claim G3.
const NEW_TOKENS: usize = 128;

/// Most multiply-adds of one run of the naive loop, so that a large model stays within its minutes.
const MOST_WORK: u64 = 1_500_000_000_000;

/// Lesson 05's loop, in the races.
const NAIVE: &str = "naive, lesson 05";
/// This lesson's loop.
const CACHED: &str = "cached";

/// Why no pass of a race can fail.
const FITS: &str = "the tokens are inside the vocabulary and the context";

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
    /// The answer of the opening.
    answer: Vec<TokenId>,
}

impl Scene {
    fn llama(&self) -> &LlamaConfig {
        &self.model.config.llama
    }

    /// Prompt and answer as one text of `len` tokens, made-up tokens behind it.
    fn text(&self, len: usize) -> Vec<TokenId> {
        let told = self.prompt.iter().chain(&self.answer).copied();
        told.chain(self.model.made_up_tokens(0, len)).take(len).collect()
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let mut model = Model::open(&args.model)?;
    // The lesson counts tokens, so no answer ends before the number that was asked for.
    model.config.eos_token_ids.clear();
    story.model(&model.name);
    let prompt = match (&model.tokenizer, &args.prompt) {
        (Some(_), text) => model.encode_prompt(text.as_deref().unwrap_or(PROMPT))?,
        (None, _) => model.made_up_tokens(0, 16),
    };
    let room = model.room_behind(&prompt, LEAST_TOKENS)?;
    let affordable = affordable(&model.config.llama, prompt.len(), NEW_TOKENS);
    let mut scene = Scene {
        pool: Pool::new(args.threads()),
        state: State::new(&model.config, 0),
        model,
        prompt,
        new_tokens: args.tokens.unwrap_or(affordable).min(room),
        answer: Vec::new(),
    };

    let naive = opening::stream(&mut story, &mut scene)?;
    story.recall("The next steps use both answers.", &["recall-rows", "recall-past"]);
    opening::cached(&mut story, &mut scene, &naive)?;
    kept::parts(&mut story, &scene);
    kept::ledger(&mut story, &mut scene)?;
    kept::memory(&mut story, &scene);
    loops::race(&mut story, &scene)?;
    passes::two_times(&mut story, &scene)?;
    growth::concatenate(&mut story, &scene)?;
    passes::views(&mut story, &scene)?;
    order::orders(&mut story, &scene)?;
    room::run_out(&mut story, &mut scene)?;
    passes::fixed_length(&mut story, &scene)?;
    story.say(
        "Each row is computed once now. A step is one row that waits for all the weights, and nearly all arithmetic \
         units are idle meanwhile. Which other rows could use the weights at the same time? That is lesson 07.",
    );
    story.finish()
}

/// `new_tokens`, halved until the naive loop stays below [`MOST_WORK`].
fn affordable(llama: &LlamaConfig, prompt_tokens: usize, mut new_tokens: usize) -> usize {
    let work = |new: usize| new as u64 * of_chunk(llama, 0, prompt_tokens + new / 2).multiply_adds();
    while new_tokens > 8 && work(new_tokens) > MOST_WORK {
        new_tokens /= 2;
    }
    new_tokens
}

/// The check of a race: each entry gives what the baseline gives.
fn equal<T: PartialEq>(baseline: &T, other: &T) -> Result<(), String> {
    match baseline == other {
        true => Ok(()),
        false => Err("the results differ".to_owned()),
    }
}
