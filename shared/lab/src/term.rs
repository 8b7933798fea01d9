//! The terminal: colours, widths, and lines that survive a closed pipe.

use std::io::{ErrorKind, IsTerminal, Write};

use unicode_width::UnicodeWidthStr;

/// Columns of a story. Longer lines are wrapped.
pub const WIDTH: usize = 80;

/// Columns that `text` takes on a terminal (Chinese characters take two).
pub fn width(text: &str) -> usize {
    text.width()
}

/// Whether colours are wanted on this stream: it is a terminal, `NO_COLOR` is unset or empty, `TERM` is not `dumb`.
pub fn wants_color(stream: &impl IsTerminal) -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    stream.is_terminal() && !no_color && !dumb
}

/// Writes `text` to stdout and flushes. When the reader is gone (`| head`), the process ends quietly with status 0.
pub fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    if written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        std::process::exit(0);
    }
}

/// `println!` that ends the process quietly, instead of panicking, when the reader of the pipe is gone.
#[macro_export]
macro_rules! outln {
    () => { $crate::term::print("\n") };
    ($($arg:tt)*) => { $crate::term::print(&format!("{}\n", format_args!($($arg)*))) };
}

/// `print!` that flushes, and ends the process quietly when the reader of the pipe is gone.
#[macro_export]
macro_rules! out {
    ($($arg:tt)*) => { $crate::term::print(&format!($($arg)*)) };
}
