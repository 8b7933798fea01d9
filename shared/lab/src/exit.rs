//! The exit status of a lesson's program.

use std::process::ExitCode;

/// The status of a program: failure, with the error and all its causes in one line on stderr, or success.
pub fn code(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
