//! Records the trace of the book's figure `sampling`: the logits of the default model after a few texts, and what the
//! sampler makes of them.
//!
//! ```text
//! cargo run -q -p lesson09 --example trace_sampling > target/sampling.json && mv target/sampling.json book/figures/sampling.json
//! ```
//!
//! The figure's sliders have many positions, so its script cuts and draws by itself and first repeats all cases
//! recorded here.

use generation::{Model, State};
use layout::pool::Pool;
use sampling::exercises::uniform;
use sampling::measure::entropy;
use sampling::{Sampler, SamplingParams};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use training::TokenId;

/// After these texts the model finds several tokens likely, ten equally, one, one and a long tail, hundreds.
const PROMPTS: [&str; 5] = [
    "Every morning the bear",
    "Once upon a time there was a",
    "Once upon a time there was a brave little fox named Tom",
    "Mia the mouse wanted to",
    "She looked for her",
];
const TEMPERATURES: &[f64] = &[
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0, 3.0,
];
const TOP_KS: &[usize] = &[0, 1, 2, 3, 5, 8, 10, 20, 50, 100, 500];
const TOP_PS: &[f64] = &[0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0];
const MIN_PS: &[f64] = &[0.0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
const SEEDS: usize = 200;
const ANSWERS: usize = 4;
/// Cases of each text with all sliders anywhere.
const CASES: u64 = 400;

/// Positions of the sliders for temperature, top-k, top-p and min-p, then seed and answer.
type Setting = [usize; 6];
/// The positions that the figure begins with.
const FIRST: Setting = [8, 7, 11, 5, 3, 0];
/// Temperature 1 and no cut.
const OFF: Setting = [10, 0, 13, 0, 0, 0];

/// The file `book/figures/sampling.json`.
#[derive(Serialize, Deserialize, PartialEq)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// Checksum of the weights that gave the logits.
    pub checkpoint_sha256: String,
    /// The first text after each of the six steps of the figure, at the first setting.
    steps: Vec<Case>,
    /// The values of the sliders, and the positions that the figure begins with.
    stops: Value,
    contexts: Vec<Context>,
    /// Seed, answer and position, and the number of this draw.
    draws: Vec<(u64, u32, u64, f64)>,
    cases: Vec<Case>,
    /// All tokens of the vocabulary with visible blanks.
    pieces: Vec<String>,
}

/// A text, the position after it, and the model's logits there.
#[derive(Serialize, Deserialize, PartialEq)]
struct Context {
    prompt: String,
    position: u64,
    logits: Vec<f32>,
}

/// What the sampler did.
#[derive(Serialize, Deserialize, PartialEq)]
struct Case {
    context: usize,
    setting: Setting,
    kept: usize,
    /// Sum of the ids that were kept.
    ids: u64,
    token: u32,
    /// Entropy of the kept shares in nats, to four places.
    nats: f64,
}

/// Records the trace anew.
///
/// # Errors
/// A model that can not be opened or run, and logits that can not be sampled.
pub fn record() -> anyhow::Result<Trace> {
    let model = Model::open("stories")?;
    let (pool, mut state, tokenizer) = (Pool::new(2), State::new(&model.config, 16), model.tokenizer()?);
    let mut contexts = Vec::new();
    for prompt in PROMPTS {
        let tokens = model.encode_prompt(prompt)?;
        contexts.push(Context {
            prompt: prompt.to_owned(),
            position: tokens.len() as u64,
            logits: model.forward(&mut state, &pool, &tokens)?.to_vec(),
        });
    }
    // Each step takes one more slider from the first setting; the last one draws.
    let step = |at: usize| std::array::from_fn(|slider| [OFF, FIRST][usize::from(slider < at || slider > 3)][slider]);
    let steps = (0..6).map(|at| case(&contexts, 0, step(at)));
    let mut cases = Vec::new();
    for context in 0..contexts.len() {
        for setting in settings(context) {
            cases.push(case(&contexts, context, setting)?);
        }
    }
    let mut draws = Vec::new();
    for seed in [0, 1, 7, 199, u64::MAX >> 12] {
        for answer in 0..3 {
            draws.extend([0, 1, 90, 1 << 33].map(|position| (seed, answer, position, uniform(seed, answer, position))));
        }
    }
    let pieces = (0..model.config.llama.vocab_size as u32).map(TokenId);
    Ok(Trace {
        schema: 1,
        figure: "sampling".into(),
        source: "cargo run -q -p lesson09 --example trace_sampling".into(),
        checkpoint_sha256: fixtures::sha256_of_weights(&lab::paths::data_dir().join("stories"))?,
        steps: steps.collect::<anyhow::Result<_>>()?,
        stops: json!({
            "temperature": TEMPERATURES, "top_k": TOP_KS, "top_p": TOP_PS, "min_p": MIN_PS,
            "seeds": SEEDS, "answers": ANSWERS, "first": FIRST,
        }),
        contexts,
        draws,
        cases,
        pieces: pieces
            .map(|token| generation::candidates::visible(tokenizer, token))
            .collect(),
    })
}

/// The first setting, each slider moved alone, and all sliders anywhere.
fn settings(context: usize) -> Vec<Setting> {
    let counts = [
        TEMPERATURES.len(),
        TOP_KS.len(),
        TOP_PS.len(),
        MIN_PS.len(),
        SEEDS,
        ANSWERS,
    ];
    let off: Setting = std::array::from_fn(|slider| if slider == 4 { context } else { OFF[slider] });
    let mut all = vec![FIRST];
    for (slider, count) in counts[..4].iter().enumerate() {
        all.extend((0..*count).map(|at| std::array::from_fn(|other| if other == slider { at } else { off[other] })));
    }
    // Draws under a seed that the figure does not offer.
    let any = |slider: usize, case| {
        (uniform(u64::MAX - context as u64, slider as u32, case) * counts[slider] as f64) as usize
    };
    all.extend((0..CASES).map(|case| std::array::from_fn(|slider| any(slider, case))));
    all
}

/// The choice with a setting.
fn case(contexts: &[Context], context: usize, setting: Setting) -> anyhow::Result<Case> {
    let from = &contexts[context];
    let [temperature, top_k, top_p, min_p, seed, answer] = setting;
    let params = SamplingParams::default().with(|p| {
        (p.temperature, p.top_k, p.top_p) = (TEMPERATURES[temperature] as f32, TOP_KS[top_k], TOP_PS[top_p] as f32);
        (p.min_p, p.seed, p.answer) = (MIN_PS[min_p] as f32, seed as u64, answer as u32);
    });
    let params = params.check(from.logits.len())?;
    // The address of a draw has the number of tokens before it, not their ids.
    let text = vec![TokenId(0); from.position as usize];
    let mut sampler = Sampler::new();
    let sampled = sampler.sample(&params, &text, &[], &mut from.logits.clone())?;
    let kept: Vec<(TokenId, f64)> = sampler.candidates().filter(|(_, share)| *share > 0.0).collect();
    let nats = entropy(kept.iter().map(|(_, share)| *share));
    Ok(Case {
        context,
        setting,
        kept: kept.len(),
        ids: kept.iter().map(|(token, _)| u64::from(token.0)).sum(),
        token: sampled.token.0,
        // The entropy of a single token may be -0, which JSON would keep.
        nats: (1e4 * nats).round() / 1e4 + 0.0,
    })
}

#[allow(dead_code)] // the test of the figure includes this file without its main
fn main() -> anyhow::Result<()> {
    // One case a line: a change of one case is a change of one line.
    let text = serde_json::to_string(&record()?)?;
    lab::outln!("{}", text.replace("{\"context\"", "\n{\"context\""));
    Ok(())
}
