//! The book's one number: rows that ride almost free.

use super::Bench;
use half::bf16;
use lab::chart::Chart;
use lab::race::Race;
use lab::story::{NumberPrediction, Story};
use lab::table::Table;
use layout::packed::PackedMatrix;
use layout::probe;
use std::cell::Cell;
use std::rc::Rc;

/// A layer of a 1.1 billion parameter model.
const IN: usize = 2048;
const OUT: usize = 5632;
/// Enough copies that none is still in a cache when its turn comes again: 184 MiB in f32.
const COPIES: usize = 4;
const ROWS: [usize; 8] = [1, 2, 4, 8, 12, 16, 32, 128];

pub(super) fn tell(story: &mut Story, bench: &Bench) -> anyhow::Result<()> {
    story.step(
        "Rows that ride almost free",
        "One token is one row. Its product must read every weight from memory. What do more rows at the same time cost?",
    );
    let weights = bench.random(OUT * IN, 9);
    let copies: Vec<PackedMatrix> = (0..COPIES).map(|_| PackedMatrix::from_f32(&weights, OUT, IN)).collect();
    let narrow: Vec<bf16> = weights.iter().map(|&w| bf16::from_f32(w)).collect();
    let narrow_copies: Vec<PackedMatrix> = (0..COPIES).map(|_| PackedMatrix::from_bf16(&narrow, OUT, IN)).collect();
    drop((weights, narrow));

    let mut race = Race::new("rows", "One product of [rows, 2048] with 46 MB of weights, all threads")
        .unit("ms")
        .rounds(7);
    for (name, copies) in [("f32", &copies), ("bf16", &narrow_copies)] {
        // One count for all numbers of rows: entries run one after the other, and with a count of its own each would find the copy
        // that the entry before it has just read, half of it still in the cache.
        let turn = Rc::new(Cell::new(0));
        for rows in ROWS {
            let x = bench.random(rows * IN, 10);
            let (mut y, turn) = (vec![0.0; rows * OUT], Rc::clone(&turn));
            race = race.entry(name, Some(rows as f64), move || {
                copies[turn.get() % COPIES].matmul(&bench.pool, &x, rows, &mut y);
                turn.set(turn.get() + 1);
            });
        }
    }
    let result = race.run()?;
    let ms = |name: &str, rows: usize| {
        result
            .entry_at(name, rows as f64)
            .map_or(f64::NAN, |entry| entry.median)
    };
    let eight = ms("f32", 8) / ms("f32", 1);
    story.predict_number(NumberPrediction {
        id: "eight-rows",
        question: "If one row takes 1, how long do 8 rows take?",
        answer: eight,
        unit: "times one row",
        within: 1.5,
        because: "The weights are read once for all eight, and while memory sends them the multiply-add units have nothing else to do.",
    });
    let bandwidth = probe::read_bandwidth(&bench.pool, COPIES * 4 * IN * OUT) / 1e9;
    let peak = probe::peak_flops(&bench.pool) / 1e9;
    story.show_as(
        "read bandwidth over that much memory",
        bandwidth,
        format!("{bandwidth:.1} GB/s"),
    );
    let mut table = Table::new(&[
        "rows",
        "f32, ms",
        "× one row",
        "GB/s",
        "% of it",
        "GFLOP/s",
        "% of peak",
        "bf16, ms",
        "× f32",
    ]);
    for rows in ROWS {
        let seconds = ms("f32", rows) / 1e3;
        let (gbs, gflops) = (
            (4 * IN * OUT) as f64 / seconds / 1e9,
            (2 * rows * IN * OUT) as f64 / seconds / 1e9,
        );
        table.row([
            rows.to_string(),
            format!("{:.2}", ms("f32", rows)),
            format!("{:.1}", ms("f32", rows) / ms("f32", 1)),
            format!("{gbs:.1}"),
            format!("{:.0}", 100.0 * gbs / bandwidth),
            format!("{gflops:.0}"),
            format!("{:.0}", 100.0 * gflops / peak),
            format!("{:.2}", ms("bf16", rows)),
            format!("{:.2}", ms("bf16", rows) / ms("f32", rows)),
        ]);
    }
    story.table(&table);
    story.values(&result.id, &result);
    let balance = 2.0 * peak / bandwidth;
    story.say(format!(
        "Up to about {balance:.0} rows (peak / bandwidth, 4 bytes and 2 operations per weight and row) memory decides, and rows ride almost free. \
         Beyond, each row costs what it computes."
    ));
    let against = |name: &str| ROWS.map(|rows| (rows as f64, ms(name, rows) / ms("f32", 1))).to_vec();
    story.chart(
        &Chart::lines("rows", "Rows ride almost free until arithmetic catches up")
            .x_label("rows")
            .y_label("time, f32 with one row = 1")
            .note("[rows, 2048] x weights [5632, 2048] from memory; less is better")
            .log_x()
            .log_y()
            .series("f32 weights", against("f32"))
            .series("bf16 weights", against("bf16"))
            .dashed(
                "if each row cost the same",
                ROWS.map(|rows| (rows as f64, rows as f64)).to_vec(),
            ),
    )?;
    Ok(())
}
