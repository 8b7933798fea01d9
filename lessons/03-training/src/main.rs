//! Lesson 03's program. Without a command it tells the lesson; `train` makes a model, `eval` measures one.

mod race;
mod story;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use lab::args::CommonArgs;
use layout::pool::Pool;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use training::LlamaConfig;
use training::corpus::StreamOptions;
use training::corpus::evaluation::EvalSize;
use training::eval::{EvalReport, Subject, evaluate};
use training::train::{Event, RunOptions, run};
use training::trainer::Schedule;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// How does text become weights?
#[derive(Parser)]
#[command(name = "lesson03", version)]
struct Cli {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model on stories and books for --tokens (12 M), and write it as a Hugging Face folder to --out
    Train(TrainArgs),
    /// Measure a folder that this lesson wrote on held-out text, questions and stories
    Eval(EvalArgs),
    /// Race a training step against the same step in PyTorch, where Python has torch
    Peers(race::PeersArgs),
}

/// The shape of the model.
#[derive(Clone, Copy, ValueEnum)]
enum Shape {
    /// The default model, 4.9 M parameters
    Stories,
    /// A smaller one with the same vocabulary, 1.4 M parameters
    Draft,
    /// What the story trains while you watch, 0.5 M parameters
    Miniature,
}

#[derive(clap::Args)]
struct TrainArgs {
    #[arg(long, value_enum, default_value = "stories")]
    shape: Shape,
    /// Share of the tokens that are stories; the rest are books
    #[arg(long, default_value_t = 0.7, value_name = "SHARE")]
    story_share: f64,
    /// Share of the first story windows that are recitals: lists said three times, which teach looking back
    #[arg(long, default_value_t = 0.5, value_name = "SHARE")]
    recital_share: f64,
    /// The share of the run during which recitals are read
    #[arg(long, default_value_t = 0.35, value_name = "SHARE")]
    recital_until: f64,
    /// Windows of 512 tokens in one step
    #[arg(long, value_name = "N")]
    batch_size: Option<usize>,
    /// The highest learning rate
    #[arg(long, value_name = "RATE")]
    peak_rate: Option<f64>,
    /// Steps over which the learning rate rises
    #[arg(long, value_name = "STEPS")]
    warmup: Option<u64>,
    /// The share of the highest learning rate at which it ends
    #[arg(long, value_name = "SHARE")]
    final_share: Option<f64>,
    /// Steps between two measurements, each with a checkpoint
    #[arg(long, default_value_t = 200, value_name = "STEPS")]
    eval_every: u64,
    /// Go on from the checkpoint in --out
    #[arg(long)]
    resume: bool,
    /// Train a finished folder further: new warm-up, same vocabulary, the corpus from where it stopped
    #[arg(long, value_name = "FOLDER")]
    continue_from: Option<PathBuf>,
    /// Use this vocabulary instead of training one
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
}

#[derive(clap::Args)]
struct EvalArgs {
    /// Stories to tell and check; the slow part
    #[arg(long, default_value_t = EvalSize::FULL.prompts, value_name = "N")]
    stories: usize,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    match &cli.command {
        None => story::tell(&cli.common),
        Some(Command::Train(args)) => train(args, &cli.common),
        Some(Command::Eval(args)) => eval(args, &cli.common),
        Some(Command::Peers(args)) => race::peers(args, &cli.common),
    }
}

/// Where the books lie.
pub(crate) fn corpus_dir() -> PathBuf {
    lab::paths::data_dir().join("corpus")
}

/// The folder of a `--model`: `stories`, `stories-draft`, or a path.
pub(crate) fn model_dir(model: &str) -> Result<PathBuf> {
    let named = lab::paths::data_dir().join(model);
    let folder = if matches!(model, "stories" | "stories-draft") {
        named
    } else {
        PathBuf::from(model)
    };
    if !folder.join("model.safetensors").exists() {
        bail!(
            "--model {model}: expected a folder that `lesson03 train` wrote, found no model.safetensors in {}",
            folder.display()
        );
    }
    Ok(folder)
}

fn train(args: &TrainArgs, common: &CommonArgs) -> Result<()> {
    let Some(out) = common.out.clone() else {
        bail!("train: expected --out FOLDER for checkpoints and the finished model");
    };
    let mut schedule = Schedule::for_tokens(common.tokens.map_or(20_000_000, |tokens| tokens as u64));
    schedule.batch_size = args.batch_size.unwrap_or(schedule.batch_size);
    schedule.peak_rate = args.peak_rate.unwrap_or(schedule.peak_rate);
    schedule.warmup_steps = args.warmup.unwrap_or(schedule.warmup_steps);
    schedule.final_share = args.final_share.unwrap_or(schedule.final_share);
    let config = match args.shape {
        Shape::Stories => LlamaConfig::stories(),
        Shape::Draft => LlamaConfig::draft(),
        Shape::Miniature => LlamaConfig::miniature(),
    };
    schedule.seq_len = schedule.seq_len.min(config.max_seq_len);
    let options = RunOptions {
        command: command_of(args, common, &schedule),
        machine: lab::machine::Machine::detect().summary(),
        out,
        config,
        stream: StreamOptions {
            story_share: args.story_share,
            recital_share: args.recital_share,
            recital_windows: (schedule.num_steps() as f64
                * schedule.batch_size as f64
                * args.story_share
                * args.recital_until) as u64,
            ..StreamOptions::default()
        },
        seed: common.seed,
        num_threads: common.threads(),
        eval_every: args.eval_every,
        resume: args.resume,
        continue_from: args.continue_from.clone(),
        tokenizer: args.tokenizer.clone(),
        corpus: corpus_dir(),
        schedule,
    };
    let steps = options.schedule.num_steps();
    let per_step = options.schedule.tokens_per_step();
    let bar = ProgressBar::new(steps * per_step);
    let style = "{bar:30} {human_pos}/{human_len} tokens  {per_sec}  {msg}  {eta} left";
    bar.set_style(ProgressStyle::with_template(style)?);
    let mut smooth = None;
    let record = run(&options, |event| {
        match event {
            Event::Step(report) => {
                if smooth.is_none() {
                    // A resumed run's speed is that of its own steps.
                    bar.set_position(report.step * per_step);
                    bar.reset_eta();
                }
                let mean = smooth.map_or(report.loss, |mean: f64| 0.95 * mean + 0.05 * report.loss);
                smooth = Some(mean);
                bar.set_position((report.step + 1) * per_step);
                bar.set_message(format!("loss {mean:.3}"));
            }
            Event::Measured(p) => bar.suspend(|| {
                println!(
                    "{:>9} tokens   train {:.3}   held out: stories {:.3}, literature {:.3} nats per token",
                    p.tokens, p.train, p.stories, p.literature
                );
            }),
            Event::Saved(_) => {}
        }
        ControlFlow::Continue(())
    })?;
    bar.finish();
    if let Some(record) = record {
        println!(
            "{}: {} tokens in all; `eval --model` measures it",
            options.out.display(),
            record.tokens
        );
    }
    Ok(())
}

/// The command that makes the same weights, whatever folder, threads and interruptions this run had.
fn command_of(args: &TrainArgs, common: &CommonArgs, schedule: &Schedule) -> String {
    let shape = args.shape.to_possible_value().map(|value| value.get_name().to_owned());
    let mut command = format!(
        "cargo run -p lesson03 -- train --out FOLDER --tokens {} --seed {} --shape {} --story-share {} --recital-share {} --recital-until {} --batch-size {} --peak-rate {} --warmup {} --final-share {} --eval-every {}",
        schedule.tokens,
        common.seed,
        shape.unwrap_or_default(),
        args.story_share,
        args.recital_share,
        args.recital_until,
        schedule.batch_size,
        schedule.peak_rate,
        schedule.warmup_steps,
        schedule.final_share,
        args.eval_every,
    );
    let mut add = |flag: &str, path: &Option<PathBuf>| {
        if let Some(path) = path {
            command += &format!(" {flag} {}", path.display());
        }
    };
    add("--continue-from", &args.continue_from);
    add("--tokenizer", &args.tokenizer);
    command
}

fn eval(args: &EvalArgs, common: &CommonArgs) -> Result<()> {
    let folder = model_dir(&common.model)?;
    let pool = Arc::new(Pool::new(common.threads()));
    let subject = Subject::open(&folder, &name_of(&folder), pool)?;
    let size = EvalSize {
        prompts: args.stories,
        ..EvalSize::FULL
    };
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(std::time::Duration::from_millis(200));
    let report = evaluate(&subject, &corpus_dir(), size, |doing| {
        spinner.set_message(doing.to_owned())
    })?;
    spinner.finish_and_clear();
    if common.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", summary(&report));
    }
    Ok(())
}

fn name_of(folder: &Path) -> String {
    folder
        .file_name()
        .map_or_else(|| "model".into(), |name| name.to_string_lossy().into_owned())
}

/// The report as a table and a few lines.
pub(crate) fn summary(report: &EvalReport) -> String {
    let mut table = lab::table::Table::new(&["held-out text", "stories", "literature"]);
    let row = |name: &str, stories: f64, literature: f64| {
        [name.to_owned(), format!("{stories:.3}"), format!("{literature:.3}")]
    };
    for (name, value) in &report.baselines {
        table.row(row(&format!("{name}, nats per token"), value.stories, value.literature));
    }
    let nats = report.nats_per_token;
    table.row(row("model, nats per token", nats.stories, nats.literature));
    let bound = format!("{:.3}", report.entropy_bound);
    table.row(["entropy bound, nats per token", bound.as_str(), "unknown"]);
    table.row(row(
        "model, perplexity",
        report.perplexity.stories,
        report.perplexity.literature,
    ));
    table.row(row(
        "model, bits per byte",
        report.bits_per_byte.stories,
        report.bits_per_byte.literature,
    ));
    let mut text = format!("{} after {} tokens\n\n{table}", report.model, report.tokens_trained);
    text += &format!("\nquestions answered right: {:.1} %", 100.0 * report.task_accuracy);
    let by_task: Vec<String> = report
        .by_task
        .iter()
        .map(|(kind, share)| format!("{kind} {:.0} %", 100.0 * share))
        .collect();
    text += &format!(" ({})\n", by_task.join(", "));
    if let Some(told) = &report.told {
        text += &format!(
            "greedy stories that end and are consistent: {:.1} % of {}\n",
            100.0 * told.consistent,
            told.stories
        );
        let faults: Vec<String> = told.faults.iter().map(|(fault, n)| format!("{fault} {n}")).collect();
        if !faults.is_empty() {
            text += &format!("  the others: {}\n", faults.join(", "));
        }
        text += &format!(
            "against the grammar's own continuation: BLEU {:.3}, ROUGE-L {:.3}; distinct-2 {:.3}, repeated 4-grams {:.3}\n",
            told.bleu, told.rouge_l, told.distinct_2, told.repetition_4
        );
    }
    text
}
