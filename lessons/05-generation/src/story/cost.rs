//! What a pass costs: the first passes of a process, the length of the text, the limits of the machine.

use super::{Scene, WARM_UP_PASSES};
use anyhow::Context;
use generation::State;
use generation::roofline::{Bound, MachineLimits};
use generation::work::Work;
use lab::chart::Chart;
use lab::number;
use lab::race::{Disturbance, Race, median};
use lab::story::{Claim, Story, Verdict};
use std::cell::RefCell;
use std::process::Command;
use std::time::Duration;

/// Why no pass of a race can fail.
const FITS: &str = "the tokens are inside the vocabulary and the context";

/// Number of fresh processes in the warm-up experiment.
const FRESH_STARTS: usize = 5;

/// M4: the first passes of a process, timed in processes of their own.
pub fn warm_up(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Start cold",
        "The same pass ten times in a fresh process: the first ones pay for pages, threads and caches that are not there yet.",
    );
    let model = story.args().model.clone();
    let threads = scene.pool.num_threads().to_string();
    let program = std::env::current_exe().context("the path of this program")?;
    let mut runs: Vec<Vec<f64>> = Vec::new();
    let bar = story.progress(FRESH_STARTS as u64, "fresh processes");
    for _ in 0..FRESH_STARTS {
        let mut command = Command::new(&program);
        command.args(["cold-start", "--model", &model, "--threads", &threads]);
        let output = command.output().context("starting this program again")?;
        runs.push(serde_json::from_slice(&output.stdout).context("reading the times of a fresh process")?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let of_pass = |pass: usize| median(&runs.iter().map(|run| run[pass]).collect::<Vec<_>>());
    let medians: Vec<f64> = (0..WARM_UP_PASSES).map(of_pass).collect();
    let steady = median(&medians[WARM_UP_PASSES / 2..]);
    let row = |name: String, ms: f64| [name, format!("{ms:.2}"), format!("{:.2}", ms / steady)];
    let passes = medians.iter().enumerate().take(6);
    let passes = passes.map(|(pass, ms)| row((pass + 1).to_string(), *ms));
    story.rows(
        &["pass", "ms", "times the steady one"],
        passes.chain([row("steady".into(), steady)]),
    );
    story.values("pass_ms", &medians);
    let (first, fourth) = (medians[0] / steady, medians[3] / steady);
    story.values("first", first);
    let note = format!(
        "The first pass takes {first:.1} times as long as the steady one, the fourth {fourth:.2} times. Median of {FRESH_STARTS} fresh \
         processes, a prefix of 12 tokens. The weights were packed before, so they are warm; scratch memory, threads and \
         code are cold. Lesson 04 shows a first token whose file is cold too."
    );
    let claim = Claim {
        id: "M4",
        claimed: "The first inference is much slower than the next ones; three warm-up runs remove that",
        value: first,
        unit: "times the steady pass",
        verdict: Verdict::of(first >= 2.0 && fourth <= 1.25, first >= 1.15),
        note: &note,
    };
    let first_is_fastest = Disturbance::of_ratio("the first pass against the steady one", first, 0.9..=f64::INFINITY);
    story.claim_if_quiet(claim, [first_is_fastest]);
    let chart = Chart::bars("warm-up", "The first passes of a fresh process")
        .x_label("pass")
        .y_label("ms per pass, prefix of 12 tokens");
    let bars = medians.iter().enumerate();
    story.chart(&bars.fold(chart, |chart, (pass, ms)| chart.bar(&(pass + 1).to_string(), *ms)))?;
    Ok(())
}

/// Prefix lengths of the length experiment. Those beyond the context are left out.
const LENGTHS: [usize; 6] = [16, 32, 64, 128, 256, 512];
/// Numbers of rows in the roofline table. Those beyond the context are left out.
const ROOFLINE_ROWS: [usize; 6] = [1, 8, 32, 128, 256, 512];
/// Maximum multiply-adds of a pass in both experiments, so that a large model stays within a minute.
const MOST_WORK: u64 = 160_000_000_000;

/// The `lengths` that fit the model's context and whose passes need less than [`MOST_WORK`].
fn within_reach(scene: &Scene, lengths: &[usize]) -> Vec<usize> {
    let llama = &scene.model.config.llama;
    let fits = |len: &usize| *len <= llama.max_seq_len && Work::of_shape(llama, *len).multiply_adds() < MOST_WORK;
    lengths.iter().copied().filter(fits).collect()
}

/// Multiply-adds in millions, for a table.
fn millions(work: &Work) -> String {
    number::grouped(work.multiply_adds() / 1_000_000)
}

/// Attention's share of the multiply-adds, in per cent.
fn attention_percent(work: &Work) -> f64 {
    100.0 * work.attention_multiply_adds as f64 / work.multiply_adds() as f64
}

/// G1: time for one token against the length of the text before it.
pub fn length(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let lengths = within_reach(scene, &LENGTHS);
    let (shortest, longest) = (lengths[0], lengths[lengths.len() - 1]);
    story.step(
        "Let the text grow",
        "One token after a prefix of each length. Counted work first, then the clock.",
    );
    let count = |len| Work::of_forward(&scene.model.config.llama, &scene.model.weights, len);
    let grows = count(longest).multiply_adds() as f64 / count(shortest).multiply_adds() as f64;
    story.predict_with(
        "work-of-length",
        &[
            ("longest", &longest),
            ("shortest", &shortest),
            ("grows", &format!("{grows:.0}")),
            ("linear", &(longest / shortest)),
            ("square", &(longest / shortest).pow(2)),
            ("attention", &format!("{:.0}", attention_percent(&count(longest)))),
        ],
    );

    let tokens = scene.model.made_up_tokens(0, longest);
    let (model, pool) = (&scene.model, &scene.pool);
    // One state for all entries: they run in turn, never at once.
    let state = RefCell::new(State::new(&model.config, longest));
    let pass = |len: usize| {
        let done = model.forward(&mut state.borrow_mut(), pool, &tokens[..len]).map(|_| ());
        done.expect(FITS);
    };
    let mut race = Race::new("prefix-length", "One token after a prefix")
        .unit("ms")
        .rounds(5)
        .baseline("whole prefix")
        .entry("one row", Some(1.0), || pass(1));
    for len in &lengths {
        race = race.entry("whole prefix", Some(*len as f64), || pass(*len));
    }
    let result = story.race(race)?;
    let measured = result.line("whole prefix");
    let rows = lengths.iter().zip(&measured).map(|(len, (_, ms))| {
        let work = count(*len);
        [
            len.to_string(),
            format!("{} M", millions(&work)),
            format!("{:.1} %", attention_percent(&work)),
            format!("{ms:.2}"),
            format!("{:.0}", *len as f64 / ms * 1e3),
        ]
    });
    let header = [
        "prefix",
        "multiply-adds",
        "of them attention",
        "ms a token",
        "rows a second",
    ];
    story.rows(&header, rows);
    story.values("longest", longest);
    let (_, longest_ms) = *measured.last().context("a race with entries")?;
    let times = longest_ms / measured[0].1;
    story.values("longest_ms", longest_ms);
    story.values("one_row_ms", result.median("one row"));
    story.values("work_grows", grows);
    let rises = measured.windows(2).all(|w| w[1].1 > w[0].1);
    let why = match times < grows {
        true => {
            "A short prefix does less arithmetic for each weight that it reads, so it is further from the machine's peak."
        }
        false => "Time grows faster than work: the machine is busy, or the rows no longer fit the cache.",
    };
    let note = format!(
        "A token after {longest} tokens takes {times:.1} times as long as one after {shortest}; the counted work grows {grows:.1} times. {why}"
    );
    let claim = Claim {
        id: "G1",
        claimed: "Naive generation recomputes the whole prefix: time per token grows with length",
        value: times,
        unit: "times, longest against shortest prefix",
        verdict: Verdict::of(times >= 2.0 && rises, times >= 2.0),
        note: &note,
    };
    let faster_than_work = Disturbance::of_ratio("the longest prefix against the shortest", times, 1.0..=2.0 * grows);
    story.claim_if_quiet(claim, [faster_than_work]);
    // The counted line is scaled to meet the last point. Where it lies below the measurement, a short prefix takes
    // longer than its work predicts.
    let ms_per_work = longest_ms / count(longest).multiply_adds() as f64;
    let counted = lengths
        .iter()
        .map(|len| (*len as f64, count(*len).multiply_adds() as f64 * ms_per_work));
    let chart = Chart::lines("prefix-length", "Each token costs more than the last")
        .x_label("tokens before it")
        .y_label("ms for one token")
        .series("measured", measured)
        .dashed(
            "counted multiply-adds, scaled to the last point",
            counted.collect::<Vec<_>>(),
        )
        .rule("one row: what a token would cost alone", result.median("one row"));
    story.chart(&chart)?;
    Ok(())
}

/// Compares passes with the limits of the machine: bytes and multiply-adds are counted, bandwidth and peak measured
/// now.
/// Returns the bandwidth, in bytes a second.
pub fn roofline(story: &mut Story, scene: &Scene) -> anyhow::Result<f64> {
    story.step(
        "Compare it with the machine",
        "No program is faster than the memory and the arithmetic of its machine. Lesson 02's probes measure both now.",
    );
    let weight_bytes = scene.model.weights.bytes_per_pass();
    let limits = MachineLimits {
        flops_per_second: layout::probe::peak_flops(&scene.pool),
        bytes_per_second: layout::probe::read_bandwidth(&scene.pool, weight_bytes as usize),
    };
    let (flops, bytes) = (limits.flops_per_second, limits.bytes_per_second);
    story.show_as("peak", flops, format!("{:.0} GFLOP/s", flops / 1e9));
    let read = format!("{:.1} GB/s for {}", bytes / 1e9, number::bytes(weight_bytes));
    story.show_as("reading the weights", bytes, read);
    let balance = limits.balance();
    story.show_as("they meet at", balance, format!("{balance:.1} multiply-adds a byte"));
    let rows = within_reach(scene, &ROOFLINE_ROWS);
    let tokens = scene.model.made_up_tokens(0, rows.iter().copied().max().unwrap_or(1));
    let (model, pool) = (&scene.model, &scene.pool);
    let state = RefCell::new(State::new(&model.config, tokens.len()));
    let mut race = Race::new("limits", "One pass")
        .rounds(5)
        .at_least(Duration::from_millis(20));
    for rows in &rows {
        let (state, tokens) = (&state, &tokens[..*rows]);
        race = race.entry("pass", Some(*rows as f64), move || {
            let done = model.forward(&mut state.borrow_mut(), pool, tokens).map(|_| ());
            done.expect(FITS);
        });
    }
    let result = race.run()?;
    let (mut table, mut reached) = (Vec::new(), Vec::new());
    for rows in rows {
        let work = Work::of_forward(&model.config.llama, &model.weights, rows);
        let (shortest, bound) = limits.shortest(&work);
        let ms = result.median_at("pass", rows as f64);
        let waits_for = match bound {
            Bound::Reading => "memory",
            Bound::Arithmetic => "arithmetic",
        };
        table.push([
            rows.to_string(),
            millions(&work),
            format!("{:.1}", work.multiply_adds_per_byte()),
            waits_for.to_owned(),
            format!("{:.2}", shortest * 1e3),
            format!("{ms:.2}"),
            format!("{:.0} %", 1e5 * shortest / ms),
        ]);
        reached.push((rows, 1e3 * shortest / ms));
    }
    let header = [
        "rows",
        "M multiply-adds",
        "a byte",
        "waits for",
        "limit ms",
        "measured ms",
        "reached",
    ];
    story.rows(&header, table);
    story.values("reached", &reached);
    let busy = reached
        .iter()
        .find_map(|(_, share)| Disturbance::of_share("the limit", *share));
    story.say(match busy {
        Some(sign) => format!("This machine is busy ({sign}); run again to compare."),
        None => "One row waits for the weights, many rows for the arithmetic. The naive loop runs at the lower end of this table: its \
                 passes are fast, and most of their work is not needed."
            .to_owned(),
    });
    Ok(bytes)
}
