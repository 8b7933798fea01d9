//! What the tests of stories share: a board that keeps what is written, a machine that never changes.

use std::cell::RefCell;
use std::io::{Error, ErrorKind, Result, Write};
use std::path::Path;
use std::rc::Rc;

use lab::args::CommonArgs;
use lab::machine::Machine;
use lab::story::{LessonInfo, Screen, Story};

/// The lesson that the tests tell.
pub const LESSON: LessonInfo = LessonInfo {
    folder: "05-generation",
    course: COURSE,
};

const COURSE: &str = r#"
title = "Generation"
question = "Why does each token cost more?"

[[predictions]]
id = "rows-computed"
question = "64 new tokens after these 12: how many rows does the loop compute in all, prompt included?"
options = ["64", "75", "2784"]
answer = 2
because = "The loop keeps nothing: 12 + 13 + … + 75."
answers = [
    "That would be one row for each new token, and the prompt for free.",
    "That is what would do; the loop forgets everything in between.",
    "",
]

[[predictions]]
id = "rows"
question = "And as a number?"
unit = "rows"
within = 1.1
because = "The sum of an arithmetic series."

[[predictions]]
id = "measured"
question = "Which of {count} loops is faster?"
options = ["naive", "cached, with {rows} rows"]
because = "The cache takes {time} ms."
answers = ["It takes {time} ms.", "It takes {time} ms."]
"#;

/// Keeps what a story writes.
#[derive(Clone, Default)]
pub struct Board(Rc<RefCell<Vec<u8>>>);

impl Board {
    /// A writer onto this board.
    pub fn writer(&self) -> Box<dyn Write> {
        Box::new(self.clone())
    }

    /// What was written so far.
    pub fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

impl Write for Board {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A pipe whose reader is gone.
pub struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> Result<usize> {
        Err(Error::from(ErrorKind::BrokenPipe))
    }

    fn flush(&mut self) -> Result<()> {
        Err(Error::from(ErrorKind::BrokenPipe))
    }
}

/// A machine that is the same wherever the tests run.
pub fn machine() -> Machine {
    Machine {
        cpu: "Model T".into(),
        cores: 2,
        memory_bytes: 8 << 30,
        system: "linux x86_64".into(),
        rustc: "rustc 1.95.0".into(),
        revision: "0123456789".into(),
    }
}

/// Tells a story into `folder`; returns what its reader saw and its document, both with `folder` shown as `OUT`.
pub fn tell(board: &Board, screen: Screen, folder: &Path, body: impl FnOnce(&mut Story)) -> (String, String) {
    let args = CommonArgs {
        out: Some(folder.into()),
        ..CommonArgs::default()
    };
    let mut story = Story::begin_with(LESSON, &args, screen, machine(), folder.join("predictions.json"));
    body(&mut story);
    story.finish().unwrap();
    let shown = |text: String| text.replace(&folder.display().to_string(), "OUT");
    (
        shown(board.text()),
        shown(std::fs::read_to_string(folder.join("lesson05.json")).unwrap()),
    )
}
