//! The experiment, told in steps.

mod blocking;
mod chunks;
mod load;
mod opening;
mod packed;
mod policies;
mod preempted;
mod stall;
mod starving;
mod world;

use continuous_batching::{Engine, EngineLimits, ModelRunner};
use generation::Model;
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;
use paged_cache::{BlockManager, PagedCache, Reserve};
use scheduling::policy::Fcfs;
use scheduling::{Meta, Preemption, Scheduler, StepLimits, SwapSpace};

const INFO: LessonInfo = LessonInfo {
    folder: "11-scheduling",
    course: include_str!("../../course.toml"),
};

/// Positions of a block.
const BLOCK_SIZE: usize = 16;

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    seed: u64,
    prompt: Option<String>,
}

/// Lesson 08's engine with this lesson's schedule, in front of a model.
type BlockEngine<'a> = Engine<ModelRunner<'a, PagedCache>, SwapSpace, Scheduler, Meta>;

/// What an engine of the story may use.
struct Means {
    max_running: usize,
    chunk: usize,
    num_blocks: usize,
    preemption: Preemption,
}

impl Scene {
    /// Tokens of one request at most.
    fn context(&self) -> usize {
        self.model.config.llama.max_seq_len.min(1024)
    }

    /// An engine that serves in the order of arrival. Nothing is found by its content, so that every run has the same
    /// work.
    fn engine(&self, means: &Means) -> BlockEngine<'_> {
        let limits = StepLimits {
            max_chunk_tokens: means.chunk,
            preemption: means.preemption,
            ..StepLimits::whole_prompts()
        };
        let blocks = BlockManager::new(means.num_blocks, BLOCK_SIZE, self.context());
        let blocks = blocks.without_prefix_cache().reserving(Reserve::Known);
        let host_blocks = match means.preemption {
            Preemption::Recompute => 0,
            Preemption::Swap => 4 * means.num_blocks,
        };
        let memory = SwapSpace::new(blocks, host_blocks);
        let cache = PagedCache::new(&self.model.config.llama, memory.num_blocks(), BLOCK_SIZE);
        let runner = ModelRunner::new(&self.model, &self.pool, cache, means.max_running, self.context());
        let scheduler = Scheduler::new(limits, Box::new(Fcfs));
        Engine::with(
            runner,
            memory,
            scheduler,
            EngineLimits::of_model(&self.model.config, means.max_running),
        )
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let mut model = Model::open(&args.model)?;
    story.model(&model.name);
    // Lengths are given, not found: no token ends a text.
    model.config.eos_token_ids.clear();
    let scene = Scene {
        model,
        pool: Pool::new(args.threads()),
        seed: args.seed,
        prompt: args.prompt.clone(),
    };
    opening::two_streams(&mut story, &scene)?;
    story.recall(
        "If you begin with this lesson, skip them with Enter; the pages of lessons 08 and 10 have what you need.",
        &["recall-step", "recall-blocks"],
    );
    packed::drawn(&mut story)?;
    chunks::measured(&mut story, &scene)?;
    preempted::raced(&mut story, &scene)?;
    starving::by_class(&mut story, &scene)?;
    blocking::by_one(&mut story, &scene)?;
    load::sweep(&mut story, &scene)?;
    policies::compared(&mut story, &scene)?;
    story.say(
        "Nothing in this lesson made the machine faster. It decided which requests wait, for how long, and which one is preempted when memory is gone. The next lessons make the step itself \
         cheaper: first by storing the weights in fewer bytes.",
    );
    story.finish()
}
