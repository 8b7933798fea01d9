//! `lesson03 train`: makes a model.

use crate::corpus_dir;
use anyhow::{Context, Result};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use lab::args::{CommonArgs, within};
use std::ops::ControlFlow;
use std::path::PathBuf;
use training::LlamaConfig;
use training::corpus::StreamOptions;
use training::train::{Event, RunOptions, run};
use training::trainer::Schedule;

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
pub struct Args {
    #[arg(long, value_enum, default_value = "stories")]
    shape: Shape,
    /// Share of the tokens that are stories; the rest are books
    #[arg(long, default_value_t = 0.7, value_name = "SHARE", value_parser = within(0.0..=1.0))]
    story_share: f64,
    /// Share of the first story windows that are recitals: lists said three times, which teach looking back
    #[arg(long, default_value_t = 0.5, value_name = "SHARE", value_parser = within(0.0..=1.0))]
    recital_share: f64,
    /// The share of the run during which recitals are read
    #[arg(long, default_value_t = 0.35, value_name = "SHARE", value_parser = within(0.0..=1.0))]
    recital_until: f64,
    /// Share of the story windows that are drills: a fact or two and a question on them
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = within(0.0..=1.0))]
    drill_share: f64,
    /// How much a name, an animal, a thing, a colour, a place or a number counts in the loss; other tokens count 1
    #[arg(long, default_value_t = 1.0, value_name = "WEIGHT", value_parser = within(0.0..=1000.0))]
    slot_weight: f64,
    /// Where the grammar draws a word, take all words that it might have drawn as targets
    #[arg(long)]
    spread_draws: bool,
    /// Windows of 512 tokens in one step
    #[arg(long, value_name = "N", value_parser = within(1..=1024_usize))]
    batch_size: Option<usize>,
    /// The highest learning rate
    #[arg(long, value_name = "RATE", value_parser = within(1e-9..=1.0))]
    peak_rate: Option<f64>,
    /// Steps over which the learning rate rises
    #[arg(long, value_name = "STEPS", value_parser = within(0..=1_000_000_000_u64))]
    warmup: Option<u64>,
    /// The share of the highest learning rate at which it ends
    #[arg(long, value_name = "SHARE", value_parser = within(0.0..=1.0))]
    final_share: Option<f64>,
    /// Steps between two measurements, each with a checkpoint
    #[arg(long, default_value_t = 200, value_name = "STEPS", value_parser = within(1..=1_000_000_000_u64))]
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

/// Trains a model into `--out`.
pub fn train(args: &Args, common: &CommonArgs) -> Result<()> {
    let out = common.out.clone();
    let out = out.context("train: expected --out FOLDER for checkpoints and the finished model")?;
    let config = match args.shape {
        Shape::Stories => LlamaConfig::stories(),
        Shape::Draft => LlamaConfig::draft(),
        Shape::Miniature => LlamaConfig::miniature(),
    };
    let schedule = Schedule::for_tokens(common.tokens.map_or(20_000_000, |tokens| tokens as u64));
    let schedule = Schedule {
        batch_size: args.batch_size.unwrap_or(schedule.batch_size),
        seq_len: schedule.seq_len.min(config.max_seq_len),
        peak_rate: args.peak_rate.unwrap_or(schedule.peak_rate),
        warmup_steps: args.warmup.unwrap_or(schedule.warmup_steps),
        final_share: args.final_share.unwrap_or(schedule.final_share),
        ..schedule
    };
    let story_windows = schedule.num_steps() as f64 * schedule.batch_size as f64 * args.story_share;
    let options = RunOptions {
        command: command_of(args, common, &schedule),
        machine: lab::machine::Machine::detect().summary(),
        out,
        config,
        stream: StreamOptions {
            story_share: args.story_share,
            recital_share: args.recital_share,
            recital_windows: (story_windows * args.recital_until) as u64,
            drill_share: args.drill_share,
            ..StreamOptions::default()
        },
        slot_weight: args.slot_weight,
        spread_draws: args.spread_draws,
        seed: common.seed,
        num_threads: common.threads(),
        eval_every: args.eval_every,
        resume: args.resume,
        continue_from: args.continue_from.clone(),
        tokenizer: args.tokenizer.clone(),
        corpus: corpus_dir(),
        schedule,
    };
    let per_step = options.schedule.tokens_per_step();
    let bar = ProgressBar::new(options.schedule.num_steps() * per_step);
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
                lab::outln!(
                    "{:>9} tokens   train {:.3}   held out: stories {:.3}, literature {:.3} nats per token",
                    p.tokens,
                    p.train,
                    p.stories,
                    p.literature
                );
            }),
            Event::Saved(_) => {}
        }
        ControlFlow::Continue(())
    })?;
    bar.finish();
    if let Some(record) = record {
        lab::outln!(
            "{}: {} tokens in all; `eval --model` measures it",
            options.out.display(),
            record.tokens
        );
    }
    Ok(())
}

/// The command that makes the same weights, whatever folder, threads and interruptions this run had.
fn command_of(args: &Args, common: &CommonArgs, schedule: &Schedule) -> String {
    let shape = args.shape.to_possible_value();
    let shape = shape.map(|value| value.get_name().to_owned()).unwrap_or_default();
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let flags = [
        ("tokens", Some(schedule.tokens.to_string())),
        ("seed", Some(common.seed.to_string())),
        ("shape", Some(shape)),
        ("story-share", Some(args.story_share.to_string())),
        ("recital-share", Some(args.recital_share.to_string())),
        ("recital-until", Some(args.recital_until.to_string())),
        ("drill-share", Some(args.drill_share.to_string())),
        ("slot-weight", Some(args.slot_weight.to_string())),
        ("batch-size", Some(schedule.batch_size.to_string())),
        ("peak-rate", Some(schedule.peak_rate.to_string())),
        ("warmup", Some(schedule.warmup_steps.to_string())),
        ("final-share", Some(schedule.final_share.to_string())),
        ("eval-every", Some(args.eval_every.to_string())),
        ("continue-from", path(&args.continue_from)),
        ("tokenizer", path(&args.tokenizer)),
    ];
    let mut command = "cargo run -p lesson03 -- train --out FOLDER".to_owned();
    for (flag, value) in flags {
        if let Some(value) = value {
            command += &format!(" --{flag} {value}");
        }
    }
    if args.spread_draws {
        command += " --spread-draws";
    }
    command
}
