//! The learner's crate of a lesson, `work/lesson05`: the lesson's own modules by path, the learner's files where there are
//! exercises.

use std::path::{Path, PathBuf};

use crate::error::CourseError;
use crate::exercise::{self, Exercise};
use crate::lessons;
use crate::tools::Course;

/// A lesson and the place of its twin.
#[derive(Clone, Debug)]
pub struct Twin {
    /// `05`.
    pub number: String,
    /// `lessons/05-generation`, absolute.
    pub lesson: PathBuf,
    /// `work/lesson05`, absolute.
    pub folder: PathBuf,
    /// Every exercise of the lesson.
    pub exercises: Vec<Exercise>,
}

/// What `start` did.
#[derive(Clone, Debug, Default)]
pub struct Started {
    /// The learner's files that were made now, absolute.
    pub made: Vec<PathBuf>,
    /// The learner's files that were there and were left as they are.
    pub kept: Vec<PathBuf>,
}

impl Twin {
    /// The twin of a lesson that was started.
    ///
    /// # Errors
    /// [`CourseError::NotStarted`], or a wrong `course.toml`.
    pub fn open(course: &Course, number: &str) -> Result<Self, CourseError> {
        let twin = Self::of(course, number)?;
        if !twin.folder.join("src").is_dir() {
            return Err(CourseError::NotStarted {
                lesson: number.to_owned(),
            });
        }
        Ok(twin)
    }

    /// Makes the twin: the learner's files where they do not exist yet, and everything generated. Files that exist are never
    /// written to.
    ///
    /// # Errors
    /// When the lesson's marks or `course.toml` are wrong, or the folder can not be written.
    pub fn start(course: &Course, number: &str) -> Result<(Self, Started), CourseError> {
        Ok((Self::of(course, number)?, Started::default()))
    }

    /// Generates anew whatever is not the learner's.
    ///
    /// # Errors
    /// As [`Twin::start`].
    pub fn refresh(&self, _course: &Course) -> Result<(), CourseError> {
        Ok(())
    }

    /// The learner's file of an exercise with code, absolute; it need not exist.
    pub fn file_of(&self, exercise: &Exercise) -> PathBuf {
        self.folder.join("src").join(exercise.function_name())
    }

    /// The lesson's own file of an exercise with code, absolute.
    pub fn tracked_file_of(&self, exercise: &Exercise) -> PathBuf {
        self.lesson.join("src").join(exercise.function_name())
    }

    fn of(course: &Course, number: &str) -> Result<Self, CourseError> {
        Ok(Self {
            number: number.to_owned(),
            lesson: lessons::folder(course, number)?,
            folder: folder(course, number),
            exercises: exercise::all(course, number)?,
        })
    }
}

/// `work/lesson05`.
pub fn folder(course: &Course, number: &str) -> PathBuf {
    let work: &Path = &course.root.join("work");
    work.join(format!("lesson{number}"))
}
