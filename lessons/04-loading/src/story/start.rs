//! Step 3: the four stages and the first token, f32 against bf16, mapped against eager, cold against warm.

use super::big_folder;
use anyhow::Context;
use lab::args::CommonArgs;
use lab::chart::Chart;
use lab::race::{Quartiles, Race, RaceResult, quartiles};
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use layout::pool::Pool;
use loading::stages::{Plan, Stages, load_and_compute};
use loading::{Access, Dtype, page_cache};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One bar of the chart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    dtype: Dtype,
    plan: &'static str,
    /// Sorts cold before warm, as the race runs them.
    is_warm: bool,
}

impl Case {
    fn name(self) -> String {
        let state = if self.is_warm { "warm" } else { "cold" };
        format!("{} {} {state}", self.dtype.name().to_lowercase(), self.plan)
    }

    fn plan(self) -> Plan {
        match self.plan {
            "eager" => Plan::Eager,
            "mapped" => Plan::Mapped,
            _ => Plan::Packed,
        }
    }
}

/// Writes the big model if need be; returns its folder.
pub fn ensure_big(story: &Story, source: &str, dtype: Dtype) -> anyhow::Result<PathBuf> {
    let folder = big_folder(source, dtype);
    if is_whole(&folder, dtype) {
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

fn is_whole(folder: &Path, dtype: Dtype) -> bool {
    let opened = loading::folder::open_weights(folder, Access::Mapped);
    opened.is_ok_and(|(config, _)| config.dtype == dtype)
}

/// Tells the step.
pub fn stages(story: &mut Story, args: &CommonArgs, source: &str) -> anyhow::Result<()> {
    story.step(
        "Four stages, then the first token",
        "Read the config, make room, copy the weights, move them to where they are computed with. Mapping replaces the copy by a \
         promise: a page is read when it is touched.",
    );
    let folders = [Dtype::F32, Dtype::BF16].map(|dtype| ensure_big(story, source, dtype));
    let [f32_folder, bf16_folder] = folders;
    let folders = BTreeMap::from([(Dtype::F32, f32_folder?), (Dtype::BF16, bf16_folder?)]);
    let file = |dtype: Dtype| folders[&dtype].join(loading::checkpoint::SINGLE_FILE);
    let bytes = std::fs::metadata(file(Dtype::F32))?.len();
    story.say(format!(
        "The trained model of this workbook is too small to time, so this is a file of {} written from `{source}` into {}: the same \
         values once in f32 and once in bf16.",
        lab::number::bytes(bytes),
        lab::paths::shown(&folders[&Dtype::F32])
    ));
    let guess = Prediction {
        id: "mapped",
        question: "Mapping the file takes microseconds, reading it half a second. Cold, and with the first token included: how \
                   much sooner does the mapped model answer?",
        options: &[
            Choice {
                text: "Thousands of times: mapped pages need no reading",
                answer_to_wrong: Some(
                    "A mapping is an address range. The bytes still come from the disk, page by page, when they are touched.",
                ),
            },
            Choice {
                text: "Less than twice: the reading moves into the first token",
                answer_to_wrong: None,
            },
            Choice {
                text: "Later: pages one by one are many times slower than one long read",
                answer_to_wrong: Some(
                    "The system reads ahead when pages are touched in order, and a mapping saves the copy out of its cache.",
                ),
            },
        ],
        answer: 1,
        because: "Mapping moves the cost to the first touch. Somebody has to read every weight once.",
    };
    let answer = story.ask_old(&guess);
    let cold = can_be_cold(&file(Dtype::F32));
    story.show_as(
        "cold",
        cold.is_ok(),
        match &cold {
            Ok(left) => format!(
                "fsync, posix_fadvise(DONTNEED) on the file; {:.0} % of its pages stay",
                left * 100.0
            ),
            Err(reason) => format!("not possible here: {reason}"),
        },
    );
    let (result, samples) = run_race(story, args, &folders, cold.is_ok())?;
    story.reveal_old(&guess, answer);
    chart(story, &samples, source, bytes)?;
    let bf16_bytes = std::fs::metadata(file(Dtype::BF16))?.len();
    claim(story, &samples, &result, bytes as f64 / bf16_bytes as f64)
}

/// Whether pages can be dropped, and the share that stays.
fn can_be_cold(path: &Path) -> Result<f64, String> {
    page_cache::drop_pages(path).map_err(|error| error.to_string())?;
    let left = page_cache::resident_share(path).map_err(|error| error.to_string())?;
    if left > 0.1 {
        return Err(format!("{:.0} % of the pages stay", left * 100.0));
    }
    Ok(left)
}

type Samples = BTreeMap<Case, Vec<Stages>>;

/// Every case round after round. What an entry prepares (dropping pages or reading them in) is outside its time.
fn run_race(
    story: &mut Story,
    args: &CommonArgs,
    folders: &BTreeMap<Dtype, PathBuf>,
    cold: bool,
) -> anyhow::Result<(RaceResult, Samples)> {
    let pool = Pool::new(args.threads());
    let samples: RefCell<Samples> = RefCell::default();
    // As many rounds as fit a minute: a slow disk gets fewer.
    let file = folders[&Dtype::F32].join(loading::checkpoint::SINGLE_FILE);
    let start = Instant::now();
    page_cache::warm(&file)?;
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
    for dtype in [Dtype::F32, Dtype::BF16] {
        for is_warm in [false, true] {
            for plan in ["eager", "mapped", "packed"] {
                if !is_warm && !cold {
                    continue;
                }
                let case = Case { dtype, plan, is_warm };
                let (folder, pool, samples) = (&folders[&dtype], &pool, &samples);
                race = race.entry_timed(&case.name(), None, move || run_case(case, folder, pool, samples));
            }
        }
    }
    let result = story.race(race)?;
    let mut samples = samples.into_inner();
    for stages in samples.values_mut() {
        // The first call of each is the warm-up.
        stages.remove(0);
    }
    Ok((result, samples))
}

fn run_case(case: Case, folder: &Path, pool: &Pool, samples: &RefCell<Samples>) -> (f64, Duration) {
    let file = folder.join(loading::checkpoint::SINGLE_FILE);
    let prepared = match case.is_warm {
        false => page_cache::drop_pages(&file),
        true => page_cache::warm(&file).map(drop),
    };
    let loaded = load_and_compute(folder, case.plan(), pool);
    let (Ok(()), Ok((sum, stages))) = (prepared, loaded) else {
        // Both worked a moment ago; a file that vanished since then fails the check of the race.
        return (f64::NAN, Duration::ZERO);
    };
    samples.borrow_mut().entry(case).or_default().push(stages);
    (sum, stages.total())
}

/// Median of one stage over the rounds, in milliseconds.
fn median_ms(stages: &[Stages], stage: impl Fn(&Stages) -> Duration) -> f64 {
    let ms: Vec<f64> = stages.iter().map(|s| stage(s).as_secs_f64() * 1e3).collect();
    let Quartiles { median, .. } = quartiles(&ms);
    median
}

fn chart(story: &mut Story, samples: &Samples, source: &str, bytes: u64) -> anyhow::Result<()> {
    let mut chart = Chart::bars("stages", "From the file to the first token, by stage")
        .y_label("ms, less is better")
        .note(&format!(
            "{source}: {} in f32, half of it in bf16",
            lab::number::bytes(bytes)
        ));
    let mut table = Table::new(&[
        "ms",
        "config",
        "room",
        "copy",
        "device",
        "first token",
        "total",
        "next token",
    ]);
    let mut recorded = BTreeMap::new();
    for (case, stages) in samples {
        let names = Stages::default().named().map(|(name, _)| name);
        let ms: Vec<f64> = (0..5).map(|at| median_ms(stages, |s| s.named()[at].1)).collect();
        let parts: Vec<(&str, f64)> = names.into_iter().zip(ms.iter().copied()).collect();
        chart = chart.stack(&case.name(), &parts);
        let next = median_ms(stages, |s| s.next_token);
        let total = median_ms(stages, Stages::total);
        let mut row = vec![case.name()];
        row.extend(ms.iter().map(|ms| format!("{ms:.1}")));
        row.push(format!("{total:.0}"));
        row.push(format!("{next:.1}"));
        table.row(row);
        let parts: BTreeMap<&str, f64> = parts.into_iter().collect();
        recorded.insert(case.name(), parts);
    }
    story.table(&table);
    story.values("stages_ms", recorded);
    story.say(
        "eager = read into buffers; mapped = computed straight from the mapping; packed = mapped, then moved into lesson 02's panels, as lesson 05 does. \
         The first token is stood in for by one product with every matrix, the next one by the same again.",
    );
    story.chart(&chart)?;
    Ok(())
}

fn claim(story: &mut Story, samples: &Samples, result: &RaceResult, file_ratio: f64) -> anyhow::Result<()> {
    let load = |dtype, plan, is_warm| -> Option<f64> {
        let stages = samples.get(&Case { dtype, plan, is_warm })?;
        Some(median_ms(stages, Stages::load))
    };
    let is_warm = load(Dtype::F32, "eager", false).is_none();
    let ratio = |plan| -> Option<f64> { Some(load(Dtype::F32, plan, is_warm)? / load(Dtype::BF16, plan, is_warm)?) };
    let eager = ratio("eager").context("the race has the eager cases")?;
    let packed = ratio("packed").context("the race has the packed cases")?;
    let state = if is_warm { "warm" } else { "cold" };
    story.show_as("f32 / bf16, bytes of file", file_ratio, format!("{file_ratio:.2}"));
    story.show_as(
        "f32 / bf16, four stages",
        eager,
        format!("{eager:.2} eager {state}, {packed:.2} packed {state}"),
    );
    let until_token = result.ratio(&format!("f32 mapped {state}"), &format!("f32 eager {state}"));
    story.show_as(
        "eager / mapped, with token",
        until_token,
        format!("{until_token:.2} times, f32 {state}"),
    );
    let slowest: Vec<String> = ["eager", "mapped", "packed"]
        .into_iter()
        .filter_map(|plan| {
            let stages = samples.get(&Case {
                dtype: Dtype::F32,
                plan,
                is_warm,
            })?;
            let (name, _) = (0..5)
                .map(|at| (Stages::default().named()[at].0, median_ms(stages, |s| s.named()[at].1)))
                .max_by(|a, b| a.1.total_cmp(&b.1))?;
            Some(format!(
                "{plan}: {}",
                name.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
            ))
        })
        .collect();
    let note = format!(
        "eager, {state}, four stages; what takes most of the way to the first token, f32 {state}: {}",
        slowest.join(", ")
    );
    story.claim(Claim {
        id: "M1",
        claimed: "loading is four stages, each can be the bottleneck; half the bytes take about half the time",
        value: eager,
        unit: "times (f32 / bf16)",
        verdict: match eager {
            1.6..=2.5 => Verdict::Holds,
            ratio if ratio > 1.2 => Verdict::Partly,
            _ => Verdict::NotHere,
        },
        note: &note,
    });
    Ok(())
}
