//! Output of a program: the one writer for stdout, and one for stderr.
//!
//! `println!` panics where stdout can not be written, and `let _ = stdout.write_all(…)` hides that nothing was written.
//! Here a closed pipe (`| head`) ends the process quietly, and any other failure (a full disk) is an error.
//! Only the standard library is used, because the book's builder, a workspace of its own, compiles this file too.

use std::io::{Error, ErrorKind, Write};

/// Writes `text` to stdout and flushes. If stdout can not be written, the process ends: see [`end`].
pub fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if let Err(error) = written {
        end(&error);
    }
}

/// Writes `text` to stderr. A failure is ignored, because there is no third place to report it.
pub fn note(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// The message for an output that can not be written; `None` where the reader of the pipe is gone, which is no failure.
pub fn failure(error: &Error) -> Option<String> {
    let is_closed = error.kind() == ErrorKind::BrokenPipe;
    (!is_closed).then(|| format!("stdout: cannot be written: {error}; check the free space, or print to another place"))
}

/// Ends the process after a failed write to stdout: quietly with status 0 when the reader of the pipe is gone, with an
/// error and status 1 otherwise.
pub fn end(error: &Error) -> ! {
    match failure(error) {
        None => std::process::exit(0),
        Some(message) => {
            note(&format!("error: {message}\n"));
            std::process::exit(1)
        }
    }
}
