//! A lesson's `faults.toml`: which faults are planted where, and which test should catch each.
//!
//! ```toml
//! [[faults]]
//! id = "mask-off-by-one"                          # small letters, digits and dashes
//! what = "a row sees the position after its own"  # stands in the table of the lesson's README
//! file = "src/forward.rs"                         # in the lesson's folder
//! find = "position + 1"                           # stands exactly once in that file
//! replace = "position + 2"
//! test = "suite"                                  # tests/suite.rs or tests/suite/main.rs; "lib" for the tests inside src
//! filter = "parity::any_split"                    # part of the names of the tests that may catch it; all of them without it
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
    /// The text that takes its place.
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
            if id.is_empty() || !id.chars().all(is_plain) {
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
        let files = [format!("tests/{test}.rs"), format!("tests/{test}/main.rs")].map(PathBuf::from);
        files.into_iter().find(|file| self.lesson.join(file).is_file())
    }

    /// The text of the fault's file.
    ///
    /// # Errors
    /// When the text to find does not stand there exactly once.
    pub fn source(&self, fault: &Fault) -> Result<String, String> {
        let file = fault.file.display();
        let text = source::read(&self.lesson.join(&fault.file)).map_err(|error| error.to_string())?;
        match text.matches(&fault.find).count() {
            1 => Ok(text),
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
        let untold = self.faults.iter().filter(|fault| !page.contains(&self.row(fault)));
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
mod tests {
    use super::*;

    fn plan(text: &str) -> (tempfile::TempDir, Plan) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), text).unwrap();
        let fault =
            "id = 'one'\nwhat = 'one too many'\nfile = 'a.rs'\nfind = 'a + 1'\nreplace = 'a + 2'\ntest = 'lib'\n";
        let plan = Plan {
            number: "05".into(),
            lesson: folder.path().to_owned(),
            shown: "lessons/05-x".into(),
            faults: vec![toml::from_str(fault).unwrap()],
        };
        (folder, plan)
    }

    #[test]
    fn a_text_that_is_gone_or_stands_twice_is_told() {
        let source = |text: &str| {
            let (_folder, plan) = plan(text);
            plan.source(&plan.faults[0])
        };
        assert_eq!(source("let b = a + 1;\n").unwrap(), "let b = a + 1;\n");
        let gone = "a.rs has changed: the text to find is not in it";
        assert_eq!(source("let b = a;\n").unwrap_err(), gone);
        let twice = "a.rs: the text to find stands there 2 times";
        assert_eq!(source("a + 1; a + 1\n").unwrap_err(), twice);
    }

    #[test]
    fn a_list_that_says_too_little_is_refused() {
        let (_folder, plan) = plan("");
        let refused = |change: &dyn Fn(&mut Fault)| {
            let mut plan = plan.clone();
            change(&mut plan.faults[0]);
            plan.check().unwrap_err()
        };
        assert!(plan.check().is_ok());
        assert!(refused(&|fault| fault.id = "One".into()).contains("small letters"));
        assert!(refused(&|fault| fault.what = " ".into()).contains("`what`"));
        assert!(refused(&|fault| fault.replace = "a + 1".into()).contains("`replace`"));
        assert!(refused(&|fault| fault.test = "no".into()).contains("found none"));
        let mut twice = plan.clone();
        twice.faults.push(plan.faults[0].clone());
        assert_eq!(twice.check().unwrap_err(), "one: the id stands twice");
    }

    #[test]
    fn the_page_of_the_lesson_has_a_row_for_each_fault() {
        let (folder, plan) = plan("");
        assert!(plan.untold().unwrap().contains("lacks one"));
        let row = plan.row(&plan.faults[0]);
        assert_eq!(row, "| one too many | `a.rs` | `lib` |");
        std::fs::write(folder.path().join("README.md"), format!("# X\n{row}\n")).unwrap();
        assert_eq!(plan.untold(), None);
    }
}
