//! What can be said before anything is built: is the file there, does it parse, is the function in it, written, and with the
//! lesson's signature? And afterwards: whose fault is a compiler's error?

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::build::Refusal;
use super::report::{Diagnostic, Status};
use crate::error::CourseError;
use crate::exercise::Exercise;
use crate::source::functions::{self, Parsed};
use crate::source::mirror::{self, Broken, Readable};
use crate::source::{self};
use crate::state::State;
use crate::twin::{self, Twin};

/// One of the learner's files.
pub struct LearnersFile {
    /// Absolute.
    pub path: PathBuf,
    /// As typed in the root.
    pub shown: String,
    /// What stands in for it, absolute.
    stand_in: PathBuf,
    /// Its text; `None` when it is missing.
    text: Option<String>,
    /// Its functions; `None` when it is missing or nothing of it can be read.
    pub readable: Option<Readable>,
    /// What the parser says.
    problem: Option<functions::NotRust>,
    /// The lesson's file with every exercise unwritten, and its functions.
    tracked: String,
    pub(super) reference: Parsed,
    /// The lesson's file as it ships.
    pub(super) shipped: Parsed,
    /// What has to be taken out of it.
    pub broken: Broken,
    ids: Vec<String>,
}

/// All files of a twin, and what is known of the exercises.
pub struct Examined<'a> {
    twin: &'a Twin,
    /// The files with exercises.
    pub files: Vec<LearnersFile>,
    /// Exercises whose status is known without a test.
    pub decided: BTreeMap<String, Status>,
    /// Errors of the compiler, by exercise.
    errors: BTreeMap<String, Vec<Diagnostic>>,
}

impl<'a> Examined<'a> {
    /// Reads the learner's files.
    ///
    /// # Errors
    /// When the lesson's own source is wrong.
    pub fn of(twin: &'a Twin, state: &State) -> Result<Self, CourseError> {
        let mut files = Vec::new();
        for (relative, exercise) in twin.files()? {
            files.push(read_file(twin, &relative, exercise)?);
        }
        let mut examined = Self {
            twin,
            files,
            decided: BTreeMap::new(),
            errors: BTreeMap::new(),
        };
        for exercise in twin.coded() {
            examined.first_look(exercise, state);
        }
        Ok(examined)
    }

    /// The file of an exercise.
    pub fn file_of(&self, exercise: &Exercise) -> &LearnersFile {
        let is_its = |file: &&LearnersFile| file.ids.contains(&exercise.id);
        let found = self.files.iter().find(is_its);
        found.expect("each exercise with code has a file")
    }

    fn first_look(&mut self, exercise: &Exercise, state: &State) {
        let name = exercise.function_name().to_owned();
        let index = self.files.iter().position(|file| file.ids.contains(&exercise.id));
        let Some(file) = index.and_then(|index| self.files.get_mut(index)) else {
            return;
        };
        if file.text.is_none() {
            file.broken.whole = true;
            self.decided.insert(exercise.id.clone(), Status::FileMissing);
            return;
        }
        let theirs = file.reference.function(&name);
        let Some(readable) = &file.readable else {
            file.broken.whole = true;
            self.errors.entry(exercise.id.clone()).or_default();
            return;
        };
        if readable.blanked.contains(&name) {
            self.errors.entry(exercise.id.clone()).or_default();
            file.broken.functions.insert(name);
            return;
        }
        let Some(mine) = readable.parsed.function(&name) else {
            file.broken.functions.insert(name);
            self.decided.insert(exercise.id.clone(), Status::Deleted);
            return;
        };
        if let Some(theirs) = theirs.filter(|theirs| theirs.types != mine.types) {
            let before = state.progress(&exercise.id).signature;
            let is_as_before = before.as_ref().is_some_and(|before| {
                let parsed = functions::parse(&format!("{before} {{}}"));
                parsed.is_ok_and(|parsed| parsed.function(&name).is_some_and(|before| before.types == mine.types))
            });
            let status = if is_as_before {
                Status::LessonChanged {
                    before: mine.signature.clone(),
                    now: theirs.signature.clone(),
                }
            } else {
                Status::SignatureChanged {
                    expected: theirs.signature.clone(),
                    found: mine.signature.clone(),
                }
            };
            file.broken.functions.insert(name);
            self.decided.insert(exercise.id.clone(), status);
        } else if source::is_unwritten(mine, exercise) {
            self.decided.insert(exercise.id.clone(), Status::NotWritten);
        }
    }

    /// Whether some file does not parse, so that the compiler has to say what is wrong with it.
    pub fn has_unparsed(&self) -> bool {
        self.files.iter().any(|file| file.problem.is_some())
    }

    /// Notes what the compiler says about the files that do not parse. Where it says nothing, the parser's own words stand.
    pub fn explain_unparsed(&mut self, refusals: &[Refusal]) {
        for file in &self.files {
            let Some(problem) = &file.problem else {
                continue;
            };
            let mut found: Vec<Diagnostic> = refusals
                .iter()
                .filter_map(|refusal| {
                    let place = refusal.places.iter().find(|(path, _)| *path == file.path)?;
                    Some(self.diagnostic(refusal, file, place.1))
                })
                .collect();
            if found.is_empty() {
                found.push(Diagnostic {
                    file: file.shown.clone(),
                    line: problem.line,
                    message: problem.message.clone(),
                    rendered: format!("error: {}\n --> {}:{}\n", problem.message, file.shown, problem.line),
                });
            }
            for id in &file.ids {
                if let Some(errors) = self.errors.get_mut(id) {
                    errors.extend(found.iter().cloned());
                }
            }
        }
    }

    /// Whether the twin has to be built with stand-ins.
    pub fn needs_stand_ins(&self) -> bool {
        self.files.iter().any(|file| !file.broken.is_empty())
    }

    /// Writes a stand-in for each file: the file itself where nothing is wrong with it.
    ///
    /// # Errors
    /// When a file can not be written.
    pub fn write_stand_ins(&self) -> Result<(), CourseError> {
        for file in &self.files {
            let text = match (&file.text, file.broken.is_empty()) {
                (Some(text), true) => text.clone(),
                _ => mirror::stand_in(file.readable.as_ref(), &file.tracked, &file.broken),
            };
            twin::write(&file.stand_in, &text)?;
        }
        Ok(())
    }

    /// Takes out of the files what the compiler refuses. Returns whether there was anything new to take out.
    pub fn blame(&mut self, refusals: &[Refusal]) -> bool {
        let mut is_new = false;
        for refusal in refusals {
            let Some((index, line)) = self.place_of(refusal) else {
                continue;
            };
            let diagnostic = self.diagnostic(refusal, &self.files[index], line);
            let names = self.take_out(index, line, &mut is_new);
            for name in names {
                self.note(&name, &diagnostic);
            }
        }
        is_new
    }

    /// When errors can not be placed: nothing of the learner's files is used, and each exercise without a verdict has these errors.
    /// Returns whether that changes anything.
    pub fn blame_all(&mut self, refusals: &[Refusal]) -> bool {
        let mut is_new = false;
        let mut broken = Vec::new();
        for (index, file) in self.files.iter_mut().enumerate() {
            is_new |= !file.broken.whole;
            file.broken.whole = true;
            broken.push(index);
        }
        for index in broken {
            for id in self.files[index].ids.clone() {
                let all = refusals.iter().map(|refusal| {
                    let line = refusal.places.first().map_or(1, |place| place.1);
                    self.diagnostic(refusal, &self.files[index], line)
                });
                let all: Vec<Diagnostic> = all.collect();
                if !self.decided.contains_key(&id) && !self.errors.contains_key(&id) {
                    self.errors.insert(id, all);
                }
            }
        }
        is_new
    }

    /// Exercises that the compiler refuses become decided.
    pub fn settle(&mut self) {
        for (id, mut errors) in std::mem::take(&mut self.errors) {
            errors.dedup();
            self.decided.entry(id).or_insert(Status::DoesNotCompile { errors });
        }
    }

    /// The learner's file and line that an error is about.
    fn place_of(&self, refusal: &Refusal) -> Option<(usize, usize)> {
        refusal.places.iter().find_map(|(path, line)| {
            let is_it = |file: &LearnersFile| *path == file.path || *path == file.stand_in;
            Some((self.files.iter().position(is_it)?, *line))
        })
    }

    /// Takes the item at a line out of a file. Returns the names of the functions that suffer from it.
    fn take_out(&mut self, index: usize, line: usize, is_new: &mut bool) -> Vec<String> {
        let file = &mut self.files[index];
        let Some(readable) = &file.readable else {
            return Vec::new();
        };
        let parsed = &readable.parsed;
        let holds = |lines: (usize, usize)| lines.0 <= line && line <= lines.1;
        let of_lesson: BTreeSet<&str> = file
            .reference
            .functions
            .iter()
            .map(|function| function.name.as_str())
            .collect();
        if let Some(function) = parsed.functions.iter().find(|function| holds(function.lines)) {
            if of_lesson.contains(function.name.as_str()) {
                *is_new |= file.broken.functions.insert(function.name.clone());
                return vec![function.name.clone()];
            }
            *is_new |= file.broken.items.insert(function.lines.0);
            return users(parsed, std::slice::from_ref(&function.name));
        }
        if let Some(item) = parsed.others.iter().find(|item| holds(item.lines)) {
            *is_new |= file.broken.items.insert(item.lines.0);
            return users(parsed, &item.names);
        }
        Vec::new()
    }

    /// Notes an error for the exercise that is this function.
    fn note(&mut self, function: &str, diagnostic: &Diagnostic) {
        let ids = self
            .twin
            .coded()
            .filter(|exercise| exercise.function_name() == function);
        for exercise in ids {
            if !self.decided.contains_key(&exercise.id) {
                let errors = self.errors.entry(exercise.id.clone()).or_default();
                if !errors.contains(diagnostic) {
                    errors.push(diagnostic.clone());
                }
            }
        }
    }

    fn diagnostic(&self, refusal: &Refusal, file: &LearnersFile, line: usize) -> Diagnostic {
        let folder = format!("lesson{}", self.twin.number);
        let mut rendered = refusal.rendered.clone();
        for from in ["/src/../.fallback/", "/.fallback/", "/src/"] {
            rendered = rendered.replace(&format!(" {folder}{from}"), &format!(" work/{folder}/src/"));
        }
        Diagnostic {
            file: file.shown.clone(),
            line,
            message: refusal.message.clone(),
            rendered,
        }
    }
}

/// The functions whose code mentions one of these names.
fn users(parsed: &Parsed, names: &[String]) -> Vec<String> {
    let uses = |code: &str| names.iter().any(|name| functions::mentions(code, name));
    let found = parsed
        .functions
        .iter()
        .filter(|function| uses(&function.code) || uses(&function.signature));
    found.map(|function| function.name.clone()).collect()
}

fn read_file(twin: &Twin, relative: &Path, exercise: &Exercise) -> Result<LearnersFile, CourseError> {
    let path = twin.folder.join("src").join(relative);
    let neighbours = twin.neighbours(exercise)?;
    let names: Vec<&str> = neighbours.iter().map(|exercise| exercise.function_name()).collect();
    let text = if path.exists() {
        Some(source::read(&path)?)
    } else {
        None
    };
    let (readable, problem) = match text.as_deref().map(|text| mirror::readable(text, &names)) {
        None => (None, None),
        Some(Ok(readable)) => {
            let problem = readable.problem.clone();
            (Some(readable), problem)
        }
        Some(Err(problem)) => (None, Some(problem)),
    };
    let tracked = source::unwritten_file(twin, exercise)?;
    let shown_lesson = twin.shown(&twin.tracked_file_of(exercise)?);
    Ok(LearnersFile {
        shown: twin.shown(&path),
        stand_in: twin.folder.join(".fallback").join(relative),
        path,
        text,
        readable,
        problem,
        reference: source::parse(&tracked, &shown_lesson)?,
        shipped: source::parse(&source::shipped_file(twin, exercise)?, &shown_lesson)?,
        tracked,
        broken: Broken::default(),
        ids: neighbours.iter().map(|exercise| exercise.id.clone()).collect(),
    })
}
