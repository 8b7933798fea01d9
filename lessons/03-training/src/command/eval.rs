//! `lesson03 eval`: measures a folder and prints the report.

use crate::{corpus_dir, model_dir};
use anyhow::Result;
use indicatif::ProgressBar;
use lab::args::CommonArgs;
use lab::table::Table;
use layout::pool::Pool;
use std::sync::Arc;
use std::time::Duration;
use training::corpus::evaluation::EvalSize;
use training::eval::{ByText, EvalReport, Subject, evaluate};

#[derive(clap::Args)]
pub struct Args {
    /// Stories to tell and check, greedily and drawn; the slow part
    #[arg(long, default_value_t = EvalSize::FULL.prompts, value_name = "N", value_parser = lab::args::within(0..=100_000_usize))]
    stories: usize,
}

/// Measures the folder of `--model`.
pub fn eval(args: &Args, common: &CommonArgs) -> Result<()> {
    let folder = model_dir(&common.model)?;
    let name = folder.file_name().map_or("model".into(), |name| name.to_string_lossy());
    let subject = Subject::open(&folder, &name, Arc::new(Pool::new(common.threads())))?;
    let size = EvalSize {
        prompts: args.stories,
        ..EvalSize::FULL
    };
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(200));
    let report = evaluate(&subject, &corpus_dir(), size, |doing| {
        spinner.set_message(doing.to_owned());
    })?;
    spinner.finish_and_clear();
    if common.json {
        lab::outln!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        lab::out!("{}", summary(&report));
    }
    Ok(())
}

/// The report as a table and a few lines.
pub fn summary(report: &EvalReport) -> String {
    let mut table = Table::new(&["held-out text", "stories", "literature"]);
    let cells = |name: &str, value: &ByText| {
        let [stories, literature] = [value.stories, value.literature].map(|value| format!("{value:.3}"));
        [name.to_owned(), stories, literature]
    };
    for (name, value) in &report.baselines {
        table.row(cells(&format!("{name}, nats per token"), value));
    }
    let bound = format!("{:.3}", report.entropy_bound);
    table
        .row(cells("model, nats per token", &report.nats_per_token))
        .row(["entropy bound, nats per token", &bound, "unknown"])
        .row(cells("model, perplexity", &report.perplexity))
        .row(cells("model, bits per byte", &report.bits_per_byte));
    let by_task = report
        .by_task
        .iter()
        .map(|(kind, share)| format!("{kind} {:.0} %", 100.0 * share));
    let mut text = format!(
        "{} after {} tokens\n\n{table}\nquestions answered right: {:.1} % ({})\n",
        report.model,
        report.tokens_trained,
        100.0 * report.task_accuracy,
        by_task.collect::<Vec<_>>().join(", ")
    );
    for (word, told) in [("greedy", &report.told), ("drawn", &report.drawn)] {
        let Some(told) = told else { continue };
        text += &format!(
            "{word} stories that end and are consistent: {:.1} % of {}\n",
            100.0 * told.consistent,
            told.stories
        );
        let faults: Vec<String> = told.faults.iter().map(|(fault, n)| format!("{fault} {n}")).collect();
        if !faults.is_empty() {
            text += &format!("the others: {}\n", faults.join(", "));
        }
        text += &format!(
            "against the grammar's own continuation: BLEU {:.3}, ROUGE-L {:.3}; distinct-2 {:.3}, repeated 4-grams {:.3}\n",
            told.bleu, told.rouge_l, told.distinct_2, told.repetition_4
        );
    }
    text
}
