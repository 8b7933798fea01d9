//! Q3: one long request and the short ones behind it. Two ways to block, and what helps against which.

use super::Scene;
use super::world::{self, in_ms, percentile_ms};
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use scheduling::policy::{Fcfs, LengthCap, Policy, ShortestPrompt};
use scheduling::simulate::{Job, Setup};
use scheduling::{Class, Meta, TenantId};
use static_batching::workload::{Lengths, Pace, arrivals};
use std::time::Duration;

/// Short requests: prompt and answer, how many, and how many a second.
const SHORT: (usize, usize, usize, f64) = (16, 8, 900, 30.0);
/// Long ones: prompt and answer, how many at once, and how often.
const LONG: (usize, usize, usize, Duration) = (900, 100, 2, Duration::from_millis(3000));

/// A contender: its name, whether prompts are cut, and its order.
type Way = (&'static str, bool, fn() -> Box<dyn Policy>);

fn cap() -> Box<dyn Policy> {
    Box::new(LengthCap {
        prompt_tokens: 256,
        patience: Duration::from_secs(2),
        inner: Fcfs,
    })
}

const WAYS: [Way; 5] = [
    ("first come (08)", false, || Box::new(Fcfs)),
    ("length cap", false, cap),
    ("short ones first", false, || Box::new(ShortestPrompt)),
    ("chunks", true, || Box::new(Fcfs)),
    ("cap and chunks", true, cap),
];

/// Short ones all the time, long ones two by two.
fn jobs(seed: u64) -> Vec<Job> {
    let job = |at, prompt_tokens, new_tokens| Job {
        at,
        meta: Meta {
            tenant: TenantId(0),
            class: Class(0),
            ..Meta::default()
        },
        prompt_tokens,
        new_tokens,
    };
    let pace = Pace::Poisson { per_second: SHORT.3 };
    let lengths = Lengths::equal(SHORT.0, SHORT.1);
    let short = arrivals(seed, SHORT.2, &lengths, &pace);
    let mut jobs: Vec<Job> = (short.iter())
        .map(|arrival| job(arrival.at, SHORT.0, SHORT.1))
        .collect();
    let end = jobs.last().map_or(Duration::ZERO, |job| job.at);
    let mut at = LONG.3 / 2;
    while at + LONG.3 < end {
        jobs.extend((0..LONG.2).map(|_| job(at, LONG.0, LONG.1)));
        at += LONG.3;
    }
    jobs.sort_by_key(|job| job.at);
    jobs
}

/// The machine: with memory for all requests or, where it is tight, for one and a half of the long ones.
fn machine(chunked: bool, is_tight: bool) -> Setup {
    let mut setup = if chunked { world::chunked() } else { world::whole() };
    if is_tight {
        setup.num_blocks = (LONG.0 + LONG.1).div_ceil(setup.block_size) * 3 / 2;
    }
    setup
}

/// What short requests wait for, by policy.
pub fn by_one(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "One long request, and short ones behind it",
        "It blocks in two ways: while its prompt is read in one long step, and while it waits for memory at the head of the queue.",
    );
    story.predict("blocking");
    let jobs = jobs(scene.seed);
    let mut table = Table::new(&["short ones, ms", "P50", "P99", "memory short: P50", "P99", "long ones"]);
    let mut tails = Vec::new();
    for (name, is_chunked, policy) in WAYS {
        let mut row = vec![name.to_owned()];
        let mut pair = [0.0; 2];
        let mut long = 0.0f64;
        for (index, is_tight) in [false, true].into_iter().enumerate() {
            let done = world::run(&machine(is_chunked, is_tight), policy(), &jobs)?;
            let short = world::first_tokens(&done, &jobs, |job| job.prompt_tokens == SHORT.0);
            let p99 = percentile_ms(&short, 99.0);
            row.extend([format!("{:.0}", percentile_ms(&short, 50.0)), format!("{p99:.0}")]);
            pair[index] = p99;
            let longest = world::first_tokens(&done, &jobs, |job| job.prompt_tokens == LONG.0);
            long = long.max(longest.into_iter().map(in_ms).fold(0.0, f64::max));
        }
        row.push(format!("{long:.0}"));
        table.row(row);
        story.values(name, pair);
        tails.push((name, pair));
    }
    story.table(&table);
    story.say("Times to the first token; of long ones the longest. An order alone can not cut a step that is under way; chunks can not move anybody in the queue. Each helps against one of the two.");
    claim(story, &tails);
    let chart = tails.iter().fold(
        Chart::bars("blocking", "P99 of short ones, until the first token")
            .y_label("ms")
            .note("virtual clock; two prompts of 900 every 3 s among short ones"),
        |chart, (name, [read, waits])| {
            chart.group(
                name,
                &[("while it is read", *read), ("while it waits for memory", *waits)],
            )
        },
    );
    story.chart(&chart.less_is_better().baseline("first come (08)"))?;
    Ok(())
}

fn claim(story: &mut Story, tails: &[(&str, [f64; 2])]) {
    let first_come = tails[0].1;
    // Half of the tail or less counts as mended.
    let mends = |tail: &[f64; 2], kind: usize| first_come[kind] >= 2.0 * tail[kind];
    let alone = &tails[1..4];
    let all = alone.iter().all(|(_, tail)| mends(tail, 0) && mends(tail, 1));
    let each_kind = [0, 1].map(|kind| tails[1..].iter().any(|(_, tail)| mends(tail, kind)));
    let verdict = match (all, each_kind) {
        (true, _) => Verdict::Holds,
        (_, [true, true]) => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let list = |kind: usize| {
        let names: Vec<String> = (tails.iter())
            .map(|(name, tail)| format!("{name} {:.0}", tail[kind]))
            .collect();
        names.join(", ")
    };
    let note = format!(
        "P99 of the first token of short ones in ms, while a long prompt is read: {}. While it waits for memory: {}.",
        list(0),
        list(1)
    );
    let both = tails[4].1;
    story.claim(Claim {
        id: "Q3",
        claimed: "One long request blocks short ones under plain FCFS; a length cap, a priority for short ones or chunking fixes it",
        value: (first_come[0] / both[0]).min(first_come[1] / both[1]),
        unit: "times shorter at P99 with cap and chunks",
        verdict,
        note: &note,
    });
}
