//! What is kept, what a step then costs, and how much memory that takes.

use super::Scene;
use super::runs::text_of;
use generation::work::Work;
use kv_cache::ContiguousCache;
use kv_cache::forward::forward;
use kv_cache::memory::kv_bytes;
use kv_cache::place::RowPlace;
use kv_cache::shapes::{KvShape, known_models};
use kv_cache::work::of_chunk;
use lab::ledger;
use lab::number;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;

/// Which part of a row a later row reads, and what a chunk sees.
pub fn parts(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Choose what to keep",
        "Rows meet in attention and nowhere else. What does a new row read there of an old one?",
    );
    story.predict(Prediction {
        id: "what-is-kept",
        question: "A new token comes. What of the tokens before it must have been kept?",
        options: &[
            Choice {
                text: "the text so far",
                answer_to_wrong: Some("The loop has the text anyway. It is what rows are computed from: whoever keeps only that computes all of them again."),
            },
            Choice {
                text: "queries, keys and values of each layer",
                answer_to_wrong: Some("A query asks for its own row, and that row is done. No later row reads it."),
            },
            Choice { text: "keys and values of each layer", answer_to_wrong: None },
        ],
        answer: 2,
        because: "The new row brings its own query, scores it against all keys and mixes the values.",
    });
    let llama = scene.model.config.llama.clone();
    let (q, kv) = (llama.q_size(), llama.kv_size());
    story.show_as(
        "a row after the product",
        q + 2 * kv,
        format!("{q} q, {kv} k, {kv} v numbers"),
    );
    story.show_as(
        "kept of it",
        2 * kv,
        format!("{} numbers in each of {} layers", 2 * kv, llama.num_layers),
    );
    let token = kv_bytes(llama.num_layers, llama.num_kv_heads, llama.head_dim, 1, 1, 4);
    story.show_as("a token leaves behind", token, number::bytes(token));
    story.say("");
    story.say("A chunk is any number of new rows: a prompt, a part of one, one token. Row i of a chunk sees what is cached and the chunk up to itself. Here 4 positions are cached and 3 rows come:");
    story.say("");
    for row in 0..3 {
        let RowPlace { position, context_len } = kv_cache::offset::row_place(4, row);
        let cells: Vec<&str> = (0..7)
            .map(|j| match j {
                j if j >= context_len => "·",
                j if j < 4 => "■",
                _ => "□",
            })
            .collect();
        story.say(format!(
            "     row {row}, position {position}   {}   sees {context_len}",
            cells.join(" ")
        ));
    }
    story.say_as(lab::term::Tone::Dim, "■ cached  □ new  · not seen");
    Ok(())
}

/// Positions at which a decode step is counted.
const COUNTED_AT: [usize; 4] = [16, 64, 128, 256];

/// The ledger: projections of a step are constant, attention grows by one position.
pub fn ledger(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Count one step",
        "Multiply-adds of one new token after so many others, counted by the kernels.",
    );
    let llama = scene.model.config.llama.clone();
    let places = COUNTED_AT.into_iter().filter(|at| *at < llama.max_seq_len);
    let places: Vec<usize> = places.collect();
    let text = text_of(scene, places.iter().max().map_or(1, |at| at + 1));
    let mut cache = ContiguousCache::new(&llama, text.len());
    let mut table = Table::new(&["tokens before", "lesson 05", "projections", "attention", "bytes kept"]);
    let mut projections = Vec::new();
    for at in places {
        let (config, weights) = (&scene.model.config, &scene.model.weights);
        let (state, pool) = (&mut scene.state, &scene.pool);
        let new = &text[cache.len()..at];
        forward(config, weights, state, &mut cache, pool, new)?;
        let (done, step) =
            ledger::measure(|| forward(config, weights, state, &mut cache, pool, &text[at..at + 1]).map(|_| ()));
        done?;
        cache.truncate(at)?;
        let attention = of_chunk(&llama, at, 1).attention_multiply_adds;
        let linear = step.multiply_adds - attention;
        projections.push(linear);
        let millions = |work: u64| format!("{:.2} M", work as f64 / 1e6);
        table.row([
            at.to_string(),
            millions(Work::of_shape(&llama, at + 1).multiply_adds()),
            millions(linear),
            millions(attention),
            step.get("kv_bytes_written").to_string(),
        ]);
        story.ledger(&step);
    }
    story.table(&table);
    let same = projections.windows(2).all(|w| w[0] == w[1]);
    story.values("projections", &projections);
    story.say(match same {
        true => "The projections of a token do not depend on what came before it. Attention still grows: that is the part of the square that no cache removes.",
        false => "The projections differ from step to step: this cache computes rows again.",
    });
    Ok(())
}

/// The formula, for known models.
pub fn memory(story: &mut Story, scene: &Scene) {
    story.step(
        "Pay in memory",
        "2 · layers · key heads · head_dim · positions · bytes of a number. The 2 is for keys and values.",
    );
    let mut table = Table::new(&[
        "model",
        "layers",
        "q heads",
        "kv heads",
        "head_dim",
        "KiB a token",
        "2048 tokens",
    ]);
    let own = KvShape::of(&scene.model.name, scene.llama());
    let models = known_models();
    for model in models.iter().chain([&own]) {
        table.row([
            model.name.clone(),
            model.num_layers.to_string(),
            model.num_heads.to_string(),
            model.num_kv_heads.to_string(),
            model.head_dim.to_string(),
            number::short(model.kv_bytes(1, 2) as f64 / 1024.0),
            number::bytes(model.kv_bytes(2048, 2)),
        ]);
    }
    story.table(&table);
    story.say("In fp16, two bytes a number. Grouped models share a key head among several query heads: fewer key heads, less memory. This book computes in f32, which takes twice as much.");
    let llama = scene.llama();
    let cache = ContiguousCache::new(llama, 64);
    let numbers: usize = (0..llama.num_layers)
        .flat_map(|layer| cache.layer(layer))
        .map(<[f32]>::len)
        .sum();
    let formula = kv_bytes(llama.num_layers, llama.num_kv_heads, llama.head_dim, 64, 1, 4);
    let llama_7b = kv_bytes(32, 32, 128, 2048, 1, 2);
    let verdict = match (llama_7b == 1 << 30, 4 * numbers as u64 == formula) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = format!(
        "Counted: {} by the formula for 64 positions of {}, {} allocated.",
        number::bytes(formula),
        scene.model.name,
        number::bytes(4 * numbers as u64)
    );
    story.claim(Claim {
        id: "G2",
        claimed: "KV cache bytes = 2 x layers x kv_heads x head_dim x seq_len x batch x bytes per value; Llama-7B at 2048 tokens in fp16 is 1 GiB",
        value: llama_7b as f64 / f64::from(1 << 30),
        unit: "GiB for Llama-7B",
        verdict,
        note: &note,
    });
}
