//! The experiment, told in steps.

mod alone;
mod columns;
mod fill;
mod gain;
mod load;
mod mixes;
mod opening;
mod prices;
mod serve;
mod step;
mod timeline;
mod trace;
mod waiting;

use continuous_batching::{Engine, EngineLimits, ModelRunner, SlotCache, Slots};
use generation::Model;
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;

const INFO: LessonInfo = LessonInfo {
    folder: "08-continuous-batching",
    course: include_str!("../../course.toml"),
};

/// Slots of all experiments but the opening, and rows of a static batch.
const SLOTS: usize = 8;

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    seed: u64,
    /// Largest number of tokens of an answer in the opening, if `--tokens` sets it.
    tokens: Option<usize>,
    prompt: Option<String>,
}

/// An engine over a model and slots.
type SlotEngine<'a> = Engine<ModelRunner<'a>, Slots>;

impl Scene {
    /// An engine for up to `num_slots` requests of up to `capacity` tokens each. It ends texts where the model's config
    /// says so.
    fn engine(&self, num_slots: usize, capacity: usize) -> SlotEngine<'_> {
        let capacity = capacity.min(self.model.config.llama.max_seq_len);
        let cache = SlotCache::new(&self.model.config.llama, num_slots, capacity);
        let runner = ModelRunner::new(&self.model, &self.pool, cache, num_slots, capacity);
        let limits = EngineLimits::of_model(&self.model.config, num_slots);
        Engine::new(runner, Slots::new(num_slots, capacity), limits)
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let model = Model::open(&args.model)?;
    story.model(&model.name);
    let mut scene = Scene {
        model,
        pool: Pool::new(args.threads()),
        seed: args.seed,
        tokens: args.tokens,
        prompt: args.prompt.clone(),
    };

    let mixes = load::mixes(&scene);
    let longest = mixes.iter().map(|mix| load::longest(&mix.jobs)).max();
    scene.model.needs_context(longest.unwrap_or(0))?;

    opening::stream(&mut story, &scene)?;
    // From here on lengths are given: no token ends a text, so that every run has the same work.
    scene.model.config.eos_token_ids.clear();
    story.recall(
        "If you begin with this lesson, skip them with Enter; lesson 07's page has what you need.",
        &["recall-batch", "recall-cache"],
    );
    step::four_requests(&mut story, &scene)?;
    step::one_batch(&mut story, &scene)?;
    gain::counted(&mut story, &scene)?;
    let prices = mixes::raced(&mut story, &scene, &mixes)?;
    fill::fill(&mut story, &scene, &mixes)?;
    waiting::one_by_one(&mut story, &prices, scene.seed)?;
    alone::cross_talk(&mut story, &scene)?;
    story.say("");
    story.say(
        "Two things are left. Every slot is as long as the longest text that it may hold, and most of it stays empty: the waste of padding \
         again, now in memory. And every token here is the likeliest one. Other ways to choose a token are lesson 09; memory that follows the \
         length of a text is lesson 10.",
    );
    story.finish()
}
