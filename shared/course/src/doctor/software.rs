//! Toolchain, terminal, Python.

use std::io::IsTerminal;

use serde::Deserialize;

use super::Check;
use crate::page::terminal_columns;
use crate::tools::Course;

#[derive(Deserialize)]
struct ToolchainFile {
    toolchain: Toolchain,
}

#[derive(Deserialize)]
struct Toolchain {
    channel: String,
}

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
    let wanted = toml::from_str::<ToolchainFile>(&text).map(|file| file.toolchain.channel);
    match wanted {
        Ok(wanted) => judge_toolchain(&found, &wanted, INSTALL),
        Err(_) => Check::problem(
            "toolchain",
            format!("{found}; rust-toolchain.toml is missing or can not be read"),
            "restore it with `git checkout rust-toolchain.toml`",
        ),
    }
}

fn judge_toolchain(found: &str, wanted: &str, install: &str) -> Check {
    let version = found
        .strip_prefix("rustc ")
        .and_then(|rest| rest.split([' ', '-']).next())
        .unwrap_or("");
    let (Some(has), Some(needs)) = (numbers(version), numbers(wanted)) else {
        return Check::problem(
            "toolchain",
            format!("rustc says {found:?}; {wanted} is expected"),
            install,
        );
    };
    if has == needs {
        return Check::ok("toolchain", format!("rustc {version}, as rust-toolchain.toml asks"));
    }
    if has < needs {
        return Check::problem("toolchain", format!("rustc {version} is older than {wanted}"), install);
    }
    Check::note(
        "toolchain",
        format!("rustc {version}, newer than the {wanted} that recorded figures were made with"),
        "fine; with rustup this folder would take the pinned one by itself",
    )
}

fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

pub(super) fn terminal() -> Check {
    if !std::io::stdout().is_terminal() {
        return Check::ok(
            "terminal",
            "output is piped: stories run through, without colours or questions",
        );
    }
    let columns = terminal_columns();
    if columns < 80 {
        return Check::note(
            "terminal",
            format!("{columns} columns"),
            "tables and bars are laid out for 80",
        );
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    let unicode = locale.is_none_or(|locale| locale.to_lowercase().replace('-', "").contains("utf8"));
    if !unicode && cfg!(unix) {
        return Check::note(
            "terminal",
            "the locale is not UTF-8: bars may look odd",
            "set LANG to a UTF-8 locale, such as C.UTF-8",
        );
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
    Check::ok(
        "python",
        format!("{python} with {} (for optional models only)", pip.join(" ")),
    )
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
