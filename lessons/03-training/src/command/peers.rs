//! Training against PyTorch: the same model, the same weights, the same batch, step by step in turn.

use anyhow::{Context, Result, bail};
use lab::args::CommonArgs;
use lab::race::{Better, Race};
use layout::pool::Pool;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use training::batch::Batch;
use training::export::{read_folder, write_folder};
use training::model::Llama;
use training::trainer::{Schedule, Trainer};
use training::{LlamaConfig, TokenId};

#[derive(clap::Args)]
pub struct Args {
    /// A Python with torch and safetensors
    #[arg(long, default_value = "python3", value_name = "PATH")]
    python: PathBuf,
    /// Windows of 512 tokens in a step
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = lab::args::within(1..=1024_usize))]
    batch_size: usize,
    /// Steps of each
    #[arg(long, default_value_t = 9, value_name = "N", value_parser = lab::args::within(1..=10_000_usize))]
    rounds: usize,
}

/// A Python process that takes one training step for each line that it is sent.
struct PyTorch {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl PyTorch {
    fn start(args: &Args, folder: &std::path::Path, threads: usize) -> Result<Self> {
        let script = lab::paths::workspace_root().join("benches/peers/train_pytorch.py");
        let mut child = Command::new(&args.python)
            .arg(&script)
            .arg(folder)
            .args([
                "--threads",
                &threads.to_string(),
                "--batch-size",
                &args.batch_size.to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{}: not a program; give one with --python", args.python.display()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            bail!("no pipes to {}", args.python.display());
        };
        let mut peer = Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        };
        if peer.read()? != "ready" {
            bail!(
                "{}: expected torch and safetensors, see its message above",
                script.display()
            );
        }
        Ok(peer)
    }

    fn read(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    /// One step: loss before it, and the seconds that it took.
    fn step(&mut self) -> Result<(f64, Duration)> {
        writeln!(self.stdin, "step")?;
        let line = self.read()?;
        let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [loss, seconds] = numbers[..] else {
            bail!("expected loss and seconds from Python, found {line:?}");
        };
        Ok((loss, Duration::from_secs_f64(seconds)))
    }
}

impl Drop for PyTorch {
    fn drop(&mut self) {
        // Whatever state it is in, it is ours and no longer needed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tokens that both sides compute by themselves; no end of text, so every position sees all before it.
fn batch(batch_size: usize) -> Batch {
    let window = |w: usize| {
        (0..513)
            .map(|i| TokenId(((w * 512 + i) * 7919 % 2047) as u32 + 1))
            .collect()
    };
    let windows: Vec<Vec<TokenId>> = (0..batch_size).map(window).collect();
    Batch::windows(&windows)
}

/// Runs the race and prints its table.
pub fn peers(args: &Args, common: &CommonArgs) -> Result<()> {
    let threads = common.threads();
    let folder = lab::paths::out_dir("03", common).join("peer-model");
    let pool = Arc::new(Pool::new(threads));
    write_folder(
        &folder,
        &Llama::new(LlamaConfig::stories(), common.seed, Arc::clone(&pool)),
    )?;
    // Read back, so that both sides start from the same rounded weights.
    let model = read_folder(&folder, pool)?;
    let schedule = Schedule {
        batch_size: args.batch_size,
        warmup_steps: 0,
        peak_rate: 1e-3,
        final_share: 1.0,
        ..Schedule::for_tokens(1 << 40)
    };
    let tokens = schedule.tokens_per_step() as f64;
    let mut trainer = Trainer::new(model, schedule);
    let mut peer = PyTorch::start(args, &folder, threads)?;
    let batch = batch(args.batch_size);
    let race = Race::new("training", "One training step: forward, backward, clipping, AdamW")
        .unit("tokens/s")
        .better(Better::Higher)
        .work(tokens)
        .rounds(args.rounds)
        .baseline("PyTorch")
        .entry_timed("PyTorch", None, || peer.step().expect("the peer answers"))
        .entry_timed("this lesson", None, || {
            let start = Instant::now();
            let report = trainer.train(&batch).expect("the tape is whole");
            (report.loss, start.elapsed())
        })
        .check(|theirs, ours| {
            let same = (theirs - ours).abs() < 2e-3;
            if same {
                Ok(())
            } else {
                Err(format!("loss {theirs} and {ours}"))
            }
        });
    let result = race.run()?;
    for line in result.lines() {
        lab::outln!("{line}");
    }
    lab::outln!(
        "{threads} threads, {tokens} tokens a step: {:.2} times PyTorch",
        result.ratio("this lesson", "PyTorch")
    );
    Ok(())
}
