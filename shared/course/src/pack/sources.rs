//! What goes into a kit: tracked files, and crates from `cargo vendor`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::data::verify::no_cargo;
use crate::error::CourseError;
use crate::tools::{Course, output};

/// Folder of the crates' sources in a kit.
const VENDOR: &str = "vendor";

/// The files that git tracks and that are here.
pub(super) fn tracked(course: &Course) -> Result<Vec<PathBuf>, CourseError> {
    let mut command = Command::new("git");
    command.current_dir(&course.root).args(["ls-files", "-z"]);
    let listed = output(&mut command, |_| CourseError::NoProgram {
        program: "git".to_owned(),
        need: "it lists the files of the workbook",
        action: "run this in a clone made with git",
    })?;
    let names = listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    Ok(names.filter(|file| course.root.join(file).is_file()).collect())
}

/// Copies the sources of all crates into the kit, and returns the configuration that points there.
pub(super) fn vendor(course: &Course, kit: &Path) -> Result<String, CourseError> {
    let mut command = course.cargo.command();
    command
        .current_dir(&course.root)
        .args(["vendor", "--locked", "--versioned-dirs"]);
    if course.root.join("book/builder/Cargo.toml").is_file() {
        command.args(["--sync", "book/builder/Cargo.toml"]);
    }
    command.arg(kit.join(VENDOR));
    let configuration = relative(&output(&mut command, |error| no_cargo(course, error))?);
    // Cargo prints it unless it is told to be quiet; a kit without it would ask the network.
    if configuration.contains("directory = ") {
        return Ok(configuration);
    }
    Err(CourseError::Lesson {
        command: "cargo vendor".to_owned(),
        status: "0".to_owned(),
        said: "nothing that says where the sources are".to_owned(),
    })
}

/// Cargo prints where it wrote; in the kit that is beside `.cargo`, wherever the kit is unpacked.
fn relative(configuration: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("directory = ") {
            format!("directory = \"{VENDOR}\"\n")
        } else {
            format!("{line}\n")
        }
    };
    configuration.lines().map(line).collect()
}

/// Adds to the kit's `.cargo/config.toml`: crates come from the kit, and nothing from the network.
pub(super) fn configure(kit: &Path, configuration: &str) -> Result<(), CourseError> {
    const ACTION: &str = "the folder must be writable";
    let path = kit.join(".cargo/config.toml");
    let folder = kit.join(".cargo");
    fs::create_dir_all(&folder).map_err(CourseError::io(&folder, ACTION))?;
    let before = fs::read_to_string(&path).unwrap_or_default();
    let text = format!(
        "{before}\n# This copy is a kit for rooms without a network: crates come from {VENDOR}/.\n[net]\noffline = true\n\n{configuration}"
    );
    fs::write(&path, text).map_err(CourseError::io(&path, ACTION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_points_into_the_kit() {
        let printed = "[source.crates-io]\nreplace-with = \"vendored-sources\"\n\n[source.vendored-sources]\ndirectory = \"/tmp/x/vendor\"\n";
        let expected = printed.replace("/tmp/x/vendor", "vendor");
        assert_eq!(relative(printed), expected);
    }
}
