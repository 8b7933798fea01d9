//! `lesson03 judge`: a blind comparison of two folders by a person.

use crate::model_dir;
use anyhow::Result;
use indicatif::ProgressBar;
use lab::args::CommonArgs;
use lab::term::{WIDTH, wrap};
use layout::pool::Pool;
use std::sync::Arc;
use training::corpus::evaluation::story_prompts;
use training::eval::Subject;
use training::grammar::Grammar;
use training::metrics::judge::{Pair, judge as ask, sign_test};
use training::sample::Choice;
use training::split::Split;

#[derive(clap::Args)]
pub struct Args {
    /// The first folder: `stories`, `stories-draft`, or one that `lesson03 train` wrote
    a: String,
    /// The second one
    b: String,
    /// Number of pairs of stories
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = lab::args::within(1..=1000_usize))]
    pairs: usize,
}

/// Tells the stories, asks, and prints the result.
pub fn judge(args: &Args, common: &CommonArgs) -> Result<()> {
    let prompts = story_prompts(&Grammar::new(), Split::Test, args.pairs);
    let pool = Arc::new(Pool::new(common.threads()));
    let bar = ProgressBar::new(2 * prompts.len() as u64);
    let mut told = Vec::new();
    for name in [&args.a, &args.b] {
        let subject = Subject::open(&model_dir(name)?, name, Arc::clone(&pool))?;
        told.push(subject.tell(&prompts, Choice::Greedy, |_| {}));
        bar.inc(prompts.len() as u64);
    }
    bar.finish_and_clear();
    let wrapped = |text: &str| wrap(text.trim(), WIDTH).join("\n");
    let pairs: Vec<Pair> = prompts
        .iter()
        .enumerate()
        .map(|(index, prompt)| Pair {
            prompt: wrapped(prompt.request.as_deref().unwrap_or(&prompt.prompt)),
            a: wrapped(&told[0][index].text),
            b: wrapped(&told[1][index].text),
        })
        .collect();
    let tally = ask(
        &pairs,
        common.seed,
        &mut std::io::stdin().lock(),
        &mut std::io::stdout(),
    )?;
    let p = sign_test(tally.a, tally.b);
    lab::outln!(
        "\n{}: {} better; {}: {} better; {} ties. Sign test: p = {p:.3}{}",
        args.a,
        tally.a,
        args.b,
        tally.b,
        tally.ties,
        if p < 0.05 {
            ", a difference that chance seldom makes"
        } else {
            ": chance alone would often be as clear; judge more pairs"
        }
    );
    Ok(())
}
