//! G7: the same pass with weights of two bytes.

use super::Scene;
use generation::roofline::{llama_2_models, most_tokens_per_second};
use generation::{State, Weights, forward};
use half::bf16;
use lab::number;
use lab::race::{Disturbance, Race, RaceResult};
use lab::story::{Answer, Claim, Story, Verdict};
use layout::packed::PackedMatrix;
use std::cell::RefCell;
use training::TokenId;

/// A model larger than the cache of this class of machine.
const LARGE: &str = "random:135m";
const F32: &str = "f32";
const BF16: &str = "bf16";
/// One row waits for the weights, many rows wait for the arithmetic.
const ROWS: [usize; 2] = [1, 128];

/// Races weights of four bytes against weights of two, on a large model and on the story's own.
pub fn bytes(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Halve the bytes",
        "A pass over one row waits for the weights. In bf16 they take half the bytes; the product widens them in \
         registers and computes in f32.",
    );
    let asked = story.ask("half-the-bytes", &[]);
    // Another model than the default one is raced alone.
    let own = scene.model.name.as_str();
    let names = if own == "stories" { vec![LARGE, own] } else { vec![own] };
    let mut results = Vec::new();
    for name in &names {
        let opened = if *name == own {
            story.args().model.clone()
        } else {
            (*name).to_owned()
        };
        results.push(race(story, scene, &opened, name)?);
    }
    let times = |result: &RaceResult, rows: usize| result.ratio_at(BF16, F32, rows as f64);
    let (one, many) = (times(&results[0], ROWS[0]), times(&results[0], ROWS[1]));
    story.reveal(
        asked,
        Answer::Stated,
        &[("one", &format!("{one:.1}")), ("many", &format!("{many:.1}"))],
    );
    story.values("times", [one, many]);
    let others = names[1..].iter().zip(&results[1..]).map(|(name, result)| {
        let one = times(result, ROWS[0]);
        format!(" On {name}, with weights that fit a large cache, one row is {one:.2} times as fast.")
    });
    let claim = Claim {
        id: "G7",
        claimed: "Half-precision weights make decode 1.5 to 2 times as fast",
        value: one,
        unit: "times as fast with bf16, one row",
        verdict: Verdict::of((1.5..=2.1).contains(&one), one >= 1.2),
        note: &format!(
            "{}, all threads, a pass over one row; both give the same bits, since the file holds bf16. {} rows wait \
             for the arithmetic, which stays f32: {many:.2} times as fast.{}",
            names[0],
            ROWS[1],
            others.collect::<String>()
        ),
    };
    let sign = Disturbance::of_ratio("bf16 against f32, one row", one, 0.9..=2.3);
    story.claim_if_quiet(claim, [sign, results[0].disturbance(F32, BF16)]);
    Ok(())
}

fn race(story: &mut Story, scene: &Scene, model: &str, name: &str) -> anyhow::Result<RaceResult> {
    let folder = loading::open(model)?;
    let (config, pool) = (&folder.config, &scene.pool);
    let narrow = |weights: &[f32], out_features: usize, in_features: usize| {
        let weights: Vec<bf16> = weights.iter().copied().map(bf16::from_f32).collect();
        PackedMatrix::from_bf16(&weights, out_features, in_features)
    };
    let all = [
        (F32, Weights::packed_f32(&config.llama, &*folder.weights)?),
        (BF16, Weights::read_f32(&config.llama, &*folder.weights, &narrow)?),
    ];
    let rows = ROWS.map(|rows| rows.min(config.llama.max_seq_len));
    let tokens: Vec<TokenId> = (0..rows[1])
        .map(|i| TokenId((7 * i % config.llama.vocab_size) as u32))
        .collect();
    let state = RefCell::new(State::new(config, rows[1]));
    let mut race = Race::new(
        &format!("half-{}", name.replace(':', "-")),
        &format!("One pass of {name}"),
    )
    .unit("ms")
    .rounds(9);
    for (rows, x) in rows.into_iter().zip(ROWS) {
        for (name, weights) in &all {
            let (tokens, state) = (&tokens[..rows], &state);
            race = race.entry(name, Some(x as f64), move || {
                let mut state = state.borrow_mut();
                let logits = forward::forward(config, weights, &mut state, pool, tokens);
                logits
                    .expect("the tokens are inside the vocabulary and the context")
                    .to_vec()
            });
        }
    }
    // Weights that the file holds as bf16 lose nothing, so every bit is the same.
    let is_exact = exact(&*folder.weights);
    race = race
        .baseline(F32)
        .check(move |wide, narrow| match !is_exact || wide == narrow {
            true => Ok(()),
            false => Err("other logits".to_owned()),
        });
    story.race(race)
}

/// Whether all tensors of the source are stored as bf16.
fn exact(source: &dyn loading::source::WeightSource) -> bool {
    let is_bf16 = |name: &String| {
        source
            .info(name)
            .is_some_and(|info| info.dtype == loading::dtype::Dtype::BF16)
    };
    source.names().iter().all(is_bf16)
}

/// Memory bandwidths as makers state them, in GB/s.
const BANDWIDTHS: [(&str, f64); 4] = [
    ("DDR4-3200 x2", 51.2),
    ("600 GB/s", 600.0),
    ("RTX 3090", 936.0),
    ("A100 80 GB", 2039.0),
];

/// The most tokens a second of one text, by bytes and bandwidth.
pub fn card(story: &mut Story, bytes_per_second: f64) {
    story.say(
        "A token reads every weight once, so bandwidth over bytes is the most tokens a second that one text can get:",
    );
    let here = ("here", bytes_per_second / 1e9);
    let columns: Vec<(&str, f64)> = BANDWIDTHS.into_iter().chain([here]).collect();
    let mut header = vec!["model", "weights"];
    header.extend(columns.iter().map(|(name, _)| *name));
    let mut rows = Vec::new();
    for (model, config) in llama_2_models() {
        for (dtype, bytes_per_weight) in [("fp16", 2.0), ("4 bits", 0.5)] {
            let bytes = bytes_per_weight * config.num_parameters() as f64;
            let most = columns.iter().map(|(_, gb)| most_tokens_per_second(bytes, gb * 1e9));
            let most: Vec<f64> = most.collect();
            story.values(&format!("tokens a second, {model} {dtype}"), &most);
            let mut row = vec![format!("{model} {dtype}"), number::bytes(bytes as u64)];
            row.extend(most.iter().map(|rate| format!("{rate:.1}")));
            rows.push(row);
        }
    }
    story.rows(&header, rows);
}
