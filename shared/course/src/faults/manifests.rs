//! The manifests of the copies, made from the root's and the lessons' own.

use std::path::Path;

use toml::{Table, Value};

use super::copies::{self, Copy};
use crate::error::CourseError;
use crate::source;
use crate::tools::Course;
use crate::twin::manifest::{move_path, package_of};
use crate::twin::path_from;

/// A manifest of the repository.
///
/// # Errors
/// When it can not be read or is no TOML.
pub fn read(course: &Course, path: &Path) -> Result<Table, CourseError> {
    let text = source::read(path)?;
    text.parse().map_err(|error: toml::de::Error| CourseError::Twin {
        problem: format!("{}: {}", course.shown(path), error.message()),
        action: "restore the file with git".to_owned(),
    })
}

/// The root's manifest for the copies: other members, the same everything else.
pub fn workspace(course: &Course, mut root: Table, copies: &[Copy]) -> Table {
    let folder = copies::workspace(course);
    let names: Vec<&str> = copies.iter().map(|copy| copy.package.as_str()).collect();
    if let Some(Value::Table(workspace)) = root.get_mut("workspace") {
        workspace.insert("members".into(), Value::from(names.clone()));
        workspace.remove("exclude");
        workspace.remove("default-members");
        if let Some(Value::Table(dependencies)) = workspace.get_mut("dependencies") {
            for (_, dependency) in dependencies.iter_mut() {
                move_path(dependency, &course.root, &folder, &course.root);
            }
        }
    }
    let lessons: Vec<String> = copies
        .iter()
        .map(|copy| format!("lesson{}", copy.plan.number))
        .collect();
    let mut packages = match root.get("profile").and_then(|all| all.get("test")?.get("package")) {
        Some(Value::Table(packages)) => packages.clone(),
        _ => Table::new(),
    };
    packages.retain(|name, _| lessons.iter().all(|lesson| lesson != name));
    for name in names {
        let quick = Table::from_iter([
            ("opt-level".to_owned(), Value::Integer(0)),
            ("debug".to_owned(), Value::Boolean(false)),
        ]);
        packages.insert(name.to_owned(), Value::Table(quick));
    }
    let profiles = inner(&mut root, "profile");
    inner(profiles, "test").insert("package".into(), Value::Table(packages));
    root
}

/// A table inside a table, made where it is not there.
fn inner<'a>(table: &'a mut Table, key: &str) -> &'a mut Table {
    let value = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
    if !value.is_table() {
        *value = Value::Table(Table::new());
    }
    value.as_table_mut().expect("it was made one")
}

/// The lesson's manifest for a copy: all features, the tests that are run, no story, no lints.
pub fn copy(course: &Course, copy: &Copy, mut manifest: Table) -> Table {
    let place = copies::workspace(course).join(&copy.package);
    let package = inner(&mut manifest, "package");
    package.insert("name".into(), Value::from(copy.package.as_str()));
    package.remove("default-run");
    for key in ["autobins", "autotests", "autoexamples", "autobenches"] {
        package.insert(key.into(), Value::Boolean(false));
    }
    for key in ["bin", "test", "example", "bench", "lints"] {
        manifest.remove(key);
    }
    let lesson = format!("lesson{}", copy.plan.number);
    for key in ["dependencies", "dev-dependencies"] {
        if let Some(Value::Table(dependencies)) = manifest.get_mut(key) {
            // A lesson that asks for its own features in tests: a copy has them all.
            dependencies.retain(|name, dependency| package_of(name, dependency) != lesson);
            for (_, dependency) in dependencies.iter_mut() {
                move_path(dependency, &copy.plan.lesson, &place, &course.root);
            }
        }
    }
    if let Some(Value::Table(features)) = manifest.get_mut("features") {
        let all: Vec<String> = features.keys().filter(|key| *key != "default").cloned().collect();
        features.insert("default".into(), Value::from(all));
    }
    let library = inner(&mut manifest, "lib");
    library.insert("path".into(), Value::from("src/lib.rs"));
    for key in ["doctest", "test"] {
        library.insert(key.into(), Value::Boolean(false));
    }
    let tests = copy.tests().into_iter().filter_map(|test| {
        let file = copy.plan.test_file(test)?;
        // The tests inside `src` are built from the copy; those of `tests` are the lesson's.
        let path = match test {
            "lib" => "src/lib.rs".to_owned(),
            _ => path_from(&place, &copy.plan.lesson.join(file), &course.root),
        };
        Some(Value::Table(Table::from_iter([
            ("name".to_owned(), Value::from(copy.target(test))),
            ("path".to_owned(), Value::from(path)),
        ])))
    });
    let tests: Vec<Value> = tests.collect();
    manifest.insert("test".into(), Value::Array(tests));
    manifest
}
