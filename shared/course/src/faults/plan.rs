//! A lesson's `faults.toml`: which faults are planted where, and which test should catch each.
//!
//! ```toml
//! [[faults]]
//! id = "mask-off-by-one"                          # small letters, digits and dashes
//! what = "a row sees the position after its own"  # stands in the table of the lesson's README
//! file = "src/forward.rs"                         # in the lesson's folder
//! find = "position + 1"                           # stands exactly once in that file
//! replace = "position + 2"
//! test = "parity"                                 # tests/parity.rs; "lib" for the tests inside src
//! filter = "any_split"                            # part of the names of the tests that may catch it; all of them without it
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::CourseError;
use crate::lessons;
use crate::source;
use crate::tools::Course;

/// The file's name.
pub const FILE: &str = "faults.toml";

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Its name, unique in the lesson.
    pub id: String,
    /// What is wrong with the planted code, in a line.
    pub what: String,
    /// The file to plant it in, in the lesson's folder.
    pub file: PathBuf,
    /// Text that stands exactly once in the file.
    pub find: String,
    /// What is put in its place.
    pub replace: String,
    /// The test program that should catch it: a file of `tests/`, or `lib`.
    pub test: String,
    /// Part of the names of the tests to run.
    #[serde(default)]
    pub filter: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    faults: Vec<Fault>,
}

/// The faults of one lesson.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `06`.
    pub number: String,
    /// `lessons/06-kv-cache`, absolute.
    pub lesson: PathBuf,
    /// The same as typed in the root.
    pub shown: String,
    /// The faults, in the order of the file.
    pub faults: Vec<Fault>,
}

impl Plan {
    /// Reads the list of a lesson.
    ///
    /// # Errors
    /// When there is none, or a fault in it lacks something.
    pub fn read(course: &Course, number: &str, lesson: &Path) -> Result<Self, CourseError> {
        let shown = course.shown(lesson);
        let path = lesson.join(FILE);
        if !path.is_file() {
            return Err(CourseError::NotNow {
                problem: format!("lesson {number} has no list of faults, {shown}/{FILE}"),
                action: "`cargo course faults` without a number takes the lessons that have one".to_owned(),
            });
        }
        let wrong = |problem: String| CourseError::CourseToml {
            path: format!("{shown}/{FILE}"),
            problem,
        };
        let text = source::read(&path)?;
        let file: File = toml::from_str(&text).map_err(|error| wrong(lessons::describe(&error, &text)))?;
        let plan = Self {
            number: number.to_owned(),
            lesson: lesson.to_owned(),
            shown: shown.clone(),
            faults: file.faults,
        };
        plan.check().map_err(wrong)?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        if self.faults.is_empty() {
            return Err("it lists no fault".to_owned());
        }
        for (index, fault) in self.faults.iter().enumerate() {
            let id = &fault.id;
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if id.is_empty() || id == "none" || !id.chars().all(is_plain) {
                return Err(format!("{id:?}: expected an id of small letters, digits and dashes"));
            }
            if self.faults[..index].iter().any(|other| other.id == *id) {
                return Err(format!("{id}: the id stands twice"));
            }
            if fault.what.trim().is_empty() || fault.find == fault.replace {
                return Err(format!("{id}: expected `what` is wrong and another text in `replace`"));
            }
            if self.test_file(&fault.test).is_none() {
                return Err(format!(
                    "{id}: expected a test tests/{0}.rs or tests/{0}/main.rs, found none",
                    fault.test
                ));
            }
        }
        Ok(())
    }

    /// The root file of a test program, in the lesson's folder.
    pub fn test_file(&self, test: &str) -> Option<PathBuf> {
        if test == "lib" {
            return Some("src/lib.rs".into());
        }
        let tests = Path::new("tests");
        let names = [format!("{test}.rs"), format!("{test}/main.rs")];
        let mut files = names.iter().map(|name| tests.join(name));
        files.find(|file| self.lesson.join(file).is_file())
    }

    /// The text of the fault's file with the fault in it.
    ///
    /// # Errors
    /// When the text to find does not stand there exactly once.
    pub fn planted(&self, fault: &Fault) -> Result<String, String> {
        let file = fault.file.display();
        let text = std::fs::read_to_string(self.lesson.join(&fault.file))
            .map_err(|error| format!("{file}: {error}"))?
            .replace("\r\n", "\n");
        match text.matches(&fault.find).count() {
            1 => Ok(text.replacen(&fault.find, &fault.replace, 1)),
            0 => Err(format!("{file} has changed: the text to find is not in it")),
            n => Err(format!("{file}: the text to find stands there {n} times")),
        }
    }

    /// The fault's line in the table of the lesson's page.
    pub fn row(&self, fault: &Fault) -> String {
        let filter = match fault.filter.as_str() {
            "" => String::new(),
            filter => format!(" `{filter}`"),
        };
        let file = fault.file.display().to_string().replace('\\', "/");
        format!("| {} | `{file}` | `{}`{filter} |", fault.what, fault.test)
    }

    /// What the lesson's page lacks, in a sentence.
    pub fn untold(&self) -> Option<String> {
        let page = std::fs::read_to_string(self.lesson.join("README.md")).unwrap_or_default();
        let is_untold = |fault: &&Fault| !page.contains(&self.row(fault));
        let untold = self.faults.iter().filter(is_untold);
        let ids: Vec<&str> = untold.map(|fault| fault.id.as_str()).collect();
        (!ids.is_empty()).then(|| {
            format!(
                "{}/README.md: its table of planted faults lacks {} (`cargo course faults {} --json` gives each row)",
                self.shown,
                ids.join(", "),
                self.number
            )
        })
    }
}

#[cfg(test)]
mod tests;
