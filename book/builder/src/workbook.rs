//! What the book tells about: lessons and exercises, from each `course.toml`.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::problems::Problems;

/// The workbook on disk.
#[derive(Debug)]
pub struct Workbook {
    /// Its root.
    pub root: PathBuf,
    /// Lessons by number, `05`.
    pub lessons: BTreeMap<String, Lesson>,
}

/// One lesson.
#[derive(Debug)]
pub struct Lesson {
    /// `05`.
    pub number: String,
    /// `05-generation`.
    pub folder: String,
    /// The keys of `course.toml` that the book shows.
    pub course: Course,
}

/// The keys of `course.toml` that the book shows. Others belong to the grader.
#[derive(Debug, Deserialize)]
pub struct Course {
    /// Minutes by kind.
    pub minutes: Minutes,
    /// The exercises, in the order of the story.
    #[serde(default)]
    pub exercises: Vec<Exercise>,
}

/// Minutes to set aside.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Minutes {
    /// Reading.
    pub read: u32,
    /// Running the binary.
    pub run: u32,
    /// The exercises that every reader should do.
    pub core: u32,
    /// The others.
    pub extra: u32,
}

/// One exercise.
#[derive(Clone, Debug, Deserialize)]
pub struct Exercise {
    /// `05.1`.
    pub id: String,
    /// `write`, `mend`, `catch` or `predict`.
    #[serde(default = "write")]
    pub kind: String,
    /// Title.
    pub title: String,
    /// `kernels::rms_norm`; empty for *predict*.
    #[serde(default)]
    pub function: String,
    /// Minutes.
    pub minutes: u32,
    /// 1 to 3.
    pub difficulty: u32,
    /// Whether every reader should do it.
    #[serde(default = "yes")]
    pub core: bool,
    /// *Predict*: the question.
    #[serde(default)]
    pub question: String,
    /// *Predict*: what can be chosen.
    #[serde(default)]
    pub options: Vec<String>,
    /// *Predict*: index of the right one.
    #[serde(default)]
    pub answer: usize,
    /// *Predict*: why it is right.
    #[serde(default)]
    pub because: String,
    /// *Predict*: what is wrong with each other one.
    #[serde(default)]
    pub answers: Vec<String>,
}

fn write() -> String {
    "write".to_owned()
}

fn yes() -> bool {
    true
}

impl Exercise {
    /// `ex_05_1`: the anchor around its body.
    pub fn anchor(&self) -> String {
        format!("ex_{}", self.id.replace('.', "_"))
    }

    /// `05-1`: its anchor in the chapter.
    pub fn fragment(&self) -> String {
        self.id.replace('.', "-")
    }

    /// `rms_norm` of `kernels::rms_norm`.
    pub fn function_name(&self) -> &str {
        self.function.rsplit("::").next().unwrap_or_default()
    }
}

impl Lesson {
    /// The file inside the lesson that holds an exercise, such as `src/kernels.rs`.
    pub fn file_of(&self, root: &Path, exercise: &Exercise) -> Result<String, String> {
        let mut modules: Vec<&str> = exercise.function.split("::").collect();
        modules.pop();
        let stem = format!("src/{}", modules.join("/"));
        let candidates = [format!("{stem}.rs"), format!("{stem}/mod.rs")];
        let folder = root.join("lessons").join(&self.folder);
        let found = candidates.iter().find(|file| folder.join(file).is_file());
        found.cloned().ok_or_else(|| {
            format!(
                "exercise {}: neither {} nor {} exists in lessons/{}",
                exercise.id, candidates[0], candidates[1], self.folder
            )
        })
    }

    /// Sum of the minutes of exercises that are core, or that are not.
    pub fn exercise_minutes(&self, core: bool) -> u32 {
        let chosen = self.course.exercises.iter().filter(|exercise| exercise.core == core);
        chosen.map(|exercise| exercise.minutes).sum()
    }
}

impl Workbook {
    /// Reads all lessons. What is wrong becomes a problem, and the lesson is left out.
    pub fn read(root: &Path, problems: &Problems) -> Self {
        let mut lessons = BTreeMap::new();
        let entries = std::fs::read_dir(root.join("lessons"));
        let folders = entries.into_iter().flatten().flatten();
        let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| is_lesson(name)).collect();
        names.sort();
        for folder in names {
            let number = folder[..2].to_owned();
            let course = match read_course(&root.join("lessons").join(&folder).join("course.toml")) {
                Ok(course) => course,
                Err(text) => {
                    problems.add(format!("lessons/{folder}/course.toml: {text}"));
                    continue;
                }
            };
            let lesson = Lesson {
                number: number.clone(),
                folder,
                course,
            };
            check_minutes(&lesson, problems);
            lessons.insert(number, lesson);
        }
        Self {
            root: root.to_owned(),
            lessons,
        }
    }

    /// The text of a file, named from the root.
    pub fn text(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.root.join(name)).map_err(|error| format!("{name}: {error}"))
    }

    /// The lesson with this number.
    pub fn lesson(&self, number: &str) -> Result<&Lesson, String> {
        self.lessons.get(number).ok_or_else(|| {
            let known: Vec<&str> = self.lessons.keys().map(String::as_str).collect();
            format!("there is no lesson {number:?}; there are {}", known.join(", "))
        })
    }

    /// The exercise with this id and its lesson.
    pub fn exercise(&self, id: &str) -> Result<(&Lesson, &Exercise), String> {
        let lesson = self.lesson(id.split('.').next().unwrap_or_default())?;
        let found = lesson.course.exercises.iter().find(|exercise| exercise.id == id);
        let found = found.ok_or_else(|| format!("lessons/{}/course.toml has no exercise {id}", lesson.folder))?;
        Ok((lesson, found))
    }
}

/// The path with every `..` resolved by name.
pub fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

fn is_lesson(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() > 3 && bytes[..2].iter().all(u8::is_ascii_digit) && bytes[2] == b'-'
}

fn read_course(path: &Path) -> Result<Course, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    toml::from_str(&text).map_err(|error| error.message().replace('\n', ", "))
}

/// The minutes of a lesson are a promise to the reader: they are the sums of its exercises.
fn check_minutes(lesson: &Lesson, problems: &Problems) {
    for (name, stated, sum) in [
        ("core", lesson.course.minutes.core, lesson.exercise_minutes(true)),
        ("extra", lesson.course.minutes.extra, lesson.exercise_minutes(false)),
    ] {
        if stated != sum {
            problems.add(format!(
                "lessons/{}/course.toml: [minutes] {name} = {stated}, but the {name} exercises add up to {sum}; write {name} = {sum}",
                lesson.folder
            ));
        }
    }
}
