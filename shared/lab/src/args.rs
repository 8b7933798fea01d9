//! The flags that all lessons share, and the check of a flag that is a number.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use crate::term;

/// Flags that mean the same in every lesson. Flatten it **once**, at the top of a binary's arguments: every flag is
/// global, so it may stand before or after a subcommand.
#[derive(clap::Args, Clone, Debug)]
pub struct CommonArgs {
    /// Model: `stories`, `random:15m`, `random:135m`, `random:1.1b`, or the path of a Hugging Face Llama folder
    #[arg(
        long,
        global = true,
        default_value = "stories",
        value_name = "NAME|PATH",
        help_heading = "Every lesson"
    )]
    pub model: String,
    /// The text to begin from, instead of the lesson's own
    #[arg(long, global = true, value_name = "TEXT", help_heading = "Every lesson")]
    pub prompt: Option<String>,
    /// How many tokens to generate, instead of the lesson's own number
    #[arg(long, global = true, value_name = "N", value_parser = within(0..=u32::MAX as usize), help_heading = "Every lesson")]
    pub tokens: Option<usize>,
    /// Threads that compute [default: as many as this machine has cores]
    #[arg(long, global = true, value_name = "N", value_parser = parse_threads, help_heading = "Every lesson")]
    pub threads: Option<usize>,
    /// Seed of everything that is drawn at random
    #[arg(
        long,
        global = true,
        default_value_t = 42,
        value_name = "N",
        help_heading = "Every lesson"
    )]
    pub seed: u64,
    /// Do not wait for Enter between steps, and ask nothing
    #[arg(long, global = true, help_heading = "Every lesson")]
    pub no_pause: bool,
    /// Print one JSON document on stdout; the story goes to stderr
    #[arg(long, global = true, help_heading = "Every lesson")]
    pub json: bool,
    /// Write charts and figures to the lesson's `results/` folder, which is tracked
    #[arg(long, global = true, help_heading = "Every lesson")]
    pub record: bool,
    /// Write charts and figures to this folder, instead of `target/course/lessonNN`
    #[arg(long, global = true, value_name = "FOLDER", help_heading = "Every lesson")]
    pub out: Option<PathBuf>,
}

impl CommonArgs {
    /// Threads to compute with: the flag, or the cores that this process may use.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(available_threads)
    }
}

impl Default for CommonArgs {
    /// The flags of an empty command line.
    fn default() -> Self {
        Self {
            model: "stories".into(),
            prompt: None,
            tokens: None,
            threads: None,
            seed: 42,
            no_pause: false,
            json: false,
            record: false,
            out: None,
        }
    }
}

/// The arguments of this program. `--help` and `--version` are printed and end it, a wrong flag is an error.
pub fn parse<A: clap::Parser>() -> A {
    parsed(A::try_parse())
}

/// As [`parse`], of arguments that were read before.
pub fn parsed<A>(args: Result<A, clap::Error>) -> A {
    args.unwrap_or_else(|error| {
        if error.use_stderr() {
            error.exit();
        }
        // `clap` itself would not say that the help could not be written.
        let text = error.render();
        let text = match term::wants_color(&std::io::stdout()) {
            true => text.ansi().to_string(),
            false => text.to_string(),
        };
        term::print(&text);
        std::process::exit(0)
    })
}

/// Cores that this process may use (respects affinity and control groups); at least 1.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The `value_parser` of a flag whose number must lie in `range`: `value_parser = within(1..=64_usize)`. The type says
/// whether the number is whole. Not-a-number and the infinities lie in no range.
pub fn within<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| match text.trim().parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => {
            // A type of whole numbers does not read a half.
            let kind = if "0.5".parse::<T>().is_ok() {
                "number"
            } else {
                "whole number"
            };
            Err(format!("expected a {kind} from {} to {}", range.start(), range.end()))
        }
    }
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("at least one thread must compute; leave the flag out to use all cores".into()),
        Ok(threads) if threads > 1024 => Err(format!("at most 1024, found {threads}")),
        Ok(threads) => Ok(threads),
        Err(_) => Err("a whole number".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    struct Cli {
        #[command(flatten)]
        common: CommonArgs,
        #[command(subcommand)]
        command: Option<Command>,
    }

    #[derive(clap::Subcommand, Debug)]
    enum Command {
        Generate,
    }

    #[test]
    fn an_empty_command_line_equals_the_default() {
        let cli = Cli::parse_from(["lesson05"]);
        assert_eq!(format!("{:?}", cli.common), format!("{:?}", CommonArgs::default()));
        assert!(cli.common.threads() >= 1);
    }

    #[test]
    fn flags_may_follow_a_subcommand() {
        let cli = Cli::parse_from(["lesson05", "generate", "--tokens", "8", "--prompt", "Once", "--json"]);
        assert!(matches!(cli.command, Some(Command::Generate)));
        assert_eq!(
            (cli.common.tokens, cli.common.prompt.as_deref(), cli.common.json),
            (Some(8), Some("Once"), true)
        );
    }

    #[test]
    fn a_number_outside_its_range_is_refused_in_words() {
        let count = within(1..=64_usize);
        assert_eq!((count("1"), count(" 64 ")), (Ok(1), Ok(64)));
        for text in ["0", "65", "-1", "2.5", "1e3", "", "many", "99999999999999999999999"] {
            assert_eq!(
                count(text),
                Err("expected a whole number from 1 to 64".into()),
                "{text:?}"
            );
        }
        let share = within(0.0..=1.0_f64);
        assert_eq!((share("0"), share("1"), share("0.25")), (Ok(0.0), Ok(1.0), Ok(0.25)));
        for text in ["2", "-0.1", "nan", "inf", "-inf", "1e30", "half"] {
            assert_eq!(share(text), Err("expected a number from 0 to 1".into()), "{text:?}");
        }
    }

    #[test]
    fn zero_threads_are_refused_in_words() {
        let error = Cli::try_parse_from(["lesson05", "--threads", "0"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("at least one thread must compute"), "{error}");
    }
}
