//! The experiment, told in steps.

mod bars;
mod cost;
mod grow;
mod kept;
mod opening;
mod order;
mod room;
mod runs;
mod shown;
mod two_times;

use generation::candidates::visible;
use generation::{Model, State};
use kv_cache::work::of_chunk;
use lab::args::CommonArgs;
use lab::race::RaceResult;
use lab::story::{Choice, LessonInfo, Story};
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

/// Most multiply-adds that one run of the naive loop may do, so that a large model stays within its minutes.
const MOST_WORK: u64 = 1_500_000_000_000;

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    state: State,
    /// The text to continue, as tokens.
    prompt: Vec<TokenId>,
    new_tokens: usize,
    /// What came, once the opening is told.
    answer: Vec<TokenId>,
}

impl Scene {
    fn llama(&self) -> &LlamaConfig {
        &self.model.config.llama
    }

    /// A token as a reader can see it; the number where the model has no tokenizer.
    fn piece(&self, token: TokenId) -> String {
        match &self.model.tokenizer {
            Some(tokenizer) => visible(tokenizer, token),
            None => format!("‹{}›", token.0),
        }
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let mut model = Model::open(&args.model)?;
    // The lesson counts: as many tokens as asked for, also where the model would end its text before.
    model.config.eos_token_ids.clear();
    story.model(&model.name);
    let pool = Pool::new(args.threads());
    let state = State::new(&model.config, 0);
    let prompt = match (&model.tokenizer, &args.prompt) {
        (Some(_), Some(text)) => model.encode_prompt(text)?,
        (Some(_), None) => model.encode_prompt(PROMPT)?,
        (None, _) => model.made_up_tokens(0, 16),
    };
    let new_tokens = args
        .tokens
        .unwrap_or_else(|| affordable(&model.config.llama, prompt.len(), NEW_TOKENS));
    let mut scene = Scene {
        model,
        pool,
        state,
        prompt,
        new_tokens,
        answer: Vec::new(),
    };

    let naive = opening::stream(&mut story, &mut scene)?;
    opening::recall(&mut story);
    opening::cached(&mut story, &mut scene, &naive)?;
    kept::parts(&mut story, &mut scene)?;
    kept::ledger(&mut story, &mut scene)?;
    kept::memory(&mut story, &scene);
    cost::tokens(&mut story, &mut scene)?;
    two_times::two_times(&mut story, &mut scene)?;
    grow::concatenate(&mut story, &scene)?;
    shown::views(&mut story, &mut scene)?;
    order::orders(&mut story, &scene)?;
    room::run_out(&mut story, &mut scene)?;
    story.say(
        "Each row is computed once now, and a step is one row that waits for all the weights. While they come in, nearly all of the \
         arithmetic stands idle. Who else could use the weights while they are here? That is lesson 07.",
    );
    story.finish()
}

/// As many new tokens as the naive loop can afford, halved until it can.
fn affordable(llama: &LlamaConfig, prompt_tokens: usize, new_tokens: usize) -> usize {
    let mean_rows = |new: usize| prompt_tokens + new / 2;
    let work = |new: usize| new as u64 * of_chunk(llama, 0, mean_rows(new)).multiply_adds();
    let mut new_tokens = new_tokens;
    while new_tokens > 8 && work(new_tokens) > MOST_WORK {
        new_tokens /= 2;
    }
    new_tokens
}

/// Allocations of the whole process while `work` runs. No ledger is open meanwhile, which would allocate for its own names.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = lab::alloc::snapshot().allocations;
    work();
    lab::alloc::snapshot().allocations - before
}

/// The larger spread of two entries, as a share of its median. Half of the rounds lie within it: a difference below it is none.
fn noise_of(result: &RaceResult, names: [&str; 2]) -> f64 {
    let entries = names.map(|name| result.entry(name));
    let spreads = entries.iter().flatten().map(|e| e.spread / e.median);
    spreads.fold(0.0, f64::max)
}

/// An option of a prediction whose right answer is found by measuring: only the wrong ones are answered.
fn choice<'a>(text: &'a str, is_right: bool, answer_to_wrong: &'a str) -> Choice<'a> {
    Choice {
        text,
        answer_to_wrong: (!is_right).then_some(answer_to_wrong),
    }
}
