//! `cargo course book`: builds the book and, when asked, opens it.
//!
//! mdBook is a large tree, so the work is done by a program of its own workspace, `book/builder`; this only calls it.
//! The first call compiles that program, four minutes of processor time; then a book takes seconds. No network is
//! needed once the crates are there.

use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::data::verify::no_cargo;
use crate::error::CourseError;
use crate::tools::Course;

/// Where the built book begins.
pub fn first_page(course: &Course) -> PathBuf {
    course.root.join("target/book/index.html")
}

/// Builds the book. With `open`, shows it in the reader's browser once it is whole.
///
/// # Errors
/// When cargo can not be started, or no browser.
pub fn run(course: &Course, open: bool) -> Result<ExitStatus, CourseError> {
    let program = course.root.join("target/builder/debug/book-builder");
    if !program.exists() && !program.with_extension("exe").exists() {
        // 4 minutes of processor time, of which the last crates leave most cores idle.
        let minutes = if lab::args::available_threads() >= 4 {
            "1 to 2"
        } else {
            "2 to 4"
        };
        lab::noteln!("building the book's own program first: once, about {minutes} minutes");
    }
    let status = builder(course).status().map_err(|error| no_cargo(course, error))?;
    if status.success() && open {
        show(course)?;
    }
    Ok(status)
}

/// The call of the builder. It runs in its own folder, where its cargo settings are found.
fn builder(course: &Course) -> Command {
    let mut command = course.cargo.command();
    command
        .current_dir(course.root.join("book/builder"))
        .args(["run", "--quiet", "--locked", "--", "--root"])
        .arg(&course.root)
        .stdin(Stdio::null());
    command
}

fn show(course: &Course) -> Result<(), CourseError> {
    let page = first_page(course);
    let (program, first): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    };
    let started = Command::new(program)
        .args(first)
        .arg(&page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(_) => Ok(()),
        Err(_) => Err(CourseError::NoProgram {
            program: program.to_owned(),
            need: "it opens the book in a browser",
            action: "open target/book/index.html by hand",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Program;

    #[test]
    fn the_builder_gets_the_root_and_keeps_its_lock_file() {
        let course = Course {
            root: PathBuf::from("/somewhere/book here"),
            cargo: Program::new("cargo"),
            python: Program::new("python3"),
            rustc: Program::new("rustc"),
            limit: std::time::Duration::from_secs(30),
        };
        let command = builder(&course);
        assert_eq!(
            crate::tools::shown(&command),
            "cargo run --quiet --locked -- --root \"/somewhere/book here\""
        );
        assert_eq!(
            command.get_current_dir(),
            Some(course.root.join("book/builder").as_path())
        );
    }
}
