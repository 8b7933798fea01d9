//! Where a story is written: on a terminal, into a pipe, or into the buffer of a test.

use std::io::{BufRead, IsTerminal, Write};

use crate::args::CommonArgs;
use crate::out;
use crate::term::{self, Tone};

/// Where the lines of a story go and where the reader's answers come from.
pub struct Screen {
    out: Box<dyn Write>,
    /// The reader's keyboard; `None` where the story asks nothing and does not wait.
    reader: Option<Box<dyn BufRead>>,
    color: bool,
    /// What to do when the output can not be written: end the process, or stay silent until the story ends.
    exits_when_closed: bool,
    closed: bool,
    /// Whether the lines go to stderr, whose failures are not reported.
    is_stderr: bool,
    /// Why stdout could not be written, if not for a reader that is gone. The end of the story reports it.
    failure: Option<String>,
    /// Whether anything stands on the current line (streamed text without a line end).
    line_open: bool,
    /// Whether the last line was empty.
    last_empty: bool,
    /// Whether the reader's Enter shows on this screen, as it does on a terminal.
    echoes: bool,
}

impl Screen {
    /// This process's own: stdout, or stderr with `--json`; waits and asks only where stdin and stdout are both
    /// terminals and `--no-pause` was not given.
    pub fn of_process(args: &CommonArgs) -> Self {
        let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
        let interactive = !args.no_pause && !args.json && stdin.is_terminal() && stdout.is_terminal();
        let reader = interactive.then(|| Box::new(stdin.lock()) as Box<dyn BufRead>);
        // A run that records, or that prints a document, continues when the reader of its story is gone.
        let exits_when_closed = !args.record && !args.json;
        let (out, color): (Box<dyn Write>, bool) = if args.json {
            let stderr = std::io::stderr();
            let color = term::wants_color(&stderr);
            (Box::new(stderr), color)
        } else {
            let color = term::wants_color(&stdout);
            (Box::new(stdout), color)
        };
        Self {
            reader,
            color,
            exits_when_closed,
            is_stderr: args.json,
            echoes: interactive,
            ..Self::to(out)
        }
    }

    /// Any writer, without colours and without a reader. For tests.
    pub fn to(out: Box<dyn Write>) -> Self {
        Self {
            out,
            reader: None,
            color: false,
            exits_when_closed: false,
            closed: false,
            is_stderr: false,
            failure: None,
            line_open: false,
            last_empty: false,
            echoes: false,
        }
    }

    /// The same with answers from `input`: for tests of questions.
    pub fn answered_by(mut self, input: impl BufRead + 'static) -> Self {
        self.reader = Some(Box::new(input));
        self
    }

    /// Whether a reader can answer.
    pub fn is_interactive(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether the lines may carry colours.
    pub fn has_color(&self) -> bool {
        self.color
    }

    /// `text` in a tone, if this screen has colours.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if self.color { tone.paint(text) } else { text.to_string() }
    }

    /// One line; ends a line of streamed text first. Two empty lines in a row become one.
    pub fn line(&mut self, text: &str) {
        if text.is_empty() && self.last_empty && !self.line_open {
            return;
        }
        self.last_empty = text.is_empty();
        let text = format!("{}{text}\n", if self.line_open { "\n" } else { "" });
        self.line_open = false;
        self.write(&text);
    }

    /// Text as it is, shown at once.
    pub fn stream(&mut self, text: &str) {
        if !text.is_empty() {
            self.line_open = !text.ends_with('\n');
            self.last_empty = text.ends_with("\n\n");
            self.write(text);
        }
    }

    /// Asks with `prompt` on an open line and reads one line. `None`: there is no reader, or the input has ended.
    pub fn ask(&mut self, prompt: &str) -> Option<String> {
        self.reader.as_ref()?;
        self.stream(prompt);
        let mut answer = String::new();
        let read = self.reader.as_mut()?.read_line(&mut answer);
        self.line_open = !(self.echoes && matches!(read, Ok(1..)));
        match read {
            Ok(1..) => Some(answer.trim_end_matches(['\n', '\r']).to_string()),
            _ => {
                self.stop_asking();
                None
            }
        }
    }

    /// Clears the line above, where a question stood below an empty line and need not stay. Nothing without colours.
    pub fn clear_line_above(&mut self) {
        if self.color {
            self.write("\x1b[1A\x1b[2K");
            self.last_empty = true;
        }
    }

    /// From here on the story asks nothing and does not wait.
    pub fn stop_asking(&mut self) {
        self.reader = None;
    }

    fn write(&mut self, text: &str) {
        if self.closed {
            return;
        }
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        if let Err(error) = written {
            self.closed = true;
            if self.exits_when_closed {
                out::end(&error);
            }
            self.failure = out::failure(&error).filter(|_| !self.is_stderr);
        }
    }

    /// Why the story could not be written, if it could not.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}
