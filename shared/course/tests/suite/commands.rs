//! start, list, hint, answer, solution, diff, skip, reset.

use std::fs;

use course::list::progress::{Counts, current_lesson, next};
use course::page::Page;
use course::state::{State, Status};
use course::{diff, exercise, hint, lessons, list, predict, reset, skip, solution, start};

use crate::tree::{Tree, narrow};
use crate::workbook::{contains, pass, started, workbook};

const PAGE: Page = Page { has_color: false };
const FILE: &str = "work/lesson05/src/kernels.rs";

fn text(tree: &Tree, path: &str) -> String {
    fs::read_to_string(tree.path(path)).unwrap()
}

#[test]
fn start_says_what_there_is_and_leaves_what_is_there() {
    let tree = workbook();
    let first = start::start(&tree.course, "5", &PAGE).unwrap();
    contains(
        &first,
        &[
            "work/lesson05 is yours",
            "work/lesson05/src/kernels.rs",
            "05.1 05.5",
            "Begin with 05.7 How many rows",
        ],
    );
    let mine = text(&tree, FILE).replace("todo!(\"05.1 RMSNorm\")", "out[0] = x[0];");
    tree.write(FILE, &mine);
    let second = start::start(&tree.course, "5", &PAGE).unwrap();
    contains(&second, &["is here already; nothing of yours was changed"]);
    assert_eq!(text(&tree, FILE), mine);
    assert_eq!(current_lesson(&tree.course).unwrap(), "05");
}

#[test]
fn without_a_started_lesson_commands_say_how_to_start() {
    let tree = workbook();
    for error in [
        current_lesson(&tree.course).unwrap_err(),
        reset::reset(&tree.course, "05", &PAGE).unwrap_err(),
        reset::reset(&tree.course, "05.1", &PAGE).unwrap_err(),
        solution::show(&tree.course, "05.1", true, &PAGE).unwrap_err(),
    ] {
        assert!(error.to_string().contains("cargo course start 05"), "{error}");
    }
}

#[test]
fn hints_come_one_by_one_and_then_all_again() {
    let tree = workbook();
    let next = || hint::next(&tree.course, "5.1", &PAGE).unwrap();
    contains(
        &next(),
        &[
            "05.1 RMSNorm: hint 1 of 3",
            "First.",
            "One step further: cargo course hint 05.1",
        ],
    );
    contains(&next(), &["hint 2 of 3", "Second."]);
    contains(
        &next(),
        &["hint 3 of 3", "`let scale = …`", "cargo course solution 05.1 --give-up"],
    );
    contains(&next(), &["First.", "Second.", "`let scale = …`"]);
    assert_eq!(State::load(&tree.course).unwrap().progress("05.1").hints, 3);
    let error = hint::next(&tree.course, "05.7", &PAGE).unwrap_err().to_string();
    assert!(error.contains("05.7 How many rows has no hints"), "{error}");
    let error = hint::next(&tree.course, "05.9", &PAGE).unwrap_err().to_string();
    assert!(error.contains("there are 05.7, 05.1, 05.5"), "{error}");
}

#[test]
fn a_wrong_answer_gets_its_own_words_and_the_first_one_stays() {
    let tree = workbook();
    let answer = |typed: &str| predict::answer(&tree.course, "05.7", Some(typed), &PAGE);
    contains(
        &answer("b").unwrap(),
        &[
            "b) 75 is not it.",
            "That many would do if they were kept.",
            "noted as your first",
        ],
    );
    contains(
        &answer("2784").unwrap(),
        &["c) 2784 is right.", "12 + 13 + … + 75", "computes every row again"],
    );
    let progress = State::load(&tree.course).unwrap().progress("05.7");
    let stored = progress.answer.unwrap();
    assert_eq!(
        (stored.first, stored.first_right, stored.latest, stored.times),
        (1, false, 2, 2)
    );
    assert_eq!(progress.status, Status::Passed);
    let error = answer("d").unwrap_err().to_string();
    assert!(error.contains("type a letter, a to c"), "{error}");
    let error = predict::answer(&tree.course, "05.1", Some("a"), &PAGE)
        .unwrap_err()
        .to_string();
    assert!(error.contains("05.1 RMSNorm is not a question"), "{error}");
}

#[test]
fn without_an_answer_the_question_is_shown() {
    let tree = workbook();
    let shown = predict::answer(&tree.course, "05.7", None, &PAGE).unwrap();
    contains(
        &shown,
        &["how many rows are computed?", "c) 2784", "cargo course answer 05.7 a"],
    );
    assert!(State::load(&tree.course).unwrap().progress("05.7").answer.is_none());
}

/// What was believed first is what a teacher wants to know, however often the exercise is opened again.
#[test]
fn the_first_answer_and_what_is_counted_stay_after_a_reset() {
    let tree = started();
    predict::answer(&tree.course, "05.7", Some("a"), &PAGE).unwrap();
    hint::next(&tree.course, "05.1", &PAGE).unwrap();
    reset::reset(&tree.course, "05.7", &PAGE).unwrap();
    reset::reset(&tree.course, "05.1", &PAGE).unwrap();
    let progress = |id: &str| State::load(&tree.course).unwrap().progress(id);
    assert_eq!((progress("05.7").status, progress("05.1").hints), (Status::Open, 1));
    predict::answer(&tree.course, "05.7", Some("c"), &PAGE).unwrap();
    let answer = progress("05.7").answer.unwrap();
    assert_eq!(
        (answer.first, answer.first_right, answer.latest, answer.times),
        (0, false, 2, 2)
    );
    assert_eq!(
        (progress("05.7").status, progress("05.7").attempts),
        (Status::Passed, 2)
    );
}

#[test]
fn an_exercise_begins_when_it_is_worked_on() {
    let tree = started();
    let started_at = |id: &str| State::load(&tree.course).unwrap().progress(id).started_at;
    assert_eq!(started_at("05.1"), None);
    hint::next(&tree.course, "05.1", &PAGE).unwrap();
    assert!(started_at("05.1").is_some());
    assert_eq!((started_at("05.5"), started_at("05.7")), (None, None));
}

/// Chapters write `--` in front of a lesson's flags, as for cargo.
#[test]
fn flags_of_a_lesson_may_stand_behind_two_dashes() {
    let tree = workbook();
    tree.write("fake/cargo.sh", "shift 5; echo \"$@\" >> fake/calls\n");
    for words in [&["--", "--no-pause"][..], &["--no-pause"]] {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        assert!(course::run::run(&tree.course, "05", false, &words).unwrap().success());
        assert_eq!(tree.calls(), ["--no-pause"]);
    }
}

#[test]
fn the_solution_waits_for_a_pass_or_a_give_up_which_is_noted() {
    let tree = started();
    for command in [
        solution::show(&tree.course, "05.1", false, &PAGE),
        diff::show(&tree.course, "05.1", false, &PAGE),
    ] {
        let error = command.unwrap_err().to_string();
        assert!(
            error.contains("05.1 RMSNorm has not passed yet") && error.contains("--give-up"),
            "{error}"
        );
    }
    assert!(!State::load(&tree.course).unwrap().progress("05.1").gave_up);
    let shown = solution::show(&tree.course, "05.1", true, &PAGE).unwrap();
    contains(
        &shown,
        &[
            "for (out, x) in out.iter_mut().zip(x)",
            "lessons/05-generation/src/kernels.rs",
        ],
    );
    assert!(!shown.contains("ANCHOR"), "{shown}");
    assert!(State::load(&tree.course).unwrap().progress("05.1").gave_up);

    pass(&tree, "05.5");
    let shown = solution::show(&tree.course, "05.5", true, &PAGE).unwrap();
    assert!(shown.contains("    text.len()\n") && !shown.contains('~'), "{shown}");
    assert!(
        !State::load(&tree.course).unwrap().progress("05.5").gave_up,
        "a solution that is shown after a pass is no give-up"
    );
    let question = solution::show(&tree.course, "05.7", true, &PAGE).unwrap();
    contains(&question, &["The answer: 2784", "12 + 13 + … + 75"]);
}

#[test]
fn the_diff_shows_both_bodies_without_marks() {
    let tree = started();
    let mine = text(&tree, FILE).replace("todo!(\"05.1 RMSNorm\")", "out.copy_from_slice(x);");
    tree.write(FILE, &mine);
    pass(&tree, "05.1");
    pass(&tree, "05.5");
    let shown = diff::show(&tree.course, "05.1", false, &PAGE).unwrap();
    contains(
        &shown,
        &["- yours", "+ reference", "- out.copy_from_slice(x);", "+ *out = *x;"],
    );
    assert!(
        shown.contains("\n  assert!(x.len() == out.len());\n") && !shown.contains("ANCHOR"),
        "{shown}"
    );
    let shown = diff::show(&tree.course, "05.5", false, &PAGE).unwrap();
    contains(&shown, &["- 0", "+ text.len()"]);
    let error = diff::show(&tree.course, "05", false, &PAGE).unwrap_err().to_string();
    assert!(error.contains("cargo course diff 05.1"), "{error}");
}

#[test]
fn a_skipped_exercise_is_left_out_until_it_is_wanted() {
    let tree = workbook();
    let exercises = exercise::all(&tree.course, "05").unwrap();
    let upcoming = || {
        let state = State::load(&tree.course).unwrap();
        next(&exercises, &state).map(|exercise| exercise.id.clone())
    };
    assert_eq!(upcoming().as_deref(), Some("05.7"));
    contains(
        &skip::skip(&tree.course, "05.7", false, &PAGE).unwrap(),
        &["is skipped", "--undo"],
    );
    assert_eq!(upcoming().as_deref(), Some("05.1"));
    pass(&tree, "05.1");
    assert_eq!(upcoming().as_deref(), Some("05.5"), "extra ones come last");
    contains(
        &skip::skip(&tree.course, "05.7", true, &PAGE).unwrap(),
        &["is wanted again"],
    );
    assert_eq!(upcoming().as_deref(), Some("05.7"));
}

#[test]
fn reset_of_one_function_leaves_the_others_and_keeps_a_copy() {
    let tree = started();
    let mine = text(&tree, FILE)
        .replace("todo!(\"05.1 RMSNorm\")", "out[0] = x[0];")
        .replace("    0\n", "    7\n");
    tree.write(FILE, &mine);
    pass(&tree, "05.1");
    State::update(&tree.course, |state| state.exercise("05.1").gave_up = true).unwrap();
    let said = reset::reset(&tree.course, "05.1", &PAGE).unwrap();
    contains(&said, &["Yours is kept in work/backup/", "-05.1"]);
    let now = text(&tree, FILE);
    assert!(
        now.contains("todo!(\"05.1 RMSNorm\")") && now.contains("    7\n"),
        "{now}"
    );
    let folder = kept(&tree, "-05.1");
    assert_eq!(text(&tree, &format!("work/backup/{folder}/src/kernels.rs")), mine);
    assert!(text(&tree, &format!("work/backup/{folder}/course.json")).contains("passed_at"));
    let progress = State::load(&tree.course).unwrap().progress("05.1");
    assert_eq!((progress.status, progress.attempts), (Status::Open, 1));
    assert!(progress.gave_up && progress.passed_at.is_none() && progress.signature.is_some());
}

#[test]
fn reset_of_a_lesson_makes_every_file_anew_and_keeps_copies() {
    let tree = started();
    let shipped = text(&tree, FILE);
    for mine in ["pub fn rms_norm() {}\n", "this is no Rust ("] {
        tree.write(FILE, mine);
        let said = reset::reset(&tree.course, "05", &PAGE).unwrap();
        contains(&said, &["Lesson 05 is as it ships", "work/backup/"]);
        assert_eq!(text(&tree, FILE), shipped);
    }
    let copies = fs::read_dir(tree.path("work/backup")).unwrap().flatten();
    let copies = copies.filter(|entry| entry.file_name().to_string_lossy().contains("-lesson05"));
    assert_eq!(copies.count(), 2, "each reset has a copy of its own");
}

#[test]
fn reset_of_a_function_in_a_file_that_is_no_rust_changes_nothing() {
    let tree = started();
    tree.write(FILE, "pub fn rms_norm( {\n");
    let error = reset::reset(&tree.course, "05.1", &PAGE).unwrap_err().to_string();
    assert!(
        error.contains("kernels.rs:") && error.contains("cargo course reset 05"),
        "{error}"
    );
    assert_eq!(text(&tree, FILE), "pub fn rms_norm( {\n");
}

proptest::proptest! {
    /// Byte order marks, line ends, tabs, characters of every width: what is not the function stays byte for byte.
    #[test]
    fn a_reset_changes_one_function_and_no_other_byte(
        mark in proptest::bool::ANY,
        carriage in proptest::bool::ANY,
        before in "(// [a-z\u{e9}\u{1F98A}\t ]{0,9}\n|fn a\\(\\) \\{ \"\u{1F98A}\t\" ; \\}\n|\t\n| ){0,1}",
        body in "(let a = \"[\u{e9}\u{1F98A}a-z ]{0,5}\";\n\t| ){0,3}",
        after in "(// [a-z\u{4f60}\t ]{0,9}\n|fn b\\(\\) \\{\\}\t\n|\n\n| ){0,3}",
    ) {
        let tree = SHARED.with(|tree| tree.course.clone());
        let exercise = exercise::find(&tree, "05.1").unwrap();
        let twin = course::twin::Twin::open(&tree, "05").unwrap();
        let shipped = twin.file(&exercise).shipped().unwrap();
        let ends = |text: &str| if carriage { text.replace('\n', "\r\n") } else { text.to_owned() };
        let start = if mark { "\u{feff}" } else { "" }.to_owned() + &ends(&before);
        let learner = start.clone() + &ends(&format!("pub fn rms_norm(x: &[f32], out: &mut [f32]) {{ {body} }}")) + &ends(&after);
        if course::source::functions::parse(&learner).is_err() {
            return Ok(());
        }
        let reset = course::source::reset_function(&learner, &shipped, &exercise, "a.rs").unwrap();
        proptest::prop_assert!(reset.starts_with(&start) && reset.ends_with(&ends(&after)), "{reset:?}");
        let item = &reset[start.len()..reset.len() - ends(&after).len()];
        proptest::prop_assert!(item.contains("todo!(\"05.1 RMSNorm\")") && item.ends_with('}'), "{item:?}");
        proptest::prop_assert_eq!(item.contains("\r\n"), learner.contains("\r\n"));
    }
}

thread_local! {
    static SHARED: Tree = started();
}

/// The name of the one backup that ends with `end`.
fn kept(tree: &Tree, end: &str) -> String {
    let entries = fs::read_dir(tree.path("work/backup")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(end)).last().unwrap()
}

#[test]
fn the_list_counts_and_the_details_tell_what_happened() {
    let tree = started();
    pass(&tree, "05.1");
    predict::answer(&tree.course, "05.7", Some("75"), &PAGE).unwrap();
    State::update(&tree.course, |state| {
        state.exercise("05.1").hints = 1;
        state.exercise("05.5").gave_up = true;
    })
    .unwrap();
    let state = State::load(&tree.course).unwrap();
    let exercises = exercise::all(&tree.course, "05").unwrap();
    let counts = |_: &str| Counts::of(&exercises, &state);
    let table = list::render(&lessons::all(&tree.course).unwrap(), &counts, &PAGE);
    contains(&table, &["1/3"]);
    let lesson = lessons::one(&tree.course, "05").unwrap();
    let details = list::details(&lesson, &exercises, &state, &PAGE);
    narrow(&details);
    insta::assert_snapshot!(details);
}
