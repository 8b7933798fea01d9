//! Claim T3: conversion in the hot loop.

use super::{Bench, same_bits};
use half::bf16;
use lab::chart::Chart;
use lab::ledger;
use lab::race::Race;
use lab::record::Verdict;
use lab::story::{Choice, Claim, Prediction, Story};
use lab::table::Table;
use layout::convert::{Conversion, Weights};

const IN: usize = 1024;
const OUT: usize = 4096;
const ROWS: usize = 8;
const WAYS: [(Conversion, &str); 3] = [
    (Conversion::EachStep, "in each step"),
    (Conversion::OnceBefore, "once before"),
    (Conversion::InRegisters, "in registers"),
];

pub(super) fn tell(story: &mut Story, bench: &Bench) -> anyhow::Result<()> {
    story.step(
        "Converting inside the loop",
        "The weights are stored as bf16, half the bytes. The product wants f32. Where are they widened?",
    );
    let stored: Vec<bf16> = bench.random(OUT * IN, 11).iter().map(|&w| bf16::from_f32(w)).collect();
    let weights = Weights::new(&stored, OUT, IN);
    let x = bench.random(ROWS * IN, 12);
    story.predict(Prediction {
        id: "widen",
        question: "8 MiB of bf16 weights are widened to f32 in every step, then multiplied. How many bytes more does a step move than with f32 made before the loop?",
        options: &[
            Choice { text: "8 MiB", answer_to_wrong: Some("That is the reading. The f32 copy, 16 MiB, must also be written; only reading it again is common to both.") },
            Choice { text: "24 MiB", answer_to_wrong: None },
            Choice { text: "none: widening is arithmetic", answer_to_wrong: Some("Only if it happens in a register. A copy is written and read.") },
        ],
        answer: 1,
        because: "8 MiB read, 16 MiB written, and the 16 MiB are then read as they would be anyway.",
    });
    let mut race = Race::new("convert", "One step, bf16 weights [4096, 1024], 8 rows, all threads")
        .unit("ms")
        .rounds(7)
        .baseline(WAYS[1].1)
        .check(|expected: &Vec<f32>, found| same_bits(expected, found));
    let mut table = Table::new(&[
        "widened",
        "allocations per step",
        "bytes allocated",
        "bytes read",
        "bytes written",
    ]);
    for (conversion, name) in WAYS {
        let mut y = vec![0.0; ROWS * OUT];
        // The first call makes scratch, which stays.
        ledger::measure(|| weights.step(conversion, &bench.pool, &x, ROWS, &mut y));
        let ((), counted) = ledger::measure(|| weights.step(conversion, &bench.pool, &x, ROWS, &mut y));
        table.row([
            name.to_string(),
            counted.allocations.to_string(),
            lab::number::bytes(counted.allocated_bytes),
            lab::number::bytes(counted.bytes_read),
            lab::number::bytes(counted.bytes_written),
        ]);
        story.ledger(&counted);
        let (weights, x, pool) = (&weights, &x, &bench.pool);
        race = race.entry(name, None, move || {
            weights.step(conversion, pool, x, ROWS, &mut y);
            y.clone()
        });
    }
    story.table(&table);
    let result = story.race(race)?;
    let slower = result.ratio(WAYS[1].1, WAYS[0].1);
    story.claim(Claim {
        id: "T3",
        claimed: "Conversion inside the hot loop costs allocation on each step; converting once before it does not",
        value: slower,
        unit: "times as slow as once before",
        verdict: if slower > 1.1 {
            Verdict::Holds
        } else {
            Verdict::Partly
        },
        note: "counted: one allocation of 16 MiB and 24 MiB of traffic per step against none; on a CPU nothing has to be synchronised",
    });
    story.chart(&Chart::from_race(&result))?;
    Ok(())
}
