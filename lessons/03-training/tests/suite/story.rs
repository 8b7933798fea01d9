//! The story's transcript: its steps, sentences and tables. Figures, and what a model says, are taken out, so that
//! every machine has the same transcript.

use crate::common::small_run;
use std::ops::ControlFlow;
use std::path::Path;
use training::LlamaConfig;
use training::train::run;

/// Lines that a model decides, or a machine, by their beginnings.
const NOT_OURS: [&str; 12] = [
    "Model:",
    "checked against the grammar",
    "machine",
    "model ",
    "copied",
    "not yet",
    "Claim D",
    "claims",
    "chart",
    "figures",
    "plain tape operations ",
    "fused ",
];

/// Every number becomes #, and runs of blanks or of the lines of bars and tables one sign, since their widths hang on
/// numbers.
fn redacted(story: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_foreign = false;
    for line in story.lines() {
        let text = line.trim();
        let column = line.len() - line.trim_start().len();
        let foreign = NOT_OURS.iter().find(|beginning| text.starts_with(**beginning));
        // What goes on from the line before stands further to the right, or is more of the model's story.
        let goes_on = in_foreign && (column > 20 || lines.last().is_some_and(|l| l.starts_with("Model:")));
        if let Some(beginning) = foreign {
            lines.push(format!("{} …", beginning.trim()));
        } else if !goes_on {
            lines.push(without_figures(text));
        }
        in_foreign = foreign.is_some() || goes_on;
    }
    lines.dedup();
    lines.join("\n") + "\n"
}

fn without_figures(line: &str) -> String {
    let mut out = String::new();
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let is_figure = |c: char| c.is_ascii_digit();
        if is_figure(c) {
            while characters.peek().is_some_and(|&c| is_figure(c) || c == '.' || c == ',') {
                characters.next();
            }
            out.push('#');
        } else if !(out.ends_with(c) && " ─━-█▏▎▍▌▋▊▉=".contains(c)) {
            out.push(c);
        }
    }
    out
}

/// A folder with a model of one small layer, hardly trained: the story is the same with any model.
fn small_model(out: &Path) {
    let config = LlamaConfig {
        num_layers: 1,
        num_heads: 2,
        num_kv_heads: 1,
        head_dim: 16,
        ..LlamaConfig::stories()
    };
    let options = small_run(out, &lab::paths::data_dir().join("corpus"), config, 4 * 64);
    run(&options, |_| ControlFlow::Continue(())).unwrap();
}

#[test]
fn the_story_is_told_step_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    small_model(&model);
    let program = env!("CARGO_BIN_EXE_lesson03");
    let story = fixtures::story(program, &model, &folder.path().join("charts"), &["--tokens", "2048"]);
    insta::assert_snapshot!("story", redacted(&story));
}
