//! Toolchain, terminal, Python, and the files that lessons read.

use std::io::IsTerminal;

use super::Check;
use crate::data;
use crate::page::terminal_columns;
use crate::tools::Course;

/// The compiler against `rust-toolchain.toml`.
pub(super) fn toolchain(course: &Course) -> Check {
    const INSTALL: &str = "install Rust with rustup; inside this folder it then takes the right version by itself";
    let output = course
        .rustc
        .command()
        .current_dir(&course.root)
        .arg("--version")
        .output();
    let Ok(output) = output else {
        return Check::problem("toolchain", format!("{} was not found", course.rustc.shown()), INSTALL);
    };
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let text = std::fs::read_to_string(course.root.join("rust-toolchain.toml")).unwrap_or_default();
    let file: toml::Table = text.parse().unwrap_or_default();
    let wanted = file
        .get("toolchain")
        .and_then(|toolchain| toolchain.get("channel")?.as_str());
    let Some(wanted) = wanted else {
        let found = format!("{found}; rust-toolchain.toml is missing or can not be read");
        return Check::problem("toolchain", found, "restore it with `git checkout rust-toolchain.toml`");
    };
    judge_toolchain(&found, wanted, INSTALL)
}

fn judge_toolchain(found: &str, wanted: &str, install: &str) -> Check {
    let version = found
        .strip_prefix("rustc ")
        .and_then(|rest| rest.split([' ', '-']).next())
        .unwrap_or("");
    let (Some(has), Some(needs)) = (numbers(version), numbers(wanted)) else {
        let found = format!("rustc says {found:?}; {wanted} is expected");
        return Check::problem("toolchain", found, install);
    };
    if has == needs {
        return Check::ok("toolchain", format!("rustc {version}, as rust-toolchain.toml asks"));
    }
    if has < needs {
        return Check::problem("toolchain", format!("rustc {version} is older than {wanted}"), install);
    }
    let found = format!("rustc {version}, newer than the {wanted} that recorded figures were made with");
    let advice = "fine; with rustup this folder would take the pinned one by itself";
    Check::note("toolchain", found, advice)
}

fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

pub(super) fn terminal() -> Check {
    if !std::io::stdout().is_terminal() {
        let found = "output is piped: stories run through, without colours or questions";
        return Check::ok("terminal", found);
    }
    let columns = terminal_columns();
    if columns < 80 {
        let found = format!("{columns} columns");
        return Check::note("terminal", found, "tables and bars are laid out for 80");
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    let unicode = locale.is_none_or(|locale| locale.to_lowercase().replace('-', "").contains("utf8"));
    if !unicode && cfg!(unix) {
        let advice = "set LANG to a UTF-8 locale, such as C.UTF-8";
        return Check::note("terminal", "the locale is not UTF-8: bars may look odd", advice);
    }
    Check::ok("terminal", format!("{columns} columns"))
}

/// Only for optional models.
pub(super) fn python(course: &Course) -> Check {
    const NEED: &str =
        "only `cargo course data get` needs it, for optional models; Debian, Ubuntu: `apt install python3-pip`";
    let python = course.python.shown();
    let mut command = course.python.command();
    let Ok(output) = command.args(["-m", "pip", "--version"]).output() else {
        return Check::note("python", format!("{python} was not found"), NEED);
    };
    if !output.status.success() {
        return Check::note("python", format!("{python} is here, without pip"), NEED);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let pip: Vec<&str> = text.split_whitespace().take(2).collect();
    let found = format!("{python} with {} (for optional models only)", pip.join(" "));
    Check::ok("python", found)
}

/// Checksums of the tracked data.
pub(super) fn data(course: &Course) -> Check {
    let report = match data::verify::manifest(course) {
        Ok(report) => report,
        Err(error) => return Check::problem("data", "the checksums could not be checked", error.to_string()),
    };
    let wrong = report.files.iter().filter(|file| !file.ok);
    let wrong: Vec<String> = wrong
        .map(|file| format!("data/{} ({})", file.path, file.problem.as_deref().unwrap_or("wrong")))
        .collect();
    if wrong.is_empty() {
        return Check::ok("data", format!("{} files, all checksums right", report.files.len()));
    }
    let advice = "restore them with `git checkout data`; if git says that nothing changed, clone anew";
    Check::problem("data", wrong.join(", "), advice)
}

/// Which optional models are here.
pub(super) fn models(course: &Course) -> Check {
    let models = match data::models(course) {
        Ok(models) => models.models,
        Err(error) => {
            let found = "the list of optional models can not be read";
            return Check::note("models", found, error.to_string());
        }
    };
    let here = models.iter().filter(|model| model.is_here(course));
    let here: Vec<&str> = here.map(|model| model.name.as_str()).collect();
    match here.is_empty() {
        true => Check::ok(
            "models",
            "no optional one is here; `cargo course data list` shows what there is",
        ),
        false => Check::ok("models", here.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn an_older_compiler_is_a_problem_and_a_newer_one_is_not() {
        let status = |found: &str| judge_toolchain(found, "1.95.0", "install").status;
        assert_eq!(status("rustc 1.95.0 (59807616e 2026-04-14)"), Status::Ok);
        assert_eq!(status("rustc 1.94.1 (x)"), Status::Problem);
        assert_eq!(status("rustc 1.100.0-nightly (x)"), Status::Note);
        assert_eq!(status("something else"), Status::Problem);
    }
}
