//! The command line: every command, its flags, its help.
//!
//! `cargo course --help` shows the commands in four groups; each command's own help says what it does, what it writes and
//! what its exit status means. Everything fits 80 columns.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use lab::term;

/// The workbook's own command: read, practise, teach, look after
#[derive(Parser)]
#[command(
    name = "cargo course",
    bin_name = "cargo course",
    version,
    max_term_width = 80,
    help_template = "{about}\n\n{usage-heading} {usage}{after-help}\nOptions:\n{options}"
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, in the order of the help.
#[derive(Subcommand)]
pub enum Command {
    /// The lessons and your progress; `list 05`: the exercises of one
    #[command(after_help = "Examples:\n  cargo course list\n  cargo course list 05")]
    List {
        /// A lesson: `5`, `05` or `lesson05`; all of them when left out
        lesson: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a lesson's step-through, on your code once it is started
    #[command(
        after_help = "After `cargo course start 05` the lesson runs on your code, and after the story\nyours and the reference race against each other.\n\nExamples:\n  cargo course run 05\n  cargo course run 05 --no-pause\n  cargo course run --reference 05"
    )]
    Run {
        /// The lesson as it is in the repository, not your code
        #[arg(long)]
        reference: bool,
        /// `5`, `05` or `lesson05`
        lesson: String,
        /// Flags of the lesson, such as `--no-pause` or `--help`
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGS"
        )]
        arguments: Vec<String>,
    },
    /// Build the book, without a network, and say where it is
    Book {
        /// Open it in the browser
        #[arg(long)]
        open: bool,
    },
    /// The charts: recorded ones, and those of the last runs here
    Charts,
    /// Every claim with its measured figure and verdict
    Claims {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// From the last runs on this machine instead of the recorded results
        #[arg(long)]
        latest: bool,
    },

    /// Make your own copy of a lesson's exercises, in work/
    #[command(
        after_help = "Your files are in work/lesson05/src/. Git ignores them, and an update of the\nrepository leaves them alone. Run this again whenever you like: files that exist\nare never written to.\n\nExample:\n  cargo course start 05"
    )]
    Start {
        /// `5`, `05` or `lesson05`
        lesson: String,
    },
    /// Test your code, exercise by exercise
    #[command(
        after_help = "A question (kind `predict`) is asked when it is checked alone, on a terminal.\nStatus 0 when everything that was asked for passes, 1 when not.\n\nExamples:\n  cargo course check          the lesson you worked on last\n  cargo course check 05       all exercises of a lesson\n  cargo course check 05.1     one exercise, in full"
    )]
    Check {
        /// A lesson or an exercise; the lesson you worked on last when left out
        #[arg(value_name = "NN[.k]")]
        what: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check again whenever you save a file, until Ctrl-C
    Watch {
        /// The lesson; the one you worked on last when left out
        lesson: Option<String>,
    },
    /// The next of three hints for an exercise
    #[command(after_help = "Example:\n  cargo course hint 05.1")]
    Hint {
        /// The exercise
        #[arg(value_name = "NN.k")]
        exercise: String,
    },
    /// Answer an exercise that is a question
    #[command(after_help = "Example:\n  cargo course answer 05.7 b")]
    Answer {
        /// The exercise
        #[arg(value_name = "NN.k")]
        exercise: String,
        /// The option: its letter or its text
        option: String,
    },
    /// The reference's body, after you passed or give up
    #[command(after_help = "Example:\n  cargo course solution 05.1 --give-up")]
    Solution {
        /// The exercise
        #[arg(value_name = "NN.k")]
        exercise: String,
        /// Before a pass; it is noted, and the exercise can still be passed
        #[arg(long)]
        give_up: bool,
    },
    /// Your body beside the reference's, after you passed or give up
    #[command(after_help = "Example:\n  cargo course diff 05.1")]
    Diff {
        /// The exercise
        #[arg(value_name = "NN.k")]
        exercise: String,
        /// Before a pass; it is noted, and the exercise can still be passed
        #[arg(long)]
        give_up: bool,
    },
    /// Leave an exercise out
    Skip {
        /// The exercise
        #[arg(value_name = "NN.k")]
        exercise: String,
        /// Take it up again
        #[arg(long)]
        undo: bool,
    },
    /// Begin a lesson or an exercise again; a copy of yours is kept
    #[command(
        after_help = "The copy goes to work/backup/, and the command says where.\n\nExamples:\n  cargo course reset 05.1     one function; the rest of the file stays\n  cargo course reset 05       every file of the lesson"
    )]
    Reset {
        /// A lesson or an exercise
        #[arg(value_name = "NN[.k]")]
        what: String,
    },

    /// How a class stands: CSV, one line a learner and exercise
    #[command(
        after_help = "Each DIR is one learner's repository or its work folder. One whose state is\nmissing or damaged has a line that says so. Nothing is written.\n\nExamples:\n  cargo course report class/*            to a spreadsheet\n  cargo course report class/* --json"
    )]
    Report {
        /// The learners' folders
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Pack the workbook and its crates for a room without network
    #[command(
        after_help = "The kit builds with no network at all; ROOM.md inside says how. Making it needs\ngit, and the network for crates that are not on this machine.\n\nExamples:\n  cargo course pack                  target/course/pack/….tar.gz\n  cargo course pack --folder --out /media/stick/workbook"
    )]
    Pack {
        /// Where it goes; nothing may stand there yet
        #[arg(long, value_name = "PATH")]
        out: Option<PathBuf>,
        /// A folder instead of a .tar.gz
        #[arg(long)]
        folder: bool,
    },

    /// Is this machine ready? Says what to do where it is not
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the exercises themselves: each one tests what it says, and nothing else
    #[command(
        after_help = "For authors of lessons, and run by CI. The reference passes; with one body stubbed its tests fail and no\nothers do; hints, minutes, wrong ideas and the page in the book are there.\n\nExamples:\n  cargo course verify         all lessons (minutes)\n  cargo course verify 05"
    )]
    Verify {
        /// `5`, `05` or `lesson05`; all lessons without it
        lessons: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The data: list it, verify its checksums, fetch optional models
    Data {
        /// What to do; `list` when left out
        #[command(subcommand)]
        command: Option<DataCommand>,
    },
}

/// What `data` can do.
#[derive(Subcommand)]
pub enum DataCommand {
    /// Tracked files and optional models (what `data` alone does)
    List,
    /// Check the sha256 of every tracked file
    Verify,
    /// Fetch an optional model (pip, checksum, conversion) to data/models
    Get {
        /// A name from `data list`
        name: String,
    },
}

/// The groups of the help. Every command stands in exactly one.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Read", &["list", "run", "book", "charts", "claims"]),
    (
        "Practise",
        &[
            "start", "check", "watch", "hint", "answer", "solution", "diff", "skip", "reset",
        ],
    ),
    ("Teach", &["report", "pack", "verify"]),
    ("Look after", &["doctor", "data"]),
];

/// The command line, with its grouped help.
pub fn command() -> clap::Command {
    let command = Args::command();
    let groups = grouped(&command);
    command.after_help(groups)
}

fn grouped(command: &clap::Command) -> String {
    const NAME: usize = 12;
    let mut out = String::new();
    for (title, names) in GROUPS {
        if !out.is_empty() {
            out += "\n";
        }
        out += &format!("{title}:\n");
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(|found| found.get_about())
                .map(ToString::to_string)
                .unwrap_or_default();
            let mut label = format!("  {}", term::pad(name, NAME - 2));
            for line in term::wrap(&about, term::WIDTH - NAME) {
                out += &format!("{label}{line}\n");
                label = " ".repeat(NAME);
            }
        }
    }
    out + "\nBegin with `cargo course run 05`, then `cargo course start 05`.\n\
           `cargo course COMMAND --help` tells the rest.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_command_stands_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let order = grouped.clone();
        let command = command();
        let named: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        assert_eq!(
            order, named,
            "the order of the help is that of the commands"
        );
        grouped.dedup();
        assert_eq!(grouped.len(), named.len());
    }

    /// Each command alone, with the width that a narrow terminal has.
    #[test]
    fn all_help_fits_80_columns() {
        fn walk(command: &mut clap::Command, path: &str) {
            for help in [command.render_help(), command.render_long_help()] {
                let text = help.to_string();
                assert!(text.contains("Usage:"), "{path}: {text}");
                for line in text.lines() {
                    assert!(term::width(line) <= 80, "{path}: {line:?}");
                }
            }
            let names: Vec<String> = command
                .get_subcommands()
                .map(|sub| sub.get_name().to_owned())
                .collect();
            for name in names {
                let sub = command.find_subcommand_mut(&name).expect("it was listed");
                assert!(sub.get_about().is_some(), "{path} {name} has no help");
                walk(sub, &format!("{path} {name}"));
            }
        }
        walk(&mut command().term_width(80), "cargo course");
    }

    #[test]
    fn flags_of_a_lesson_are_passed_on() {
        let parse = |words: &[&str]| {
            let all = ["cargo course", "run"].iter().chain(words);
            match Args::try_parse_from(all).map(|args| args.command) {
                Ok(Command::Run {
                    reference,
                    lesson,
                    arguments,
                }) => (reference, lesson, arguments.join(" ")),
                _ => panic!("{words:?}"),
            }
        };
        assert_eq!(
            parse(&["05", "--no-pause", "--tokens", "3"]),
            (false, "05".into(), "--no-pause --tokens 3".into())
        );
        assert_eq!(
            parse(&["--reference", "05", "--help"]),
            (true, "05".into(), "--help".into())
        );
    }
}
