//! A miniature learns twice while the reader watches.

use anyhow::Result;
use lab::chart::Chart;
use lab::story::Story;
use layout::pool::Pool;
use std::sync::Arc;
use training::LlamaConfig;
use training::corpus::Literature;
use training::corpus::evaluation::EvalSize;
use training::order::Experiment;
use training::tokenizer::Tokenizer;
use training::train::nats_per_token;
use training::trainer::Schedule;

/// Tokens that each run learns from, unless `--tokens` says otherwise: about ten seconds.
const MINIATURE_TOKENS: usize = 400_000;

/// The same tokens in two orders. Returns the nats per token that are lost by reading in order.
pub fn miniature(story: &mut Story, literature: &Literature, tokenizer: &Tokenizer, pool: &Arc<Pool>) -> Result<f64> {
    story.step(
        "Windows to weights",
        "A miniature (0.5 M parameters) learns twice from the same number of tokens: in shuffled order, and all stories before all books.",
    );
    story.predict("order");
    let num_tokens = story.args().tokens.unwrap_or(MINIATURE_TOKENS);
    let experiment = Experiment {
        literature,
        tokenizer,
        config: LlamaConfig::miniature(),
        schedule: Schedule {
            batch_size: 4,
            seq_len: 256,
            peak_rate: 4e-3,
            warmup_steps: 40,
            ..Schedule::for_tokens(num_tokens as u64)
        },
        seed: story.args().seed,
        pool: Arc::clone(pool),
    };
    let schedule = &experiment.schedule;
    let size = EvalSize {
        stories: 40,
        chapters: 1,
        tasks: 0,
        prompts: 0,
    };
    let held_out = experiment.held_out(size);
    let bar = story.progress(2 * schedule.num_steps(), "training");
    let mut chart = Chart::bars("order", "Stories before books: a miniature forgets the stories")
        .y_label("held-out nats per token");
    let (mut table, mut means) = (Vec::new(), Vec::new());
    let started = std::time::Instant::now();
    for (name, order) in experiment.orders() {
        let learned = experiment.learn(order, || bar.inc(1))?;
        let stories = nats_per_token(&learned.model, &held_out.stories, 8192);
        let books = nats_per_token(&learned.model, &held_out.literature, 8192);
        let mean = (stories + books) / 2.0;
        means.push(mean);
        let [first, last, of_stories, of_books, mean] =
            [learned.first_loss, learned.last_loss, stories, books, mean].map(|nats| format!("{nats:.2}"));
        table.push([name.to_owned(), first, last, of_stories, of_books, mean]);
        chart = chart.group(name, &[("stories", stories), ("books", books)]);
    }
    let seconds = started.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let tokens = 2 * schedule.num_steps() * schedule.tokens_per_step();
    story.show_as(
        "trained",
        tokens,
        format!("2 x {} tokens in {seconds:.0} s", tokens / 2),
    );
    story.say("Loss of the first and of the last batches, then held-out nats per token; lower is better:");
    story.rows(&["order", "first loss", "last loss", "stories", "books", "mean"], table);
    story.chart(&chart)?;
    let lost = means[1] - means[0];
    story.show_as("lost by reading in order", lost, format!("{lost:.2} nats per token"));
    Ok(lost)
}
