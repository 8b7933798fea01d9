//! Lesson 03's program: `train`, `eval`, and the story.

fn main() -> anyhow::Result<()> {
    commands::main()
}

mod commands {
    use anyhow::Result;
    use clap::{Parser, Subcommand, ValueEnum};
    use std::path::PathBuf;
    use std::time::Instant;
    use training::LlamaConfig;
    use training::corpus::StreamOptions;
    use training::train::{Event, RunOptions, run};
    use training::trainer::Schedule;

    /// How does text become weights?
    #[derive(Parser)]
    struct Cli {
        #[command(subcommand)]
        command: Command,
    }

    #[derive(Subcommand)]
    enum Command {
        /// Trains a model and writes a Hugging Face folder
        Train(TrainArgs),
    }

    #[derive(Clone, Copy, ValueEnum)]
    enum Shape {
        Stories,
        Draft,
        Miniature,
    }

    #[derive(clap::Args)]
    struct TrainArgs {
        #[arg(long)]
        out: PathBuf,
        #[arg(long, default_value_t = 6_000_000)]
        tokens: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[arg(long, value_enum, default_value = "stories")]
        shape: Shape,
        #[arg(long)]
        batch_size: Option<usize>,
        #[arg(long)]
        peak_rate: Option<f64>,
        #[arg(long, default_value_t = 0.65)]
        story_share: f64,
        #[arg(long)]
        threads: Option<usize>,
        #[arg(long, default_value_t = 200)]
        eval_every: u64,
        #[arg(long, default_value_t = 200)]
        checkpoint_every: u64,
        #[arg(long)]
        resume: bool,
        #[arg(long)]
        continue_from: Option<PathBuf>,
    }

    pub fn main() -> Result<()> {
        match Cli::parse().command {
            Command::Train(args) => train(args),
        }
    }

    fn train(args: TrainArgs) -> Result<()> {
        let mut schedule = Schedule::for_tokens(args.tokens);
        schedule.batch_size = args.batch_size.unwrap_or(schedule.batch_size);
        schedule.peak_rate = args.peak_rate.unwrap_or(schedule.peak_rate);
        let threads = args
            .threads
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        let options = RunOptions {
            out: args.out,
            config: match args.shape {
                Shape::Stories => LlamaConfig::stories(),
                Shape::Draft => LlamaConfig::draft(),
                Shape::Miniature => LlamaConfig::miniature(),
            },
            schedule,
            stream: StreamOptions { story_share: args.story_share, ..StreamOptions::default() },
            seed: args.seed,
            num_threads: threads,
            eval_every: args.eval_every,
            checkpoint_every: args.checkpoint_every,
            resume: args.resume,
            continue_from: args.continue_from,
            corpus: lab::paths::data_dir().join("corpus"),
            command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
            machine: String::new(),
        };
        let started = Instant::now();
        let tokens_per_step = options.schedule.tokens_per_step();
        let mut steps = 0;
        let record = run(&options, |event| match event {
            Event::Step(report) => {
                steps += 1;
                if report.step % 20 == 0 {
                    let rate = (steps * tokens_per_step) as f64 / started.elapsed().as_secs_f64();
                    eprintln!(
                        "step {} tokens {} loss {:.3} norm {:.2} rate {:.5} {:.0} tokens/s",
                        report.step,
                        (report.step + 1) * tokens_per_step,
                        report.loss,
                        report.gradient_norm,
                        report.learning_rate,
                        rate
                    );
                }
            }
            Event::Measured(point) => eprintln!("{point:?}"),
            Event::Saved(step) => eprintln!("saved at step {step}"),
        })?;
        println!("{} tokens", record.tokens);
        Ok(())
    }
}
