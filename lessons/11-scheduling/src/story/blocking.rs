//! Q3: one long request and the short ones behind it. Three ways to block, and what helps against which.

use super::Scene;
use super::world::{self, Way, first_token_ms};
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use scheduling::Class;
use scheduling::policy::{Fcfs, Lane, LengthCap, Policy, ShortestPrompt};
use scheduling::simulate::{Job, Setup};
use std::time::Duration;

/// Short requests: lengths, how many a second, for how many seconds.
const SHORT: ((usize, usize), f64, f64) = ((16, 8), 30.0, 30.0);
/// Long prompts: lengths, how many at once, and how often.
const LONG: ((usize, usize), usize, Duration) = ((900, 100), 2, Duration::from_secs(3));
/// Long answers: lengths, how many at once, and how often. Eight requests run at a time.
const ANSWER: ((usize, usize), usize, Duration) = ((16, 5000), 2, Duration::from_secs(6));
const ANSWER_PLACES: usize = 8;
/// The cap on an answer.
const CAP: usize = 512;

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

/// Short requests all the time, and among them long ones of class 1, some at once.
fn jobs(seed: u64, (lengths, at_once, pause): ((usize, usize), usize, Duration)) -> Vec<Job> {
    let mut jobs = world::stream(seed, 0, SHORT.0, SHORT.1, SHORT.2);
    let end = jobs.last().map_or(Duration::ZERO, |job| job.at);
    let mut at = pause / 2;
    while at + pause < end {
        jobs.extend((0..at_once).map(|_| world::job(at, 1, lengths)));
        at += pause;
    }
    jobs.sort_by_key(|job| job.at);
    jobs
}

fn is_short(job: &Job) -> bool {
    job.meta.class == Class(0)
}

/// What short requests wait for behind long prompts, and behind long answers.
pub fn by_one(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "One long request, and short ones behind it",
        "It blocks in three ways: while its prompt is read in one long step, while it waits for memory at the head of the queue, and while a long answer holds its place.",
    );
    story.predict("blocking");
    let jobs = jobs(scene.seed, LONG);
    let (mut tails, mut rows) = (Vec::new(), Vec::new());
    for (name, is_chunked, policy) in WAYS {
        // Memory for all requests, then for one and a half of the long ones.
        let machine = world::machine(is_chunked);
        let tight = Setup {
            num_blocks: (LONG.0.0 + LONG.0.1).div_ceil(machine.block_size) * 3 / 2,
            ..machine.clone()
        };
        let served = |setup: &Setup| -> anyhow::Result<_> {
            let done = world::run(setup, policy(), &jobs)?;
            let short = [50.0, 99.0].map(|percent| first_token_ms(&done, &jobs, percent, is_short));
            Ok((short, first_token_ms(&done, &jobs, 100.0, |job| !is_short(job))))
        };
        let ((read, long), (waits, longest)) = (served(&machine)?, served(&tight)?);
        let shown = [read[0], read[1], waits[0], waits[1], long.max(longest)].map(|ms| format!("{ms:.0}"));
        rows.push(std::iter::once(name.to_owned()).chain(shown));
        story.values(name, [read[1], waits[1]]);
        tails.push((name, [read[1], waits[1]]));
    }
    story.rows(
        &["short ones, ms", "P50", "P99", "memory short: P50", "P99", "long ones"],
        rows,
    );
    story.say("Times to the first token; of long ones the longest. An order alone can not cut a step that is under way; chunks can not move a request in the queue. Each helps against one of the two.");
    let answers = long_answers(story, scene)?;
    claim(story, &tails, &answers);
    let empty = Chart::bars(
        "blocking",
        "Chunks help while a long prompt is read, an order while it waits",
    )
    .y_label("P99 of short ones until the first token, ms")
    .note("virtual clock; two prompts of 900 every 3 s among short ones");
    let chart = tails.iter().fold(empty, |chart, (name, [read, waits])| {
        chart.group(
            name,
            &[("while it is read", *read), ("while it waits for memory", *waits)],
        )
    });
    story.chart(&chart.less_is_better().baseline("first come (08)"))?;
    Ok(())
}

/// One answer of 5000 tokens holds its place for half a minute: a cap cuts it off, a limit refuses it, a lane lets it
/// have one place. Returns the tail of the short ones, by remedy.
fn long_answers(story: &mut Story, scene: &Scene) -> anyhow::Result<Vec<(&'static str, f64)>> {
    let all = jobs(scene.seed, ANSWER);
    let machine = Setup::new(ANSWER_PLACES, 8192).with_budget(world::BUDGET.0, world::BUDGET.1);
    let asked: usize = all.iter().filter(|job| !is_short(job)).map(|job| job.new_tokens).sum();
    let cut = |job: &Job| Job {
        new_tokens: job.new_tokens.min(CAP),
        ..*job
    };
    let ways: [(&str, Vec<Job>, Box<dyn Policy>); 4] = [
        ("first come, chunks", all.clone(), Box::new(Fcfs)),
        ("answers cut at 512", all.iter().map(cut).collect(), Box::new(Fcfs)),
        (
            "over 512 refused",
            all.iter().filter(|job| job.new_tokens <= CAP).copied().collect(),
            Box::new(Fcfs),
        ),
        (
            "a lane of 2 places",
            all,
            Box::new(Lane {
                from: Class(1),
                places: 2,
            }),
        ),
    ];
    let (mut tails, mut rows) = (Vec::new(), Vec::new());
    for (name, jobs, policy) in ways {
        let done = world::run(&machine, policy, &jobs)?;
        let short = [50.0, 99.0].map(|percent| first_token_ms(&done, &jobs, percent, is_short));
        let long = || {
            done.outcomes
                .iter()
                .zip(&jobs)
                .filter(|(_, job)| !is_short(job))
                .map(|(outcome, _)| outcome)
        };
        let given = 100.0 * long().map(|outcome| outcome.tokens).sum::<usize>() as f64 / asked as f64;
        let last = long()
            .filter_map(|outcome| outcome.latency())
            .max()
            .unwrap_or_default()
            .as_secs_f64();
        story.values(name, [short[0], short[1], given, last]);
        let shown = [
            format!("{:.0}", short[0]),
            format!("{:.0}", short[1]),
            format!("{given:.0}"),
            format!("{last:.0}"),
        ];
        rows.push(std::iter::once(name.to_owned()).chain(shown));
        tails.push((name, short[1]));
    }
    story.say(format!(
        "The third way: answers of {} tokens, two every {} s, on a machine with {ANSWER_PLACES} places.",
        ANSWER.0.1,
        ANSWER.2.as_secs()
    ));
    story.rows(
        &["short ones, ms", "P50", "P99", "% of long answers", "slowest, s"],
        rows,
    );
    story.say("A cap truncates the answer, a limit refuses it, a lane delivers all of it and lets it wait. Chunks do nothing: the answer is long, not its prompt.");
    Ok(tails)
}

fn claim(story: &mut Story, tails: &[(&str, [f64; 2])], answers: &[(&str, f64)]) {
    // Half of the tail or less counts as mended.
    let mends = |tail: f64, before: f64| before >= 2.0 * tail;
    let of_kind = |kind: usize| tails.iter().map(|(_, tail)| tail[kind]).collect::<Vec<_>>();
    let kinds = [of_kind(0), of_kind(1), answers.iter().map(|(_, tail)| *tail).collect()];
    let one_helps = kinds
        .iter()
        .all(|kind| kind[1..].iter().any(|tail| mends(*tail, kind[0])));
    let all_help = kinds[..2]
        .iter()
        .all(|kind| kind[1..4].iter().all(|tail| mends(*tail, kind[0])));
    let list = |names: Vec<&str>, kind: &[f64]| {
        let one = |(name, tail): (&str, &f64)| format!("{name} {tail:.0}");
        names.into_iter().zip(kind).map(one).collect::<Vec<_>>().join(", ")
    };
    let names = || tails.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let note = format!(
        "P99 of the first token of short ones in ms, while a long prompt is read: {}. While it waits for memory: {}. While a long answer holds its place: {}. \
         Each remedy helps against one or two of the three, none against all.",
        list(names(), &kinds[0]),
        list(names(), &kinds[1]),
        list(answers.iter().map(|(name, _)| *name).collect(), &kinds[2])
    );
    story.claim(Claim {
        id: "Q3",
        claimed: "One long request blocks short ones under plain FCFS; a length cap, a priority for short ones or chunking fixes it",
        value: (0..2).map(|kind| kinds[kind][0] / kinds[kind][4]).fold(f64::INFINITY, f64::min),
        unit: "times shorter at P99 with cap and chunks",
        verdict: Verdict::of(all_help, one_helps),
        note: &note,
    });
}
