//! The story of the lesson, a file for each step or two.

mod faults;
mod file;
mod memory;
mod numbers;
mod start;

use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use loading::ModelFolder;
use std::path::PathBuf;

pub use memory::measure_peak;

const INFO: LessonInfo = LessonInfo {
    folder: "04-loading",
    course: include_str!("../../course.toml"),
};

/// Tells it.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    // A random model has no file to look into.
    let is_random = args.model.starts_with("random:");
    let name = if is_random { "stories" } else { args.model.as_str() };
    let (model, ledger) = lab::ledger::measure(|| loading::open(name));
    let model = model?;
    let folder = loading::folder::resolve(name);
    anyhow::ensure!(
        folder.is_dir(),
        "{name}: expected a model folder, found a file; this story looks into safetensors: run \
         `lesson04 convert {name} FOLDER` and give the folder"
    );
    let mut story = Story::begin(INFO, args);
    file::open(&mut story, &folder)?;
    file::claims_of_the_header(&mut story, &folder)?;
    file::agreement(&mut story, &folder, &model, &ledger)?;
    let big = big_source(args, &model);
    start::stages(&mut story, args, big)?;
    memory::peaks(&mut story, big)?;
    numbers::rounding(&mut story);
    faults::broken_files(&mut story, &folder)?;
    story.say(
        "Next: lesson 05 packs these weights and generates. To run a public model: \
         `cargo course data get smollm2-135m-instruct`, or `lesson04 convert FILE.gguf FOLDER`.",
    );
    story.finish()
}

/// The folder of the big model in one type.
fn big_folder(source: &str, dtype: loading::Dtype) -> PathBuf {
    let name = source.replace([':', '/', '\\'], "-");
    let name = format!("{}-{}", name.trim_start_matches('-'), dtype.name().to_lowercase());
    lab::paths::workspace_root().join("target/course/models").join(name)
}

/// The model to time: the reader's, if it is random or big enough, else random weights.
fn big_source<'a>(args: &'a CommonArgs, model: &ModelFolder) -> &'a str {
    const BIG_BYTES: u64 = 64 << 20;
    match args.model.starts_with("random:") || model.weights.stored_bytes() >= BIG_BYTES {
        true => &args.model,
        false => "random:135m",
    }
}
