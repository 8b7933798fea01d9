//! The story's transcript on a small model: its steps, sentences and tables. Figures, verdicts and the texts of a model
//! are taken out, so that every machine has the same transcript.

use fixtures::without_figures;

/// Beginnings of lines that depend on the machine or the model; the rest of these lines is left out.
const NOT_OURS: [&str; 7] = ["model ", "Claim", "claims", "chart", "machine", "figures", "arrivals"];

/// Every number becomes #; runs of blanks and of the lines of bars and tables become one sign, as their widths depend
/// on numbers.
fn redacted(story: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    // The opening shows texts of the model.
    let mut in_texts = false;
    let mut in_foreign = false;
    for line in story.lines() {
        let text = line.trim();
        let column = line.len() - line.trim_start().len();
        in_texts = (in_texts || text.starts_with("step   slot")) && !text.is_empty();
        let foreign = NOT_OURS.iter().find(|beginning| text.starts_with(**beginning));
        if let Some(beginning) = foreign {
            lines.push(format!("{} …", beginning.trim()));
        } else if in_texts {
            lines.push("(texts)".to_owned());
        } else if text.ends_with("baseline") || text.ends_with(" x") {
            // An entry of a race: its name.
            let name = text.split(|c: char| c.is_ascii_digit()).next();
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
    let program = env!("CARGO_BIN_EXE_lesson08");
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
    fixtures::tells_or_refuses_short_contexts(env!("CARGO_BIN_EXE_lesson08"), folder.path(), &[8, 40, 64, 128]);
}

#[test]
fn an_empty_prompt_is_refused() {
    fixtures::refuses_an_empty_prompt(env!("CARGO_BIN_EXE_lesson08"));
}
