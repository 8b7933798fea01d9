//! `cargo course watch [NN]`: checks again whenever a file is saved. It never moves on by itself.
//!
//! Files are looked at three times a second. That needs no help from the system, and so works the same on network
//! drives, in containers and with editors that replace a file instead of writing it.

use std::collections::BTreeMap;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use lab::term::{self, Tone};

use crate::check::{self, Selection};
use crate::child;
use crate::error::CourseError;
use crate::page::Page;
use crate::state::State;
use crate::tools::Course;
use crate::twin::{self, Twin};

/// Between two looks at the files.
const INTERVAL: Duration = Duration::from_millis(300);

/// What a file looks like from outside: when it was written, and its size.
type Look = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// Checks a lesson now and after every save, until Ctrl-C.
///
/// # Errors
/// When the lesson was not started. What goes wrong in a check is shown, and watching goes on.
pub fn watch(course: &Course, number: &str, page: &Page) -> Result<(), CourseError> {
    let twin = Twin::open(course, number)?;
    child::end_with_us(true);
    let folder = twin.folder.join("src");
    let end = page.paint(
        Tone::Dim,
        &page.text(&format!(
            "Watching {}. Save to check again, Ctrl-C to leave.",
            course.shown(&folder)
        )),
    );
    let clears = std::io::stdout().is_terminal();
    let mut once = || {
        let text = checked(course, number, page);
        if child::is_stopped() {
            return;
        }
        if clears {
            // Home, everything below it, and what was scrolled away.
            term::print("\x1b[H\x1b[2J\x1b[3J");
        }
        term::print(&format!("{text}\n{end}"));
    };
    follow(&folder, &child::is_stopped, &mut once);
    term::print(&page.text("\nStopped. Your progress is kept: cargo course list"));
    Ok(())
}

/// Calls `once` now and after each change below `folder`, until `is_stopped`.
fn follow(folder: &Path, is_stopped: &dyn Fn() -> bool, once: &mut dyn FnMut()) {
    let mut known = look(folder);
    once();
    while !is_stopped() {
        thread::sleep(INTERVAL);
        let mut now = look(folder);
        if now == known {
            continue;
        }
        // An editor may write in several steps: wait until nothing moves.
        loop {
            thread::sleep(INTERVAL / 3);
            let later = look(folder);
            if later == now || is_stopped() {
                break;
            }
            now = later;
        }
        // Taken before the check, so that a save during it is not missed.
        known = now;
        if !is_stopped() {
            once();
        }
    }
}

/// One check, as a page.
fn checked(course: &Course, number: &str, page: &Page) -> String {
    let selection = Selection {
        lesson: number.to_owned(),
        ids: Vec::new(),
    };
    let found = State::load(course).and_then(|before| {
        let report = check::check(course, &selection)?;
        Ok(check::render::render(&report, &before, page))
    });
    found.unwrap_or_else(|error| page.paint(Tone::Bad, &page.text(&format!("error: {error}"))))
}

/// How the learner's files look. The generated `lib.rs` is left out: a check writes it itself.
fn look(folder: &Path) -> Look {
    let seen = |path: &PathBuf| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    let files = twin::rust_files(folder).into_iter();
    files.map(|path| (path.clone(), seen(&path))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_save_checks_once_and_other_files_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernels.rs");
        fs::write(&file, "1").unwrap();
        let stop = AtomicBool::new(false);
        let mut checks = 0;
        let mut once = || {
            checks += 1;
            match checks {
                // What a check itself writes, and an editor's own file: no reason to check again.
                1 => {
                    fs::write(folder.path().join("lib.rs"), "generated").unwrap();
                    fs::write(folder.path().join(".kernels.rs.swp"), "x").unwrap();
                    let file = file.clone();
                    thread::spawn(move || {
                        thread::sleep(INTERVAL * 3);
                        fs::write(&file, "22").unwrap();
                    });
                }
                _ => stop.store(true, Ordering::SeqCst),
            }
        };
        follow(folder.path(), &|| stop.load(Ordering::SeqCst), &mut once);
        assert_eq!(checks, 2);
    }

    #[test]
    fn a_file_that_is_replaced_or_gone_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/kernels.rs");
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(&file, "1").unwrap();
        let before = look(folder.path());
        assert_eq!(before.len(), 1);
        fs::remove_file(&file).unwrap();
        assert_ne!(look(folder.path()), before);
    }
}
