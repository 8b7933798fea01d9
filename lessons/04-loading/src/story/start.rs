//! Step 3: the four stages and the first token, by type, plan and page cache; and a setting for each stage in which it
//! takes the longest.

use super::big_folder;
use lab::args::CommonArgs;
use lab::chart::Chart;
use lab::number;
use lab::race::{Disturbance, Race, RaceResult};
use lab::story::{Answer, Claim, Story, Verdict};
use layout::pool::Pool;
use loading::checkpoint::SINGLE_FILE;
use loading::config::{CONFIG_FILE, GENERATION_FILE};
use loading::random::RandomWeights;
use loading::stages::{Plan, Stages, load_and_compute};
use loading::{Access, Dtype, ModelFolder, page_cache};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PLANS: [(&str, Plan); 5] = [
    ("eager", Plan::Eager),
    ("mapped", Plan::Mapped),
    ("packed", Plan::Packed),
    ("drawn", Plan::Drawn),
    ("widened", Plan::Widened),
];

/// The files of the step: the big model in two types, and a small one.
const FILES: [&str; 3] = ["f32", "bf16", "small"];
const SMALL: usize = 2;

/// Index into [`FILES`], whether the file is in the page cache, and index into [`PLANS`]: the order of the race.
type Case = (usize, bool, usize);

/// Medians of every case.
type Medians = BTreeMap<Case, Stages>;

fn name((file, is_warm, plan): Case) -> String {
    let state = if is_warm { "warm" } else { "cold" };
    format!("{} {} {state}", FILES[file], PLANS[plan].0)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Writes a model if its folder is not there yet.
fn ensure(story: &Story, folder: &Path, dtype: Dtype, model: &ModelFolder) -> anyhow::Result<()> {
    let opened = loading::folder::open_weights(folder, Access::Mapped);
    if opened.is_ok_and(|(config, _)| config.dtype == dtype) {
        return Ok(());
    }
    let label = format!("writing {} as {dtype}", model.name);
    let bar = story.progress(model.weights.names().len() as u64, &label);
    loading::convert::convert(model, folder, Some(dtype), &mut |done, _| bar.set_position(done as u64))?;
    bar.finish_and_clear();
    Ok(())
}

/// A model with fewer bytes of weights than of config and header.
fn small_model() -> anyhow::Result<ModelFolder> {
    let mut model = loading::open("random:15m")?;
    let config = &mut model.config.llama;
    (config.vocab_size, config.hidden_size, config.intermediate_size) = (32, 8, 16);
    (
        config.num_layers,
        config.num_heads,
        config.num_kv_heads,
        config.head_dim,
    ) = (1, 2, 2, 4);
    model.weights = Box::new(RandomWeights::new(config.clone(), 0));
    Ok(model)
}

/// Tells the step.
pub fn stages(story: &mut Story, args: &CommonArgs, source: &str) -> anyhow::Result<()> {
    story.step(
        "Four stages, then the first token",
        "Read the config, make room, copy the weights, move them to where they are computed with. A mapped file has no copy: the system \
         reads a page when the page is first touched.",
    );
    let folders = [
        (source, Dtype::F32),
        (source, Dtype::BF16),
        ("random:small", Dtype::F32),
    ]
    .map(|(source, dtype)| big_folder(source, dtype));
    let big = loading::open(source)?;
    ensure(story, &folders[0], Dtype::F32, &big)?;
    ensure(story, &folders[1], Dtype::BF16, &big)?;
    ensure(story, &folders[SMALL], Dtype::F32, &small_model()?)?;
    let files = folders.each_ref().map(|folder| folder.join(SINGLE_FILE));
    let [f32_bytes, bf16_bytes, small_bytes] = files
        .each_ref()
        .map(|file| std::fs::metadata(file).map_or(0, |m| m.len()));
    story.say(format!(
        "The trained model of this workbook is too small to time. This is a file of {} written from `{source}` into {}, the same \
         values once in f32 and once in bf16.",
        number::bytes(f32_bytes),
        lab::paths::shown(&folders[0])
    ));
    let asked = story.ask("mapped", &[]);
    let cold = can_be_cold(&files[0]);
    let shown = match &cold {
        Ok(left) => format!(
            "fsync, posix_fadvise(DONTNEED) on the files; {:.0} % of the pages stay",
            left * 100.0
        ),
        Err(reason) => format!("not possible here: {reason}"),
    };
    story.show_as("cold", cold.is_ok(), shown);
    let track = Track {
        folders: &folders,
        pool: Pool::new(args.threads()),
        rounds: rounds(&files[0])?,
        is_warm: cold.is_err(),
    };
    let mut cases = Vec::new();
    for (file, is_warm, plan) in (0..12).map(|i| (i / 6, i / 3 % 2 == 1, i % 3)) {
        if is_warm || cold.is_ok() {
            cases.push((file, is_warm, plan));
        }
    }
    let (result, medians) = track.race(story, "load", "From the file to the first token", &cases)?;
    story.reveal(asked, Answer::Stated, &[]);
    table(story, &medians, "stages_ms");
    story.say(
        "eager = read into buffers; mapped = computed straight from the mapping; packed = mapped, then moved into lesson 02's \
         panels. One product with every matrix stands for the first token, the same again for the next one.",
    );
    let note = format!("{source}: {} in f32, half of it in bf16", number::bytes(f32_bytes));
    let mut chart = Chart::bars("stages", "A mapped file is read by the first token")
        .y_label("ms, less is better")
        .note(&note);
    for (case, stages) in &medians {
        chart = chart.stack(&name(*case), &stages.named().map(|(stage, time)| (stage, ms(time))));
    }
    story.chart(&chart)?;
    halving(
        story,
        &medians,
        &result,
        track.is_warm,
        f32_bytes as f64 / bf16_bytes as f64,
    );
    first_tokens(story, &medians, track.is_warm, bf16_bytes);
    bottlenecks(story, &track, small_bytes)
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

/// The number of rounds follows from the speed of the disk, so that the race fits a minute.
fn rounds(path: &Path) -> std::io::Result<usize> {
    let start = Instant::now();
    page_cache::warm(path)?;
    Ok(match start.elapsed().as_secs_f64() {
        ..0.4 => 5,
        0.4..1.5 => 3,
        _ => 1,
    })
}

/// What the two races of the step share.
struct Track<'a> {
    folders: &'a [PathBuf; 3],
    pool: Pool,
    rounds: usize,
    /// Whether this system can not drop pages, so that no case is cold.
    is_warm: bool,
}

impl Track<'_> {
    /// Runs every case round after round. All cases on the big model must give the same sum.
    fn race(&self, story: &mut Story, id: &str, title: &str, cases: &[Case]) -> anyhow::Result<(RaceResult, Medians)> {
        let samples: RefCell<BTreeMap<Case, Vec<Stages>>> = RefCell::default();
        let mut race = Race::new(id, title)
            .rounds(self.rounds)
            .baseline(&name((0, self.is_warm, 0)));
        race = race.check(
            |a: &(bool, f64), b: &(bool, f64)| match a.0 != b.0 || (a.1 / b.1 - 1.0).abs() < 1e-3 {
                true => Ok(()),
                false => Err(format!("sum of squares {} and {}", a.1, b.1)),
            },
        );
        for &case in cases {
            let samples = &samples;
            race = race.entry_timed(&name(case), None, move || {
                let (sum, stages) = self.load(case).unwrap_or((f64::NAN, Stages::default()));
                samples.borrow_mut().entry(case).or_default().push(stages);
                ((case.0 == SMALL, sum), stages.total())
            });
        }
        let result = story.race(race)?;
        // The first load of each case is the warm-up.
        let medians = samples
            .into_inner()
            .into_iter()
            .map(|(case, loads)| (case, Stages::medians(&loads[1..])));
        Ok((result, medians.collect()))
    }

    /// One load: its sum, and its times without the preparation (dropping pages or reading them). `None`, which fails
    /// the check of the race, where a file has vanished since it was written.
    fn load(&self, (file, is_warm, plan): Case) -> Option<(f64, Stages)> {
        let folder = &self.folders[file];
        for name in [CONFIG_FILE, GENERATION_FILE, SINGLE_FILE] {
            let file = folder.join(name);
            match is_warm {
                true => page_cache::warm(&file).map(|_| ()).ok()?,
                false => page_cache::drop_pages(&file).ok()?,
            }
        }
        load_and_compute(folder, PLANS[plan].1, &self.pool).ok()
    }
}

/// Shows and records the stages of each case.
fn table(story: &mut Story, medians: &Medians, key: &str) {
    let (mut rows, mut recorded) = (Vec::new(), BTreeMap::new());
    for (&case, stages) in medians {
        let more = [("total", stages.total()), ("next token", stages.next_token)];
        let parts: Vec<_> = stages
            .named()
            .into_iter()
            .chain(more)
            .map(|(part, time)| (part, ms(time)))
            .collect();
        let cells = parts.iter().map(|(_, ms)| format!("{ms:.1}"));
        rows.push(std::iter::once(name(case)).chain(cells).collect::<Vec<_>>());
        recorded.insert(name(case), parts.into_iter().collect::<BTreeMap<_, _>>());
    }
    let header = ["ms", "config", "room", "copy", "device", "first", "total", "next"];
    story.rows(&header, rows);
    story.values(key, recorded);
}

/// The second half of M1: half of the bytes.
fn halving(story: &mut Story, medians: &Medians, result: &RaceResult, is_warm: bool, file_ratio: f64) {
    let ratio = |plan| ms(medians[&(0, is_warm, plan)].load()) / ms(medians[&(1, is_warm, plan)].load());
    let (eager, packed) = (ratio(0), ratio(2));
    let names = [(0, 0), (0, 1), (1, 0)].map(|(file, plan)| name((file, is_warm, plan)));
    let until_token = result.ratio(&names[1], &names[0]);
    story.show_as("f32 / bf16, bytes of file", file_ratio, format!("{file_ratio:.2}"));
    let shown = format!("{eager:.2} read into buffers, {packed:.2} moved into panels");
    story.show_as("f32 / bf16, four stages", eager, shown);
    let shown = format!("{until_token:.2} times ({} / {})", names[0], names[1]);
    story.show_as("eager / mapped, with token", until_token, shown);
    let note = format!(
        "the four stages of {} and {}; moved into panels it is {packed:.2} times",
        names[0], names[2]
    );
    let claim = Claim {
        id: "M1b",
        claimed: "halving the dtype about halves load time",
        value: eager,
        unit: "times (f32 / bf16)",
        verdict: Verdict::of((1.6..=2.5).contains(&eager), eager > 1.2),
        note: &note,
    };
    // Half of the bytes take no longer than all, and not less than a third of the time, unless other work runs.
    let possible = Disturbance::of_ratio("f32 over bf16", eager, 0.9..=3.0);
    story.claim_if_quiet(claim, [result.disturbance(&names[0], &names[2]), possible]);
}

/// The first token beside the next one, and what these rates would make of a large model.
fn first_tokens(story: &mut Story, medians: &Medians, is_warm: bool, bf16_bytes: u64) {
    let [cold, warm] = [is_warm, true].map(|is_warm| {
        let mapped = &medians[&(0, is_warm, 1)];
        ms(mapped.first_token) / ms(mapped.next_token)
    });
    story.values("first over next, mapped cold", cold);
    story.values("first over next, mapped warm", warm);
    story.say(format!(
        "From the f32 mapping the first token takes {} times as long as the next one{}. For the next one every page is in the table of the \
         process.",
        number::short(cold),
        if is_warm { String::new() } else { format!(" when the file is cold, {} times when it is warm", number::short(warm)) }
    ));
    // 13 G weights of two bytes each.
    let scale = 26e9 / bf16_bytes as f64 / 1e3;
    let copy = scale * ms(medians[&(1, is_warm, 0)].copy);
    let device = scale * ms(medians[&(1, is_warm, 2)].device);
    story.values("13B copy, s", copy);
    story.values("13B move, s", device);
    story.say(format!(
        "Computed from these rates, not measured: a 13B model in 16 bits is a file of 26 GB. Reading it would take {copy:.0} s here, and \
         mapping it and moving it into panels {device:.0} s. A published figure is 20 s, and 5 s more to the device."
    ));
}

/// The first half of M1: for each of the four stages a setting in which it takes the longest.
fn bottlenecks(story: &mut Story, track: &Track, small_bytes: u64) -> anyhow::Result<()> {
    let cases = [
        (SMALL, track.is_warm, 0),
        (0, true, 3),
        (0, track.is_warm, 0),
        (1, true, 4),
    ];
    let (result, medians) = track.race(story, "bottlenecks", "A setting for each stage", &cases)?;
    table(story, &medians, "settings_ms");
    story.say(format!(
        "small = a file of {small_bytes} bytes; drawn = room filled with random weights first, as a framework does that builds the model \
         before it opens the file; widened = read as bf16, then converted to f32 and moved.",
    ));
    let (mut shares, mut longest) = (Vec::new(), 0);
    for (stage, case) in cases.into_iter().enumerate() {
        let (parts, all) = (medians[&case].named(), medians[&case].load());
        longest += usize::from(parts[..4].iter().all(|(_, time)| *time <= parts[stage].1));
        shares.push(format!(
            "{} {:.0} % of {}",
            parts[stage].0,
            100.0 * ms(parts[stage].1) / ms(all),
            name(case)
        ));
    }
    let note = format!("share of the four stages: {}", shares.join(", "));
    let claim = Claim {
        id: "M1",
        claimed: "loading is four stages (read config, instantiate, copy weights, move to the device), each can be the bottleneck",
        value: longest as f64,
        unit: "of 4 stages take the longest in a setting of their own",
        verdict: Verdict::of(longest == 4, longest >= 2),
        note: &note,
    };
    let names = cases.map(name);
    let noise = result.noise(&names.each_ref().map(String::as_str));
    let sign = Disturbance::of_ratio("spread of the rounds over their median", noise, 0.0..=0.5);
    story.claim_if_quiet(claim, [sign]);
    Ok(())
}
