//! Claim T3: conversion in the hot loop.

use super::{Bench, product, same_bits};
use half::bf16;
use lab::chart::Chart;
use lab::ledger;
use lab::number::bytes;
use lab::race::Race;
use lab::story::{Claim, Story, Verdict};
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
        "The weights are stored as bf16, half the bytes. The product needs f32. Where are they widened?",
    );
    let stored: Vec<bf16> = bench.random(OUT * IN, 11).iter().map(|&w| bf16::from_f32(w)).collect();
    let weights = Weights::new(&stored, OUT, IN);
    let x = bench.random(ROWS * IN, 12);
    story.predict("widen");
    let mut race = Race::new("convert", "One step, bf16 weights [4096, 1024], 8 rows, all threads")
        .unit("ms")
        .rounds(7)
        .baseline(WAYS[1].1)
        .check(same_bits);
    let mut counted = Vec::new();
    for (conversion, name) in WAYS {
        let (weights, x, pool) = (&weights, &x, &bench.pool);
        let mut step = product(ROWS * OUT, move |y| weights.step(conversion, pool, x, ROWS, y));
        let mut y = vec![0.0; ROWS * OUT];
        // The first call makes scratch, which stays.
        step();
        let ((), ledger) = ledger::measure(|| weights.step(conversion, pool, x, ROWS, &mut y));
        story.ledger(&ledger);
        counted.push((name, ledger));
        race = race.entry(name, None, step);
    }
    story.rows(
        &["widened", "allocations", "allocated", "read", "written"],
        counted.iter().map(|(name, ledger)| {
            [
                name.to_string(),
                ledger.allocations.to_string(),
                bytes(ledger.allocated_bytes),
                bytes(ledger.bytes_read),
                bytes(ledger.bytes_written),
            ]
        }),
    );
    let result = story.race(race)?;
    let slower = result.ratio(WAYS[1].1, WAYS[0].1);
    let claim = Claim {
        id: "T3",
        claimed: "dtype or device conversion inside the hot loop costs allocation and synchronisation on each step; converting once before it does not",
        value: slower,
        unit: "times as slow as once before",
        verdict: Verdict::of(slower > 1.1, true),
        note: "The dtype part, counted: one allocation of 16 MiB and 24 MiB of traffic for each step, against none. A CPU has no device to synchronise with; that part belongs to lesson 15.",
    };
    story.claim_if_quiet(claim, [result.disturbance(WAYS[0].1, WAYS[1].1)]);
    story.chart(&Chart::from_race(&result))?;
    Ok(())
}
