//! Claim T1: a product fed by a view, against copying first.

use super::{Bench, same_bits};
use lab::chart::Chart;
use lab::race::Race;
use lab::record::Verdict;
use lab::story::{Choice, Claim, Prediction, Story};
use lab::table::Table;
use layout::gemm::{MatMut, MatRef, Write, gemm};
use layout::grid::{Counted, Dense, Grid};
use layout::ladder;
use layout::layout::Layout;
use layout::lines::Cache;
use layout::pool::Pool;
use layout::view::View;
use std::cell::RefCell;

const BATCH: usize = 2;
const SEQ: usize = 64;
const HIDDEN: usize = 512;
const OUT: usize = 256;

/// One way to feed a product by a view.
struct Case {
    name: &'static str,
    /// The view `[batch, seq, hidden]` of x.
    x: Layout,
    /// The view `[hidden, out]` of the weights.
    w: Layout,
}

fn cases() -> [Case; 3] {
    let dense = Layout::row_major(&[HIDDEN, OUT]);
    [
        Case {
            name: "x rows permuted",
            x: Layout::row_major(&[SEQ, BATCH, HIDDEN]).permute(&[1, 0, 2]),
            w: dense.clone(),
        },
        Case {
            name: "x hidden strided",
            x: Layout::row_major(&[BATCH, HIDDEN, SEQ]).permute(&[0, 2, 1]),
            w: dense,
        },
        Case {
            name: "w transposed",
            x: Layout::row_major(&[BATCH, SEQ, HIDDEN]),
            w: Layout::row_major(&[OUT, HIDDEN]).transpose(0, 1),
        },
    ]
}

#[derive(Clone, Copy, PartialEq)]
enum Rung {
    Naive,
    Reordered,
    Blocked,
    Packed,
}

const RUNGS: [(Rung, &str); 4] = [
    (Rung::Naive, "naive"),
    (Rung::Reordered, "reordered"),
    (Rung::Blocked, "blocked"),
    (Rung::Packed, "packed"),
];

/// y = x w for each of the batch, from the views as they are.
fn by_view(rung: Rung, pool: &Pool, x: &View<f32>, w: &View<f32>, y: &mut [f32]) {
    let w_is_dense = w.layout().is_contiguous();
    for (b, y) in y.chunks_exact_mut(SEQ * OUT).enumerate() {
        let x = x.map(|x| x.select(0, b)).matrix();
        match (rung, w_is_dense) {
            (Rung::Packed, _) => gemm(
                pool,
                x,
                w.matrix(),
                &mut MatMut::row_major(y, SEQ, OUT),
                Write::Overwrite,
            ),
            (_, true) => loops(rung, &x, &Dense::new(&w.contiguous(), HIDDEN, OUT), y),
            (_, false) => loops(rung, &x, &w.matrix(), y),
        }
    }
}

/// The same after copying the strided factor to contiguous memory; the copy is part of the work.
fn copied_first(rung: Rung, pool: &Pool, x: &View<f32>, w: &View<f32>, y: &mut [f32]) {
    let (x, w) = (x.contiguous(), w.contiguous());
    let w = Dense::new(&w, HIDDEN, OUT);
    for (x, y) in x.chunks_exact(SEQ * HIDDEN).zip(y.chunks_exact_mut(SEQ * OUT)) {
        let x = Dense::new(x, SEQ, HIDDEN);
        match rung {
            Rung::Packed => gemm(
                pool,
                x.matrix(),
                w.matrix(),
                &mut MatMut::row_major(y, SEQ, OUT),
                Write::Overwrite,
            ),
            _ => loops(rung, &x, &w, y),
        }
    }
}

fn loops(rung: Rung, x: &impl Grid, w: &impl Grid, y: &mut [f32]) {
    match rung {
        Rung::Naive => ladder::naive(x, w, y),
        Rung::Reordered => ladder::reordered(x, w, y),
        Rung::Blocked => ladder::blocked(x, w, y),
        Rung::Packed => packed_reads(x, w),
    }
}

/// Reads the factors in the order in which the packed product does: w once, panel by panel, and a tile of 14 rows of x for each panel.
fn packed_reads(x: &impl Grid, w: &impl Grid) {
    for panel in (0..w.cols()).step_by(32) {
        for k in (0..w.rows()).step_by(4) {
            for j in panel..panel + 32 {
                (k..k + 4).for_each(|k| {
                    w.at(k, j);
                });
            }
        }
    }
    for tile in (0..x.rows()).step_by(14) {
        for _panel in (0..w.cols()).step_by(32) {
            for k in 0..x.cols() {
                for i in tile..(tile + 14).min(x.rows()) {
                    x.at(i, k);
                }
            }
        }
    }
}

/// Lines that a first-level cache fetches per thousand multiply-adds: the first rows of the first of the batch, counted.
fn lines_per_thousand(rung: Rung, x: &View<f32>, w: &View<f32>) -> f64 {
    const ROWS: usize = 32;
    let cache = RefCell::new(Cache::default());
    let x = x.map(|x| x.select(0, 0).slice(0, 0..ROWS, 1));
    // Rows a multiple of 1 KiB apart would push each other out of the cache, so the packed product copies them.
    let copy = x.to_contiguous();
    let crowded = x.layout().strides()[0] > HIDDEN;
    let x = if rung == Rung::Packed && crowded {
        MatRef::row_major(&copy, ROWS, HIDDEN)
    } else {
        x.matrix()
    };
    let (x, w) = (Counted::new(x, &cache, 0), Counted::new(w.matrix(), &cache, 1 << 30));
    loops(rung, &x, &w, &mut vec![0.0; ROWS * OUT]);
    cache.into_inner().lines_fetched() as f64 / (ROWS * HIDDEN * OUT) as f64 * 1e3
}

pub(super) fn tell(story: &mut Story, bench: &Bench) -> anyhow::Result<()> {
    story.step(
        "A view into a product, or a copy first?",
        "Views are free, products read. Three views go through four products, as they are and copied to contiguous memory first.",
    );
    story.predict(Prediction {
        id: "copy-first",
        question: "x is [batch, seq, hidden], seen through a permuted view in which each row of hidden numbers stays together. Copy it first?",
        options: &[
            Choice { text: "yes: contiguous is always faster", answer_to_wrong: Some("The product reads whole rows, and whole rows it finds. A copy only adds reading and writing.") },
            Choice { text: "no: rows are read whole anyway", answer_to_wrong: None },
            Choice { text: "the view itself copies", answer_to_wrong: Some("A view changes strides; nothing moves.") },
        ],
        answer: 1,
        because: "What counts is how many lines the loop fetches, not whether a flag says contiguous. Watch the last two columns.",
    });
    let (x_data, w_data) = (bench.random(BATCH * SEQ * HIDDEN, 3), bench.random(HIDDEN * OUT, 4));
    story.say(
        "Lines per 1000 multiply-adds are counted in a model of a first-level cache, with the view and after the copy.",
    );
    let mut table = Table::new(&[
        "view",
        "product",
        "view, ms",
        "copy, ms",
        "ratio",
        "lines, view",
        "lines, copy",
    ]);
    let mut chart = Chart::bars("permuted", "Whether copying first pays depends on the loop")
        .y_label("time with the view / time with a copy first")
        .note("above 1 the copy, included in its time, pays; one thread");
    let mut ratios = Vec::new();
    for case in cases() {
        let (x, w) = (View::new(&x_data, case.x), View::new(&w_data, case.w));
        let mut race = Race::new(&format!("permuted-{}", case.name.replace(' ', "-")), case.name)
            .rounds(5)
            .check(|expected: &Vec<f32>, found| same_bits(expected, found));
        for (index, (rung, _)) in RUNGS.into_iter().enumerate() {
            let (x, w, pool, at) = (&x, &w, &bench.one, Some(index as f64));
            let (mut y, mut y2) = (vec![0.0; BATCH * SEQ * OUT], vec![0.0; BATCH * SEQ * OUT]);
            race = race
                .entry("view", at, move || {
                    by_view(rung, pool, x, w, &mut y);
                    y.clone()
                })
                .entry("copy first", at, move || {
                    copied_first(rung, pool, x, w, &mut y2);
                    y2.clone()
                });
        }
        let result = race.baseline("copy first").run()?;
        let (dense_x, dense_w) = (x.contiguous(), w.contiguous());
        let dense_x = View::row_major(&dense_x, &[BATCH, SEQ, HIDDEN]);
        let dense_w = View::row_major(&dense_w, &[HIDDEN, OUT]);
        let mut bars = Vec::new();
        for (index, (rung, name)) in RUNGS.into_iter().enumerate() {
            let ms = |entry| {
                result
                    .entry_at(entry, index as f64)
                    .map_or(f64::NAN, |entry| entry.median)
            };
            let ratio = ms("view") / ms("copy first");
            let (view, copy) = (
                lines_per_thousand(rung, &x, &w),
                lines_per_thousand(rung, &dense_x, &dense_w),
            );
            let case = if index == 0 { case.name } else { "" };
            table.row([
                case.to_string(),
                name.to_string(),
                format!("{:.2}", ms("view")),
                format!("{:.2}", ms("copy first")),
                format!("{ratio:.2}"),
                format!("{view:.1}"),
                format!("{copy:.1}"),
            ]);
            bars.push((name, ratio));
        }
        chart = chart.group(case.name, &bars);
        ratios.extend(bars.iter().map(|&(name, ratio)| (case.name, name, ratio)));
        story.values(&result.id, &result);
    }
    story.table(&table);
    story.chart(&chart.rule("equal", 1.0))?;
    claim(story, &ratios);
    Ok(())
}

fn claim(story: &mut Story, ratios: &[(&str, &str, f64)]) {
    let slower = ratios.iter().filter(|(_, _, ratio)| *ratio > 1.3).count();
    let by_ratio = |a: &&(&str, &str, f64), b: &&(&str, &str, f64)| a.2.total_cmp(&b.2);
    let (Some(worst), Some(best)) = (ratios.iter().max_by(by_ratio), ratios.iter().min_by(by_ratio)) else {
        return;
    };
    let note = format!(
        "over 30 % slower in {slower} of {} cases; worst: {}, {}; best: {}, {} ({:.2} of the time with a copy)",
        ratios.len(),
        worst.0,
        worst.1,
        best.0,
        best.1,
        best.2
    );
    story.claim(Claim {
        id: "T1",
        claimed: "A matmul fed by a transposed, non-contiguous view is over 30 % slower than making it contiguous first, copy included",
        value: (worst.2 - 1.0) * 100.0,
        unit: "% slower, worst case",
        verdict: match slower {
            0 => Verdict::NotHere,
            n if n == ratios.len() => Verdict::Holds,
            _ => Verdict::Partly,
        },
        note: &note,
    });
}
