//! What can go wrong, in words that end with what to do.

use std::path::PathBuf;

use thiserror::Error;

/// Why a command of `cargo course` could not do its work.
#[derive(Debug, Error)]
pub enum CourseError {
    /// A file or folder could not be read or written.
    #[error("{path}: {source}; {action}")]
    Io {
        /// The path, as a reader would type it.
        path: String,
        /// What the system said.
        source: std::io::Error,
        /// What to do.
        action: &'static str,
    },
    /// A `course.toml` is not of the expected form.
    #[error("{path}: {problem}; see the other lessons' course.toml for the form")]
    CourseToml {
        /// The file.
        path: String,
        /// What is wrong, with the line where known.
        problem: String,
    },
    /// A JSON file is not of the expected form.
    #[error("{path}: {problem}; {action}")]
    Json {
        /// The file.
        path: String,
        /// The problem.
        problem: String,
        /// What to do.
        action: String,
    },
    /// No lesson has this number.
    #[error("there is no lesson {asked}; there are {known}")]
    NoLesson {
        /// The words that were typed.
        asked: String,
        /// The numbers that exist.
        known: String,
    },
    /// No exercise has this id.
    #[error("there is no exercise {asked} in lesson {lesson}; there are {known}")]
    NoExercise {
        /// The words that were typed.
        asked: String,
        /// The lesson's number.
        lesson: String,
        /// The ids that exist.
        known: String,
    },
    /// Something stands where a command would write.
    #[error("{path}: exists already; {action}")]
    Exists {
        /// The path.
        path: String,
        /// What to do.
        action: &'static str,
    },
    /// A command does not fit the exercise's kind or state.
    #[error("{problem}; {action}")]
    NotNow {
        /// Why.
        problem: String,
        /// What to do instead.
        action: String,
    },
    /// A lesson's twin does not exist yet.
    #[error("lesson {lesson} has not been started; start it with `cargo course start {lesson}`")]
    NotStarted {
        /// The lesson's number.
        lesson: String,
    },
    /// A tracked source does not have the marks that an exercise needs.
    #[error("{path}: {problem}")]
    Marks {
        /// The file, with the line where known.
        path: String,
        /// The problem.
        problem: String,
    },
    /// The learner's code could not be built or run, for a reason that is not the learner's.
    #[error("{problem}; {action}")]
    Twin {
        /// What happened.
        problem: String,
        /// What to do.
        action: String,
    },
    /// No optional model has this name.
    #[error("there is no optional model {asked:?}; there are: {known} (`cargo course data list`)")]
    NoModel {
        /// The words that were typed.
        asked: String,
        /// The names in data/models.json.
        known: String,
    },
    /// A program that this command needs is not installed.
    #[error("{program} was not found: {need}; {action}")]
    NoProgram {
        /// The program as it was called.
        program: String,
        /// What it is needed for.
        need: &'static str,
        /// How to get it.
        action: &'static str,
    },
    /// Python is there, pip is not.
    #[error(
        "{python} has no pip, which fetches {package}; install it (Debian, Ubuntu: `apt install python3-pip`; elsewhere: `{python} -m ensurepip --user`) and run this again"
    )]
    NoPip {
        /// The interpreter.
        python: String,
        /// The package.
        package: String,
    },
    /// pip could not reach its index, or found nothing there.
    #[error(
        "pip could not fetch {package}: no network, or an index that does not have it. pip's own settings decide where it looks (`{python} -m pip config list`); \
         try `{command}`. Without a network: make {wheel} on another machine with that command, put it into {folder}, and run this again; what is there already is kept"
    )]
    NoNetwork {
        /// The interpreter.
        python: String,
        /// The package.
        package: String,
        /// The command that was run, for a trial by hand.
        command: String,
        /// What the file is called.
        wheel: String,
        /// Where a file fetched by hand is looked for.
        folder: String,
    },
    /// pip failed for another reason.
    #[error("pip could not fetch {package} (status {status}); it said: {said}. To try by hand: `{command}`")]
    Pip {
        /// The package.
        package: String,
        /// Its exit status.
        status: String,
        /// The last lines of its errors.
        said: String,
        /// The command that was run.
        command: String,
    },
    /// The downloaded archive is not what was expected.
    #[error("{path}: {problem}; it has been removed, run this again to fetch it anew")]
    Archive {
        /// The file.
        path: String,
        /// The problem.
        problem: String,
    },
    /// A file has other bytes than its pinned checksum says.
    #[error(
        "{path}: its sha256 is not the pinned {expected}; the file has been removed, run this again to fetch it anew. If it happens twice, the package has changed: do not use it"
    )]
    Checksum {
        /// The file.
        path: String,
        /// The pinned checksum.
        expected: String,
    },
    /// Too little space for a model.
    #[error("{folder}: {needed} are needed for a while, {free} are free; make room or remove other models there")]
    NoSpace {
        /// Where it would go.
        folder: String,
        /// What download, archive and folder take together.
        needed: String,
        /// What is free.
        free: String,
    },
    /// A lesson's binary, run for its work, failed.
    #[error("`{command}` failed (status {status}): {said}")]
    Lesson {
        /// The command.
        command: String,
        /// Its exit status.
        status: String,
        /// Its last words.
        said: String,
    },
}

impl CourseError {
    /// For `map_err` on file operations.
    pub fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = lab::paths::shown(&path.into());
        move |source| CourseError::Io { path, source, action }
    }
}
