//! The story's transcript on a small model: its steps, sentences and tables. Figures, verdicts, and what a model says
//! are taken out, so that every machine has the same transcript.

use fixtures::without_figures;

/// Lines that a machine or a model decides, by their beginnings; what is told in their place ends there.
const NOT_OURS: [&str; 6] = ["model ", "Claim", "claims", "chart", "machine", "figures"];

/// Every number becomes #, and runs of blanks and of the lines of bars and tables one sign, since their widths hang on
/// numbers.
fn redacted(story: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    // The opening: what a model says, and how long it takes.
    let mut in_bars = false;
    let mut in_foreign = false;
    for line in story.lines() {
        let text = line.trim();
        let column = line.len() - line.trim_start().len();
        in_bars = (in_bars || text.starts_with("token   ")) && !text.starts_with("The tokens");
        let foreign = NOT_OURS.iter().find(|beginning| text.starts_with(**beginning));
        if let Some(beginning) = foreign {
            lines.push(format!("{} …", beginning.trim()));
        } else if in_bars {
            lines.push("(tokens and bars)".to_owned());
        } else if text.ends_with("baseline") || text.ends_with(" x") {
            // An entry of a race: its name.
            let name = text.split("  ").next();
            lines.push(format!("{} …", name.unwrap_or_default().trim()));
        } else if !(in_foreign && column > 4) {
            // Bars are as long as the machine says.
            let text = text.replace(|c| "▁▂▃▄▅▆▇█▏▎▍▌▋▊▉".contains(c), "");
            lines.push(without_figures(&text));
        }
        in_foreign = foreign.is_some() || (in_foreign && column > 4);
    }
    lines.dedup();
    lines.join("\n") + "\n"
}

#[test]
fn the_story_is_told_step_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_lesson11");
    let story = fixtures::story(program, &fixtures::model("some-kv-tied-bf16"), folder.path(), &[]);
    insta::assert_snapshot!("story", redacted(&story));
}

/// A stream has to last as long as the long prompt is read; a story that waited for its tokens would never end.
#[test]
fn a_prompt_that_leaves_the_stream_no_room_is_refused_with_the_reason() {
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_lesson11"))
        .args([
            "--no-pause",
            "--threads",
            "2",
            "--prompt",
            &"a fox ".repeat(250),
            "--model",
        ])
        .arg(fixtures::model("some-kv-tied-bf16"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success(), "{said}");
    assert!(said.contains("--prompt: expected at most"), "{said}");
}

#[test]
fn a_short_context_is_enough_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    fixtures::tells_or_refuses_short_contexts(env!("CARGO_BIN_EXE_lesson11"), folder.path(), &[4, 8, 40, 64]);
}

#[test]
fn an_empty_prompt_is_refused() {
    fixtures::refuses_an_empty_prompt(env!("CARGO_BIN_EXE_lesson11"));
}
