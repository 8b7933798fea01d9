//! G4: memory that grows with the text against memory that is allocated once.

use super::Scene;
use kv_cache::experiments::concat::{GrowingCache, Growth};
use kv_cache::{CacheOrder, ContiguousCache};
use lab::chart::Chart;
use lab::race::Race;
use lab::story::{Claim, Story, Verdict};
use lab::{alloc, ledger, number};
use serde::Serialize;
use std::cell::RefCell;
use std::time::Instant;
use training::LlamaConfig;

/// Positions that are appended one after the other.
const POSITIONS: [usize; 3] = [128, 256, 512];
const LONGEST: usize = POSITIONS[POSITIONS.len() - 1];

/// In the order of [`CacheOrder::ALL`].
const PREALLOCATED: [&str; 2] = ["preallocated, by position", "preallocated, by head"];
const CONCATENATED: &str = "concatenated";
const GROWING: [(Growth, &str); 2] = [
    (Growth::Doubling, "doubling, as Vec::push"),
    (Growth::Exact, CONCATENATED),
];

/// Appending alone, without a model: one made-up row at a time, in every layer.
struct Appending {
    config: LlamaConfig,
    row: Vec<f32>,
}

impl Appending {
    fn preallocated(&self, cache: &mut ContiguousCache, positions: usize) {
        cache.clear();
        for _ in 0..positions {
            (0..self.config.num_layers).for_each(|layer| cache.append(layer, &self.row));
            cache.advance(1);
        }
    }

    fn growing(&self, growth: Growth, positions: usize) {
        let mut cache = GrowingCache::new(&self.config, growth);
        for _ in 0..positions {
            (0..self.config.num_layers).for_each(|layer| cache.append(layer, &self.row));
            cache.advance(1);
        }
    }
}

/// The counts of appending [`LONGEST`] positions.
#[derive(Serialize)]
struct Counted {
    name: &'static str,
    /// Bytes of the new positions.
    kept: u64,
    /// Bytes of old positions that were copied.
    copied: u64,
    allocations: u64,
}

fn count(name: &'static str, mut work: impl FnMut()) -> Counted {
    let allocations = alloc::count(&mut work).1;
    let (_, counted) = ledger::measure(work);
    Counted {
        name,
        kept: counted.get("kv_bytes_written"),
        copied: counted.get("kv_bytes_copied"),
        allocations,
    }
}

/// Bytes copied and allocations are counted, then timed.
pub fn concatenate(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Ask for memory once",
        "A first cache often starts empty and concatenates each position. Appending alone, no model: one row at a \
         time, all layers.",
    );
    let config = scene.llama().clone();
    let width = config.q_size() + 2 * config.kv_size();
    let row = (0..width).map(|i| (i as f32 * 0.37).sin()).collect();
    let appending = &Appending { config, row };
    let caches = CacheOrder::ALL.map(|order| {
        let cache = ContiguousCache::with_order(&appending.config, LONGEST, order);
        RefCell::new(cache)
    });
    let prepared = caches.iter().zip(PREALLOCATED);
    let prepared =
        prepared.map(|(cache, name)| count(name, || appending.preallocated(&mut cache.borrow_mut(), LONGEST)));
    let grown = GROWING
        .iter()
        .map(|(growth, name)| count(name, || appending.growing(*growth, LONGEST)));
    let counts: Vec<Counted> = prepared.chain(grown).collect();
    let [by_position, by_head, doubling, concatenated] = &counts[..] else {
        unreachable!("two preallocated and two growing caches")
    };
    let times = concatenated.copied as f64 / concatenated.kept as f64;
    story.predict_with(
        "bytes-copied",
        &[("positions", &LONGEST), ("times", &format!("{times:.0}"))],
    );
    story.rows(
        &["cache", "bytes kept", "bytes copied", "allocations"],
        counts.iter().map(|counted| {
            let bytes = [counted.kept, counted.copied].map(number::bytes);
            let [kept, copied] = bytes;
            [
                counted.name.to_owned(),
                kept,
                copied,
                number::grouped(counted.allocations),
            ]
        }),
    );
    story.values("counted", &counts);

    let mut race = Race::new("concat", "Keeping one position").unit("µs").rounds(5);
    for positions in POSITIONS {
        let x = Some(positions as f64);
        let each = move |run: &dyn Fn()| {
            let started = Instant::now();
            run();
            ((), started.elapsed() / positions as u32)
        };
        for (cache, name) in caches.iter().zip(PREALLOCATED) {
            race = race.entry_timed(name, x, move || {
                each(&|| appending.preallocated(&mut cache.borrow_mut(), positions))
            });
        }
        for (growth, name) in GROWING {
            race = race.entry_timed(name, x, move || each(&|| appending.growing(growth, positions)));
        }
    }
    let result = story.race(race.baseline(PREALLOCATED[1]))?;
    story.say(
        "Both orders are preallocated and copy nothing: new memory comes from growing, not from the layout, which a later \
         step measures alone. Doubling is quick here and keeps up to twice the memory.",
    );
    let moves = concatenated.copied > 10 * concatenated.kept && concatenated.allocations >= LONGEST as u64;
    let still = [by_position, by_head]
        .iter()
        .all(|c| c.copied == 0 && c.allocations == 0);
    story.claim(Claim {
        id: "G4",
        claimed: "A cache grown by concatenation reallocates and copies at every token; a preallocated one with a \
                  write index does not",
        value: times,
        unit: "bytes copied for each byte kept",
        verdict: Verdict::of(moves && still, moves || still),
        note: &format!(
            "{} allocations and {} copied for {LONGEST} positions of {}; preallocated {} and {}. Keeping a position \
             takes {:.0} times as long. Doubling, as Rust's Vec does, copies {}.",
            number::grouped(concatenated.allocations),
            number::bytes(concatenated.copied),
            number::bytes(concatenated.kept / LONGEST as u64),
            by_head.allocations,
            number::bytes(by_head.copied),
            result.ratio(PREALLOCATED[1], CONCATENATED),
            number::bytes(doubling.copied),
        ),
    });
    let chart = Chart::from_race(&result)
        .x_label("positions kept, one after the other")
        .y_label("µs a position, all layers (logarithmic)")
        .log_y();
    story.chart(&chart)?;
    Ok(())
}
