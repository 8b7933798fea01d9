//! A story as its reader sees it: the transcript on a pipe, the questions on a terminal, the document for machines.

use std::io::{BufRead, BufReader};

use crate::common::{self, Board, LESSON, machine, tell};
use lab::args::CommonArgs;
use lab::race::{Better, RaceEntry, RaceResult};
use lab::record::Document;
use lab::story::{Answer, Claim, Guess, Screen, Story, Verdict};
use lab::table::Table;

fn whole_story(story: &mut Story) {
    story.model("stories");
    story.print("Once upon a time");
    story.print(", there was a fox.\n");
    story.values("text", "Once upon a time, there was a fox.");
    story.step(
        "Count the rows",
        "Every token recomputes all the rows before it, because the loop keeps nothing between two tokens.",
    );
    story.show("prompt tokens", 12);
    story.show_as("weights", 20_656_947, lab::number::bytes(20_656_947));
    story.show(
        "pieces",
        "Once| upon| a| time|,| there| was| a| fox|.| The| fox| lived| in| a| hole| under| a| tree|.",
    );
    story.predict("rows-computed");
    story.step("Race the loops", "Less work need not mean less time.");
    let mut table = Table::new(&["length", "rows", "ms"]);
    table.row(["16", "16", "1.20"]).row(["128", "8256", "77.1"]);
    story.table(&table);
    let entry = |name: &str, samples: [f64; 3]| RaceEntry::from_samples(name, None, samples.to_vec());
    story.race_result(&RaceResult {
        id: "loops".into(),
        title: "Naive against cached".into(),
        unit: "ms".into(),
        better: Better::Lower,
        baseline: "naive".into(),
        entries: vec![
            entry("naive", [12.0, 12.3, 13.0]),
            entry("cached, one row for each token", [2.4, 2.41, 2.5]),
        ],
    });
    story.claim(Claim {
        id: "G1",
        claimed: "Naive generation recomputes the whole prefix: time per token grows with length",
        value: 5.1,
        unit: "times from 16 to 128 tokens",
        verdict: Verdict::Holds,
        note: "",
    });
    story.claim(Claim {
        id: "M4",
        claimed: "The first inference is much slower than the next ones",
        value: f64::NAN,
        unit: "times",
        verdict: Verdict::NotMeasured,
        note: "the model was loaded before; run the lesson in a fresh process",
    });
}

#[test]
fn a_story_on_a_pipe_runs_through_and_shows_its_answers() {
    let folder = tempfile::tempdir().unwrap();
    let board = Board::default();
    let (transcript, _) = tell(&board, Screen::to(board.writer()), folder.path(), whole_story);
    insta::assert_snapshot!("transcript", transcript);
    assert!(
        transcript
            .lines()
            .all(|line| lab::term::width(line) <= lab::term::WIDTH),
        "80 columns"
    );
    assert!(!transcript.contains('\x1b'), "no colours on a pipe");
}

#[test]
fn the_document_has_the_shape_that_machines_read() {
    let folder = tempfile::tempdir().unwrap();
    let board = Board::default();
    let (_, document) = tell(&board, Screen::to(board.writer()), folder.path(), whole_story);
    insta::assert_snapshot!("document", document);
    let read: Document = serde_json::from_str(&document).unwrap();
    assert_eq!(read.claims.len(), 2);
}

#[test]
fn a_reader_is_asked_and_answered_in_the_words_of_the_wrong_idea() {
    let folder = tempfile::tempdir().unwrap();
    let board = Board::default();
    // A mistyped answer, then b in full width; then Enter at the pause, and a number.
    let screen = Screen::to(board.writer()).answered_by("x\nｂ\n\n2,800\n".as_bytes());
    let (transcript, _) = tell(&board, screen, folder.path(), |story| {
        story.step("Count", "");
        assert_eq!(story.predict("rows-computed"), Guess::Option(1));
        story.step("Estimate", "");
        let guess = story.predict_measured("rows", Answer::Number(2784.0), &[]);
        assert_eq!(guess, Guess::Number(2800.0));
    });
    insta::assert_snapshot!("answered", transcript);
    let stored = std::fs::read_to_string(folder.path().join("predictions.json")).unwrap();
    insta::assert_snapshot!("predictions", stored);
}

#[test]
fn a_question_is_asked_now_and_answered_with_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let board = Board::default();
    let screen = Screen::to(board.writer()).answered_by("b\n".as_bytes());
    let (transcript, _) = tell(&board, screen, folder.path(), |story| {
        let asked = story.ask("measured", &[("count", &2), ("rows", &75)]);
        assert_eq!(asked.guess(), Guess::Option(1));
        story.say("(the experiment)");
        story.reveal(asked, Answer::Option(1), &[("time", &"2.4")]);
    });
    let question = transcript.find("? Which of 2 loops is faster?").unwrap();
    let experiment = transcript.find("(the experiment)").unwrap();
    let answer = transcript.find("✓ You said b) cached, with 75 rows. Right.").unwrap();
    assert!(question < experiment && experiment < answer, "{transcript}");
    assert!(transcript.contains("The cache takes 2.4 ms."), "{transcript}");
}

#[test]
#[should_panic(expected = "prediction \"measured\": 2 options, answer None in course.toml, and the story gives Stated")]
fn an_answer_that_is_neither_stated_nor_measured_is_a_fault() {
    let folder = tempfile::tempdir().unwrap();
    let board = Board::default();
    tell(&board, Screen::to(board.writer()), folder.path(), |story| {
        story.predict_with("measured", &[("count", &2), ("rows", &75), ("time", &"2.4")]);
    });
}

#[test]
fn the_predictions_of_every_lesson_are_complete() {
    let lessons = lab::paths::workspace_root().join("lessons");
    let mut num_lessons = 0;
    for lesson in std::fs::read_dir(lessons).unwrap() {
        let course = std::fs::read_to_string(lesson.unwrap().path().join("course.toml")).unwrap();
        lab::story::check_predictions(&course);
        num_lessons += 1;
    }
    assert!(num_lessons >= 11, "{num_lessons} lessons");
}

#[test]
fn r_runs_through_the_rest_without_asking() {
    let folder = tempfile::tempdir().unwrap();
    let board = Board::default();
    let screen = Screen::to(board.writer()).answered_by("r\n".as_bytes());
    let (transcript, _) = tell(&board, screen, folder.path(), |story| {
        story.step("One", "");
        story.step("Two", "");
        assert!(!story.is_interactive());
        assert_eq!(story.predict("rows-computed"), Guess::NotAsked);
        story.step("Three", "");
    });
    assert_eq!(transcript.matches("Enter: go on").count(), 1);
}

#[test]
fn the_end_of_the_input_is_not_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let board = Board::default();
    let screen = Screen::to(board.writer()).answered_by("".as_bytes());
    tell(&board, screen, folder.path(), |story| {
        story.step("One", "");
        assert_eq!(story.predict("rows-computed"), Guess::NotAsked);
        assert_eq!(story.ask_line("Your own prompt"), None);
    });
    assert!(!folder.path().join("predictions.json").exists());
}

#[test]
fn a_closed_pipe_silences_the_story_and_leaves_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    let args = CommonArgs {
        out: Some(folder.path().into()),
        ..CommonArgs::default()
    };
    let screen = Screen::to(Box::new(common::ClosedPipe));
    let mut story = Story::begin_with(LESSON, &args, screen, machine(), folder.path().join("predictions.json"));
    whole_story(&mut story);
    story.finish().unwrap();
    assert!(folder.path().join("lesson05.json").exists());
}

#[test]
fn a_process_whose_reader_is_gone_ends_quietly() {
    // This test starts itself: the child tells a long story to a pipe whose other end is closed early.
    if std::env::var_os("LAB_TEST_CHILD").is_some() {
        let args = CommonArgs {
            out: Some(std::env::temp_dir()),
            ..CommonArgs::default()
        };
        let mut story = Story::begin(LESSON, &args);
        for _ in 0..10_000 {
            story.say("A line behind the closed end.");
        }
        panic!("the story went on without a reader");
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "story::a_process_whose_reader_is_gone_ends_quietly",
            "--nocapture",
        ])
        .env("LAB_TEST_CHILD", "1")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The test harness writes first, then the story begins; after its first line the pipe is closed.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("A line behind the closed end.")));
    drop(lines);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
