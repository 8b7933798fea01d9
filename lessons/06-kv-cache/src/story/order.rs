//! G6: in which order the keys lie.

use super::{Scene, noise_of};
use generation::attention::{attend_rows, reserve_scores};
use kv_cache::{CacheOrder, ContiguousCache};
use lab::chart::Chart;
use lab::race::{Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use layout::lines::Cache;
use layout::pool::Pool;
use std::cell::RefCell;
use training::LlamaConfig;

/// Context lengths of the race of orders.
const CONTEXTS: [usize; 3] = [128, 512, 2048];

/// The cache of SmolLM2-135M: large enough at a long context that no processor keeps it. The model's other sizes do not matter here.
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

/// G6: the two orders, lines and runs counted, then attention alone over a long context.
pub fn orders(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Turn the cache",
        "Lesson 02 asked: attention walks one head through all positions, is its step one head wide or all of them? Both orders can be had.",
    );
    let config = large_shape();
    let longest = CONTEXTS[CONTEXTS.len() - 1];
    let mut table = Table::new(&["keys of one head lie as", "lines", "runs"]);
    let (mut lines, mut runs) = (Vec::new(), Vec::new());
    for order in CacheOrder::ALL {
        let counted = one_head(&config, order, longest);
        table.row([
            order.name().to_owned(),
            counted.lines_fetched().to_string(),
            counted.runs_fetched().to_string(),
        ]);
        lines.push(counted.lines_fetched());
        runs.push(counted.runs_fetched());
    }
    story.table(&table);
    story.values("lines", &lines);
    story.values("runs", &runs);
    story.say(format!(
        "{longest} positions of {} numbers: whole lines in both orders, so none is read in vain. What differs is how often memory is asked for something \
         unexpected. Now attention alone over the cache of a 135M model, {} layers, without its weights:",
        config.head_dim, config.num_layers
    ));
    let result = race_orders(story, &scene.pool, &config)?;
    let names = CacheOrder::ALL.map(CacheOrder::name);
    let faster = result.ratio(names[1], names[0]);
    let gains: Vec<String> = CONTEXTS
        .iter()
        .map(|context| format!("{context}: {:.2}", result.ratio_at(names[1], names[0], *context as f64)))
        .collect();
    story.values("times_as_fast", faster);
    // What is claimed is counted: the second order reads a head in one run. That it pays, too, is measured, above the noise.
    let in_sequence = runs[1] == 1 && runs[0] > 1;
    let pays = faster - 1.0 > noise_of(&result, [names[0], names[1]]).max(0.05);
    let verdict = match (in_sequence, pays) {
        (true, true) => Verdict::Holds,
        (true, false) => Verdict::Partly,
        (false, _) => Verdict::NotHere,
    };
    let note = format!(
        "Counted: {} runs against {}, the same lines. Times as fast, by context: {}. A new row is copied to more places, once a token. The cache has the order \
         {} by default.",
        runs[0],
        runs[1],
        gains.join(", "),
        CacheOrder::default().name(),
    );
    story.claim(Claim {
        id: "G6",
        claimed: "Layout [batch, seq, heads, dim] against [batch, heads, seq, dim]: the second reads each head's keys in sequence",
        value: faster,
        unit: "times as fast, attention over 2048 positions",
        verdict,
        note: &note,
    });
    let chart = Chart::from_race(&result)
        .x_label("positions that a row sees")
        .y_label("ms for attention of one row, 30 layers");
    story.chart(&chart)?;
    Ok(())
}

/// Lines and runs that one walk through the keys of head 1 fetches.
fn one_head(config: &LlamaConfig, order: CacheOrder, positions: usize) -> Cache {
    let strides = order.strides(positions, config.num_kv_heads, config.head_dim);
    let mut cache = Cache::default();
    for position in 0..positions {
        for number in 0..config.head_dim {
            cache.read(4 * (position * strides.position + strides.head + number));
        }
    }
    cache
}

fn race_orders(story: &mut Story, pool: &Pool, config: &LlamaConfig) -> anyhow::Result<RaceResult> {
    let width = config.q_size() + 2 * config.kv_size();
    let wave = |len: usize| -> Vec<f32> { (0..len).map(|i| (i as f32 * 0.37).sin()).collect() };
    let chunk = wave(64 * width);
    let scores = RefCell::new(Vec::new());
    let longest = CONTEXTS[CONTEXTS.len() - 1];
    reserve_scores(pool, config, 1, longest, &mut scores.borrow_mut());
    let mut race = Race::new("order", "Attention of one row, all layers")
        .unit("ms")
        .rounds(9);
    for context in CONTEXTS {
        for order in CacheOrder::ALL {
            let mut cache = ContiguousCache::with_order(config, context, order);
            for _ in (0..context).step_by(64) {
                for layer in 0..config.num_layers {
                    cache.append(layer, &chunk);
                }
                cache.advance(64);
            }
            let (scores, chunk) = (&scores, &chunk);
            race = race.entry(order.name(), Some(context as f64), move || {
                let mut attended = vec![0.0; config.q_size()];
                for layer in 0..config.num_layers {
                    let view = |_, kv_head| cache.view(layer, kv_head, context);
                    let mut scores = scores.borrow_mut();
                    attend_rows(pool, config, &chunk[..width], &view, &mut scores, &mut attended);
                }
                attended
            });
        }
    }
    let race = race
        .baseline(CacheOrder::PositionMajor.name())
        .check(|one, other| match one == other {
            true => Ok(()),
            false => Err("other bits".to_owned()),
        });
    story.race(race)
}
