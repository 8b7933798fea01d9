//! The commands besides the story.

use generation::eval::Evaluator;
use generation::terminal::{self, Answered};
use generation::{Model, State};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::args::CommonArgs;
use lab::table::Table;
use lab::{number, term};
use layout::pool::Pool;
use serde_json::json;
use std::time::Instant;
use training::corpus::evaluation::EvalSize;
use training::corpus::{EvalDocument, Evaluation, Literature};
use training::grammar::Grammar;
use training::split::Split;

/// `generate`: continues the prompt with the naive loop.
pub fn generate(args: &CommonArgs, chat: bool) -> anyhow::Result<()> {
    terminal::generate(args, chat, |model, pool, prompt, max_new_tokens, on_token| {
        let mut state = State::new(&model.config, 0);
        let mut token_ms = Vec::new();
        let begun = Instant::now();
        let mut last = begun;
        let generation = model.generate(&mut state, pool, prompt, max_new_tokens, &mut |token| {
            let now = Instant::now();
            token_ms.push((now - last).as_secs_f64() * 1e3);
            last = now;
            on_token(token);
        })?;
        let total = begun.elapsed().as_secs_f64();
        let (rows, new_tokens) = (generation.rows_recomputed(), generation.tokens.len());
        let summary = format!(
            "{} prompt tokens, {new_tokens} new ones in {} ({} a token, {rows} rows computed), ended by {:?}",
            generation.prompt_tokens,
            number::seconds(total),
            number::seconds(total / new_tokens.max(1) as f64),
            generation.finish_reason,
        );
        let values = json!({
            "rows_computed": rows,
            "timings": {"first_token_ms": token_ms.first(), "total_ms": total * 1e3, "token_ms": token_ms},
        });
        Ok(Answered {
            generation,
            values,
            summary,
        })
    })
}

/// `eval`: scores lesson 03's texts and questions with any model folder.
pub fn eval(args: &CommonArgs, full: bool) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    let pool = Pool::new(args.threads());
    let mut evaluator = Evaluator::new(&model, &pool);
    let size = if full { EvalSize::FULL } else { EvalSize::SMALL };
    let data = lab::paths::data_dir();
    let fixed = training::tokenizer::Tokenizer::load(&data.join("stories/tokenizer.json"))?;
    let literature = Literature::load(&data.join("corpus"))?;
    let evaluation = Evaluation::new(&Grammar::new(), &literature, &fixed, Split::Test, size);
    // The texts are the same for every model, encoded with the model's own tokenizer.
    let retold = |documents: &[EvalDocument]| -> anyhow::Result<Vec<EvalDocument>> {
        let text = |document: &EvalDocument| fixed.decode(&document.tokens[1..document.tokens.len() - 1]);
        documents
            .iter()
            .map(|d| Ok(evaluator.document(&text(d), d.nats)?))
            .collect()
    };
    let texts = [
        ("stories", retold(&evaluation.stories)?),
        ("literature", retold(&evaluation.literature)?),
    ];
    let steps = texts.iter().map(|(_, documents)| documents.len()).sum::<usize>() + evaluation.tasks.len();
    let bar = progress(steps as u64);
    let report = evaluator.report(&texts, &evaluation.tasks, &mut || bar.inc(1))?;
    bar.finish_and_clear();
    if args.json {
        term::print(&format!("{:#}\n", json!(report)));
        return Ok(());
    }
    let scores = ["stories", "literature"].map(|kind| {
        [
            kind.to_owned(),
            report.tokens_scored[kind].to_string(),
            format!("{:.3}", report.nats_per_token[kind]),
            format!("{:.2}", report.perplexity[kind]),
            format!("{:.3}", report.bits_per_byte[kind]),
        ]
    });
    let header = ["text", "tokens", "nats per token", "perplexity", "bits per byte"];
    term::print(&format!("{}\n{}\n", model.name, Table::of(&header, scores)));
    let answers = report.by_task.iter().map(|(kind, share)| ((*kind).to_owned(), *share));
    let all = (format!("all {}", report.questions), report.task_accuracy);
    let shown = answers
        .chain([all])
        .map(|(kind, share)| [kind, format!("{:.0} %", 100.0 * share)]);
    term::print(&Table::of(&["questions", "right"], shown).to_string());
    Ok(())
}

/// A progress bar on stderr; hidden where stderr is a pipe.
fn progress(len: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {elapsed} (left {eta})") {
        bar.set_style(style);
    }
    bar
}

/// `cold-start`: prints the milliseconds of the first passes of this process, over a prompt of made-up tokens, as a
/// JSON list.
pub fn cold_start(args: &CommonArgs) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    let pool = Pool::new(args.threads());
    let tokens = model.made_up_tokens(0, args.tokens.unwrap_or(12));
    let mut state = State::new(&model.config, 0);
    let mut times = Vec::new();
    for _ in 0..crate::story::WARM_UP_PASSES {
        let started = Instant::now();
        model.forward(&mut state, &pool, &tokens)?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    term::print(&format!("{}\n", json!(times)));
    Ok(())
}
