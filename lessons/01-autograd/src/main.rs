//! The story of lesson 01: how do we know that a gradient is right?
//!
//! Everything is computed while you read; the whole run takes seconds. `--seed` moves points and weights.

use clap::Parser;
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};

mod story;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// Lesson 01: a tape that computes gradients, and how to tell that they are right.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let info = LessonInfo {
        folder: "01-autograd",
        course: include_str!("../course.toml"),
    };
    let mut story = Story::begin(info, &args.common);
    let runs = story::opening::tell(&mut story)?;
    story::differences::tell(&mut story, &runs)?;
    story::twice::tell(&mut story)?;
    story::wirings::tell(&mut story, &runs)?;
    story::curves::tell(&mut story, &runs)?;
    story::in_place::tell(&mut story, &runs)?;
    story::keeping::tell(&mut story, &runs)?;
    story.finish()
}
