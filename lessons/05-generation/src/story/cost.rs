//! What it costs: the first passes, the length, the machine's limits.

use super::{Scene, WARM_UP_PASSES};
use anyhow::Context;
use generation::State;
use generation::roofline::{Bound, MachineLimits};
use generation::work::Work;
use lab::chart::Chart;
use lab::number;
use lab::race::{Race, quartiles};
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use std::cell::RefCell;
use std::process::Command;
use std::time::Instant;

/// Fresh processes of the warm-up experiment.
const FRESH_STARTS: usize = 5;

/// M4: the first passes of a process, timed in processes of their own.
pub fn warm_up(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Start cold",
        "The same pass ten times in a fresh process: the first ones pay for pages, threads and caches that are not there yet.",
    );
    let args = story.args().clone();
    let program = std::env::current_exe().context("the path of this program")?;
    let mut runs: Vec<Vec<f64>> = Vec::new();
    let bar = story.progress(FRESH_STARTS as u64, "fresh processes");
    for _ in 0..FRESH_STARTS {
        let mut command = Command::new(&program);
        command.args([
            "cold-start",
            "--model",
            &args.model,
            "--threads",
            &scene.pool.num_threads().to_string(),
        ]);
        let output = command.output().context("starting this program again")?;
        runs.push(serde_json::from_slice(&output.stdout).context("reading the times of a fresh process")?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let median = |pass: usize| quartiles(&runs.iter().map(|run| run[pass]).collect::<Vec<_>>()).median;
    let medians: Vec<f64> = (0..WARM_UP_PASSES).map(median).collect();
    let steady = quartiles(&medians[WARM_UP_PASSES / 2..]).median;
    let mut table = Table::new(&["pass", "ms", "times the steady one"]);
    for (pass, ms) in medians.iter().enumerate().take(6) {
        table.row([
            (pass + 1).to_string(),
            format!("{ms:.2}"),
            format!("{:.2}", ms / steady),
        ]);
    }
    table.row(["steady".to_owned(), format!("{steady:.2}"), "1".into()]);
    story.table(&table);
    story.values("pass_ms", &medians);
    let (first, fourth) = (medians[0] / steady, medians[3] / steady);
    let verdict = match (first, fourth) {
        (first, fourth) if first >= 2.0 && fourth <= 1.25 => Verdict::Holds,
        (first, _) if first >= 1.15 => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let note = format!(
        "The first pass takes {first:.1} times the steady one, the fourth {fourth:.2} times. Median of {FRESH_STARTS} fresh processes; the weights \
         were packed before, so they are warm; what is cold is scratch memory, threads and code."
    );
    story.claim(Claim {
        id: "M4",
        claimed: "The first inference is much slower than the next ones; three warm-up runs remove that",
        value: first,
        unit: "times the steady pass",
        verdict,
        note: &note,
    });
    let mut chart =
        Chart::bars("warm-up", "The first passes of a fresh process").y_label("ms per pass, prefix of 12 tokens");
    for (pass, ms) in medians.iter().enumerate() {
        chart = chart.bar(&(pass + 1).to_string(), *ms);
    }
    story.chart(&chart.x_label("pass"))?;
    Ok(())
}

/// Prefix lengths of the length experiment, as far as the context reaches.
const LENGTHS: [usize; 6] = [16, 32, 64, 128, 256, 512];

/// Most multiply-adds that the length experiment may do at its longest prefix, so that a large model stays within its minute.
const MOST_WORK: u64 = 160_000_000_000;

/// G1: time for one token against the length before it.
pub fn length(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    let llama = scene.model.config.llama.clone();
    let lengths: Vec<usize> = LENGTHS
        .into_iter()
        .filter(|len| *len <= llama.max_seq_len && Work::of_shape(&llama, *len).multiply_adds() < MOST_WORK)
        .collect();
    let (shortest, longest) = (lengths[0], lengths[lengths.len() - 1]);
    story.step(
        "Let the text grow",
        "One token after a prefix of each length. Counted work first, then the clock.",
    );
    let count = |len| Work::of_forward(&llama, &scene.model.weights, len);
    let grows = count(longest).multiply_adds() as f64 / count(shortest).multiply_adds() as f64;
    let (linear, square) = (longest / shortest, (longest / shortest).pow(2));
    let texts = [
        "the same: one token is one token".to_owned(),
        format!("about {grows:.0} times"),
        format!("about {square} times"),
    ];
    let because = format!(
        "Every row of the prefix goes through every layer again: {linear} times the rows. Attention alone grows with the square, but it is {:.0} % of \
         the work at {longest} tokens.",
        100.0 * count(longest).attention_multiply_adds as f64 / count(longest).multiply_adds() as f64
    );
    story.predict(Prediction {
        id: "work-of-length",
        question: &format!("How much more work is one token after {longest} tokens than after {shortest}?"),
        options: &[
            Choice {
                text: &texts[0],
                answer_to_wrong: Some("The model remembers nothing: the whole prefix is computed for every token."),
            },
            Choice {
                text: &texts[1],
                answer_to_wrong: None,
            },
            Choice {
                text: &texts[2],
                answer_to_wrong: Some("Only attention is quadratic, and at these lengths it is the smaller part."),
            },
        ],
        answer: 1,
        because: &because,
    });

    let tokens = scene.model.made_up_tokens(0, longest);
    let (model, pool) = (&scene.model, &scene.pool);
    // One state for all entries: they run in turn, never at once.
    let state = RefCell::new(State::new(&model.config, longest));
    let pass = |len: usize| {
        let done = model.forward(&mut state.borrow_mut(), pool, &tokens[..len]).map(|_| ());
        done.expect("the tokens are inside the vocabulary and the context");
    };
    let mut race = Race::new("prefix-length", "One token after a prefix")
        .unit("ms")
        .rounds(5)
        .baseline("whole prefix");
    race = race.entry("one row", Some(1.0), || pass(1));
    for len in &lengths {
        race = race.entry("whole prefix", Some(*len as f64), || pass(*len));
    }
    let result = story.race(race)?;
    let measured = result.line("whole prefix");
    let floor = result.entry("one row").map_or(f64::NAN, |entry| entry.median);
    // The counted line is drawn in the time of the longest prefix: where it lies above the measurement the short ones are slower than their work.
    let (_, longest_ms) = *measured.last().context("a race with entries")?;
    let ms_per_work = longest_ms / count(longest).multiply_adds() as f64;
    let counted: Vec<(f64, f64)> = lengths
        .iter()
        .map(|len| (*len as f64, count(*len).multiply_adds() as f64 * ms_per_work))
        .collect();
    let mut table = Table::new(&[
        "prefix",
        "multiply-adds",
        "of them attention",
        "ms a token",
        "rows a second",
    ]);
    for (len, (_, ms)) in lengths.iter().zip(&measured) {
        let work = count(*len);
        table.row([
            len.to_string(),
            format!("{} M", number::grouped(work.multiply_adds() / 1_000_000)),
            format!(
                "{:.1} %",
                100.0 * work.attention_multiply_adds as f64 / work.multiply_adds() as f64
            ),
            format!("{ms:.2}"),
            format!("{:.0}", *len as f64 / ms * 1e3),
        ]);
    }
    story.table(&table);
    let times = longest_ms / measured[0].1;
    let rising = measured.windows(2).filter(|w| w[1].1 > w[0].1).count();
    let verdict = match (times >= 2.0, rising + 1 == measured.len()) {
        (true, true) => Verdict::Holds,
        (true, false) => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let why = match times < grows {
        true => {
            "A short prefix does less arithmetic for each weight that it reads, so it runs further from the machine's peak."
        }
        false => "Time grows faster than work: a busy machine, or rows that no longer fit the cache.",
    };
    let note = format!(
        "A token after {longest} tokens takes {times:.1} times as long as one after {shortest}; the counted work grows {grows:.1} times. {why}"
    );
    story.claim(Claim {
        id: "G1",
        claimed: "Naive generation recomputes the whole prefix: time per token grows with length",
        value: times,
        unit: "times, longest against shortest prefix",
        verdict,
        note: &note,
    });
    let chart = Chart::lines("prefix-length", "Each token costs more than the last")
        .x_label("tokens before it")
        .y_label("ms for one token")
        .series("measured", measured)
        .dashed("counted multiply-adds, scaled to the last point", counted)
        .rule("one row: what a token would cost alone", floor);
    story.chart(&chart)?;
    Ok(())
}

/// Rows of the roofline table.
const ROOFLINE_ROWS: [usize; 6] = [1, 8, 32, 128, 256, 512];

/// How near to the machine's limits: bytes and multiply-adds counted, bandwidth and peak measured now.
pub fn roofline(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Hold it against the machine",
        "No program beats the memory and the arithmetic of its machine. Both are measured here and now, with lesson 02's probes.",
    );
    let llama = scene.model.config.llama.clone();
    let weight_bytes = scene.model.weights.bytes_per_pass();
    let limits = MachineLimits {
        flops_per_second: layout::probe::peak_flops(&scene.pool),
        bytes_per_second: layout::probe::read_bandwidth(&scene.pool, weight_bytes as usize),
    };
    story.show_as(
        "peak",
        limits.flops_per_second,
        format!("{:.0} GFLOP/s", limits.flops_per_second / 1e9),
    );
    story.show_as(
        "reading the weights",
        limits.bytes_per_second,
        format!(
            "{:.1} GB/s for {}",
            limits.bytes_per_second / 1e9,
            number::bytes(weight_bytes)
        ),
    );
    story.show_as(
        "they meet at",
        limits.balance(),
        format!("{:.1} multiply-adds a byte", limits.balance()),
    );
    let rows: Vec<usize> = ROOFLINE_ROWS
        .into_iter()
        .filter(|rows| *rows <= llama.max_seq_len && Work::of_shape(&llama, *rows).multiply_adds() < MOST_WORK)
        .collect();
    let tokens = scene.model.made_up_tokens(0, rows.iter().copied().max().unwrap_or(1));
    let mut state = State::new(&scene.model.config, tokens.len());
    let mut table = Table::new(&[
        "rows",
        "M multiply-adds",
        "a byte",
        "waits for",
        "limit ms",
        "measured ms",
        "reached",
    ]);
    let mut reached = Vec::new();
    for rows in rows {
        let work = Work::of_forward(&llama, &scene.model.weights, rows);
        let (shortest, bound) = limits.shortest(&work);
        let seconds = median_seconds(|| {
            scene
                .model
                .forward(&mut state, &scene.pool, &tokens[..rows])
                .map(|_| ())
        })?;
        let waits_for = match bound {
            Bound::Reading => "memory",
            Bound::Arithmetic => "arithmetic",
        };
        table.row([
            rows.to_string(),
            number::grouped(work.multiply_adds() / 1_000_000),
            format!("{:.1}", work.multiply_adds_per_byte()),
            waits_for.to_owned(),
            format!("{:.2}", shortest * 1e3),
            format!("{:.2}", seconds * 1e3),
            format!("{:.0} %", 100.0 * shortest / seconds),
        ]);
        reached.push((rows, shortest / seconds));
    }
    story.table(&table);
    story.values("reached", &reached);
    story.say(
        "One row waits for the weights, many rows for the arithmetic. The naive loop lives at the lower end of this table: it does useless work, but \
         it does it fast.",
    );
    Ok(())
}

/// Median of at least five runs, more where they are short.
fn median_seconds<E>(mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    run()?;
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || (begun.elapsed().as_millis() < 100 && times.len() < 50) {
        let started = Instant::now();
        run()?;
        times.push(started.elapsed().as_secs_f64());
    }
    Ok(quartiles(&times).median)
}
