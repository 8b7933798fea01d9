//! G4: memory that grows with the text against memory that is there before.

use super::Scene;
use kv_cache::ContiguousCache;
use kv_cache::concat::{GrowingCache, Growth};
use lab::chart::Chart;
use lab::ledger::{self, Ledger};
use lab::number;
use lab::race::Race;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use training::LlamaConfig;

/// Positions that are kept one after the other.
const POSITIONS: [usize; 3] = [128, 256, 512];

const PREALLOCATED: &str = "preallocated, write index";
const DOUBLING: &str = "doubling, as Vec::push";
const CONCATENATED: &str = "concatenated";

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
    let mut cache = ContiguousCache::new(&keeping.config, longest);
    let counts = [
        (
            PREALLOCATED,
            ledger::measure(|| keeping.preallocated(&mut cache, longest)).1,
        ),
        (
            DOUBLING,
            ledger::measure(|| keeping.growing(Growth::Doubling, longest)).1,
        ),
        (
            CONCATENATED,
            ledger::measure(|| keeping.growing(Growth::Exact, longest)).1,
        ),
    ];
    predict(story, &counts, longest);
    let mut table = Table::new(&["cache", "bytes kept", "bytes copied", "allocations"]);
    for (name, counted) in &counts {
        table.row([
            (*name).to_owned(),
            number::bytes(counted.get("kv_bytes_written")),
            number::bytes(counted.get("kv_bytes_copied")),
            number::grouped(counted.allocations),
        ]);
        story.values(name, counted);
    }
    story.table(&table);

    let cache = std::cell::RefCell::new(cache);
    let mut race = Race::new("concat", "Keeping one position")
        .unit("µs")
        .rounds(5);
    for positions in POSITIONS {
        let (x, keeping) = (Some(positions as f64), &keeping);
        let each = move |run: &dyn Fn()| {
            let started = std::time::Instant::now();
            run();
            ((), started.elapsed() / positions as u32)
        };
        let cache = &cache;
        race = race
            .entry_timed(PREALLOCATED, x, move || {
                each(&|| keeping.preallocated(&mut cache.borrow_mut(), positions))
            })
            .entry_timed(DOUBLING, x, move || {
                each(&|| keeping.growing(Growth::Doubling, positions))
            })
            .entry_timed(CONCATENATED, x, move || {
                each(&|| keeping.growing(Growth::Exact, positions))
            });
    }
    let result = story.race(race.baseline(PREALLOCATED))?;
    claim(
        story,
        &counts,
        result.ratio(PREALLOCATED, CONCATENATED),
        longest,
    );
    let chart = Chart::from_race(&result)
        .x_label("positions kept, one after the other")
        .y_label("µs a position, all layers (logarithmic)")
        .log_y();
    story.chart(&chart)?;
    Ok(())
}

fn predict(story: &mut Story, counts: &[(&str, Ledger); 3], longest: usize) {
    let (kept, copied) = (
        counts[2].1.get("kv_bytes_written"),
        counts[2].1.get("kv_bytes_copied"),
    );
    let texts = [
        "as much as is kept: each position once".to_owned(),
        format!("{:.0} times as much", copied as f64 / kept as f64),
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

fn claim(story: &mut Story, counts: &[(&str, Ledger); 3], slower: f64, longest: usize) {
    let [(_, prepared), (_, doubling), (_, concatenated)] = counts;
    let copied = concatenated.get("kv_bytes_copied");
    let moves = copied > 10 * concatenated.get("kv_bytes_written")
        && concatenated.allocations >= longest as u64;
    let still = prepared.get("kv_bytes_copied") == 0 && prepared.allocations == 0;
    let verdict = match (moves, still) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = format!(
        "{} allocations and {} copied for {longest} positions of {}; preallocated {} and {}. Keeping a position takes {slower:.0} times as long. \
         Doubling, which Rust's Vec does by itself, copies {}.",
        number::grouped(concatenated.allocations),
        number::bytes(copied),
        number::bytes(concatenated.get("kv_bytes_written") / longest as u64),
        prepared.allocations,
        number::bytes(prepared.get("kv_bytes_copied")),
        number::bytes(doubling.get("kv_bytes_copied")),
    );
    story.claim(Claim {
        id: "G4",
        claimed: "A cache grown by concatenation reallocates and copies at every token; a preallocated one with a write index does not",
        value: copied as f64 / concatenated.get("kv_bytes_written") as f64,
        unit: "bytes copied for each byte kept",
        verdict,
        note: &note,
    });
}
