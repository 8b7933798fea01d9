//! Copies of lessons with a fault each: `target/course/faults`, a workspace of its own.
//!
//! A copy is the lesson's `src` under another package name; its tests are the lesson's own files. Everything else is the root's: versions,
//! profiles, lock file, target folder, and the crates below the lesson, which are built once for all copies. So a fault costs one build of
//! the lesson's library and of one test program. A copy is compiled without optimisation, because its time goes into compiling:
//! the kernels that take time are in the crates below.

use std::path::{Path, PathBuf};

use super::manifests;
use super::plan::{Fault, Plan};
use crate::error::CourseError;
use crate::source;
use crate::tools::Course;
use crate::twin::manifest::{NOTE, write_table};
use crate::twin::{self, lock, path_from};

/// A copy of a lesson.
#[derive(Clone, Debug)]
pub struct Copy<'a> {
    /// The lesson and its faults.
    pub plan: &'a Plan,
    /// The fault in it; `None` for the copy without one.
    pub fault: Option<&'a Fault>,
    /// The name of the package and of its folder.
    pub package: String,
    /// The text of the file with the fault.
    planted: String,
}

impl Copy<'_> {
    /// The test programs that it is built for.
    pub fn tests(&self) -> Vec<&str> {
        let mut tests: Vec<&str> = Vec::new();
        for fault in &self.plan.faults {
            let is_meant = self.fault.is_none_or(|mine| mine.id == fault.id);
            if is_meant && !tests.contains(&fault.test.as_str()) {
                tests.push(&fault.test);
            }
        }
        tests
    }

    /// The name of the target of a test program.
    pub fn target(&self, test: &str) -> String {
        format!("{}-{}", self.package, test.replace('_', "-"))
    }
}

/// The folder of the workspace, absolute.
pub fn workspace(course: &Course) -> PathBuf {
    course.root.join("target/course/faults")
}

/// The copies of a lesson: one without a fault, and one for each fault that can be planted.
pub fn of(plan: &Plan) -> Vec<Copy<'_>> {
    let whole = Copy {
        plan,
        fault: None,
        package: package(plan, "none"),
        planted: String::new(),
    };
    let faulty = plan.faults.iter().filter_map(|fault| {
        let planted = plan.planted(fault).ok()?;
        Some(Copy {
            plan,
            fault: Some(fault),
            package: package(plan, &fault.id),
            planted,
        })
    });
    std::iter::once(whole).chain(faulty).collect()
}

/// `fault06-wrong-position`; `none` stands for no fault.
pub fn package(plan: &Plan, id: &str) -> String {
    format!("fault{}-{id}", plan.number)
}

/// Writes the workspace. A file whose text stays the same is not touched, so that nothing is built again for it.
///
/// # Errors
/// When a manifest is not what is expected, or a file can not be written.
pub fn write(course: &Course, plans: &[Plan], copies: &[Copy]) -> Result<(), CourseError> {
    let folder = workspace(course);
    let root = manifests::read(course, &course.root.join("Cargo.toml"))?;
    write_table(&folder.join("Cargo.toml"), &manifests::workspace(course, root, copies))?;
    let mut lock_file = source::read(&course.root.join("Cargo.lock")).unwrap_or_default();
    let original = lock_file.clone();
    for plan in plans {
        let manifest = manifests::read(course, &plan.lesson.join("Cargo.toml"))?;
        let lesson = format!("lesson{}", plan.number);
        for copy in copies.iter().filter(|copy| copy.plan.number == plan.number) {
            let place = folder.join(&copy.package);
            write_table(
                &place.join("Cargo.toml"),
                &manifests::copy(course, copy, manifest.clone()),
            )?;
            copy_sources(copy, Path::new("src"), &place)?;
            if let Some(entry) = lock::renamed(&original, &lesson, &copy.package, false) {
                lock_file = format!("{}\n\n{entry}\n", lock_file.trim_end());
            }
        }
    }
    lock::write(&folder, &lock_file)?;
    let target = path_from(&folder, &course.root.join("target"), &course.root);
    let config = format!("{NOTE}[build]\ntarget-dir = \"{target}\"\n");
    twin::write(&folder.join(".cargo/config.toml"), &config)
}

/// Copies a folder of the lesson, with the fault in its file.
fn copy_sources(copy: &Copy, folder: &Path, place: &Path) -> Result<(), CourseError> {
    const ACTION: &str = "restore the lesson with git";
    let from = copy.plan.lesson.join(folder);
    for entry in std::fs::read_dir(&from).map_err(CourseError::io(&from, ACTION))? {
        let path = entry.map_err(CourseError::io(&from, ACTION))?.path();
        let relative = folder.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_sources(copy, &relative, place)?;
            continue;
        }
        let is_planted = copy.fault.is_some_and(|fault| fault.file == relative);
        let text = if is_planted {
            copy.planted.clone()
        } else {
            source::read(&path)?
        };
        twin::write(&place.join(&relative), &text)?;
    }
    Ok(())
}
