//! Claim T1: a product fed by a view, against copying first.

use super::{Bench, product, same_bits};
use lab::chart::Chart;
use lab::race::{Disturbance, Race};
use lab::story::{Claim, Story, Verdict};
use layout::dense::Dense;
use layout::gemm::{MatMut, Write, gemm};
use layout::grid::{Counted, Grid};
use layout::ladder::{self, Rung};
use layout::layout::Layout;
use layout::lines::Cache;
use layout::pool::Pool;
use layout::view::View;
use std::cell::RefCell;

const BATCH: usize = 2;
const SEQ: usize = 64;
const HIDDEN: usize = 512;
const OUT: usize = 256;

/// Three ways to feed a product by views: of x `[batch, seq, hidden]` and of the weights `[hidden, out]`.
fn cases() -> [(&'static str, Layout, Layout); 3] {
    let x = |stored: [usize; 3], order| Layout::row_major(&stored).permute(order);
    let dense = Layout::row_major(&[HIDDEN, OUT]);
    let transposed = Layout::row_major(&[OUT, HIDDEN]).transpose(0, 1);
    [
        ("x rows permuted", x([SEQ, BATCH, HIDDEN], &[1, 0, 2]), dense.clone()),
        ("x hidden strided", x([BATCH, HIDDEN, SEQ], &[0, 2, 1]), dense),
        ("w transposed", x([BATCH, SEQ, HIDDEN], &[0, 1, 2]), transposed),
    ]
}

const RUNGS: [Rung; 4] = [Rung::Naive, Rung::Reordered, Rung::Blocked, Rung::Packed];

/// y = x w for each of the batch, from the views as they are.
fn by_view(rung: Rung, pool: &Pool, x: &View<f32>, w: &View<f32>, y: &mut [f32]) {
    let dense = w.layout().is_contiguous().then(|| w.contiguous());
    for (b, y) in y.chunks_exact_mut(SEQ * OUT).enumerate() {
        let x = x.map(|x| x.select(0, b)).matrix();
        match (rung, &dense) {
            (Rung::Packed, _) => {
                let mut y = MatMut::row_major(y, SEQ, OUT);
                gemm(pool, x, w.matrix(), &mut y, Write::Overwrite);
            }
            (_, Some(w)) => loops(rung, &x, &Dense::new(w, HIDDEN, OUT), y),
            (_, None) => loops(rung, &x, &w.matrix(), y),
        }
    }
}

/// The same after copying the strided factor to contiguous memory; the copy is part of the work.
fn copied_first(rung: Rung, pool: &Pool, x: &View<f32>, w: &View<f32>, y: &mut [f32]) {
    let (x, w) = (x.contiguous(), w.contiguous());
    by_view(rung, pool, &dense_x(&x), &View::row_major(&w, &[HIDDEN, OUT]), y);
}

fn dense_x(x: &[f32]) -> View<'_, f32> {
    View::row_major(x, &[BATCH, SEQ, HIDDEN])
}

fn loops(rung: Rung, x: &impl Grid, w: &impl Grid, y: &mut [f32]) {
    match rung {
        Rung::Naive => ladder::naive(x, w, y),
        Rung::Reordered => ladder::reordered(x, w, y),
        Rung::Blocked => ladder::blocked(x, w, y),
        Rung::Packed | Rung::Threads => unreachable!("these rearrange what they read"),
    }
}

/// Lines that a first-level cache fetches per thousand multiply-adds: the first rows of the first of the batch,
/// counted. Nothing for the packed product, which copies what it reads into scratch.
fn lines_per_thousand(rung: Rung, x: &View<f32>, w: &View<f32>) -> String {
    const ROWS: usize = 32;
    if rung == Rung::Packed {
        return "-".to_string();
    }
    let cache = RefCell::new(Cache::default());
    let x = x.map(|x| x.select(0, 0).slice(0, 0..ROWS, 1));
    let [x, w] = [(x.matrix(), 0), (w.matrix(), 1 << 30)].map(|(matrix, at)| Counted::new(matrix, &cache, at));
    loops(rung, &x, &w, &mut vec![0.0; ROWS * OUT]);
    let lines = cache.into_inner().lines_fetched() as f64;
    format!("{:.1}", lines / (ROWS * HIDDEN * OUT) as f64 * 1e3)
}

pub(super) fn tell(story: &mut Story, bench: &Bench) -> anyhow::Result<()> {
    story.step(
        "A view into a product, or a copy first?",
        "Views are free, products read. Three views go through four products, as they are and copied to contiguous memory first.",
    );
    story.predict("copy-first");
    let (x_data, w_data) = (bench.random(BATCH * SEQ * HIDDEN, 3), bench.random(HIDDEN * OUT, 4));
    story.say(
        "The last two columns count, in a model of a first-level cache, the lines that 1000 multiply-adds fetch from the view and from the copy.",
    );
    let (mut table, mut ratios, mut signs) = (Vec::new(), Vec::new(), Vec::new());
    let mut chart = Chart::bars("permuted", "Whether copying first pays depends on the loop")
        .y_label("time with the view / time with a copy first")
        .note("right of 1 the copy, included in its time, pays; one thread")
        .log_y();
    for (case, x, w) in cases() {
        let (x, w) = (View::new(&x_data, x), View::new(&w_data, w));
        let mut race = Race::new(&format!("permuted-{}", case.replace(' ', "-")), case)
            .rounds(5)
            .baseline("copy first")
            .check(same_bits);
        for (index, rung) in RUNGS.into_iter().enumerate() {
            let (x, w, pool, at, n) = (&x, &w, &bench.one, Some(index as f64), BATCH * SEQ * OUT);
            race = race
                .entry("view", at, product(n, move |y| by_view(rung, pool, x, w, y)))
                .entry("copy first", at, product(n, move |y| copied_first(rung, pool, x, w, y)));
        }
        let result = race.run()?;
        let (copy_x, copy_w) = (x.contiguous(), w.contiguous());
        let (copy_x, copy_w) = (dense_x(&copy_x), View::row_major(&copy_w, &[HIDDEN, OUT]));
        let mut bars = Vec::new();
        for (index, rung) in RUNGS.into_iter().enumerate() {
            let [view, copy] = ["view", "copy first"].map(|entry| result.median_at(entry, index as f64));
            table.push([
                if index == 0 { case } else { "" }.to_string(),
                rung.name().to_string(),
                format!("{view:.2}"),
                format!("{copy:.2}"),
                format!("{:.2}", view / copy),
                lines_per_thousand(rung, &x, &w),
                lines_per_thousand(rung, &copy_x, &copy_w),
            ]);
            bars.push((rung.name(), view / copy));
        }
        chart = chart.group(case, &bars);
        ratios.extend(bars.iter().map(|&(name, ratio)| (case, name, ratio)));
        signs.push(result.disturbance("view", "copy first"));
        story.values(&result.id, &result);
    }
    story.rows(
        &["view", "product", "view, ms", "copy, ms", "ratio", "lines", "copied"],
        table,
    );
    story.chart(&chart.rule("equal", 1.0))?;
    claim(story, &ratios, signs);
    Ok(())
}

/// The claim is about activations that are seen through a permuted view: x. The transposed weights stand beside them.
fn claim(story: &mut Story, ratios: &[(&str, &str, f64)], signs: Vec<Option<Disturbance>>) {
    let (activations, weights): (Vec<_>, Vec<_>) = ratios.iter().partition(|(case, ..)| case.starts_with('x'));
    let slower = |cases: &[&(&str, &str, f64)]| cases.iter().filter(|case| case.2 > 1.3).count();
    let worst = |cases: &[&(&str, &str, f64)]| cases.iter().map(|case| case.2).fold(0.0, f64::max);
    let in_all = slower(&activations) + slower(&weights);
    let note = format!(
        "Activations: over 30 % slower in {} of {} cases. Transposed weights: in {} of {}, at worst {:.0} times, where a simple loop reads \
         them downwards. The packed product rearranges what it reads in any case, and takes the view.",
        slower(&activations),
        activations.len(),
        slower(&weights),
        weights.len(),
        worst(&weights),
    );
    let claim = Claim {
        id: "T1",
        claimed: "A matmul fed by a transposed, non-contiguous view is over 30 % slower than making it contiguous first, copy included",
        value: (worst(&activations) - 1.0) * 100.0,
        unit: "% slower with permuted activations, worst of eight cases",
        verdict: Verdict::of(slower(&activations) == activations.len(), in_all > 0),
        note: &note,
    };
    story.claim_if_quiet(claim, signs);
}
