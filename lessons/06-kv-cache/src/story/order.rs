//! G6: the order of the keys in memory.

use super::{Scene, equal};
use generation::attention::{attend_rows, reserve_scores};
use kv_cache::work::lines_and_runs;
use kv_cache::{CacheOrder, ContiguousCache};
use lab::chart::Chart;
use lab::race::{Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use layout::pool::Pool;
use std::cell::RefCell;
use training::LlamaConfig;

/// Context lengths of the race.
const CONTEXTS: [usize; 3] = [128, 512, 2048];
const LONGEST: usize = CONTEXTS[CONTEXTS.len() - 1];

/// The cache of SmolLM2-135M: with a long context it is larger than a processor's cache. The other sizes of the model
/// do not matter here.
fn large_shape() -> LlamaConfig {
    LlamaConfig {
        num_layers: 30,
        num_heads: 9,
        num_kv_heads: 3,
        head_dim: 64,
        max_seq_len: 8192,
        ..LlamaConfig::stories()
    }
}

/// Lines and runs of both orders, counted, then attention alone over a long context, timed.
pub fn orders(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Turn the cache",
        "Attention reads one head at all positions. Lesson 02 asked whether the step from one position to the next is \
         one head wide or all heads wide. The cache can have either order.",
    );
    let config = large_shape();
    let counted = CacheOrder::ALL.map(|order| lines_and_runs(order, LONGEST, config.num_kv_heads, config.head_dim, 1));
    let (lines, runs) = (counted.map(|(lines, _)| lines), counted.map(|(_, runs)| runs));
    let names = CacheOrder::ALL.map(CacheOrder::name);
    story.rows(
        &["keys of one head lie as", "lines", "runs"],
        [0, 1].map(|i| [names[i].to_owned(), lines[i].to_string(), runs[i].to_string()]),
    );
    story.values("lines", lines);
    story.values("runs", runs);
    story.say(format!(
        "{LONGEST} positions of {} numbers: both orders fetch whole lines, and every number of a line is used. The \
         orders differ in how often the next line is not the neighbouring one. Now attention alone over the cache of a \
         135M model, {} layers, without its weights:",
        config.head_dim, config.num_layers
    ));
    let result = race_orders(story, &scene.pool, &config)?;
    let faster = result.ratio(names[1], names[0]);
    let gains = CONTEXTS.map(|context| {
        let gain = result.ratio_at(names[1], names[0], context as f64);
        format!("{context}: {gain:.2}")
    });
    story.values("times_as_fast", faster);
    // The claim is counted: the second order reads a head in one run. That this pays is measured, above the noise.
    let in_sequence = runs[1] == 1 && runs[0] > 1;
    let pays = faster - 1.0 > result.noise(&names).max(0.05);
    let claim = Claim {
        id: "G6",
        claimed: "Layout [batch, seq, heads, dim] against [batch, heads, seq, dim]: the second reads each head's keys \
                  in sequence",
        value: faster,
        unit: "times as fast, attention over 2048 positions",
        verdict: Verdict::of(in_sequence && pays, in_sequence),
        note: &format!(
            "Counted: {} runs against {}, the same lines. Times as fast, by context: {}. A new row is copied to more \
             places, once a token. The default order of the cache is {}.",
            runs[0],
            runs[1],
            gains.join(", "),
            CacheOrder::default().name(),
        ),
    };
    // The counted half needs no quiet machine, and the timed half is judged against the noise above.
    story.claim(claim);
    let chart = Chart::from_race(&result)
        .x_label("positions that a row sees")
        .y_label("ms for attention of one row, 30 layers");
    story.chart(&chart)?;
    Ok(())
}

fn race_orders(story: &mut Story, pool: &Pool, config: &LlamaConfig) -> anyhow::Result<RaceResult> {
    let width = config.q_size() + 2 * config.kv_size();
    let chunk: Vec<f32> = (0..64 * width).map(|i| (i as f32 * 0.37).sin()).collect();
    let scores = RefCell::new(Vec::new());
    reserve_scores(pool, config, 1, LONGEST, &mut scores.borrow_mut());
    let title = "Attention of one row, all layers";
    let mut race = Race::new("order", title).unit("ms").rounds(9);
    for context in CONTEXTS {
        for order in CacheOrder::ALL {
            let mut cache = ContiguousCache::with_order(config, context, order);
            for _ in (0..context).step_by(64) {
                (0..config.num_layers).for_each(|layer| cache.append(layer, &chunk));
                cache.advance(64);
            }
            let (scores, chunk) = (&scores, &chunk);
            race = race.entry(order.name(), Some(context as f64), move || {
                let (mut attended, mut scores) = (vec![0.0; config.q_size()], scores.borrow_mut());
                for layer in 0..config.num_layers {
                    let view = |_, kv_head| cache.view(layer, kv_head, context);
                    attend_rows(pool, config, &chunk[..width], &view, &mut scores, &mut attended);
                }
                attended
            });
        }
    }
    story.race(race.baseline(CacheOrder::PositionMajor.name()).check(equal))
}
