//! The exit status of a lesson's program.

use crate::foreign::escaped;
use crate::noteln;
use std::process::ExitCode;

/// The status of a program: failure, with the error and all its causes in one line on stderr, or success.
///
/// A message that repeats the one before it, as an error that wraps another one may, is said once.
pub fn code(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            noteln!("error: {}", message(&error));
            ExitCode::FAILURE
        }
    }
}

/// The error and its causes, each said once, without characters that a terminal would obey.
fn message(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some errors say their cause in their own text and name it as their source too.
        if said.contains(&cause) {
            continue;
        }
        if !said.is_empty() {
            said.push_str(": ");
        }
        said.push_str(&cause);
    }
    let lines: Vec<_> = said.lines().map(escaped).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}; mend it")]
    struct Wraps(#[source] std::num::ParseIntError);

    #[test]
    fn a_cause_that_is_part_of_the_message_is_said_once() {
        let cause = "x".parse::<i32>().unwrap_err();
        assert_eq!(
            message(&Wraps(cause.clone()).into()),
            "invalid digit found in string; mend it"
        );
        let error = anyhow::Error::new(cause).context("flag --n");
        assert_eq!(message(&error), "flag --n: invalid digit found in string");
    }

    #[test]
    fn a_terminal_obeys_no_message() {
        assert_eq!(message(&anyhow::anyhow!("a\x1b[2Jb\nsecond")), "a\\u{1b}[2Jb\nsecond");
    }
}
