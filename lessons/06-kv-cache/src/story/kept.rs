//! What the cache keeps, the work of a step, and the memory that the cache takes.

use super::Scene;
use generation::work::Work;
use kv_cache::ContiguousCache;
use kv_cache::batch::largest_batch;
use kv_cache::forward::forward;
use kv_cache::memory::kv_bytes;
use kv_cache::offset::row_place;
use kv_cache::place::RowPlace;
use kv_cache::shapes::{KvShape, known_models};
use kv_cache::work::of_chunk;
use lab::ledger;
use lab::number;
use lab::story::{Claim, Story, Verdict};
use lab::term::Tone;

/// Which part of a row a later row reads, and what a chunk sees.
pub fn parts(story: &mut Story, scene: &Scene) {
    story.step(
        "Choose what to keep",
        "Rows meet in attention and nowhere else. What does a new row read there of an old one?",
    );
    story.predict("what-is-kept");
    let llama = scene.llama();
    let (q, kv) = (llama.q_size(), llama.kv_size());
    let product = format!("{q} q, {kv} k, {kv} v numbers");
    story.show_as("a row after the product", q + 2 * kv, product);
    let kept = format!("{} numbers in each of {} layers", 2 * kv, llama.num_layers);
    story.show_as("kept of it", 2 * kv, kept);
    let token = kv_bytes(llama.num_layers, llama.num_kv_heads, llama.head_dim, 1, 1, 4);
    story.show_as("a token leaves behind", token, number::bytes(token));
    story.say(
        "\nA chunk is any number of new rows: a prompt, a part of one, one token. Row i of a chunk sees the cached \
         positions and the chunk up to itself. Here 4 positions are cached and the chunk has 3 rows:\n",
    );
    for row in 0..3 {
        let RowPlace { position, context_len } = row_place(4, row);
        let cell = |j: usize| match j {
            j if j >= context_len => "·",
            j if j < 4 => "■",
            _ => "□",
        };
        let cells: Vec<&str> = (0..7).map(cell).collect();
        let cells = cells.join(" ");
        story.say(format!(
            "     row {row}, position {position}   {cells}   sees {context_len}"
        ));
    }
    story.say_as(Tone::Dim, "■ cached  □ new  · not seen");
}

/// Positions at which a decode step is counted.
const COUNTED_AT: [usize; 4] = [16, 64, 128, 256];

/// The counts of one step: projections are constant, attention grows by one position.
pub fn ledger(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Count one step",
        "Multiply-adds of one new token after a number of others, counted by the kernels.",
    );
    let llama = scene.model.config.llama.clone();
    let places: Vec<usize> = COUNTED_AT.into_iter().filter(|at| *at < llama.max_seq_len).collect();
    let text = scene.text(places.iter().max().map_or(1, |at| at + 1));
    let mut cache = ContiguousCache::new(&llama, text.len());
    let (mut rows, mut projections) = (Vec::new(), Vec::new());
    for at in places {
        let (config, weights) = (&scene.model.config, &scene.model.weights);
        let (state, pool) = (&mut scene.state, &scene.pool);
        let missing = &text[cache.len()..at];
        forward(config, weights, state, &mut cache, pool, missing)?;
        let new = &text[at..at + 1];
        let (done, step) = ledger::measure(|| forward(config, weights, state, &mut cache, pool, new).map(|_| ()));
        done?;
        cache.truncate(at)?;
        let attention = of_chunk(&llama, at, 1).attention_multiply_adds;
        let linear = step.multiply_adds - attention;
        projections.push(linear);
        let millions = |work: u64| format!("{:.2} M", work as f64 / 1e6);
        rows.push([
            at.to_string(),
            millions(Work::of_shape(&llama, at + 1).multiply_adds()),
            millions(linear),
            millions(attention),
            step.get("kv_bytes_written").to_string(),
        ]);
        story.ledger(&step);
    }
    story.rows(
        &["tokens before", "lesson 05", "projections", "attention", "bytes kept"],
        rows,
    );
    story.values("projections", &projections);
    story.say(match projections.windows(2).all(|w| w[0] == w[1]) {
        true => {
            "The projections of a token do not depend on what came before it. Attention still grows: no cache \
                 removes this part of the square."
        }
        false => "The projections differ from step to step: this cache computes rows again.",
    });
    Ok(())
}

/// Weights of Llama-7B in fp16: 6 738 415 616 numbers.
const LLAMA_7B: u64 = 2 * 6_738_415_616;
const GIB: u64 = 1 << 30;

/// Memory of this machine, in bytes.
fn memory_here(story: &Story) -> u64 {
    story.document().machine.memory_bytes
}

/// The formula, for known models.
pub fn memory(story: &mut Story, scene: &Scene) {
    story.step(
        "Pay in memory",
        "2 · layers · key heads · head_dim · positions · bytes of a number. The 2 counts keys and values.",
    );
    let llama = scene.llama();
    let models = known_models()
        .into_iter()
        .chain([KvShape::of(&scene.model.name, llama)]);
    let header = [
        "model",
        "layers",
        "q heads",
        "kv heads",
        "head_dim",
        "KiB a token",
        "2048 tokens",
    ];
    story.rows(
        &header,
        models.map(|model| {
            [
                model.name.clone(),
                model.num_layers.to_string(),
                model.num_heads.to_string(),
                model.num_kv_heads.to_string(),
                model.head_dim.to_string(),
                number::short(model.kv_bytes(1, 2) as f64 / 1024.0),
                number::bytes(model.kv_bytes(2048, 2)),
            ]
        }),
    );
    story.say(
        "In fp16, two bytes a number. In grouped models several query heads share a key head: fewer key heads, less \
         memory. This book computes in f32, which takes twice as much.",
    );
    let [largest, large] = [memory_here(story), 24 << 30].map(|memory| largest_batch(memory, LLAMA_7B, GIB, GIB));
    story.values("largest batch here", largest);
    story.values("largest batch in 24 GiB", large);
    story.say(format!(
        "\nThe largest batch is computed: (80 % of the memory - weights - scratch) / (bytes a token · length). Llama-7B \
         in fp16 has {} of weights. With 1 GiB of scratch and texts of 2048 tokens, 24 GiB serve {large} texts at \
         once, and the {} of this machine {largest}.",
        number::bytes(LLAMA_7B),
        number::bytes(memory_here(story)),
    ));
    let cache = ContiguousCache::new(llama, 64);
    let layers = (0..llama.num_layers).flat_map(|layer| cache.layer(layer));
    let allocated = 4 * layers.map(|numbers| numbers.len() as u64).sum::<u64>();
    let formula = kv_bytes(llama.num_layers, llama.num_kv_heads, llama.head_dim, 64, 1, 4);
    let llama_7b = kv_bytes(32, 32, 128, 2048, 1, 2);
    let (as_claimed, as_counted) = (llama_7b == 1 << 30, allocated == formula);
    story.claim(Claim {
        id: "G2",
        claimed: "KV cache bytes = 2 x layers x kv_heads x head_dim x seq_len x batch x bytes per value; Llama-7B at \
                  2048 tokens in fp16 is 1 GiB",
        value: llama_7b as f64 / f64::from(1 << 30),
        unit: "GiB for Llama-7B",
        verdict: Verdict::of(as_claimed && as_counted, as_claimed || as_counted),
        note: &format!(
            "Counted: {} by the formula for 64 positions of {}, {} allocated.",
            number::bytes(formula),
            scene.model.name,
            number::bytes(allocated)
        ),
    });
}
