//! The book's one number: rows that ride almost free.

use super::Bench;
use half::bf16;
use lab::chart::Chart;
use lab::race::{Disturbance, Race};
use lab::story::{Answer, Story};
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
    let asked = story.ask("eight-rows", &[]);
    let weights = bench.random(OUT * IN, 9);
    let narrow: Vec<bf16> = weights.iter().map(|&w| bf16::from_f32(w)).collect();
    let copies = [
        ("f32", [(); COPIES].map(|()| PackedMatrix::from_f32(&weights, OUT, IN))),
        ("bf16", [(); COPIES].map(|()| PackedMatrix::from_bf16(&narrow, OUT, IN))),
    ];
    drop((weights, narrow));

    let mut race = Race::new("rows", "One product of [rows, 2048] with 46 MB of weights, all threads")
        .unit("ms")
        .rounds(7);
    for (name, copies) in &copies {
        // One count for all numbers of rows: entries run one after the other, and with a count of its own each would
        // find the copy that the entry before it has just read, half of it still in the cache.
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
    let ms = |name: &str, rows: usize| result.median_at(name, rows as f64);
    let eight = ms("f32", 8) / ms("f32", 1);
    story.reveal(asked, Answer::Number(eight), &[]);
    let bandwidth = probe::read_bandwidth(&bench.pool, COPIES * 4 * IN * OUT) / 1e9;
    let peak = probe::peak_flops(&bench.pool) / 1e9;
    story.show_as(
        "read bandwidth over that much memory",
        bandwidth,
        format!("{bandwidth:.1} GB/s"),
    );
    let gbs = |rows| (4 * IN * OUT) as f64 / ms("f32", rows) / 1e6;
    let gflops = |rows| (2 * rows * IN * OUT) as f64 / ms("f32", rows) / 1e6;
    story.rows(
        &[
            "rows",
            "f32, ms",
            "× one row",
            "GB/s",
            "% of it",
            "GFLOP/s",
            "% of peak",
            "bf16, ms",
            "× f32",
        ],
        ROWS.map(|rows| {
            [
                rows.to_string(),
                format!("{:.2}", ms("f32", rows)),
                format!("{:.1}", ms("f32", rows) / ms("f32", 1)),
                format!("{:.1}", gbs(rows)),
                format!("{:.0}", 100.0 * gbs(rows) / bandwidth),
                format!("{:.0}", gflops(rows)),
                format!("{:.0}", 100.0 * gflops(rows) / peak),
                format!("{:.2}", ms("bf16", rows)),
                format!("{:.2}", ms("bf16", rows) / ms("f32", rows)),
            ]
        }),
    );
    let signs = [
        Disturbance::of_ratio("8 rows against one", eight, 0.9..=8.8),
        Disturbance::of_share("the read bandwidth", gbs(1) / bandwidth),
        Disturbance::of_share("the peak", gflops(128) / peak),
    ];
    let is_busy = story.is_busy(signs);
    story.values(&result.id, &result);
    let balance = 2.0 * peak / bandwidth;
    if !is_busy {
        story.say(format!(
            "Up to about {balance:.0} rows (2 x peak / bandwidth, for 4 bytes a weight and 2 operations a weight and row) memory decides, \
             and rows ride almost free. Beyond, each row costs what it computes."
        ));
    }
    let against = |name: &str| ROWS.map(|rows| (rows as f64, ms(name, rows) / ms("f32", 1))).to_vec();
    let alone = ROWS.map(|rows| (rows as f64, rows as f64)).to_vec();
    story.chart(
        &Chart::lines("rows", "Rows ride almost free until arithmetic catches up")
            .x_label("rows")
            .y_label("time, f32 with one row = 1")
            .note("[rows, 2048] x weights [5632, 2048] from memory; less is better")
            .log_x()
            .log_y()
            .series("f32 weights", against("f32"))
            .series("bf16 weights", against("bf16"))
            .dashed("if each row cost the same", alone),
    )?;
    Ok(())
}
