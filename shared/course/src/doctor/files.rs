//! The files that lessons read.

use super::Check;
use crate::data;
use crate::tools::Course;

/// Checksums of the tracked data.
pub(super) fn data(course: &Course) -> Check {
    let report = match data::verify::manifest(course) {
        Ok(report) => report,
        Err(error) => {
            return Check::problem("data", "the checksums could not be checked", error.to_string());
        }
    };
    let wrong: Vec<String> = report
        .files
        .iter()
        .filter(|file| !file.ok)
        .map(|file| format!("data/{} ({})", file.path, file.problem.as_deref().unwrap_or("wrong")))
        .collect();
    if wrong.is_empty() {
        return Check::ok("data", format!("{} files, all checksums right", report.files.len()));
    }
    Check::problem(
        "data",
        wrong.join(", "),
        "restore them with `git checkout data`; if git says that nothing changed, clone anew",
    )
}

/// Which optional models are here.
pub(super) fn models(course: &Course) -> Check {
    match data::models(course) {
        Err(error) => Check::note(
            "models",
            "the list of optional models can not be read",
            error.to_string(),
        ),
        Ok(models) => {
            let here: Vec<&str> = models
                .models
                .iter()
                .filter(|model| model.is_here(course))
                .map(|model| model.name.as_str())
                .collect();
            match here.as_slice() {
                [] => Check::ok(
                    "models",
                    "no optional one is here; `cargo course data list` shows what there is",
                ),
                here => Check::ok("models", here.join(", ")),
            }
        }
    }
}
