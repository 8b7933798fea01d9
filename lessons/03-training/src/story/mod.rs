//! The story of lesson 03: from text to ids to windows to weights, and where the loss stops.

mod cost;
mod curve;
mod evaluation;
mod miniature;
mod opening;
mod slots;
mod text;

use crate::{corpus_dir, model_dir};
use anyhow::Result;
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;
use std::sync::Arc;
use training::corpus::Literature;
use training::corpus::evaluation::{EvalSize, Evaluation};
use training::eval::Subject;
use training::grammar::Grammar;
use training::split::Split;

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> Result<()> {
    let info = LessonInfo {
        folder: "03-training",
        course: include_str!("../../course.toml"),
    };
    let pool = Arc::new(Pool::new(args.threads()));
    let folder = model_dir(&args.model)?;
    let subject = Subject::open(&folder, &args.model, Arc::clone(&pool))?;
    let grammar = Grammar::new();
    let literature = Literature::load(&corpus_dir())?;
    let size = EvalSize {
        stories: 60,
        chapters: 1,
        tasks: 60,
        prompts: 4,
    };
    let set = Evaluation::new(&grammar, &literature, &subject.tokenizer, Split::Test, size);

    let mut story = Story::begin(info, args);
    story.model(&args.model);
    opening::opening(&mut story, &subject, &grammar, &set);
    text::text_to_ids(&mut story, &subject.tokenizer, &set);
    text::windows(&mut story, &grammar, &literature, &subject.tokenizer);
    let lost_in_order = miniature::miniature(&mut story, &literature, &subject.tokenizer, &pool)?;
    curve::curve(&mut story, &subject)?;
    evaluation::evaluation(&mut story, &subject, &set, &folder, lost_in_order)?;
    cost::fused(&mut story, &pool)?;
    cost::memory(&mut story, &subject.model)?;
    story.finish()
}
