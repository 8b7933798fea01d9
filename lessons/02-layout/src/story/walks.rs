//! Claim T2: what a step costs, and what a run brings.

use lab::chart::Chart;
use lab::race::{Race, RaceResult};
use lab::record::Verdict;
use lab::story::{Choice, Claim, Prediction, Story};
use lab::table::Table;
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
        "Memory moves in lines of 64 bytes. Whoever uses four of them has paid for all.",
    );
    let mut numbers = Aligned::<u32>::zeros(BYTES / 4);
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = (i as u32).wrapping_mul(2_654_435_761);
    }
    story.predict(Prediction {
        id: "every-16th",
        question: "A loop reads every 16th f32 of a large array instead of all. How many fewer bytes come from memory?",
        options: &[
            Choice {
                text: "16 times fewer",
                answer_to_wrong: Some("The loop uses 16 times fewer; memory sends whole lines."),
            },
            Choice {
                text: "2 times fewer",
                answer_to_wrong: Some(
                    "A 16th f32 is 64 bytes further: exactly one per line, so each line is still sent.",
                ),
            },
            Choice {
                text: "as many as before",
                answer_to_wrong: None,
            },
        ],
        answer: 2,
        because: "16 f32 are one line. Up to there a larger step saves work, not traffic.",
    });
    strides(story, &numbers)?;
    runs(story, &numbers)
}

fn strides(story: &mut Story, numbers: &[u32]) -> anyhow::Result<()> {
    let mut race = Race::new("stride", "Sum of every n-th number, 128 MiB, one thread")
        .unit("useful GB/s")
        .rounds(5);
    for stride in STRIDES {
        let work = (BYTES / stride) as f64 / 1e9;
        race = race.entry_with_work("every n-th number", Some((4 * stride) as f64), work, move || {
            black_box(walk::sum_strided(numbers, stride));
        });
    }
    let result = race.run()?;
    let mut table = Table::new(&[
        "step, bytes",
        "useful GB/s",
        "against step 4",
        "lines per number (counted)",
    ]);
    for stride in STRIDES {
        let rate = at(&result, "every n-th number", 4 * stride);
        let lines = counted_lines((0..4096).map(|i| 4 * stride * i)) as f64 / 4096.0;
        let against = at(&result, "every n-th number", 4) / rate;
        table.row([
            format!("{}", 4 * stride),
            format!("{rate:.2}"),
            format!("1/{against:.1}"),
            format!("{lines:.2}"),
        ]);
    }
    story.table(&table);
    record(story, &result);
    let loss = at(&result, "every n-th number", 4) / at(&result, "every n-th number", 64);
    story.claim(Claim {
        id: "T2",
        claimed: "Strided access wastes memory bandwidth: each cache line brings one useful element",
        value: loss,
        unit: "times less useful bandwidth at a step of 64 bytes than at 4",
        verdict: if loss > 2.0 { Verdict::Holds } else { Verdict::Partly },
        note: "counted: from a step of 64 bytes on, one line comes for each f32, 16 times the useful bytes",
    });
    let points = |f: &dyn Fn(usize) -> f64| STRIDES.map(|s| ((4 * s) as f64, f(s))).to_vec();
    let unit = at(&result, "every n-th number", 4);
    story.chart(
        &Chart::lines("stride", "A step of 64 bytes brings a line for each number")
            .x_label("bytes from one number to the next")
            .y_label("useful GB/s")
            .note("sum of every n-th u32 of 128 MiB, one thread; more is better")
            .log_x()
            .log_y()
            .series("measured", points(&|s| at(&result, "every n-th number", 4 * s)))
            .dashed("if only lines counted", points(&|s| unit / s.min(16) as f64)),
    )?;
    Ok(())
}

fn runs(story: &mut Story, numbers: &[u32]) -> anyhow::Result<()> {
    story.say(
        "Now in runs: n neighbours are read, then comes a jump. Without gaps the runs lie one behind the other; with gaps one run in \
         eight is read; shuffled, all places are as good as random.",
    );
    let mut race = Race::new("run", "Sum of runs of neighbours, 128 MiB, one thread")
        .unit("useful GB/s")
        .rounds(5)
        .baseline("no gaps");
    for run in RUNS {
        let x = Some((4 * run) as f64);
        let places = walk::shuffled_places(
            (numbers.len() / run).min(MOST_SHUFFLED),
            numbers.len() / (numbers.len() / run).min(MOST_SHUFFLED),
        );
        let shuffled = (4 * run * places.len()) as f64 / 1e9;
        race = race
            .entry_with_work("no gaps", x, BYTES as f64 / 1e9, move || {
                black_box(walk::sum_runs(numbers, run, run));
            })
            .entry_with_work("7 of 8 skipped", x, BYTES as f64 / 8e9, move || {
                black_box(walk::sum_runs(numbers, run, 8 * run));
            })
            .entry_with_work("shuffled", x, shuffled, move || {
                black_box(walk::sum_runs_at(numbers, run, &places));
            });
    }
    let result = race.run()?;
    let names = ["no gaps", "7 of 8 skipped", "shuffled"];
    let mut table = Table::new(&["run, bytes", names[0], names[1], names[2]]);
    for run in RUNS {
        let cell = |name| format!("{:.2}", at(&result, name, 4 * run));
        table.row([format!("{}", 4 * run), cell(names[0]), cell(names[1]), cell(names[2])]);
    }
    story.table(&table);
    record(story, &result);
    story.say("Whole lines are not enough: a run of two lines with gaps still asks memory for something unexpected every 128 bytes.");
    let chart = Chart::lines("runs", "What one visit to memory brings decides how fast it is")
        .x_label("bytes read before the next jump")
        .y_label("useful GB/s")
        .note("sum of runs of u32 in 128 MiB, one thread; more is better")
        .log_x()
        .log_y();
    story.chart(
        &names
            .iter()
            .fold(chart, |chart, name| chart.series(name, result.line(name))),
    )?;
    Ok(())
}

/// The bridge to later lessons.
pub(super) fn one_head(story: &mut Story) {
    story.step(
        "A question to take along",
        "Lesson 06 will keep, for each position of a text, 4 groups of 32 f32 (one per head), and read one head through all positions.",
    );
    let walk = |step: usize| {
        let mut cache = Cache::default();
        (0..64)
            .flat_map(|position| (0..32).map(move |i| 4 * (step * position + i)))
            .for_each(|address| cache.read(address));
        cache
    };
    let (together, apart) = (walk(32), walk(128));
    story.predict(Prediction {
        id: "one-head",
        question: "Stored as [position, head, 32]: from one position of a head to its next, how many numbers is the step?",
        options: &[
            Choice { text: "32", answer_to_wrong: Some("That is the length of the run. The other three heads lie in between; stored as [head, position, 32] it would be 32.") },
            Choice { text: "128", answer_to_wrong: None },
            Choice { text: "1", answer_to_wrong: Some("That is the step inside a run of 32.") },
        ],
        answer: 1,
        because: "4 heads x 32 numbers lie between two positions of one head.",
    });
    let mut table = Table::new(&["stored as", "step", "lines for 64 positions", "runs"]);
    table.row([
        "[position, head, 32]".to_string(),
        "128".into(),
        apart.lines_fetched().to_string(),
        apart.runs_fetched().to_string(),
    ]);
    table.row([
        "[head, position, 32]".to_string(),
        "32".into(),
        together.lines_fetched().to_string(),
        together.runs_fetched().to_string(),
    ]);
    story.table(&table);
    story.say(
        "Equal lines, for 32 f32 are two whole ones. Different runs. Which of the two matters, lesson 06 measures.",
    );
}

fn counted_lines(addresses: impl Iterator<Item = usize>) -> u64 {
    let mut cache = Cache::default();
    addresses.for_each(|address| cache.read(address));
    cache.lines_fetched()
}

fn at(result: &RaceResult, name: &str, bytes: usize) -> f64 {
    result
        .entry_at(name, bytes as f64)
        .map_or(f64::NAN, |entry| entry.median)
}

/// Leaves a race in the document whose figures were shown as a table.
fn record(story: &mut Story, result: &RaceResult) {
    story.values(&result.id, result);
}
