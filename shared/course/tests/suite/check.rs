//! The grader on a lesson of a few lines, built by real cargo: every state that a learner's file can be in.

use course::check::{self, Checked, Report, Selection, Status};
use course::state::{self, State};
use course::twin::Twin;
use course::verify;

use crate::tiny;
use crate::tree::Tree;

fn started() -> Tree {
    let tree = tiny::tree();
    Twin::start(&tree.course, "05").unwrap();
    tree
}

fn check(tree: &Tree, ids: &[&str]) -> Report {
    let selection = Selection {
        lesson: "05".into(),
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
    };
    check::check(&tree.course, &selection).unwrap()
}

fn one<'a>(report: &'a Report, id: &str) -> &'a Checked {
    report.exercises.iter().find(|one| one.id == id).unwrap()
}

/// Replaces text in the learner's file, which must be there.
#[track_caller]
fn edit(tree: &Tree, path: &str, from: &str, to: &str) {
    let text = std::fs::read_to_string(tree.path(path)).unwrap();
    assert!(text.contains(from), "{from:?} is not in\n{text}");
    tree.write(path, text.replace(from, to));
}

const SUMS: &str = "work/lesson05/src/sums.rs";
const STUB: &str = "todo!(\"05.1 Sum of squares\")";
const RIGHT: &str = "x.iter().map(|x| square(*x)).sum()";

#[test]
fn a_lesson_that_was_not_started_says_how() {
    let tree = tiny::tree();
    let selection = Selection {
        lesson: "05".into(),
        ids: Vec::new(),
    };
    let error = check::check(&tree.course, &selection).unwrap_err().to_string();
    assert!(error.contains("cargo course start 05"), "{error}");
}

/// What is not written is the reference's, so that everything else can be checked; each kind has its own beginning.
#[test]
fn a_fresh_start_is_open_and_the_lesson_runs_whole() {
    let tree = started();
    let text = std::fs::read_to_string(tree.path(SUMS)).unwrap();
    assert!(
        text.contains(STUB) && text.contains("few numbers") && !text.contains("ANCHOR"),
        "{text}"
    );
    assert!(text.contains("/ x.len() as u32") && !text.contains("//~"), "{text}");
    let report = check(&tree, &[]);
    let statuses: Vec<&Status> = report.exercises.iter().map(|one| &one.status).collect();
    assert_eq!(
        statuses,
        [
            &Status::NotWritten,
            &Status::NotTouched,
            &Status::NotWritten,
            &Status::Question
        ]
    );
    assert_eq!(report.next.as_deref(), Some("cargo course check 05.1"));
    assert!(!report.is_passed());
    // A fault asked for alone shows its trail, and is no attempt.
    let report = check(&tree, &["05.2"]);
    let Status::Failed { failures, .. } = &report.exercises[0].status else {
        panic!("{report:?}")
    };
    assert!(
        failures[0]
            .at
            .as_deref()
            .unwrap()
            .starts_with("work/lesson05/src/sums.rs:"),
        "{failures:?}"
    );
    let progress = State::load(&tree.course).unwrap().progress("05.2");
    assert_eq!(progress.attempts, 0);
    assert_eq!(progress.signature.as_deref(), Some("pub fn mean(x: &[u32]) -> u32"));
}

#[test]
fn a_wrong_idea_is_named_and_the_right_body_passes() {
    let tree = started();
    edit(&tree, SUMS, STUB, "{ let sum: u32 = x.iter().sum(); square(sum) }");
    let report = check(&tree, &["05.1"]);
    let Status::Failed { failures, idea } = &report.exercises[0].status else {
        panic!("{report:?}")
    };
    assert_eq!(failures.len(), 1);
    assert_eq!(idea.as_ref().unwrap().name, "The sum is squared");
    assert_eq!(failures[0].why, "One plus four.");
    assert_eq!(failures[0].message, "squares of [1, 2]\nfound:    9\nexpected: 5");
    assert_eq!(report.next.as_deref(), Some("cargo course hint 05.1"));
    assert_eq!(report.exercises[0].num_tests, 3);

    edit(&tree, SUMS, "{ let sum: u32 = x.iter().sum(); square(sum) }", RIGHT);
    let report = check(&tree, &["05.1"]);
    assert_eq!(report.exercises[0].status, Status::Passed);
    assert_eq!(report.exercises[0].learned, "Squares add up.");
    let progress = State::load(&tree.course).unwrap().progress("05.1");
    assert_eq!((progress.status, progress.attempts), (state::Status::Passed, 2));
}

/// A type error, a deleted function, another signature: each is told as what it is, and the neighbours are graded.
#[test]
fn one_broken_function_hides_no_other() {
    let tree = started();
    edit(
        &tree,
        SUMS,
        "x.iter().sum::<u32>() / x.len() as u32",
        "x.iter().sum::<u32>().checked_div(x.len() as u32).unwrap_or(0)",
    );
    edit(&tree, SUMS, STUB, "let wrong: u8 = x;\n    wrong");
    let report = check(&tree, &[]);
    let Status::DoesNotCompile { errors } = &one(&report, "05.1").status else {
        panic!("{report:?}")
    };
    assert_eq!((errors[0].file.as_str(), errors[0].line), (SUMS, 8));
    assert!(
        errors[0].rendered.contains("--> work/lesson05/src/sums.rs:8"),
        "{}",
        errors[0].rendered
    );
    assert_eq!(one(&report, "05.2").status, Status::Passed);

    // Half a line: the file does not parse.
    edit(&tree, SUMS, "let wrong: u8 = x;\n    wrong", "half(");
    let report = check(&tree, &[]);
    let Status::DoesNotCompile { errors } = &one(&report, "05.1").status else {
        panic!("{report:?}")
    };
    assert_eq!(errors[0].file, SUMS);
    assert_eq!(one(&report, "05.2").status, Status::Passed);

    // Another signature.
    edit(&tree, SUMS, "squares(x: &[u32]) -> u32", "squares(x: &[u64]) -> u32");
    edit(&tree, SUMS, "half(", "0");
    let report = check(&tree, &[]);
    let Status::SignatureChanged { expected, found } = &one(&report, "05.1").status else {
        panic!("{report:?}")
    };
    assert_eq!(
        (expected.as_str(), found.as_str()),
        ("pub fn squares(x: &[u32]) -> u32", "pub fn squares(x: &[u64]) -> u32")
    );
    assert_eq!(one(&report, "05.2").status, Status::Passed);

    // The function is gone, the file is gone.
    let text = std::fs::read_to_string(tree.path(SUMS)).unwrap();
    let mean = text.find("/// The mean").unwrap();
    tree.write(SUMS, "use crate::given::square;\n".to_owned() + &text[mean..]);
    let report = check(&tree, &[]);
    assert_eq!(one(&report, "05.1").status, Status::Deleted);
    assert_eq!(one(&report, "05.2").status, Status::Passed);
    std::fs::remove_file(tree.path(SUMS)).unwrap();
    let report = check(&tree, &[]);
    assert_eq!(one(&report, "05.1").status, Status::FileMissing);
    assert_eq!(one(&report, "05.3").status, Status::NotWritten);
}

/// A helper that does not compile is blamed on the function that calls it.
#[test]
fn a_broken_helper_is_its_callers_fault() {
    let tree = started();
    edit(
        &tree,
        SUMS,
        "x.iter().sum::<u32>() / x.len() as u32",
        "x.iter().sum::<u32>().checked_div(x.len() as u32).unwrap_or(0)",
    );
    edit(&tree, SUMS, STUB, "helper(x)");
    let text = std::fs::read_to_string(tree.path(SUMS)).unwrap();
    tree.write(SUMS, text + "\nfn helper(x: &[u32]) -> u32 {\n    x.sum()\n}\n");
    let report = check(&tree, &[]);
    let Status::DoesNotCompile { errors } = &one(&report, "05.1").status else {
        panic!("{report:?}")
    };
    assert!(errors[0].message.contains("no method named `sum`"), "{errors:?}");
    assert_eq!(one(&report, "05.2").status, Status::Passed);
}

/// The tests and the signatures are the lesson's: when they change, they are used, and the learner's work stays.
#[test]
fn changes_of_the_lesson_are_told_and_the_work_stays() {
    let tree = started();
    edit(&tree, SUMS, STUB, RIGHT);
    assert_eq!(check(&tree, &["05.1"]).exercises[0].status, Status::Passed);
    let mine = std::fs::read_to_string(tree.path(SUMS)).unwrap();

    let tests = tiny::TESTS.replace("assert_eq!(squares(&[]), 0);", "assert_eq!(squares(&[]), 1);");
    tree.write("lessons/05-tiny/tests/exercises.rs", tests);
    let report = check(&tree, &["05.1"]);
    assert!(matches!(report.exercises[0].status, Status::Failed { .. }));
    assert!(report.exercises[0].tests_changed);
    tree.write("lessons/05-tiny/tests/exercises.rs", tiny::TESTS);
    check(&tree, &["05.1"]);
    assert!(!check(&tree, &["05.1"]).exercises[0].tests_changed, "told once");

    for path in [
        "lessons/05-tiny/src/sums.rs",
        "lessons/05-tiny/tests/exercises.rs",
        "lessons/05-tiny/src/lib.rs",
    ] {
        let text = std::fs::read_to_string(tree.path(path)).unwrap();
        let text = text.replace("squares(x: &[u32]) -> u32", "squares(x: &[u32], bias: u32) -> u32");
        let text = text.replace("square(*x)).sum()", "square(*x)).sum::<u32>() + bias");
        let text = text
            .replace("squares(&[])", "squares(&[], 0)")
            .replace("squares(&[1, 2])", "squares(&[1, 2], 0)");
        tree.write(path, text.replace("squares(x) -", "squares(x, 0) -"));
    }
    let report = check(&tree, &[]);
    let Status::LessonChanged { before, now } = &one(&report, "05.1").status else {
        panic!("{report:?}")
    };
    assert_eq!(
        (before.as_str(), now.as_str()),
        (
            "pub fn squares(x: &[u32]) -> u32",
            "pub fn squares(x: &[u32], bias: u32) -> u32"
        )
    );
    assert_eq!(std::fs::read_to_string(tree.path(SUMS)).unwrap(), mine);
}

/// A crash or an endless loop is one exercise's failure, not the grader's.
#[test]
fn a_stack_overflow_is_told_as_a_failed_test() {
    let tree = started();
    edit(&tree, SUMS, STUB, "squares(&x[..x.len()]) + 1");
    let report = check(&tree, &["05.1"]);
    let Status::Failed { failures, .. } = &report.exercises[0].status else {
        panic!("{report:?}")
    };
    assert!(
        failures[0].message.contains("it ended the whole program"),
        "{failures:?}"
    );
    assert!(failures[0].message.contains("overflow"), "{failures:?}");
}

/// Each is a bug of its own: none is called the idea of the exercise.
#[test]
fn an_ordinary_bug_is_named_as_no_idea() {
    let tree = started();
    let mut body = STUB;
    for (bug, first) in [
        ("x.iter().sum()", "one number is squared"),
        ("x.len() as u32", "one number is squared"),
        // The idea's test fails alone, by a panic of the function itself: that is no answer to what the test asks.
        (
            "x.iter().map(|x| square(*x)).sum::<u32>() / (2 - x.len() as u32)",
            "each number is squared by itself",
        ),
        // The direction is the idea's, the message another.
        (
            "{ if x.len() > 1 { std::process::exit(0) } x.iter().map(|x| square(*x)).sum() }",
            "each number is squared by itself",
        ),
    ] {
        edit(&tree, SUMS, body, bug);
        body = bug;
        let report = check(&tree, &["05.1"]);
        let Status::Failed { failures, idea } = &report.exercises[0].status else {
            panic!("{report:?}")
        };
        assert_eq!((failures[0].claim.as_str(), idea), (first, &None), "{bug}");
    }
}

/// A verdict comes from the exit status and the log of each test, never from what the learner's code prints.
#[test]
fn no_output_makes_a_wrong_body_pass() {
    let tree = started();
    let mut body = STUB;
    for (bug, message) in [
        (
            "{ use std::io::Write; let _ = write!(std::io::stdout(), \"shape {:?} \", x); 77 }",
            "found:    77",
        ),
        (
            "{ use std::io::Write; let ok = \"\\ntest ex_05_1_squares::no_numbers_give_zero ... ok\\n\\ntest result: ok. 3 passed; 0 failed\\n\"; let _ = write!(std::io::stdout(), \"{ok}\"); 77 }",
            "found:    77",
        ),
        ("std::process::exit(0)", "it ended the whole program (exit status: 0)"),
        ("loop { println!(\"noise\") }", "it printed more than 1024 KiB"),
    ] {
        edit(&tree, SUMS, body, bug);
        body = bug;
        let report = check(&tree, &["05.1"]);
        let Status::Failed { failures, idea } = &report.exercises[0].status else {
            panic!("{report:?}")
        };
        assert_eq!(
            (failures.len(), report.exercises[0].num_tests, idea),
            (3, 3, &None),
            "{bug}"
        );
        assert!(failures[0].message.contains(message), "{bug}: {failures:?}");
    }
    // Noise does not make a right body fail either.
    let right = "{ use std::io::Write; let _ = write!(std::io::stdout(), \"test x ... FAILED\"); x.iter().map(|x| square(*x)).sum() }";
    edit(&tree, SUMS, body, right);
    assert_eq!(check(&tree, &["05.1"]).exercises[0].status, Status::Passed);
}

#[test]
fn a_test_that_does_not_end_is_named() {
    let mut tree = started();
    tree.course.limit = std::time::Duration::from_secs(2);
    edit(
        &tree,
        SUMS,
        STUB,
        "if x.len() == 1 { loop { std::thread::yield_now() } } 0",
    );
    let report = check(&tree, &["05.1"]);
    let expected = Status::TimedOut {
        seconds: 2,
        test: "one_number_is_squared".into(),
    };
    assert_eq!(report.exercises[0].status, expected);
}

/// In a class the build is done beforehand.
#[test]
fn a_lesson_that_was_started_can_be_built_at_once() {
    let tree = started();
    check::warm(&tree.course, "05").unwrap();
    assert!(tree.has("work/lesson05/.fill/built"));
}

/// A first check builds nothing as long as there is nothing to test.
#[test]
fn a_check_of_nothing_written_calls_no_cargo() {
    let mut tree = started();
    tree.course.cargo = course::tools::Program::new("no-such-cargo");
    let report = check(&tree, &[]);
    assert_eq!(report.exercises[1].status, Status::NotTouched);
    assert_eq!(check(&tree, &["05.1"]).exercises[0].status, Status::NotWritten);
    // A written body needs it.
    edit(&tree, SUMS, STUB, RIGHT);
    let selection = Selection {
        lesson: "05".into(),
        ids: Vec::new(),
    };
    assert!(check::check(&tree.course, &selection).is_err());
}

/// The lesson now has its exercises in another file; the learner's file goes there, and nothing of it is lost.
#[test]
fn work_of_the_form_before_is_taken_over() {
    let tree = started();
    let mine = "\u{feff}".to_owned() + &std::fs::read_to_string(tree.path(SUMS)).unwrap().replace(STUB, RIGHT);
    tree.write(SUMS, mine.replace('\n', "\r\n"));
    State::update(&tree.course, |state| state.exercise("05.1").hints = 2).unwrap();

    let exercises = "lessons/05-tiny/src/exercises";
    tree.write(&format!("{exercises}/mod.rs"), "//! Exercises.\n\npub mod sums;\n");
    std::fs::rename(
        tree.path("lessons/05-tiny/src/sums.rs"),
        tree.path(&format!("{exercises}/sums.rs")),
    )
    .unwrap();
    let lib = tiny::LIB.replace("pub mod sums;\n", "pub mod exercises;\npub use exercises::sums;\n");
    tree.write("lessons/05-tiny/src/lib.rs", lib);
    tree.write(
        "lessons/05-tiny/course.toml",
        tiny::COURSE.replace("\"sums::", "\"exercises::sums::"),
    );

    let report = check(&tree, &[]);
    assert_eq!(one(&report, "05.1").status, Status::Passed);
    assert_eq!(one(&report, "05.2").status, Status::NotTouched);
    let moved = "work/lesson05/src/exercises/sums.rs";
    assert_eq!(
        std::fs::read_to_string(tree.path(moved)).unwrap(),
        mine.replace('\n', "\r\n")
    );
    assert!(!tree.has(SUMS));
    let backup = std::fs::read_dir(tree.path("work/backup")).unwrap().flatten();
    let backup = backup
        .map(|entry| entry.path().join("src/sums.rs"))
        .find(|path| path.exists());
    assert_eq!(
        std::fs::read(backup.unwrap()).unwrap(),
        mine.replace('\n', "\r\n").as_bytes()
    );
    let progress = State::load(&tree.course).unwrap().progress("05.1");
    assert_eq!(
        (progress.hints, progress.attempts, progress.status),
        (2, 1, state::Status::Passed)
    );
}

/// What `cargo test` built in the root is used by a check: the lesson lies at the same place in both workspaces.
#[cfg(unix)]
#[test]
fn what_the_workbook_has_built_is_not_built_again() {
    let tree = started();
    // Features for a lesson's own tests make another build of it.
    let manifest = tiny::MANIFEST.split("[features]").next().unwrap();
    tree.write("lessons/05-tiny/Cargo.toml", manifest);
    Twin::start(&tree.course, "05").unwrap();
    let cargo = |folder: &str, words: &[&str]| {
        let mut command = tree.course.cargo.command();
        command
            .current_dir(tree.path(folder))
            .args(words)
            .args(["--message-format", "json"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    cargo("", &["test", "--no-run", "--workspace"]);
    let said = cargo("work", &["test", "--no-run", "--example", "my-lesson05-exercises"]);
    let reference = said
        .lines()
        .find(|line| line.contains("\"compiler-artifact\"") && line.contains("#lesson05@"));
    let reference = reference.unwrap_or_else(|| panic!("the reference is not among\n{said}"));
    assert!(reference.contains("\"fresh\":true"), "{reference}");
}

/// A copy of a workbook, with the program that was built in another folder; and a folder deep inside it.
#[test]
fn the_workbook_around_the_current_folder_is_used() {
    let tree = started();
    for folder in ["", "work", "work/lesson05", "work/lesson05/src/deep"] {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_course"));
        let output = program
            .current_dir(tree.path(folder))
            .args(["list", "05"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            said.contains("05 Tiny") && said.contains("Sum of squares"),
            "{folder}: {output:?}"
        );
        let notice = format!("workbook: {}\n", tree.course.root.display());
        assert_eq!(String::from_utf8_lossy(&output.stderr), notice);
    }
    let config = std::fs::read_to_string(tree.path("work/.cargo/config.toml")).unwrap();
    let alias = format!(
        "course = \"run --quiet --manifest-path {}/Cargo.toml --package course --\"",
        tree.course.root.display()
    );
    assert!(config.contains(&alias), "{config}");
}

/// As for every program: the one writer ends quietly at a closed pipe, and with an error at a full disk.
#[test]
fn output_that_can_not_be_written_is_quiet_or_an_error_never_a_panic() {
    let tree = started();
    for args in [
        &["list"][..],
        &["list", "05"],
        &["list", "--json"],
        &["report", "."],
        &["report", ".", "--json"],
        &["--help"],
    ] {
        let run = || {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_course"));
            // In the root of a workbook of its own, which is named on stderr only where it differs from the built one.
            command.current_dir(&tree.course.root).args(args);
            command
        };
        let unwritten = fixtures::unwritten(run);
        assert_eq!(unwritten.closed.status.code(), Some(0), "{args:?}: {unwritten:?}");
        if let Some(full) = &unwritten.full {
            let message = String::from_utf8_lossy(&full.stderr);
            assert!(
                message.contains("error: stdout: cannot be written: "),
                "{args:?}: {message}"
            );
            assert!(!message.contains("panicked"), "{args:?}: {message}");
            assert_eq!(full.status.code(), Some(1), "{args:?}: {message}");
        }
    }
}

/// A request to end reaches what runs, here an endless test.
#[cfg(unix)]
#[test]
fn the_running_test_ends_with_the_command() {
    let tree = started();
    let body = "std::fs::write(\"pid\", std::process::id().to_string()).unwrap(); loop { std::thread::yield_now() }";
    edit(&tree, SUMS, STUB, body);
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_course"));
    let mut command = program
        .current_dir(&tree.course.root)
        .args(["check", "05.1"])
        .spawn()
        .unwrap();
    let wait_for = |what: &mut dyn FnMut() -> bool| {
        let began = std::time::Instant::now();
        while !what() {
            assert!(began.elapsed().as_secs() < 300, "too late");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let pid = tree.path("work/lesson05/pid");
    wait_for(&mut || std::fs::read_to_string(&pid).is_ok_and(|text| !text.is_empty()));
    let signal = |name: &str, id: &str| {
        let mut kill = std::process::Command::new("kill");
        kill.args([name, id])
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    assert!(signal("-TERM", &command.id().to_string()));
    assert_eq!(command.wait().unwrap().code(), Some(130));
    let test = std::fs::read_to_string(&pid).unwrap();
    wait_for(&mut || !signal("-0", &test));
}

/// A nested file, a catch exercise: an answer that catches nothing fails.
#[test]
fn a_test_that_catches_nothing_fails() {
    let tree = started();
    let cases = "work/lesson05/src/deep/cases.rs";
    edit(
        &tree,
        cases,
        "todo!(\"05.3 Catch the lazy sorter\")",
        "vec![vec![1, 2]]",
    );
    let report = check(&tree, &["05.3"]);
    let Status::Failed { failures, .. } = &report.exercises[0].status else {
        panic!("{report:?}")
    };
    assert!(failures[0].message.contains("was not caught"), "{failures:?}");
    edit(&tree, cases, "vec![1, 2]", "vec![2, 1]");
    assert_eq!(check(&tree, &["05.3"]).exercises[0].status, Status::Passed);
}

#[test]
fn running_uses_the_learners_code() {
    let tree = started();
    edit(&tree, SUMS, STUB, "x.len() as u32 + 40");
    let status = course::run::run(&tree.course, "05", false, &[]).unwrap();
    assert!(status.success());
}

#[test]
fn a_good_lesson_is_verified() {
    let tree = tiny::tree();
    let outcome = verify::verify(&tree.course, &[]).unwrap();
    assert_eq!(outcome.problems, Vec::<String>::new());
    assert_eq!((outcome.exercises["05"], outcome.runs), (4, 1 + 3 + 2 + 5));
    assert_eq!((outcome.named, outcome.unnamed), (1, 4));
    assert!(!tree.has("work/lesson05"));
}

/// Each kind of fault that a lesson's author can make, all in one lesson.
#[test]
fn a_bad_lesson_is_told_by_file_and_exercise() {
    let tree = tiny::tree();
    let course = tiny::COURSE
        .replace(
            "hints = [\"a\", \"b\", \"c\"]\n[[exercises.ideas]]",
            "hints = [\"a\"]\n[[exercises.ideas]]",
        )
        .replace("passes = [\"no_numbers_give_zero\"", "passes = [\"no_such_test\"")
        .replace(
            "what = \"one by default\"\nfault = [{ find = \"unwrap_or(0)\"",
            "what = \"one by default\"\nfault = [{ find = \"unwrap(0)\"",
        )
        .replace(
            "body = \"x.iter().sum()\"",
            "body = \"x.iter().sum::<u32>().checked_div(x.len() as u32).unwrap_or(0)\"",
        )
        .replace("within = 1.5", "within = 0.5")
        .replace("options = [\"3\", \"6\"]", "options = [\"3\", \"7\"]");
    tree.write("lessons/05-tiny/course.toml", course);
    let tests = tiny::TESTS
        // Group 2 uses the function of exercise 1; the test of exercise 3 tests nothing.
        .replace(
            "assert_eq!(tiny::sums::mean(&[2, 4]), 3);",
            "assert_eq!(tiny::sums::squares(&[2]), 4);",
        )
        .replace("assert!(!sorts(|_| ())", "assert!(sorts(|_| ()) || true");
    tree.write("lessons/05-tiny/tests/exercises.rs", tests + "#[test]\nfn stray() {}\n");
    tree.write("book/src/05-tiny.md", "05.1 05.2 05.3 05.44\n");
    let outcome = verify::verify(&tree.course, &[]).unwrap();
    let all = outcome.problems.join("\n");
    for expected in [
        "lessons/05-tiny/course.toml:4: 05.1: expected 3 hints, found 1",
        "05.1: idea \"The sum is squared\": there is no test \"no_such_test\" in ex_05_1_squares",
        "05.4: ex_05_4_steps neither reads course.toml nor asserts \"7\"",
        "05.4: book/src/05-tiny.md does not name it",
        "05.1: with its stub, ex_05_2_mean::an_empty_list_has_the_mean_zero fails too",
        "05.1: idea \"The sum is squared\": its own fault is not named; fails: each_number_is_squared_by_itself; passes: ",
        "05.2: other fault \"the sum\": no test fails for it",
        "05.2: other fault \"one by default\": expected \"unwrap(0)\" once in the body, found it 0 times",
        "prediction spread: expected `options`, or a `unit` and a `within` above 1",
        "05.3: ex_05_3_lists passes with an empty answer: its tests do not test it",
    ] {
        assert!(all.contains(expected), "{expected}\nis not in\n{all}");
    }
    assert!(all.contains("the test stray belongs to no exercise"), "{all}");
}
