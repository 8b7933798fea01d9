//! Step 3: the four stages and the first token, f32 against bf16, mapped against eager, cold against warm.

use super::big_folder;
use anyhow::Context;
use lab::args::CommonArgs;
use lab::chart::Chart;
use lab::number;
use lab::race::{Race, RaceResult, median};
use lab::story::{Answer, Claim, Story, Verdict};
use layout::pool::Pool;
use loading::checkpoint::SINGLE_FILE;
use loading::stages::{Plan, Stages, load_and_compute};
use loading::{Access, Dtype, page_cache};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PLANS: [(&str, Plan); 3] = [
    ("eager", Plan::Eager),
    ("mapped", Plan::Mapped),
    ("packed", Plan::Packed),
];

/// One bar of the chart. The order of the fields is that of the race: cold before warm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    dtype: Dtype,
    /// Index into [`PLANS`].
    plan: usize,
    is_warm: bool,
}

impl Case {
    fn name(self) -> String {
        let state = if self.is_warm { "warm" } else { "cold" };
        format!("{} {} {state}", self.dtype.name().to_lowercase(), PLANS[self.plan].0)
    }
}

/// Times of every case, round by round.
type Samples = BTreeMap<Case, Vec<Stages>>;

/// Writes the big model if it is not there yet. Returns its folder.
fn ensure_big(story: &Story, source: &str, dtype: Dtype) -> anyhow::Result<PathBuf> {
    let folder = big_folder(source, dtype);
    let opened = loading::folder::open_weights(&folder, Access::Mapped);
    if opened.is_ok_and(|(config, _)| config.dtype == dtype) {
        return Ok(folder);
    }
    let model = loading::open(source)?;
    let label = format!("writing {} as {dtype}", model.name);
    let bar = story.progress(model.weights.names().len() as u64, &label);
    loading::convert::convert(&model, &folder, Some(dtype), &mut |done, _| {
        bar.set_position(done as u64)
    })?;
    bar.finish_and_clear();
    Ok(folder)
}

/// Tells the step.
pub fn stages(story: &mut Story, args: &CommonArgs, source: &str) -> anyhow::Result<()> {
    story.step(
        "Four stages, then the first token",
        "Read the config, make room, copy the weights, move them to where they are computed with. Mapping replaces the copy by a \
         promise: a page is read when it is touched.",
    );
    let mut folders = BTreeMap::new();
    for dtype in [Dtype::F32, Dtype::BF16] {
        folders.insert(dtype, ensure_big(story, source, dtype)?);
    }
    let bytes_of = |dtype| Ok::<_, std::io::Error>(std::fs::metadata(folders[&dtype].join(SINGLE_FILE))?.len());
    let (bytes, bf16_bytes) = (bytes_of(Dtype::F32)?, bytes_of(Dtype::BF16)?);
    story.say(format!(
        "The trained model of this workbook is too small to time, so this is a file of {} written from `{source}` into {}: the same \
         values once in f32 and once in bf16.",
        number::bytes(bytes),
        lab::paths::shown(&folders[&Dtype::F32])
    ));
    let asked = story.ask("mapped", &[]);
    let cold = can_be_cold(&folders[&Dtype::F32].join(SINGLE_FILE));
    let shown = match &cold {
        Ok(left) => format!(
            "fsync, posix_fadvise(DONTNEED) on the file; {:.0} % of its pages stay",
            left * 100.0
        ),
        Err(reason) => format!("not possible here: {reason}"),
    };
    story.show_as("cold", cold.is_ok(), shown);
    let (result, samples) = run_race(story, args, &folders, cold.is_ok())?;
    story.reveal(asked, Answer::Stated, &[]);
    chart(story, &samples, source, bytes)?;
    claim(story, &samples, &result, bytes as f64 / bf16_bytes as f64)
}

/// The share of the file's pages that stay after they were dropped, or why they can not be dropped.
fn can_be_cold(path: &Path) -> Result<f64, String> {
    page_cache::drop_pages(path).map_err(|error| error.to_string())?;
    let left = page_cache::resident_share(path).map_err(|error| error.to_string())?;
    match left {
        0.0..=0.1 => Ok(left),
        _ => Err(format!("{:.0} % of the pages stay", left * 100.0)),
    }
}

/// Runs every case round after round. The preparation of a case (dropping pages or reading them) is outside its time.
fn run_race(
    story: &mut Story,
    args: &CommonArgs,
    folders: &BTreeMap<Dtype, PathBuf>,
    cold: bool,
) -> anyhow::Result<(RaceResult, Samples)> {
    let pool = Pool::new(args.threads());
    let samples: RefCell<Samples> = RefCell::default();
    // The number of rounds follows from the speed of the disk, so that the race fits a minute.
    let start = Instant::now();
    page_cache::warm(&folders[&Dtype::F32].join(SINGLE_FILE))?;
    let rounds = match start.elapsed().as_secs_f64() {
        ..0.4 => 5,
        0.4..1.5 => 3,
        _ => 1,
    };
    let mut race = Race::new("load", "From the file to the first token")
        .rounds(rounds)
        .baseline(if cold { "f32 eager cold" } else { "f32 eager warm" })
        .check(|a: &f64, b: &f64| match (a / b - 1.0).abs() < 1e-3 {
            true => Ok(()),
            false => Err(format!("sum of squares {a} and {b}")),
        });
    let states: &[bool] = if cold { &[false, true] } else { &[true] };
    for dtype in [Dtype::F32, Dtype::BF16] {
        for &is_warm in states {
            for plan in 0..PLANS.len() {
                let case = Case { dtype, plan, is_warm };
                let (folder, pool, samples) = (&folders[&dtype], &pool, &samples);
                race = race.entry_timed(&case.name(), None, move || run_case(case, folder, pool, samples));
            }
        }
    }
    let result = story.race(race)?;
    let mut samples = samples.into_inner();
    for stages in samples.values_mut() {
        // The first call of each case is the warm-up.
        stages.remove(0);
    }
    Ok((result, samples))
}

fn run_case(case: Case, folder: &Path, pool: &Pool, samples: &RefCell<Samples>) -> (f64, Duration) {
    let file = folder.join(SINGLE_FILE);
    let prepared = match case.is_warm {
        false => page_cache::drop_pages(&file),
        true => page_cache::warm(&file).map(drop),
    };
    let loaded = load_and_compute(folder, PLANS[case.plan].1, pool);
    let (Ok(()), Ok((sum, stages))) = (prepared, loaded) else {
        // Both worked a moment ago. If the file has vanished since, NaN fails the check of the race.
        return (f64::NAN, Duration::ZERO);
    };
    samples.borrow_mut().entry(case).or_default().push(stages);
    (sum, stages.total())
}

/// Median of a time over the rounds, in milliseconds.
fn median_ms(stages: &[Stages], time: impl Fn(&Stages) -> Duration) -> f64 {
    median(&stages.iter().map(|s| time(s).as_secs_f64() * 1e3).collect::<Vec<_>>())
}

/// Median of each stage up to the first token, in milliseconds.
fn parts(stages: &[Stages]) -> Vec<(&'static str, f64)> {
    let names = Stages::default().named().map(|(name, _)| name);
    let ms = |at: usize| median_ms(stages, |s| s.named()[at].1);
    names.into_iter().enumerate().map(|(at, name)| (name, ms(at))).collect()
}

fn chart(story: &mut Story, samples: &Samples, source: &str, bytes: u64) -> anyhow::Result<()> {
    let note = format!("{source}: {} in f32, half of it in bf16", number::bytes(bytes));
    let mut chart = Chart::bars("stages", "From the file to the first token, by stage")
        .y_label("ms, less is better")
        .note(&note);
    let (mut rows, mut recorded) = (Vec::new(), BTreeMap::new());
    for (case, stages) in samples {
        let parts = parts(stages);
        chart = chart.stack(&case.name(), &parts);
        let mut row = vec![case.name()];
        row.extend(parts.iter().map(|(_, ms)| format!("{ms:.1}")));
        row.push(format!("{:.0}", median_ms(stages, Stages::total)));
        row.push(format!("{:.1}", median_ms(stages, |s| s.next_token)));
        rows.push(row);
        recorded.insert(case.name(), parts.into_iter().collect::<BTreeMap<_, _>>());
    }
    story.rows(
        &[
            "ms",
            "config",
            "room",
            "copy",
            "device",
            "first token",
            "total",
            "next token",
        ],
        rows,
    );
    story.values("stages_ms", recorded);
    story.say(
        "eager = read into buffers; mapped = computed straight from the mapping; packed = mapped, then moved into lesson 02's \
         panels. One product with every matrix stands for the first token, the same again for the next one.",
    );
    story.chart(&chart)?;
    Ok(())
}

fn claim(story: &mut Story, samples: &Samples, result: &RaceResult, file_ratio: f64) -> anyhow::Result<()> {
    let is_warm = !samples.keys().any(|case| !case.is_warm);
    let stages = |dtype, plan| {
        samples
            .get(&Case { dtype, plan, is_warm })
            .context("a case of the race")
    };
    let ratio = |plan| {
        let load = |dtype| Ok::<_, anyhow::Error>(median_ms(stages(dtype, plan)?, Stages::load));
        Ok::<_, anyhow::Error>(load(Dtype::F32)? / load(Dtype::BF16)?)
    };
    let (eager, packed) = (ratio(0)?, ratio(2)?);
    let state = if is_warm { "warm" } else { "cold" };
    story.show_as("f32 / bf16, bytes of file", file_ratio, format!("{file_ratio:.2}"));
    let shown = format!("{eager:.2} eager {state}, {packed:.2} packed {state}");
    story.show_as("f32 / bf16, four stages", eager, shown);
    let until_token = result.ratio(&format!("f32 mapped {state}"), &format!("f32 eager {state}"));
    let shown = format!("{until_token:.2} times, f32 {state}");
    story.show_as("eager / mapped, with token", until_token, shown);
    let mut slowest = Vec::new();
    for (plan, (name, _)) in PLANS.iter().enumerate() {
        let parts = parts(stages(Dtype::F32, plan)?);
        let longest = parts
            .into_iter()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map_or("", |(stage, _)| stage);
        let stage = longest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        slowest.push(format!("{name}: {stage}"));
    }
    let note = format!(
        "eager, {state}, four stages; the longest part of the way to the first token, f32 {state}: {}",
        slowest.join(", ")
    );
    let claim = Claim {
        id: "M1",
        claimed: "loading is four stages, each can be the bottleneck; half the bytes take about half the time",
        value: eager,
        unit: "times (f32 / bf16)",
        verdict: Verdict::of((1.6..=2.5).contains(&eager), eager > 1.2),
        note: &note,
    };
    let both = result.disturbance(&format!("f32 eager {state}"), &format!("bf16 eager {state}"));
    story.claim_if_quiet(claim, [both]);
    Ok(())
}
