//! A whole run: corpus, steps, held-out measurements, checkpoints, and the folder at the end.

use crate::baselines::curve as baseline_curve;
use crate::batch::Batch;
use crate::checkpoint::{self, CurvePoint, Progress, write_whole};
use crate::config::LlamaConfig;
use crate::corpus::evaluation::EvalSize;
use crate::corpus::{Cursor, EvalDocument, Evaluation, Literature, StreamOptions, TrainingStream, train_tokenizer};
use crate::export::{read_folder, write_folder};
use crate::grammar::Grammar;
use crate::grammar::words::{SLOTS, words};
use crate::metrics::perplexity::surprise;
use crate::model::Llama;
use crate::record::{RunRecord, TrainingRecord, read_record};
use crate::split::Split;
use crate::tokenizer::Tokenizer;
use crate::trainer::{Schedule, StepReport, Trainer};
use anyhow::{Context, Result, bail};
use layout::pool::Pool;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What to train, on what, and where to put it.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The folder to write: checkpoints during the run, the model at its end.
    pub out: PathBuf,
    /// The shape; ignored with `continue_from`.
    pub config: LlamaConfig,
    /// Learning rate and length.
    pub schedule: Schedule,
    /// The text to read and its order.
    pub stream: StreamOptions,
    /// How much a word that fills a slot of the grammar counts in the loss; any other token counts 1.
    pub slot_weight: f64,
    /// Whether a word that the grammar drew has all words that were free as its targets
    /// ([`draws`](crate::corpus::draws)).
    pub spread_draws: bool,
    /// Seeds the initial weights.
    pub seed: u64,
    /// Number of threads.
    pub num_threads: usize,
    /// Steps between two held-out measurements, each followed by a checkpoint.
    pub eval_every: u64,
    /// Go on from the last checkpoint in `out`.
    pub resume: bool,
    /// Start from a trained folder instead of random weights: a new warm-up, and the corpus from where that run left
    /// it. With its last checkpoint in the folder, weights in f32 and moments go on; without, weights start from bf16
    /// and moments from zero.
    pub continue_from: Option<PathBuf>,
    /// A vocabulary to use instead of training one.
    pub tokenizer: Option<PathBuf>,
    /// Where the literature lies.
    pub corpus: PathBuf,
    /// The command line, for the record.
    pub command: String,
    /// The machine's name, for the record.
    pub machine: String,
}

/// Why a run stops, apart from files that can not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The loss, the gradient or a measurement is no number any more: the learning rate was too high, or a weight was
    /// damaged. Nothing of this step is written.
    #[error(
        "step {step}: expected a finite {what}, found {found}; {}; lower --peak-rate and run again{}",
        match last_good {
            Some(good) => format!("{} keeps the checkpoint of step {good}", out.display()),
            None => format!("{} has no checkpoint of this run yet", out.display()),
        },
        if last_good.is_some() { " with --resume" } else { "" }
    )]
    NotFinite {
        /// The step, counted from 0.
        step: u64,
        /// What was looked at.
        what: &'static str,
        /// Its value.
        found: f64,
        /// The run's folder.
        out: PathBuf,
        /// Number of steps of the last checkpoint, if there is one.
        last_good: Option<u64>,
    },
}

/// Seconds that a run took before it was interrupted; beside the checkpoint, whose bytes depend on no clock.
const CLOCK_FILE: &str = "seconds.txt";

/// What happens during a run, for a progress bar or a log.
pub enum Event<'a> {
    /// A step was done.
    Step(StepReport),
    /// Held-out text was measured.
    Measured(&'a CurvePoint),
    /// A checkpoint was written.
    Saved(u64),
}

/// Trains until the schedule's tokens are read, and writes the folder.
///
/// `watch` sees every event and may stop the run there and then, as a power cut would; `None` is returned in that case.
///
/// # Errors
/// When a file can not be read or written, when the folder belongs to another run, or when the loss is not finite
/// ([`RunError`]); the last checkpoint and an earlier finished model then stay as they were.
pub fn run(
    options: &RunOptions,
    mut watch: impl FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<Option<TrainingRecord>> {
    let started = Instant::now();
    let out = &options.out;
    std::fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    if !options.resume && out.join(checkpoint::FILE_NAME).exists() {
        bail!(
            "{}: expected an empty folder, found a checkpoint; add --resume or choose another --out",
            out.display()
        );
    }
    let grammar = Grammar::new();
    let literature = Literature::load(&options.corpus)?;
    let earlier = options.continue_from.as_deref().map(read_record).transpose()?;
    let tokenizer = find_tokenizer(options, &grammar, &literature)?;
    tokenizer.save(&out.join("tokenizer.json"))?;
    let size = EvalSize {
        stories: 60,
        chapters: 4,
        tasks: 0,
        prompts: 0,
    };
    let held_out = Evaluation::new(&grammar, &literature, &tokenizer, Split::Validation, size);

    let pool = Arc::new(Pool::new(options.num_threads));
    let model = match &options.continue_from {
        Some(folder) => read_folder(folder, pool)?,
        None => Llama::new(options.config.clone(), options.seed, pool),
    };
    let mut trainer = Trainer::new(model, options.schedule.clone());
    let mut stream = TrainingStream::new(grammar, &literature, tokenizer.clone(), options.stream.clone());
    if let Some(folder) = &options.continue_from
        && checkpoint::load(folder, &mut trainer)?.is_some()
    {
        // The schedule begins anew; the moments do not.
        trainer.step = 0;
    }
    if let Some(record) = &earlier {
        stream.seek(Cursor {
            windows: record.windows,
        });
    }
    let mut curve = Vec::new();
    let mut seconds_before = 0.0;
    let mut resumed = None;
    if options.resume
        && let Some(progress) = checkpoint::load(out, &mut trainer)?
    {
        stream.seek(serde_json::from_value(progress.cursor).context("cursor of the checkpoint")?);
        curve = progress.curve;
        resumed = Some((progress.step, progress.tokens));
        let text = std::fs::read_to_string(out.join(CLOCK_FILE)).unwrap_or_default();
        seconds_before = text.trim().parse().unwrap_or(0.0);
    }

    let slot_words = slot_words(&tokenizer, trainer.model.config.vocab_size);
    let schedule = &options.schedule;
    let tokens_before = earlier.as_ref().map_or(0, |record| record.tokens);
    let mut last_good = resumed.map(|(step, _)| step);
    // The interrupted run may have had another batch size or length.
    let (known_step, known_tokens) = resumed.unwrap_or((0, tokens_before));
    let tokens_at = |step: u64| known_tokens + (step - known_step) * schedule.tokens_per_step();
    // The mean loss between two measurements; it starts anew at each checkpoint, so it need not be in it.
    let (mut loss_sum, mut loss_steps) = (0.0, 0);
    while trainer.step < schedule.num_steps() {
        let (batch_size, len) = (schedule.batch_size, schedule.seq_len + 1);
        let mut batch = if options.spread_draws {
            let (windows, drawn): (Vec<_>, Vec<_>) = stream.next_windows(batch_size, len).into_iter().unzip();
            let mut batch = Batch::windows(&windows);
            for (window, drawn) in drawn.into_iter().enumerate() {
                batch.spread_over(window, drawn);
            }
            batch
        } else {
            let tokens = stream.next_batch(batch_size, len);
            Batch::windows(&tokens.chunks(len).collect::<Vec<_>>())
        };
        batch.emphasise(&slot_words, options.slot_weight as f32);
        let report = trainer.train(&batch)?;
        loss_sum += report.loss;
        loss_steps += 1;
        let finite = |what, found: f64| match found.is_finite() {
            true => Ok(()),
            false => Err(RunError::NotFinite {
                step: report.step,
                what,
                found,
                out: out.clone(),
                last_good,
            }),
        };
        finite("loss", report.loss)?;
        finite("norm of the gradients", report.gradient_norm)?;
        if watch(Event::Step(report)).is_break() {
            return Ok(None);
        }
        let is_last = trainer.step == schedule.num_steps();
        if trainer.step.is_multiple_of(options.eval_every) || is_last {
            let point = CurvePoint {
                step: trainer.step,
                tokens: tokens_at(trainer.step),
                train: loss_sum / f64::from(loss_steps),
                stories: nats_per_token(&trainer.model, &held_out.stories, 16_384),
                literature: nats_per_token(&trainer.model, &held_out.literature, 16_384),
                learning_rate: report.learning_rate,
            };
            finite("loss on held-out stories", point.stories)?;
            finite("loss on held-out literature", point.literature)?;
            curve.push(point);
            (loss_sum, loss_steps) = (0.0, 0);
            write_curve(out, &curve)?;
            let point = curve.last().expect("just pushed");
            if watch(Event::Measured(point)).is_break() {
                return Ok(None);
            }
            let progress = Progress {
                step: trainer.step,
                optimizer_steps: Some(trainer.optimizer().state().steps),
                tokens: tokens_at(trainer.step),
                cursor: serde_json::to_value(stream.cursor())?,
                curve: curve.clone(),
            };
            checkpoint::save(out, &trainer, &progress)?;
            last_good = Some(trainer.step);
            let seconds = seconds_before + started.elapsed().as_secs_f64();
            write_whole(&out.join(CLOCK_FILE), format!("{seconds:.1}\n").as_bytes())?;
            if watch(Event::Saved(trainer.step)).is_break() {
                return Ok(None);
            }
        }
    }

    write_folder(out, &trainer.model)?;
    let tokens = tokens_at(trainer.step) - tokens_before;
    let this = RunRecord {
        command: options.command.clone(),
        seed: options.seed,
        stream: options.stream.clone(),
        schedule: schedule.clone(),
        tokens,
        seconds: (seconds_before + started.elapsed().as_secs_f64()).round(),
        num_threads: options.num_threads,
        machine: options.machine.clone(),
    };
    let mut record = earlier.unwrap_or(TrainingRecord {
        schema: 1,
        tokens: 0,
        windows: 0,
        runs: Vec::new(),
        curve: Vec::new(),
        baselines: Vec::new(),
        entropy_bound: 0.0,
    });
    record.tokens += tokens;
    record.windows = stream.cursor().windows;
    record.runs.push(this);
    record.curve.extend(curve);
    record.entropy_bound = held_out.story_bound();
    record.baselines = baseline_curve(&literature, &tokenizer, &options.stream, record.tokens, &held_out);
    let text = serde_json::to_string_pretty(&record)? + "\n";
    write_whole(&out.join("training.json"), text.as_bytes())?;
    Ok(Some(record))
}

/// Which tokens are words of the grammar's lists, by token id.
///
/// A story names its hero, the thing and its colour again and again, and these few tokens decide whether it makes
/// sense; the mean loss hardly sees them. (Each word of the lists is one token in the default vocabulary.)
pub fn slot_words(tokenizer: &Tokenizer, vocab_size: usize) -> Vec<bool> {
    let mut is_slot_word = vec![false; vocab_size];
    let lists = SLOTS.iter().flat_map(|&(_, domain)| words(domain));
    for word in lists.flat_map(|word| word.split(['|', '_']).skip(usize::from(word.contains('|')))) {
        if let [token] = tokenizer.encode(&format!(" {word}"))[..] {
            is_slot_word[token.index()] = true;
        }
    }
    is_slot_word
}

/// The vocabulary of the run that is resumed or continued; a new one otherwise.
fn find_tokenizer(options: &RunOptions, grammar: &Grammar, literature: &Literature) -> Result<Tokenizer> {
    let own = options.out.join("tokenizer.json");
    match (&options.continue_from, &options.tokenizer) {
        (Some(folder), _) => Ok(Tokenizer::load(&folder.join("tokenizer.json"))?),
        (None, _) if options.resume && own.exists() => Ok(Tokenizer::load(&own)?),
        (None, Some(file)) => Ok(Tokenizer::load(file)?),
        (None, None) => Ok(train_tokenizer(grammar, literature)?),
    }
}

/// Mean cross entropy of documents, each token scored once, in windows that do not overlap; the first token of a
/// document is context only. Stops after `max_tokens`, so that it is quick enough to be done during training.
pub fn nats_per_token(model: &Llama, documents: &[EvalDocument], max_tokens: usize) -> f64 {
    let seq_len = model.config.max_seq_len;
    let vocab_size = model.config.vocab_size;
    let (mut nats, mut scored) = (0.0, 0);
    for document in documents {
        for first in (0..document.num_scored()).step_by(seq_len) {
            if scored >= max_tokens {
                return nats / scored as f64;
            }
            let last = (first + seq_len).min(document.num_scored());
            let logits = model.logits(&document.tokens[first..last]);
            let logits = logits.as_slice().expect("logits are row-major");
            let targets = &document.tokens[first + 1..=last];
            for (row, target) in logits.chunks_exact(vocab_size).zip(targets) {
                nats += surprise(row, *target);
            }
            scored += last - first;
        }
    }
    nats / scored.max(1) as f64
}

/// The curve as a table that any program draws.
fn write_curve(out: &Path, curve: &[CurvePoint]) -> Result<()> {
    let mut text = String::from("step,tokens,train,stories,literature,learning_rate\n");
    for p in curve {
        text += &format!(
            "{},{},{:.4},{:.4},{:.4},{:.6}\n",
            p.step, p.tokens, p.train, p.stories, p.literature, p.learning_rate
        );
    }
    Ok(write_whole(&out.join("curve.csv"), text.as_bytes())?)
}
