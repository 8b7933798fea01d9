//! The experiment, told in steps.

mod allocation;
mod answers;
mod opening;
mod prefixes;
mod room;
mod same_bytes;
mod sizes;

use continuous_batching::ModelRunner;
use continuous_batching::{Engine, EngineLimits, FirstCome, SlotCache, Slots};
use generation::Model;
use kv_cache::memory::kv_bytes;
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;
use paged_cache::{BlockManager, PagedCache, Sharing};

const INFO: LessonInfo = LessonInfo {
    folder: "10-paged-cache",
    course: include_str!("../../course.toml"),
};

/// Said where the rounds of a race spread as far as its entries differ.
const BUSY: &str = "This machine is busy: the rounds spread too far. Run again for the times.";
/// Number of positions in a block, where nothing else is said.
const BLOCK_SIZE: usize = 16;

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    seed: u64,
    tokens: Option<usize>,
    prompt: Option<String>,
}

/// An engine with blocks in front of a model.
type PagedEngine<'a> = Engine<ModelRunner<'a, PagedCache>, BlockManager, FirstCome, Sharing>;
/// Lesson 08's.
type SlotEngine<'a> = Engine<ModelRunner<'a>, Slots>;

impl Scene {
    /// Lesson 08's engine over blocks, for up to `max_running` requests at a time.
    fn engine(&self, blocks: BlockManager, max_running: usize) -> PagedEngine<'_> {
        let num_blocks = blocks.allocator().num_blocks();
        let cache = PagedCache::new(&self.model.config.llama, num_blocks, blocks.block_size());
        let runner = ModelRunner::new(&self.model, &self.pool, cache, max_running, self.context());
        let limits = EngineLimits::of_model(&self.model.config, max_running);
        Engine::with(runner, blocks, FirstCome, limits)
    }

    /// Lesson 08's engine over slots.
    fn slot_engine(&self, num_slots: usize, capacity: usize) -> SlotEngine<'_> {
        let cache = SlotCache::new(&self.model.config.llama, num_slots, capacity);
        let runner = ModelRunner::new(&self.model, &self.pool, cache, num_slots, capacity);
        let limits = EngineLimits::of_model(&self.model.config, num_slots);
        Engine::new(runner, Slots::new(num_slots, capacity), limits)
    }

    /// Longest text of the experiments: the model's context, at most 512 tokens.
    fn context(&self) -> usize {
        self.model.config.llama.max_seq_len.min(512)
    }

    /// Bytes of the keys and values of `positions` positions.
    fn bytes(&self, positions: usize) -> u64 {
        let llama = &self.model.config.llama;
        let (layers, heads) = (llama.num_layers, llama.num_kv_heads);
        kv_bytes(layers, heads, llama.head_dim, positions, 1, size_of::<f32>())
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let model = Model::open(&args.model)?;
    story.model(&model.name);
    model.needs_context(opening::LONGEST)?;
    let mut scene = Scene {
        model,
        pool: Pool::new(args.threads()),
        seed: args.seed,
        tokens: args.tokens,
        prompt: args.prompt.clone(),
    };
    // Lengths are given, not found: no token ends a text, so that every run has the same work.
    scene.model.config.eos_token_ids.clear();

    opening::blocks(&mut story, &scene)?;
    story.recall(
        "If you begin with this lesson, skip them with Enter; lesson 08's page has what you need.",
        &["recall-slot", "recall-kept"],
    );
    room::half_a_block(&mut story);
    room::ways(&mut story, &scene)?;
    allocation::race(&mut story)?;
    room::sixteen_slots(&mut story, &scene)?;
    same_bytes::race(&mut story, &scene)?;
    sizes::race(&mut story, &scene)?;
    prefixes::questions(&mut story);
    prefixes::first_token(&mut story, &scene)?;
    answers::count(&mut story, &scene)?;
    story.say(
        "Memory follows length now, and what was computed once is kept until its block is needed. But a request that \
         joins still reserves all blocks that it may ever need, and a long prompt still holds up every stream. Lesson 11 \
         decides which requests run, when, and for how long.",
    );
    story.finish()
}
