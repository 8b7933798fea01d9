//! The file on the disk: its lock, its copy, its replacement.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use lab::term::Tone;

use super::{SCHEMA, State, Unreadable, free_name, parse};
use crate::clock;
use crate::error::CourseError;
use crate::page::Page;
use crate::tools::Course;

/// Where the state and what guards it lie.
pub(super) struct Place {
    work: PathBuf,
    pub(super) file: PathBuf,
    pub(super) backup: PathBuf,
}

impl Place {
    pub(super) fn of(course: &Course) -> Self {
        let work = course.root.join("work");
        Self {
            file: work.join("course.json"),
            backup: work.join("backup/course.json"),
            work,
        }
    }

    /// Waits for other commands. The lock goes with the process, however that ends.
    pub(super) fn lock(&self) -> Result<File, CourseError> {
        const ACTION: &str = "the learner's folder must be writable";
        fs::create_dir_all(&self.work).map_err(CourseError::io(&self.work, ACTION))?;
        let path = self.work.join(".course.lock");
        let file = File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(CourseError::io(&path, ACTION))?;
        // A file system without locks (some network mounts) is used without: one terminal at a time is safe there too.
        let _ = file.lock();
        Ok(file)
    }

    pub(super) fn load(&self, course: &Course) -> Result<State, CourseError> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) if error.kind() == ErrorKind::InvalidData => None,
            Err(error) => {
                return Err(CourseError::io(&self.file, "make the file readable")(error));
            }
        };
        if text.is_none() && !self.file.exists() {
            return Ok(self.copy_or_default(course, "is missing"));
        }
        match parse(&text.unwrap_or_default()) {
            Ok(state) => Ok(state),
            Err(Unreadable::Later(schema)) => Err(CourseError::Json {
                path: course.shown(&self.file),
                problem: format!("expected schema {SCHEMA} or older, found {schema}"),
                action: "a later version of the workbook wrote it: update the repository".into(),
            }),
            Err(Unreadable::Damaged(problem)) => {
                let kept = self.put_aside()?;
                let what = format!("can not be read ({problem}); it was moved to {}", course.shown(&kept));
                Ok(self.copy_or_default(course, &what))
            }
        }
    }

    /// The state before the last change, where it is whole.
    fn copy_or_default(&self, course: &Course, what: &str) -> State {
        let copy = State::read(&self.backup);
        let instead = match &copy {
            Ok(_) => "the state before the last change is used instead",
            Err(_) => "progress is counted anew; the exercise files are not touched",
        };
        let page = Page::of_stderr();
        let notice = format!("{} {what}; {instead}", course.shown(&self.file));
        if copy.is_ok() || what != "is missing" {
            lab::term::note(&page.paint(Tone::Warn, &page.text(&notice)));
        }
        copy.unwrap_or_default()
    }

    /// Moves a damaged file out of the way, under a name that nothing else has.
    fn put_aside(&self) -> Result<PathBuf, CourseError> {
        let folder = self.work.join("backup");
        fs::create_dir_all(&folder).map_err(CourseError::io(&folder, "the folder must be writable"))?;
        let stem = format!("course-damaged-{}", clock::stamp());
        let kept = free_name(&folder, &stem, ".json");
        fs::rename(&self.file, &kept).map_err(CourseError::io(&self.file, "move the file away by hand"))?;
        Ok(kept)
    }

    /// Replaces the file: the new one is whole on the disk before it takes the name.
    pub(super) fn save(&self, state: &State) -> Result<(), CourseError> {
        const ACTION: &str = "the learner's folder must be writable and the disk not full";
        if self.file.exists() {
            let folder = self.work.join("backup");
            fs::create_dir_all(&folder).map_err(CourseError::io(&folder, ACTION))?;
            let unfinished = folder.join(".course.json.new");
            fs::copy(&self.file, &unfinished)
                .and_then(|_| fs::rename(&unfinished, &self.backup))
                .map_err(CourseError::io(&self.backup, ACTION))?;
        }
        let text = serde_json::to_string_pretty(state).expect("a state has no keys that are not text") + "\n";
        let unfinished = self.work.join(".course.json.new");
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&unfinished)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, &self.file)
        };
        write().map_err(CourseError::io(&self.file, ACTION))
    }
}
