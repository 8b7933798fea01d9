//! B5: in a static batch the short requests wait for the longest.

use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use lab::term::Tone;
use static_batching::percentile::percentile;
use static_batching::plan::{Plan, StepRequest, static_plan};
use static_batching::workload::{Lengths, Pace, arrivals};

/// Requests of each plan.
const REQUESTS: usize = 8192;
/// Rows of a batch in the table and the claim.
const BATCH: usize = 8;
/// Most tokens of a short answer.
const SHORT: usize = 32;
/// Batch sizes of the chart.
const SIZES: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Three distributions of answers.
fn kinds() -> [(&'static str, Lengths); 3] {
    [
        ("all 64", Lengths::equal(64, 64)),
        ("70 % 32, 30 % 192", Lengths::mix()),
        ("exponential, mean 64", Lengths::exponential(64, 64.0, 100_000)),
    ]
}

/// A plan and the lengths of its answers.
struct Planned {
    new_tokens: Vec<usize>,
    plan: Plan,
}

impl Planned {
    fn of(lengths: &Lengths, seed: u64, max_batch: usize) -> Planned {
        let stream = arrivals(seed, REQUESTS, lengths, &Pace::AtOnce);
        let requests = stream.iter().map(|arrival| StepRequest {
            arrives: 0,
            prompt_tokens: arrival.prompt_tokens,
            new_tokens: arrival.new_tokens,
        });
        Planned {
            new_tokens: stream.iter().map(|arrival| arrival.new_tokens).collect(),
            plan: static_plan(&requests.collect::<Vec<_>>(), max_batch),
        }
    }

    /// Mean of the longest answer of a batch, in times of the mean answer.
    fn longest_over_mean(&self) -> f64 {
        let mean = self.new_tokens.iter().sum::<usize>() as f64 / self.new_tokens.len() as f64;
        self.plan.steps() as f64 / self.plan.batches.len() as f64 / mean
    }

    /// For each short answer, the steps of its batch in times of its own steps.
    fn stays(&self) -> Vec<f64> {
        let answers = self.new_tokens.iter().zip(&self.plan.outcomes);
        let short = answers.filter(|(new_tokens, _)| **new_tokens <= SHORT);
        short
            .map(|(new_tokens, o)| (o.returned - o.started) as f64 / *new_tokens as f64)
            .collect()
    }
}

/// Many batches, counted in steps.
pub fn many(story: &mut Story, seed: u64) -> anyhow::Result<()> {
    story.step(
        "Count the waiting",
        "8192 requests in batches of eight, in steps: the plan needs only lengths, no model and no clock.",
    );
    let planned = kinds().map(|(name, lengths)| (name, Planned::of(&lengths, seed, BATCH)));
    let factor = planned[2].1.longest_over_mean();
    story.predict_with("longest-of-eight", &[("factor", &format!("{factor:.1}"))]);
    story.rows(
        &["answers", "longest / mean", "useful rows", "short stay: P50", "P99"],
        planned.iter().map(|(name, planned)| {
            let stays = planned.stays();
            let at = |percent| percentile(&stays, percent).map_or("-".to_owned(), |stay| format!("{stay:.1} x"));
            [
                (*name).to_owned(),
                format!("{:.2}", planned.longest_over_mean()),
                format!("{:.0} %", 100.0 * planned.plan.useful_share()),
                at(50.0),
                at(99.0),
            ]
        }),
    );
    let factors = planned.each_ref().map(|(_, planned)| planned.longest_over_mean());
    story.values("longest_over_mean", factors);
    let unit = "A short answer has at most 32 tokens. Its stay is the number of steps of its batch, in times of its \
                own steps.";
    story.say_as(Tone::Dim, unit);
    let (name, mix) = &planned[1];
    let stays = mix.stays();
    let median = percentile(&stays, 50.0).unwrap_or(f64::NAN);
    let waiting = stays.iter().filter(|stay| **stay > 1.0).count() as f64 / stays.len() as f64;
    story.claim(Claim {
        id: "B5",
        claimed: "In a static batch short requests wait for the longest one",
        value: median,
        unit: "times its own steps, for a short answer in the median",
        verdict: Verdict::of(median >= 2.0, waiting > 0.1),
        note: &format!(
            "Counted, batches of {BATCH}, {name}: {:.0} % of the short answers share a batch with a long one, and stay \
             until it is done. With equal answers no request waits.",
            100.0 * waiting
        ),
    });
    let mut chart = Chart::lines("longest", "The longest of a batch decides for all")
        .x_label("rows in the batch")
        .y_label("longest answer of a batch, times the mean")
        .note("counted in steps, 8192 requests; 1: no request waits for another")
        .log_x();
    for (name, lengths) in kinds() {
        let line = SIZES.map(|size| (size as f64, Planned::of(&lengths, seed, size).longest_over_mean()));
        chart = chart.series(name, line.to_vec());
    }
    story.chart(&chart)?;
    Ok(())
}
