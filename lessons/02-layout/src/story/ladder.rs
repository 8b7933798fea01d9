//! The ladder, rung by rung, as a share of what the machine can do.

use super::{Bench, same_bits};
use lab::chart::Chart;
use lab::race::Race;
use lab::story::{Choice, Prediction, Story};
use layout::company::{by_gemm_crate, by_ndarray};
use layout::gemm::{MatMut, MatRef};
use layout::ladder::{Ladder, Rung};
use layout::probe;
use layout::simd::Isa;

const SIDE: usize = 1024;
const ROWS: [usize; 3] = [1, 8, 128];

pub(super) fn tell(story: &mut Story, bench: &Bench) -> anyhow::Result<()> {
    story.step(
        "The ladder",
        "First the machine's own limit: multiply-adds on numbers that never leave the registers. Then each rung as a share of it.",
    );
    let threads = bench.pool.num_threads();
    let peak_one = probe::peak_flops(&bench.one) / 1e9;
    let peak = if threads == 1 {
        peak_one
    } else {
        probe::peak_flops(&bench.pool) / 1e9
    };
    for isa in Isa::available().into_iter().filter(|isa| *isa != Isa::Scalar) {
        let gflops = probe::peak_flops_with(isa, &bench.one) / 1e9;
        story.show_as(
            &format!("peak of one thread, {}", isa.name()),
            gflops,
            format!("{gflops:.0} GFLOP/s"),
        );
    }
    story.show_as(
        &format!("peak of {threads} threads"),
        peak,
        format!("{peak:.0} GFLOP/s"),
    );
    story.predict(Prediction {
        id: "share-of-peak",
        question: "What share of one thread's peak does the textbook's loop reach with 128 rows?",
        options: &[
            Choice { text: "about 50 %", answer_to_wrong: Some("It would need vectors of 16, two at a time, and numbers that are there in time. It has none of these.") },
            Choice { text: "about 5 %", answer_to_wrong: Some("Less: each of its numbers waits for a line of memory of its own.") },
            Choice { text: "under 1 %", answer_to_wrong: None },
        ],
        answer: 2,
        because: "One number at a time instead of 32, one sum that waits for itself, and a line fetched for every number of b.",
    });
    let b = bench.random(SIDE * SIDE, 5);
    let ladder = Ladder::new(&b, SIDE, SIDE, &bench.pool);
    let mut chart = Chart::bars("ladder", "Each rung as a share of the machine's peak")
        .y_label("% of peak of the threads used")
        .note(&format!("[rows, {SIDE}] x [{SIDE}, {SIDE}], f32; threads, ndarray and gemm on {threads}, the others on one; more is better"));
    let mut shares = vec![Vec::new(); Rung::ALL.len() + 2];
    for rows in ROWS {
        let a = bench.random(rows * SIDE, 6);
        let result = race(bench, &ladder, &a, &b, rows)?;
        for (entry, shares) in result.entries.iter().zip(&mut shares) {
            let limit = if entry.name == "threads" || is_company(&entry.name) {
                peak
            } else {
                peak_one
            };
            shares.push((rows, 100.0 * entry.median / limit));
        }
        story.race_result(&result);
    }
    let names = Rung::ALL.map(Rung::name).into_iter().chain(["ndarray", "gemm crate"]);
    let columns = ROWS.map(|rows| {
        if rows == 1 {
            "1 row".to_string()
        } else {
            format!("{rows} rows")
        }
    });
    for (name, shares) in names.zip(&shares) {
        let bars: Vec<(&str, f64)> = columns
            .iter()
            .map(String::as_str)
            .zip(shares.iter().map(|s| s.1))
            .collect();
        chart = chart.group(name, &bars);
        story.values(&format!("share of peak, {name}, %"), shares);
    }
    story.chart(&chart)?;
    in_memory(story, bench)
}

fn is_company(name: &str) -> bool {
    name == "ndarray" || name == "gemm crate"
}

fn race(bench: &Bench, ladder: &Ladder, a: &[f32], b: &[f32], rows: usize) -> anyhow::Result<lab::race::RaceResult> {
    let work = (2 * rows * SIDE * SIDE) as f64 / 1e9;
    // The company adds in another order, so it is held to a tolerance; our own rungs to the bit.
    let check = |expected: &(bool, Vec<f32>), found: &(bool, Vec<f32>)| match found.0 {
        true => same_bits(&expected.1, &found.1),
        false => close(&expected.1, &found.1),
    };
    let mut race = Race::new(
        &format!("ladder-{rows}"),
        &format!("The ladder, {rows} row{}", if rows == 1 { "" } else { "s" }),
    )
    .unit("GFLOP/s")
    .rounds(5)
    .work(work)
    .baseline(Rung::Naive.name())
    .check(check);
    for rung in Rung::ALL {
        let mut c = vec![0.0; rows * SIDE];
        race = race.entry(rung.name(), None, move || {
            ladder.run(rung, a, rows, &mut c);
            (true, c.clone())
        });
    }
    let mut c = vec![0.0; rows * SIDE];
    race = race.entry("ndarray", None, move || {
        by_ndarray(
            MatRef::row_major(a, rows, SIDE),
            MatRef::row_major(b, SIDE, SIDE),
            MatMut::row_major(&mut c, rows, SIDE),
        );
        (false, c.clone())
    });
    let (threads, mut c) = (bench.pool.num_threads(), vec![0.0; rows * SIDE]);
    race = race.entry("gemm crate", None, move || {
        by_gemm_crate(
            threads,
            MatRef::row_major(a, rows, SIDE),
            MatRef::row_major(b, SIDE, SIDE),
            MatMut::row_major(&mut c, rows, SIDE),
        );
        (false, c.clone())
    });
    Ok(race.run()?)
}

fn close(expected: &[f32], found: &[f32]) -> Result<(), String> {
    let differs = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-3;
    match expected.iter().zip(found).position(differs) {
        None => Ok(()),
        Some(i) => Err(format!("number {i} is {} instead of {}", found[i], expected[i])),
    }
}

/// Blocking pays where the weights do not fit the cache that would feed the reordered loop anyway.
fn in_memory(story: &mut Story, bench: &Bench) -> anyhow::Result<()> {
    const LARGE: usize = 4096;
    const FEW: usize = 16;
    story.say(format!(
        "Blocked beside reordered: with {SIDE} x {SIDE} weights (4 MiB) the outer caches feed both. With {LARGE} x {LARGE} (64 MiB) they do not:"
    ));
    let (a, b) = (bench.random(FEW * LARGE, 7), bench.random(LARGE * LARGE, 8));
    let ladder = Ladder::new(&b, LARGE, LARGE, &bench.pool);
    let mut race = Race::new("in-memory", &format!("Weights in memory, {FEW} rows"))
        .unit("GFLOP/s")
        .rounds(3)
        .work((2 * FEW * LARGE * LARGE) as f64 / 1e9)
        .baseline(Rung::Reordered.name())
        .check(|expected: &Vec<f32>, found| same_bits(expected, found));
    for rung in [Rung::Reordered, Rung::Blocked, Rung::Packed, Rung::Threads] {
        let (ladder, a, mut c) = (&ladder, &a, vec![0.0; FEW * LARGE]);
        race = race.entry(rung.name(), None, move || {
            ladder.run(rung, a, FEW, &mut c);
            c.clone()
        });
    }
    story.race(race)?;
    Ok(())
}
