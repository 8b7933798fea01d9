//! The ladder, rung by rung, as a share of what the machine can do.

use super::{Bench, equal_by, product, same_bits};
use lab::chart::Chart;
use lab::race::{Disturbance, Race, RaceResult};
use lab::story::Story;
use layout::company::{by_gemm_crate, by_ndarray};
use layout::gemm::{MatMut, MatRef};
use layout::ladder::{Ladder, Rung};
use layout::probe;
use layout::simd::Isa;

const SIDE: usize = 1024;
const ROWS: [usize; 3] = [1, 8, 128];
const COMPANY: [&str; 2] = ["ndarray", "gemm crate"];

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
        let key = format!("peak of one thread, {}", isa.name());
        story.show_as(&key, gflops, format!("{gflops:.0} GFLOP/s"));
    }
    // Under a name of its own for the book: which instruction sets there are depends on the machine.
    story.values("peak of one thread", peak_one);
    let key = format!("peak of {threads} threads");
    story.show_as(&key, peak, format!("{peak:.0} GFLOP/s"));
    story.predict("share-of-peak");
    let b = bench.random(SIDE * SIDE, 5);
    let ladder = Ladder::new(&b, SIDE, SIDE, &bench.pool);
    let mut chart = Chart::bars("ladder", "Packed weights come near the peak, the textbook's loop does not")
        .y_range(0.0, 100.0)
        .y_label("% of peak of the threads used")
        .note(&format!("[rows, {SIDE}] x [{SIDE}, {SIDE}], f32; threads, ndarray and gemm on {threads}, the others on one; more is better"));
    let mut shares = vec![Vec::new(); Rung::ALL.len() + 2];
    for rows in ROWS {
        let a = bench.random(rows * SIDE, 6);
        let result = race(bench, &ladder, &a, &b, rows)?;
        for (entry, shares) in result.entries.iter().zip(&mut shares) {
            let all_threads = ["threads", COMPANY[0], COMPANY[1]].contains(&entry.name.as_str());
            let limit = if all_threads { peak } else { peak_one };
            shares.push((rows, 100.0 * entry.median / limit));
        }
        story.race_result(&result);
    }
    let names = Rung::ALL.map(Rung::name).into_iter().chain(COMPANY);
    let columns = ROWS.map(|rows| format!("{rows} row{}", if rows == 1 { "" } else { "s" }));
    for (name, shares) in names.zip(&shares) {
        let columns = columns.iter().map(String::as_str);
        let bars: Vec<(&str, f64)> = columns.zip(shares.iter().map(|s| s.1)).collect();
        chart = chart.group(name, &bars);
        story.values(&format!("share of peak, {name}, %"), shares);
    }
    let largest = shares.iter().flatten().map(|share| share.1).fold(0.0, f64::max);
    story.is_busy([Disturbance::of_share("the peak", largest / 100.0)]);
    story.chart(&chart)?;
    in_memory(story, bench)
}

fn race(bench: &Bench, ladder: &Ladder, a: &[f32], b: &[f32], rows: usize) -> anyhow::Result<RaceResult> {
    let (n, threads) = (rows * SIDE, bench.pool.num_threads());
    let plural = if rows == 1 { "" } else { "s" };
    let mut race = Race::new(&format!("ladder-{rows}"), &format!("The ladder, {rows} row{plural}"))
        .unit("GFLOP/s")
        .rounds(5)
        .work((2 * rows * SIDE * SIDE) as f64 / 1e9)
        .baseline(Rung::Naive.name())
        // The company adds in another order, so it is held to a tolerance; our own rungs to the bit.
        .check(|(_, expected): &(bool, Vec<f32>), (ours, found)| match ours {
            true => same_bits(expected, found),
            false => equal_by(expected, found, |a, b| (a - b).abs() <= 1e-3),
        });
    for rung in Rung::ALL {
        let mut run = product(n, move |c| ladder.run(rung, a, rows, c));
        race = race.entry(rung.name(), None, move || (true, run()));
    }
    for (name, by_gemm) in COMPANY.into_iter().zip([false, true]) {
        let mut run = product(n, move |c| {
            let (a, b) = (MatRef::row_major(a, rows, SIDE), MatRef::row_major(b, SIDE, SIDE));
            let c = MatMut::row_major(c, rows, SIDE);
            match by_gemm {
                true => by_gemm_crate(threads, a, b, c),
                false => by_ndarray(a, b, c),
            }
        });
        race = race.entry(name, None, move || (false, run()));
    }
    Ok(race.run()?)
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
        .check(same_bits);
    for rung in [Rung::Reordered, Rung::Blocked, Rung::Packed, Rung::Threads] {
        let (ladder, a) = (&ladder, &a);
        let run = product(FEW * LARGE, move |c| ladder.run(rung, a, FEW, c));
        race = race.entry(rung.name(), None, run);
    }
    story.race(race)?;
    Ok(())
}
