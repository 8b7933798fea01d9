//! G4: memory that grows with the text against memory that is there before.

use super::{Scene, allocations};
use kv_cache::concat::{GrowingCache, Growth};
use kv_cache::{CacheOrder, ContiguousCache};
use lab::chart::Chart;
use lab::ledger;
use lab::number;
use lab::race::Race;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use serde::Serialize;
use std::cell::RefCell;
use std::time::Instant;
use training::LlamaConfig;

/// Positions that are kept one after the other.
const POSITIONS: [usize; 3] = [128, 256, 512];

/// In the order of [`CacheOrder::ALL`].
const PREALLOCATED: [&str; 2] = ["preallocated, by position", "preallocated, by head"];
const CONCATENATED: &str = "concatenated";
const GROWING: [(Growth, &str); 2] = [
    (Growth::Doubling, "doubling, as Vec::push"),
    (Growth::Exact, CONCATENATED),
];

/// Keeping alone, without a model: one made-up row at a time, in every layer.
struct Keeping {
    config: LlamaConfig,
    row: Vec<f32>,
}

impl Keeping {
    fn preallocated(&self, cache: &mut ContiguousCache, positions: usize) {
        cache.clear();
        for _ in 0..positions {
            for layer in 0..self.config.num_layers {
                cache.append(layer, &self.row);
            }
            cache.advance(1);
        }
    }

    fn growing(&self, growth: Growth, positions: usize) {
        let mut cache = GrowingCache::new(&self.config, growth);
        for _ in 0..positions {
            for layer in 0..self.config.num_layers {
                cache.append(layer, &self.row);
            }
            cache.advance(1);
        }
    }
}

/// G4: bytes copied and allocations are counted, then the clock.
pub fn concatenate(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Ask for memory once",
        "The first cache that one writes begins empty and puts each position behind the old ones. Keeping alone, no model: one row at a time, all layers.",
    );
    let config = scene.llama().clone();
    let width = config.q_size() + 2 * config.kv_size();
    let row: Vec<f32> = (0..width).map(|i| (i as f32 * 0.37).sin()).collect();
    let keeping = Keeping { config, row };
    let longest = POSITIONS[POSITIONS.len() - 1];
    let mut caches = CacheOrder::ALL.map(|order| ContiguousCache::with_order(&keeping.config, longest, order));
    let mut counts: Vec<Counted> = Vec::new();
    for (cache, name) in caches.iter_mut().zip(PREALLOCATED) {
        counts.push(count(name, &mut || keeping.preallocated(cache, longest)));
    }
    for (growth, name) in GROWING {
        counts.push(count(name, &mut || keeping.growing(growth, longest)));
    }
    predict(story, &counts, longest);
    let mut table = Table::new(&["cache", "bytes kept", "bytes copied", "allocations"]);
    for counted in &counts {
        table.row([
            counted.name.to_owned(),
            number::bytes(counted.kept),
            number::bytes(counted.copied),
            number::grouped(counted.allocations),
        ]);
    }
    story.table(&table);
    story.values("counted", &counts);

    let caches = caches.map(RefCell::new);
    let mut race = Race::new("concat", "Keeping one position").unit("µs").rounds(5);
    for positions in POSITIONS {
        let (x, keeping) = (Some(positions as f64), &keeping);
        let each = move |run: &dyn Fn()| {
            let started = Instant::now();
            run();
            ((), started.elapsed() / positions as u32)
        };
        for (cache, name) in caches.iter().zip(PREALLOCATED) {
            race = race.entry_timed(name, x, move || {
                each(&|| keeping.preallocated(&mut cache.borrow_mut(), positions))
            });
        }
        for (growth, name) in GROWING {
            race = race.entry_timed(name, x, move || each(&|| keeping.growing(growth, positions)));
        }
    }
    let result = story.race(race.baseline(PREALLOCATED[1]))?;
    story.say(
        "In [heads, positions, head_dim] a row goes to as many places as it has key heads, so keeping it takes a little longer. A later step shows \
         what that order is good for. Doubling is quick here and keeps up to twice the memory; where memory is the limit, and it will be, that decides.",
    );
    claim(story, &counts, result.ratio(PREALLOCATED[1], CONCATENATED), longest);
    let chart = Chart::from_race(&result)
        .x_label("positions kept, one after the other")
        .y_label("µs a position, all layers (logarithmic)")
        .log_y();
    story.chart(&chart)?;
    Ok(())
}

/// What keeping one position after the other takes, as counts.
#[derive(Serialize)]
struct Counted {
    name: &'static str,
    kept: u64,
    copied: u64,
    allocations: u64,
}

fn count(name: &'static str, work: &mut dyn FnMut()) -> Counted {
    let allocations = allocations(&mut *work);
    let (_, counted) = ledger::measure(work);
    Counted {
        name,
        kept: counted.get("kv_bytes_written"),
        copied: counted.get("kv_bytes_copied"),
        allocations,
    }
}

fn predict(story: &mut Story, counts: &[Counted], longest: usize) {
    let times = counts
        .iter()
        .find(|counted| counted.name == CONCATENATED)
        .map_or(f64::NAN, |counted| counted.copied as f64 / counted.kept as f64);
    let texts = [
        "as much as is kept: each position once".to_owned(),
        format!("{times:.0} times as much"),
        "nothing: the new row goes behind the old ones".to_owned(),
    ];
    story.predict(Prediction {
        id: "bytes-copied",
        question: &format!("{longest} positions, one after the other, each time into new memory of the new size. How much is copied besides what is new?"),
        options: &[
            Choice { text: &texts[0], answer_to_wrong: Some("The position that came first is copied at every later token.") },
            Choice { text: &texts[1], answer_to_wrong: None },
            Choice { text: &texts[2], answer_to_wrong: Some("There is no room behind them. New memory means that everything moves.") },
        ],
        answer: 1,
        because: "Token i copies the i positions before it: half the square of the length. Lesson 05's triangle is back, made of bytes.",
    });
}

fn claim(story: &mut Story, counts: &[Counted], slower: f64, longest: usize) {
    let [by_position, by_head, doubling, concatenated] = counts else {
        return;
    };
    let moves = concatenated.copied > 10 * concatenated.kept && concatenated.allocations >= longest as u64;
    let prepared = [by_position, by_head];
    let still = prepared.iter().all(|c| c.copied == 0 && c.allocations == 0);
    let verdict = match (moves, still) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = format!(
        "{} allocations and {} copied for {longest} positions of {}; preallocated {} and {}. Keeping a position takes {slower:.0} times as long. \
         Doubling, which Rust's Vec does by itself, copies {}.",
        number::grouped(concatenated.allocations),
        number::bytes(concatenated.copied),
        number::bytes(concatenated.kept / longest as u64),
        by_head.allocations,
        number::bytes(by_head.copied),
        number::bytes(doubling.copied),
    );
    story.claim(Claim {
        id: "G4",
        claimed: "A cache grown by concatenation reallocates and copies at every token; a preallocated one with a write index does not",
        value: concatenated.copied as f64 / concatenated.kept as f64,
        unit: "bytes copied for each byte kept",
        verdict,
        note: &note,
    });
}
