//! The story's transcript on a small model: its steps, sentences and tables. Figures, verdicts, and what a model says
//! are taken out, so that every machine has the same transcript.

use fixtures::without_figures;

/// Lines that a machine or a model decides, by their beginnings; what is told in their place ends there.
const NOT_OURS: [&str; 10] = [
    "model ", "Claim", "claims", "chart", "machine", "figures", "A  …", "B  …", "C  …", "D  …",
];

/// Every number becomes #, and runs of blanks and of the lines of bars and tables one sign, since their widths hang on
/// numbers.
fn redacted(story: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_foreign = false;
    for line in story.lines() {
        let text = line.trim();
        if text.starts_with("This machine is busy") {
            continue;
        }
        let column = line.len() - line.trim_start().len();
        let foreign = NOT_OURS.iter().find(|beginning| text.starts_with(**beginning));
        if let Some(beginning) = foreign {
            lines.push(format!("{} …", beginning.trim()));
        } else if text.ends_with("baseline") || text.ends_with(" x") {
            // An entry of a race: its name.
            let name = text.split("  ").next();
            lines.push(format!("{} …", name.unwrap_or_default().trim()));
        } else if !(in_foreign && column > 4) {
            lines.push(without_figures(text));
        }
        in_foreign = foreign.is_some() || (in_foreign && column > 4);
    }
    lines.dedup();
    lines.join("\n") + "\n"
}

#[test]
fn the_story_is_told_step_by_step() {
    let folder = tempfile::tempdir().unwrap();
    // The largest seed: nothing that is added to it may overflow.
    let program = env!("CARGO_BIN_EXE_lesson10");
    let story = fixtures::story(
        program,
        &fixtures::model("some-kv-tied-bf16"),
        folder.path(),
        &["--seed", &u64::MAX.to_string()],
    );
    insta::assert_snapshot!("story", redacted(&story));
}

#[test]
fn a_short_context_is_enough_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    fixtures::tells_or_refuses_short_contexts(env!("CARGO_BIN_EXE_lesson10"), folder.path(), &[8, 40, 64]);
}

#[test]
fn an_empty_prompt_is_refused() {
    fixtures::refuses_an_empty_prompt(env!("CARGO_BIN_EXE_lesson10"));
}
