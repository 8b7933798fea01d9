//! Claim T2: what a step costs, and what a run brings.

use lab::chart::Chart;
use lab::race::{Disturbance, Race};
use lab::story::{Claim, Story, Verdict};
use layout::aligned::Aligned;
use layout::lines::Cache;
use layout::walk;
use std::hint::black_box;

/// More than the last-level cache of most machines.
const BYTES: usize = 128 << 20;
const STRIDES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 256, 1024];
const RUNS: [usize; 8] = [1, 4, 16, 32, 64, 128, 256, 1024];
/// Runs visited in shuffled order, at most: enough to be far from any cache.
const MOST_SHUFFLED: usize = 1 << 19;

pub(super) fn tell(story: &mut Story) -> anyhow::Result<()> {
    story.step(
        "Reading pays",
        "Memory moves in lines of 64 bytes (128 on Apple's processors). A loop that uses 4 of them has paid for all.",
    );
    let mut numbers = Aligned::<u32>::zeros(BYTES / 4);
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = (i as u32).wrapping_mul(2_654_435_761);
    }
    story.predict("every-16th");
    strides(story, &numbers)?;
    runs(story, &numbers)
}

fn strides(story: &mut Story, numbers: &[u32]) -> anyhow::Result<()> {
    const NAME: &str = "every n-th number";
    let mut race = Race::new("stride", "Sum of every n-th number, 128 MiB, one thread")
        .unit("useful GB/s")
        .rounds(5);
    for stride in STRIDES {
        let work = (BYTES / stride) as f64 / 1e9;
        race = race.entry_with_work(NAME, Some((4 * stride) as f64), work, move || {
            black_box(walk::sum_strided(numbers, stride));
        });
    }
    let result = race.run()?;
    let rate = |stride: usize| result.median_at(NAME, (4 * stride) as f64);
    story.rows(
        &[
            "step, bytes",
            "useful GB/s",
            "against 4",
            "lines a number",
            "pages a number",
        ],
        STRIDES.map(|stride| {
            let cache = cache_after((0..4096).map(|i| 4 * stride * i));
            [
                format!("{}", 4 * stride),
                format!("{:.2}", rate(stride)),
                format!("1/{:.1}", rate(1) / rate(stride)),
                format!("{:.2}", cache.lines_fetched() as f64 / 4096.0),
                format!("{:.3}", (4 * stride) as f64 / 4096.0),
            ]
        }),
    );
    story.values(&result.id, &result);
    let loss = rate(1) / rate(16);
    story.say("Lines and pages of 4 KiB are counted. From 64 bytes on, a larger step fetches no more lines for a number. It gets slower all the same, for three reasons that this walk does not separate: the prefetcher guesses fewer lines, each number lies in more pages of its own (whose addresses have to be translated), and at 4096 bytes all numbers compete for one set of the cache.");
    let claim = Claim {
        id: "T2",
        claimed: "Strided access wastes memory bandwidth: each cache line brings one useful element",
        value: loss,
        unit: "times less useful bandwidth at a step of 64 bytes than at 4",
        verdict: Verdict::of(loss > 2.0, true),
        note: "Counted: from a step of 64 bytes on, one line comes for each number, 16 times the useful bytes. 128 MiB are read, so no first or second level of cache holds them.",
    };
    // No step brings more useful bytes a second than the one that uses them all.
    let best = STRIDES
        .map(|stride| rate(stride) / rate(1))
        .into_iter()
        .fold(0.0, f64::max);
    let sign = Disturbance::of_ratio("the fastest step against one of 4 bytes", best, 0.0..=1.05);
    story.claim_if_quiet(claim, [sign]);
    let points = |f: &dyn Fn(usize) -> f64| STRIDES.map(|s| ((4 * s) as f64, f(s))).to_vec();
    story.chart(
        &Chart::lines("stride", "A step of 64 bytes brings a line for each number")
            .x_label("bytes from one number to the next")
            .y_label("useful GB/s")
            .note("sum of every n-th u32 of 128 MiB, one thread; more is better")
            .log_x()
            .log_y()
            .series("measured", points(&rate))
            .dashed("if only lines counted", points(&|s| rate(1) / s.min(16) as f64)),
    )?;
    Ok(())
}

fn runs(story: &mut Story, numbers: &[u32]) -> anyhow::Result<()> {
    const NAMES: [&str; 3] = ["no gaps", "7 of 8 skipped", "shuffled"];
    story.say(
        "Now in runs: n neighbours are read, then comes a jump. Without gaps the runs lie one behind the other; with gaps one run in \
         eight is read; shuffled, all places are as good as random.",
    );
    let mut race = Race::new("run", "Sum of runs of neighbours, 128 MiB, one thread")
        .unit("useful GB/s")
        .rounds(5)
        .baseline(NAMES[0]);
    for run in RUNS {
        let x = Some((4 * run) as f64);
        let count = (numbers.len() / run).min(MOST_SHUFFLED);
        let places = walk::shuffled_places(count, numbers.len() / count);
        let shuffled = (4 * run * places.len()) as f64 / 1e9;
        race = race
            .entry_with_work(NAMES[0], x, BYTES as f64 / 1e9, move || {
                black_box(walk::sum_runs(numbers, run, run));
            })
            .entry_with_work(NAMES[1], x, BYTES as f64 / 8e9, move || {
                black_box(walk::sum_runs(numbers, run, 8 * run));
            })
            .entry_with_work(NAMES[2], x, shuffled, move || {
                black_box(walk::sum_runs_at(numbers, run, &places));
            });
    }
    let result = race.run()?;
    story.rows(
        &["run, bytes", NAMES[0], NAMES[1], NAMES[2]],
        RUNS.map(|run| {
            let [a, b, c] = NAMES.map(|name| format!("{:.2}", result.median_at(name, (4 * run) as f64)));
            [(4 * run).to_string(), a, b, c]
        }),
    );
    story.values(&result.id, &result);
    story.say("Whole lines are not enough: with gaps, a run of two lines is followed by a jump every 128 bytes.");
    story.chart(
        &Chart::lines("runs", "What one visit to memory brings decides how fast it is")
            .x_label("bytes read before the next jump")
            .y_label("useful GB/s")
            .note("sum of runs of u32 in 128 MiB, one thread; more is better")
            .log_x()
            .log_y()
            .race(&result, &NAMES),
    )?;
    Ok(())
}

/// The bridge to later lessons.
pub(super) fn one_head(story: &mut Story) {
    story.step(
        "A question to take along",
        "Lesson 06 will keep, for each position of a text, 4 groups of 32 f32 (one per head), and read one head through all positions.",
    );
    story.predict("one-head");
    story.rows(
        &["stored as", "step", "lines for 64 positions", "runs"],
        [("[position, head, 32]", 128), ("[head, position, 32]", 32)].map(|(stored, step)| {
            let cache = cache_after((0..64).flat_map(|p| (0..32).map(move |i| 4 * (step * p + i))));
            let [step, lines, runs] = [step as u64, cache.lines_fetched(), cache.runs_fetched()].map(|n| n.to_string());
            [stored.to_string(), step, lines, runs]
        }),
    );
    story.say("The lines are equal, because 32 f32 are two whole ones. The runs differ. Lesson 06 measures which of the two matters.");
}

/// An empty cache through which these addresses were read.
fn cache_after(addresses: impl Iterator<Item = usize>) -> Cache {
    let mut cache = Cache::default();
    addresses.for_each(|address| cache.read(address));
    cache
}
