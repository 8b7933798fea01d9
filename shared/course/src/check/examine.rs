//! What can be said before anything is built: is the file there, does it parse, is the function in it, written, and
//! with the lesson's signature? And afterwards: which function is a compiler's error about?

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::build::Refusal;
use super::report::{Diagnostic, Status};
use crate::error::CourseError;
use crate::exercise::Exercise;
use crate::source::functions::{self, Function, Parsed};
use crate::source::mirror::{self, Broken, Readable};
use crate::source::{self, ExerciseFile};
use crate::state::State;
use crate::twin::{self, Twin};

/// One of the learner's files.
pub struct LearnersFile<'a> {
    file: &'a ExerciseFile,
    /// The file's path as a reader types it in the root.
    pub shown: String,
    /// What stands in for it while something in it does not compile.
    stand_in: PathBuf,
    /// Its text; `None` when it is missing.
    text: Option<String>,
    /// Its functions, or what the parser says where nothing of the file can be read; `None` when it is missing.
    readable: Option<Result<Readable, functions::NotRust>>,
    /// The lesson's file with every exercise unwritten, and its functions.
    tracked: String,
    reference: Parsed,
    /// The lesson's file as it ships.
    shipped: Parsed,
    /// What has to be taken out of it.
    broken: Broken,
}

impl<'a> LearnersFile<'a> {
    fn read(twin: &'a Twin, file: &'a ExerciseFile) -> Result<Self, CourseError> {
        let path = &file.learners;
        let names: Vec<&str> = file.exercises.iter().map(|exercise| exercise.function_name()).collect();
        let text = if path.exists() { Some(source::read(path)?) } else { None };
        let readable = text.as_deref().map(|text| mirror::readable(text, &names));
        let tracked = file.unwritten()?;
        Ok(Self {
            file,
            shown: twin.shown(path),
            stand_in: twin.folder.join(".fallback").join(&file.relative),
            text,
            broken: Broken {
                whole: !matches!(readable, Some(Ok(_))),
                ..Broken::default()
            },
            readable,
            reference: source::parse(&tracked, &file.tracked_shown)?,
            shipped: source::parse(&file.shipped()?, &file.tracked_shown)?,
            tracked,
        })
    }

    fn readable(&self) -> Option<&Readable> {
        self.readable.as_ref()?.as_ref().ok()
    }

    /// What the parser says about the file as it is.
    fn problem(&self) -> Option<&functions::NotRust> {
        match self.readable.as_ref()? {
            Ok(readable) => readable.problem.as_ref(),
            Err(problem) => Some(problem),
        }
    }

    /// The learner's function of an exercise, where the file can be read.
    pub fn function(&self, exercise: &Exercise) -> Option<&Function> {
        self.readable()?.parsed.function(exercise.function_name())
    }

    /// How an exercise stands, where no test is needed to know.
    fn first_look(&self, exercise: &Exercise, state: &State) -> Option<Status> {
        let name = exercise.function_name();
        if self.text.is_none() {
            return Some(Status::FileMissing);
        }
        if self.readable().is_none_or(|readable| readable.blanked.contains(name)) {
            return Some(Status::DoesNotCompile { errors: Vec::new() });
        }
        let Some(mine) = self.function(exercise) else {
            return Some(Status::Deleted);
        };
        let Some(theirs) = self
            .reference
            .function(name)
            .filter(|theirs| theirs.types != mine.types)
        else {
            return source::is_unwritten(mine, exercise).then_some(Status::NotWritten);
        };
        let is_mine = |before: &String| {
            let parsed = functions::parse(&format!("{before} {{}}"));
            parsed.is_ok_and(|parsed| parsed.function(name).is_some_and(|before| before.types == mine.types))
        };
        let (mine, theirs) = (mine.signature.clone(), theirs.signature.clone());
        Some(
            if state.progress(&exercise.id).signature.as_ref().is_some_and(is_mine) {
                Status::LessonChanged {
                    before: mine,
                    now: theirs,
                }
            } else {
                Status::SignatureChanged {
                    expected: theirs,
                    found: mine,
                }
            },
        )
    }

    /// Takes the item at a line out of the file. Returns the names of the functions that suffer from it, and whether it
    /// is new.
    fn take_out(&mut self, line: usize) -> (Vec<String>, bool) {
        let Some(Ok(readable)) = &self.readable else {
            return (Vec::new(), false);
        };
        let parsed = &readable.parsed;
        let holds = |lines: (usize, usize)| lines.0 <= line && line <= lines.1;
        if let Some(function) = parsed.functions.iter().find(|function| holds(function.lines)) {
            let name = function.name.clone();
            return if self.reference.function(&name).is_some() {
                let is_new = self.broken.functions.insert(name.clone());
                (vec![name], is_new)
            } else {
                (users(parsed, &[name]), self.broken.items.insert(function.lines.0))
            };
        }
        match parsed.others.iter().find(|item| holds(item.lines)) {
            Some(item) => (users(parsed, &item.names), self.broken.items.insert(item.lines.0)),
            None => (Vec::new(), false),
        }
    }
}

/// All files of a twin, and what is known of the exercises.
pub struct Examined<'a> {
    twin: &'a Twin,
    files: Vec<LearnersFile<'a>>,
    /// Exercises whose status is known without a test.
    pub decided: BTreeMap<String, Status>,
}

impl<'a> Examined<'a> {
    /// Reads the learner's files.
    pub fn of(twin: &'a Twin, state: &State) -> Result<Self, CourseError> {
        let mut examined = Self {
            twin,
            files: Vec::new(),
            decided: BTreeMap::new(),
        };
        for file in &twin.files {
            let mut file = LearnersFile::read(twin, file)?;
            for exercise in &file.file.exercises {
                if let Some(status) = file.first_look(exercise, state) {
                    if status.is_unusable() {
                        file.broken.functions.insert(exercise.function_name().to_owned());
                    }
                    examined.decided.insert(exercise.id.clone(), status);
                }
            }
            examined.files.push(file);
        }
        Ok(examined)
    }

    /// The file of an exercise.
    pub fn file_of(&self, exercise: &Exercise) -> &LearnersFile<'a> {
        let is_its = |file: &&LearnersFile<'_>| file.file.exercises.iter().any(|one| one.id == exercise.id);
        self.files
            .iter()
            .find(is_its)
            .expect("each exercise with code has a file")
    }

    /// Whether a mend exercise's body is as it ships.
    pub fn is_untouched(&self, exercise: &Exercise) -> bool {
        let file = self.file_of(exercise);
        file.function(exercise)
            .is_some_and(|mine| source::is_untouched(mine, exercise, &file.shipped))
    }

    /// Whether some file does not parse, so that the compiler has to say what is wrong with it.
    pub fn has_unparsed(&self) -> bool {
        self.files.iter().any(|file| file.problem().is_some())
    }

    /// Notes what the compiler says about the files that do not parse. Where it says nothing, the parser's own words
    /// stand.
    pub fn explain_unparsed(&mut self, refusals: &[Refusal]) {
        let mut notes = Vec::new();
        for file in &self.files {
            let Some(problem) = file.problem() else { continue };
            let mut found: Vec<Diagnostic> = refusals
                .iter()
                .filter_map(|refusal| {
                    let place = refusal.places.iter().find(|(path, _)| *path == file.file.learners)?;
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
            let is_cut = |one: &&Exercise| matches!(self.decided.get(&one.id), Some(Status::DoesNotCompile { .. }));
            let ids = file.file.exercises.iter().filter(is_cut).map(|one| one.id.clone());
            notes.extend(ids.map(|id| (id, found.clone())));
        }
        self.note(notes);
    }

    /// Whether the twin has to be built with stand-ins.
    pub fn needs_stand_ins(&self) -> bool {
        self.files.iter().any(|file| !file.broken.is_empty())
    }

    /// Writes a stand-in for each file: the file itself where nothing is wrong with it.
    pub fn write_stand_ins(&self) -> Result<(), CourseError> {
        for file in &self.files {
            let text = match (&file.text, file.broken.is_empty()) {
                (Some(text), true) => text.clone(),
                _ => mirror::stand_in(file.readable(), &file.tracked, &file.broken),
            };
            twin::write(&file.stand_in, &text)?;
        }
        Ok(())
    }

    /// Takes out of the files what the compiler refuses. Returns whether there was anything new to take out.
    pub fn blame(&mut self, refusals: &[Refusal]) -> bool {
        let (mut is_new, mut notes) = (false, Vec::new());
        for refusal in refusals {
            let place = refusal.places.iter().find_map(|(path, line)| {
                let is_it = |file: &LearnersFile<'_>| *path == file.file.learners || *path == file.stand_in;
                Some((self.files.iter().position(is_it)?, *line))
            });
            let Some((index, line)) = place else { continue };
            let diagnostic = self.diagnostic(refusal, &self.files[index], line);
            let (names, is_first) = self.files[index].take_out(line);
            is_new |= is_first;
            let of_it = self
                .twin
                .coded()
                .filter(|one| names.iter().any(|name| name == one.function_name()));
            notes.extend(of_it.map(|one| (one.id.clone(), vec![diagnostic.clone()])));
        }
        self.note(notes);
        is_new
    }

    /// When errors can not be placed: nothing of the learner's files is used, and each exercise without a verdict has
    /// these errors. Returns whether that changes anything.
    pub fn blame_all(&mut self, refusals: &[Refusal]) -> bool {
        let is_new = self.files.iter().any(|file| !file.broken.whole);
        let mut notes = Vec::new();
        for file in &self.files {
            let line = |refusal: &Refusal| refusal.places.first().map_or(1, |place| place.1);
            let all = refusals
                .iter()
                .map(|refusal| self.diagnostic(refusal, file, line(refusal)));
            let all: Vec<Diagnostic> = all.collect();
            let open = file
                .file
                .exercises
                .iter()
                .filter(|one| !self.decided.contains_key(&one.id));
            notes.extend(open.map(|one| (one.id.clone(), all.clone())));
        }
        self.files.iter_mut().for_each(|file| file.broken.whole = true);
        self.note(notes);
        is_new
    }

    /// Notes errors for exercises that are not decided otherwise.
    fn note(&mut self, notes: Vec<(String, Vec<Diagnostic>)>) {
        for (id, diagnostics) in notes {
            let status = self
                .decided
                .entry(id)
                .or_insert(Status::DoesNotCompile { errors: Vec::new() });
            if let Status::DoesNotCompile { errors } = status {
                for diagnostic in diagnostics {
                    if !errors.contains(&diagnostic) {
                        errors.push(diagnostic);
                    }
                }
            }
        }
    }

    fn diagnostic(&self, refusal: &Refusal, file: &LearnersFile<'_>, line: usize) -> Diagnostic {
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
