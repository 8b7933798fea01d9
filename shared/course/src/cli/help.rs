//! The help of `cargo course`: its commands in four groups.

use clap::CommandFactory;
use lab::term;

use super::Args;

/// The groups of the help. Every command stands in exactly one.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Read", &["list", "run", "book", "charts", "claims"]),
    (
        "Practise",
        &[
            "start", "check", "watch", "hint", "answer", "solution", "diff", "skip", "reset",
        ],
    ),
    ("Teach", &["report", "pack", "verify", "faults"]),
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
    use clap::Parser;

    use super::*;
    use crate::cli::Command;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_command_stands_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let order = grouped.clone();
        let command = command();
        let named: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(order, named, "the order of the help is that of the commands");
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
            let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
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
                Ok(Command::Run { reference, words }) => (reference, words[0].clone(), words[1..].join(" ")),
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
