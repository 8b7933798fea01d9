//! Copies of lessons with faults in them: `target/course/faults`, a workspace of its own.
//!
//! A copy is the lesson's `src` under another package name; its tests are the lesson's own files. Everything else is
//! the root's: versions, profiles, lock file, target folder. The lessons below are those that the root has built, see
//! [`crate::twin::manifest`]. A copy is compiled without optimisation, because its time goes into compiling: the
//! kernels that take time are in the crates below.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::plan::{Fault, Plan};
use super::plant;
use crate::check::build::Built;
use crate::error::CourseError;
use crate::source;
use crate::tools::{Course, files};
use crate::twin::{self, manifest};

/// A copy of a lesson.
#[derive(Clone, Debug)]
pub struct Copy<'a> {
    /// The lesson and its faults.
    pub plan: &'a Plan,
    /// The faults in it, each behind the switch; a fault without a switch is alone.
    pub faults: Vec<&'a Fault>,
    /// The name of the package and of its folder.
    package: String,
    /// The test programs that it is built for.
    tests: BTreeSet<&'a str>,
}

/// The folder of the workspace, absolute.
pub fn workspace(course: &Course) -> PathBuf {
    course.root.join("target/course/faults")
}

/// The copies of a lesson. The first has all faults that can be switched (none when the lesson is among `apart`); each
/// of the others has one.
pub fn of<'a>(plan: &'a Plan, apart: &BTreeSet<String>) -> Vec<Copy<'a>> {
    let mut together = Vec::new();
    let mut alone = Vec::new();
    for fault in &plan.faults {
        match plan.source(fault) {
            Ok(text) if !apart.contains(&plan.number) && plant::can_switch(&text, fault) => together.push(fault),
            Ok(_) => alone.push(fault),
            Err(_) => {}
        }
    }
    let first = Copy {
        plan,
        faults: together,
        package: format!("fault{}", plan.number),
        tests: plan.faults.iter().map(|fault| fault.test.as_str()).collect(),
    };
    let others = alone.into_iter().map(|fault| Copy {
        plan,
        faults: vec![fault],
        package: format!("fault{}-{}", plan.number, fault.id),
        tests: BTreeSet::from([fault.test.as_str()]),
    });
    std::iter::once(first).chain(others).collect()
}

impl Copy<'_> {
    /// Whether the fault is in this copy.
    pub fn holds(&self, fault: &Fault) -> bool {
        self.faults.iter().any(|mine| mine.id == fault.id)
    }

    /// Whether every test program of the copy was built.
    pub fn is_whole(&self, built: &Built) -> bool {
        self.tests.iter().all(|test| self.program(test, built).is_ok())
    }

    /// The test program of this copy.
    ///
    /// # Errors
    /// What the compiler refuses in it.
    pub fn program<'b>(&self, test: &str, built: &'b Built) -> Result<&'b Path, String> {
        let target = self.target(test);
        if let Some((_, program)) = built.programs.iter().find(|(name, _)| *name == target) {
            return Ok(program);
        }
        let is_inside = |path: &Path| path.components().any(|part| part.as_os_str() == self.package.as_str());
        let refusal = built
            .refusals
            .iter()
            .find(|refusal| refusal.target == target || refusal.places.iter().any(|(path, _)| is_inside(path)));
        let said = refusal.map_or("cargo did not build it", |refusal| &refusal.message);
        Err(format!("it does not compile: {said}"))
    }

    fn target(&self, test: &str) -> String {
        format!("{}-{}", self.package, test.replace('_', "-"))
    }

    /// The text of one of the lesson's files in this copy.
    fn text(&self, file: &Path, text: String) -> String {
        let here: Vec<&Fault> = self.faults.iter().copied().filter(|fault| fault.file == file).collect();
        let text = match here.as_slice() {
            [fault] if !plant::can_switch(&text, fault) => text.replacen(&fault.find, &fault.replace, 1),
            faults => plant::switched(&text, faults),
        };
        if file == Path::new("src/lib.rs") {
            return text + plant::SWITCH;
        }
        text
    }

    /// Writes the lesson's sources with the faults in them.
    fn write_sources(&self, place: &Path) -> Result<(), CourseError> {
        for path in files(&self.plan.lesson.join("src"))? {
            let relative = path.strip_prefix(&self.plan.lesson).expect("it is inside");
            twin::write(&place.join(relative), &self.text(relative, source::read(&path)?))?;
        }
        Ok(())
    }

    /// The lesson's manifest for this copy: all features, the tests that are run, no story, no lints.
    fn manifest(&self, course: &Course) -> Result<Table, CourseError> {
        let mut manifest = read(course, &self.plan.lesson.join("Cargo.toml"))?;
        for key in ["bin", "test", "example", "bench", "lints"] {
            manifest.remove(key);
        }
        let package = table(&mut manifest, "package");
        package.remove("default-run");
        package.insert("name".into(), Value::from(self.package.as_str()));
        for key in ["autobins", "autotests", "autoexamples", "autobenches"] {
            package.insert(key.into(), Value::Boolean(false));
        }
        let lesson = format!("lesson{}", self.plan.number);
        for key in ["dependencies", "dev-dependencies"] {
            // A lesson that asks for its own features in tests: a copy has them all.
            let of = |name: &str, dependency: &Value| {
                dependency.get("package").map_or(name, |of| of.as_str().unwrap_or(name)) == lesson
            };
            let dependencies = table(&mut manifest, key);
            dependencies.retain(|name, dependency| !of(name, dependency));
            absolute(dependencies, &self.plan.lesson);
        }
        let features = table(&mut manifest, "features");
        let all: Vec<String> = features.keys().filter(|key| *key != "default").cloned().collect();
        features.insert("default".into(), Value::from(all));
        let library = table(&mut manifest, "lib");
        library.insert("path".into(), Value::from("src/lib.rs"));
        for key in ["doctest", "test"] {
            library.insert(key.into(), Value::Boolean(false));
        }
        let tests = self.tests.iter().filter_map(|test| {
            let file = self.plan.test_file(test)?;
            // The tests inside `src` are built from the copy, those of `tests` are the lesson's.
            let path = if *test == "lib" {
                file
            } else {
                self.plan.lesson.join(file)
            };
            let name = ("name".to_owned(), Value::from(self.target(test)));
            Some(Value::Table(Table::from_iter([name, ("path".to_owned(), text(&path))])))
        });
        let tests: Vec<Value> = tests.collect();
        manifest.insert("test".into(), Value::Array(tests));
        Ok(manifest)
    }
}

/// Writes the workspace. A file whose text stays the same is not touched, so that nothing is built again for it.
///
/// # Errors
/// When a manifest is not what is expected, or a file can not be written.
pub fn write(course: &Course, copies: &[Copy]) -> Result<(), CourseError> {
    let folder = workspace(course);
    twin::write(&folder.join("Cargo.toml"), &root(course, copies)?.to_string())?;
    for copy in copies {
        let place = folder.join(&copy.package);
        twin::write(&place.join("Cargo.toml"), &copy.manifest(course)?.to_string())?;
        copy.write_sources(&place)?;
        // Tests read files beside them through `CARGO_MANIFEST_DIR`. Without the link those fail, which is told.
        manifest::has_link(&course.root, &place, "tests", &copy.plan.lesson.join("tests"));
    }
    // Cargo adds the copies, and keeps the versions that it finds.
    let lock = source::read(&course.root.join("Cargo.lock")).unwrap_or_default();
    twin::write(&folder.join("Cargo.lock"), &lock)?;
    let mut config = Table::new();
    table(&mut config, "build").insert("target-dir".into(), text(&course.root.join("target")));
    for copy in copies {
        // Tests of the command line name the story's program. A copy has none, and no fault is caught through it.
        let name = format!("CARGO_BIN_EXE_lesson{}", copy.plan.number);
        table(&mut config, "env").insert(name, Value::from("no-story-in-a-copy"));
    }
    twin::write(&folder.join(".cargo/config.toml"), &config.to_string())
}

/// The root's manifest for the copies: other members, the same everything else.
fn root(course: &Course, copies: &[Copy]) -> Result<Table, CourseError> {
    let mut root = read(course, &course.root.join("Cargo.toml"))?;
    let workspace = table(&mut root, "workspace");
    let names: Vec<&str> = copies.iter().map(|copy| copy.package.as_str()).collect();
    // The lessons below lie here by links, which makes them members too, though not those that are built.
    for key in ["members", "default-members"] {
        workspace.insert(key.into(), Value::from(names.clone()));
    }
    workspace.remove("exclude");
    let folder = self::workspace(course);
    let is_linked = manifest::has_links(&course.root, &folder);
    absolute(
        table(workspace, "dependencies"),
        if is_linked { &folder } else { &course.root },
    );
    let profiles = table(&mut root, "profile");
    table(table(profiles, "dev"), "package").remove("course");
    let packages = table(table(profiles, "test"), "package");
    for name in names {
        let quick = table(packages, name);
        quick.insert("opt-level".into(), Value::Integer(0));
        quick.insert("debug".into(), Value::Boolean(false));
    }
    Ok(root)
}

fn read(course: &Course, path: &Path) -> Result<Table, CourseError> {
    let text = source::read(path)?;
    text.parse().map_err(|error: toml::de::Error| CourseError::Twin {
        problem: format!("{}: {}", course.shown(path), error.message()),
        action: "restore the file with git".to_owned(),
    })
}

/// A table inside a table, made where it does not exist.
fn table<'a>(outer: &'a mut Table, key: &str) -> &'a mut Table {
    let value = outer.entry(key).or_insert_with(|| Value::Table(Table::new()));
    value.as_table_mut().expect("cargo accepts a table only")
}

/// The paths of dependencies, seen from any folder.
fn absolute(dependencies: &mut Table, folder: &Path) {
    for (_, dependency) in dependencies.iter_mut() {
        if let Some(path) = dependency.get("path").and_then(Value::as_str) {
            let path = folder.join(path);
            dependency
                .as_table_mut()
                .expect("it has a path")
                .insert("path".into(), text(&path));
        }
    }
}

fn text(path: &Path) -> Value {
    Value::from(path.display().to_string().replace('\\', "/"))
}
