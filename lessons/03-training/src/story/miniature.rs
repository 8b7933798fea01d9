//! A miniature learns while you watch, twice.

use anyhow::Result;
use lab::chart::Chart;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
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

/// The same tokens in two orders.
pub fn miniature(story: &mut Story, literature: &Literature, tokenizer: &Tokenizer, pool: &Arc<Pool>) -> Result<()> {
    story.step(
        "Windows to weights",
        "A miniature (0.5 M parameters) learns twice from the same number of tokens: in shuffled order, and all stories before all books.",
    );
    story.predict(Prediction {
        id: "order",
        question: "Which of the two is better afterwards, on held-out stories and books together?",
        options: &[
            Choice {
                text: "shuffled",
                answer_to_wrong: None,
            },
            Choice {
                text: "in order, it can concentrate on one thing at a time",
                answer_to_wrong: Some("It concentrates so well on the books that it forgets the stories."),
            },
            Choice {
                text: "no difference, the tokens are the same",
                answer_to_wrong: Some("Each step moves all weights; the last steps have the last word."),
            },
        ],
        answer: 0,
        because: "Weights follow what they saw last. Shuffling makes what they saw last look like everything.",
    });
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
    let mut table = Table::new(&["order", "first loss", "last loss", "stories", "books", "mean"]);
    let mut chart = Chart::bars(
        "order",
        "What a miniature knows, by the order in which it read the same tokens",
    )
    .y_label("held-out nats per token");
    let mut means = Vec::new();
    let started = std::time::Instant::now();
    for (name, order) in experiment.orders() {
        let learned = experiment.learn(order, || bar.inc(1))?;
        let stories = nats_per_token(&learned.model, &held_out.stories, 8192);
        let books = nats_per_token(&learned.model, &held_out.literature, 8192);
        let mean = (stories + books) / 2.0;
        means.push(mean);
        let cells = [learned.first_loss, learned.last_loss, stories, books, mean];
        let cells = cells.map(|nats| format!("{nats:.2}"));
        table.row(std::iter::once(name.to_owned()).chain(cells));
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
    story.table(&table);
    story.chart(&chart)?;
    let loss = means[1] - means[0];
    story.claim(Claim {
        id: "D1",
        claimed: "training wants shuffled samples, inference wants the input order kept",
        value: loss,
        unit: "nats per token lost by reading in order",
        verdict: if loss > 0.0 { Verdict::Holds } else { Verdict::NotHere },
        note: "training half measured here; the other half is the next but one step, where answers in another order are wrong answers",
    });
    Ok(())
}
