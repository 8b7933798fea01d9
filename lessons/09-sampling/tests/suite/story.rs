//! The story's transcript on a small model: its steps, sentences and tables. Figures, verdicts and texts of the model
//! are taken out, so that every machine has the same transcript.

use fixtures::without_figures;
use lab::story::check_predictions;

/// Beginnings of lines that depend on the machine or the model. The rest of such a line is taken out.
const NOT_OURS: [&str; 10] = [
    "model ",
    "Claim",
    "claims",
    "chart",
    "machine",
    "figures",
    "What follows",
    "→ c)",
    "c) from",
    "c) about",
];

/// The transcript with # for every number, and one sign for runs of blanks and of the lines of bars and tables, whose
/// widths depend on numbers.
fn redacted(story: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    // Whether the line belongs to texts of the model, or continues a line of `NOT_OURS`.
    let (mut in_texts, mut in_foreign) = (false, false);
    for line in story.lines() {
        let text = line.trim();
        if text.starts_with("This machine is busy") {
            continue;
        }
        let is_continued = line.len() - line.trim_start().len() > 4;
        let head = without_figures(text);
        let begins = head.starts_with("the likeliest ")
            || head.starts_with("token logit")
            || (head.starts_with("greedy (#)") && head.contains("repetition"));
        in_texts = begins || in_texts && !text.is_empty() && !text.starts_with("The same weights");
        let foreign = NOT_OURS.iter().find(|beginning| text.starts_with(**beginning));
        if let Some(beginning) = foreign {
            lines.push(format!("{} …", beginning.trim()));
        } else if in_texts && !begins {
            lines.push("(what a model says)".to_owned());
        } else if text.ends_with("baseline") || text.ends_with(" x") {
            // An entry of a race: its name.
            let name = text.split("  ").next();
            lines.push(format!("{} …", without_figures(name.unwrap_or_default())));
        } else if !(in_foreign && is_continued) {
            lines.push(head);
        }
        in_foreign = foreign.is_some() || in_foreign && is_continued;
    }
    lines.dedup();
    lines.join("\n") + "\n"
}

#[test]
fn the_story_is_told_step_by_step() {
    check_predictions(include_str!("../../course.toml"));
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_lesson09");
    let story = fixtures::story(
        program,
        &fixtures::model("some-kv-tied-bf16"),
        folder.path(),
        &["--tokens", "24"],
    );
    insta::assert_snapshot!("story", redacted(&story));
}

/// A prompt that leaves no room for what the story does is refused; the story does not wait for tokens that never come.
#[test]
fn a_prompt_without_room_behind_it_is_refused() {
    fixtures::refuses_long_prompts(env!("CARGO_BIN_EXE_lesson09"), &[482, 511, 600]);
}

#[test]
fn a_short_context_is_enough_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    fixtures::tells_or_refuses_short_contexts(env!("CARGO_BIN_EXE_lesson09"), folder.path(), &[8, 40, 64]);
}

#[test]
fn an_empty_prompt_is_refused() {
    fixtures::refuses_an_empty_prompt(env!("CARGO_BIN_EXE_lesson09"));
}
