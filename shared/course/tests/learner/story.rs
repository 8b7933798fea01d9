//! The steps, in order. RMSNorm is the exercise, because its body is short and its wrong ideas are clear.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::player::{Player, Ran};

const FILE: &str = "work/lesson05/src/exercises/kernels.rs";
const LESSON: &str = "lessons/05-generation/src/exercises/kernels.rs";
const TESTS: &str = "lessons/05-generation/tests/exercises.rs";
const TODO: &str = "todo!(\"05.1 RMSNorm\")";

const SIGNATURE: &str = "pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {";

/// Layer norm: the mean is subtracted first.
const WRONG: &str = "let mean = x.iter().sum::<f32>() / x.len() as f32;
    let square = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / x.len() as f32;
    for i in 0..x.len() {
        out[i] = (x[i] - mean) / (square + eps).sqrt() * weight[i];
    }";

const RIGHT: &str = "let square = x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32;
    for i in 0..x.len() {
        out[i] = x[i] / (square + eps).sqrt() * weight[i];
    }";

pub fn start(player: &Player) {
    player.course("list").expect(0, &["05 Generation", "0/"]);
    player
        .course("check")
        .expect(1, &["no lesson was started yet", "cargo course start 05"]);
    player.course("start 05").expect(0, &["work/lesson05 is yours", FILE]);
    assert!(player.read(FILE).contains(TODO));
    player.course("start 05").expect(0, &["nothing of yours was changed"]);
    // Wherever the learner stands.
    for folder in ["work", "work/lesson05", "work/lesson05/src"] {
        player.course_in(folder, "list 05").expect(0, &["05.1 RMSNorm"]);
    }
}

pub fn check_unwritten(player: &Player) {
    player.course("check 05").expect(
        1,
        &["Lesson 05: 0 of", "05.1 RMSNorm", "not written", "as shipped", "Next: "],
    );
    player
        .course("check 05.1")
        .expect(1, &["Not written yet", "05-generation", "cargo course hint 05.1"]);
    player.course("hint 05.1").expect(0, &["hint 1 of 3"]);
    player
        .course("solution 05.1")
        .expect(1, &["has not passed yet", "--give-up"]);
    player.course("answer 05.7 a").expect(0, &["is not it"]);
    player
        .course("check 05.7")
        .expect(1, &["Rows computed", "cargo course answer 05.7"]);
}

pub fn wrong_attempt(player: &Player) {
    player.edit(FILE, TODO, WRONG);
    player.course("check 05.1").expect(
        1,
        &[
            "A wrong idea behind this: The mean is subtracted",
            "Layer norm subtracts the mean first",
            "x = [5, 5, 5, 5]",
            "target/book/05-generation.html#05-1",
        ],
    );
    player
        .course("check 05")
        .expect(1, &["wrong 05.1 RMSNorm", "open 05.2"]);
}

pub fn no_rust(player: &Player) {
    player.edit(FILE, "let mean = x.iter()", "let mean: Vec<u8> = x.iter()");
    player.course("check 05").expect(
        1,
        &[
            "error 05.1 RMSNorm",
            FILE,
            "05.5 Characters split over tokens",
            "as shipped",
        ],
    );
    player.edit(FILE, "let mean: Vec<u8> = x.iter()", "let mean = = x.iter()");
    player
        .course("check 05")
        .expect(1, &[FILE, "05.5 Characters split over tokens", "as shipped"]);
    player.edit(FILE, "let mean = = x.iter()", "let mean = x.iter()");
}

pub fn right_attempt(player: &Player) {
    player.edit(FILE, WRONG, RIGHT);
    let begun = Instant::now();
    let passed = player.course("check 05.1");
    println!("  a check after a change: {:.1} s", begun.elapsed().as_secs_f64());
    passed.expect(
        0,
        &[
            "ok 05.1 RMSNorm",
            "sets the size of a row to one and keeps its direction",
            "What it cost",
            "reference",
            "Next: ",
        ],
    );
    player
        .course("diff 05.1")
        .expect(0, &["- yours", "+ reference", "- let square"]);
    player.course("solution 05.1").expect(0, &["mean_square"]);
    let json = player.course("check 05 --json");
    let begin = json.text.find('{').expect("a document");
    let report: serde_json::Value = serde_json::from_str(&json.text[begin..]).expect("JSON");
    let is_passed = |one: &&serde_json::Value| one["id"] == "05.1" && one["status"] == "passed";
    assert!(
        report["exercises"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| is_passed(&one)),
        "{report}"
    );
    player
        .course("list 05")
        .expect(0, &["05.1 RMSNorm passed", "3 tries", "1 hint"]);
    watch(player);
}

/// One check, one more after a save, and a good end on Ctrl-C.
fn watch(player: &Player) {
    let mut command = Command::new("cargo");
    command.args(["course", "watch", "05"]).current_dir(&player.home);
    player.clean(&mut command);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = pipe.read(&mut bytes) {
            let _ = sender.send(String::from_utf8_lossy(&bytes[..length]).into_owned());
        }
    });
    let mut text = String::new();
    let mut wait_for = |times: usize, what: &str| {
        let end = Instant::now() + Duration::from_secs(300);
        while text.matches(what).count() < times {
            let left = end.saturating_duration_since(Instant::now());
            text += &receiver
                .recv_timeout(left)
                .unwrap_or_else(|_| panic!("{what:?} {times} times in:\n{text}"));
        }
    };
    wait_for(1, "Ctrl-C to leave");
    player.edit(FILE, "(square + eps)", "(square - eps)");
    wait_for(2, "Ctrl-C to leave");
    wait_for(1, "eps");
    player.edit(FILE, "(square - eps)", "(square + eps)");
    wait_for(3, "Ctrl-C to leave");
    if cfg!(unix) {
        let id = child.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().unwrap();
        wait_for(1, "Your progress is kept");
        assert!(child.wait().unwrap().success(), "{text}");
    } else {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

pub fn run(player: &Player) {
    player.course("run 05 --no-pause").expect(0, &["yours", "reference"]);
    let folder = player.home.join("target/course/lesson05");
    let charts = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    let charts = charts.filter(|path| path.to_string_lossy().ends_with(".chart.json"));
    let texts = charts.map(|path| fs::read_to_string(path).unwrap());
    let both = |text: &String| text.contains("05.1") && text.contains("yours") && text.contains("reference");
    assert!(
        texts.into_iter().any(|text| both(&text)),
        "no chart of both in {}",
        folder.display()
    );
    player
        .course("run --reference 05 --no-pause --tokens 2")
        .expect(0, &["Generation"]);
}

fn untouched(player: &Player, before: &str, ran: &Ran) {
    assert_eq!(
        player.read(FILE),
        before,
        "the learner's file was touched; it said:\n{}",
        ran.text
    );
}

pub fn test_changes(player: &Player) {
    let mine = player.read(FILE);
    let test = "    fn each_number_has_its_own_weight() {\n";
    let more = format!("{test}        assert_eq!(1, 2, \"asked by the new test\");\n");
    player.update(&[(TESTS, test, &more)], "lesson05: a test asks for more");
    let ran = player.course("check 05.1");
    ran.expect(1, &["tests of this exercise have changed", "asked by the new test"]);
    untouched(player, &mine, &ran);
    player.update(&[(TESTS, &more, test)], "lesson05: as it was");
    let ran = player.course("check 05.1");
    ran.expect(0, &["ok 05.1 RMSNorm"]);
    untouched(player, &mine, &ran);
}

pub fn signature_changes(player: &Player) {
    let mine = player.read(FILE);
    let new = SIGNATURE.replace(") {", ") -> f32 {");
    let body = "        *out = x * scale * weight;\n    }\n";
    let returned = format!("{body}    scale\n");
    player.update(
        &[(LESSON, SIGNATURE, &new), (LESSON, body, &returned)],
        "lesson05: the norm returns its scale",
    );
    let ran = player.course("check 05.1");
    ran.expect(
        1,
        &[
            "The lesson has changed this signature",
            "before pub fn rms_norm",
            "now pub fn rms_norm",
            "-> f32",
        ],
    );
    untouched(player, &mine, &ran);
    player
        .course("check 05")
        .expect(1, &["changed 05.1 RMSNorm", "05.5 Characters split over tokens"]);

    player.edit(FILE, SIGNATURE, &new);
    player.edit(FILE, RIGHT, &format!("{RIGHT}\n    1.0 / (square + eps).sqrt()"));
    player.course("check 05.1").expect(0, &["ok 05.1 RMSNorm"]);
}

pub fn reset(player: &Player) {
    let mine = player.read(FILE);
    let said = player.course("reset 05.1");
    said.expect(0, &["is as it ships", "work/backup/"]);
    let now = player.read(FILE);
    assert!(now.contains(TODO) && now.contains("-> f32 {"), "{now}");
    let flat: Vec<&str> = said.text.split_whitespace().collect();
    let kept = flat.iter().find(|word| word.starts_with("work/backup/")).unwrap();
    assert_eq!(player.read(&format!("{kept}/src/exercises/kernels.rs")), mine);
    player
        .course("check 05.1")
        .expect(1, &["Not written yet"])
        .without(&["changed"]);

    // The state is cut off, as by a full disk; the next command says so, and goes on.
    let state = player.home.join("work/course.json");
    let text = fs::read_to_string(&state).unwrap();
    fs::write(&state, &text[..text.len() / 2]).unwrap();
    player
        .course("list 05")
        .expect(0, &["can not be read", "work/backup/course-damaged", "05.1 RMSNorm"]);

    player.course("reset 05").expect(0, &["Lesson 05 is as it ships"]);
    player
        .course("report .")
        .expect(0, &["home,05.1,RMSNorm,write,yes,open"]);
    assert_eq!(player.git_status(), "", "all work is in work/");
}
