//! Records what the book's interactive figure shows: the logits that the default model gives after a few texts, and what the sampler makes of them.
//!
//! ```text
//! cargo run -q -p lesson09 --example trace_sampling > target/sampling.json && mv target/sampling.json book/figures/sampling.json
//! ```
//!
//! Readers move sliders, so the page cuts and draws by itself. It shows nothing before it has chosen as the sampler did in all the cases recorded here.
//! The sampler adds in f32 and f64, the page in f64 alone: a case whose border or draw lies within [`NEAR`] of a token's edge says more about
//! rounding than about the rule. Such cases are left out, and counted.

use anyhow::ensure;
use generation::candidates::visible;
use generation::{Model, State};
use layout::pool::Pool;
use sampling::measure::entropy;
use sampling::random::uniform;
use sampling::{Sampled, Sampler, SamplingParams};
use serde::{Deserialize, Serialize};
use training::TokenId;

/// Texts after which a token is chosen: several good ones, ten as good as each other, one, one and a long tail, hundreds.
const PROMPTS: [&str; 5] = [
    "Every morning the bear",
    "Once upon a time there was a",
    "Once upon a time there was a brave little fox named Tom",
    "Mia the mouse wanted to",
    "She looked for her",
];
/// Where the sliders can stand.
const TEMPERATURES: [f32; 16] = [
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0, 3.0,
];
const TOP_KS: [usize; 11] = [0, 1, 2, 3, 5, 8, 10, 20, 50, 100, 500];
const TOP_PS: [f32; 14] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0];
const MIN_PS: [f32; 9] = [0.0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
const SEEDS: u64 = 200;
const ANSWERS: u32 = 4;
/// Cases for each text, besides the four sliders moved alone.
const CASES: u64 = 400;
/// Shares that lie nearer together than this are told apart by rounding.
const NEAR: f64 = 2e-6;

/// The file `book/figures/sampling.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// Of the weights that gave the logits.
    pub checkpoint_sha256: String,
    /// What happens to the first text with the first setting.
    steps: Vec<Step>,
    stops: Stops,
    contexts: Vec<Context>,
    /// `[seed, answer, position]` and the number of this draw.
    draws: Vec<(u64, u32, u64, f64)>,
    cases: Vec<Case>,
    left_out: usize,
    /// All tokens of the vocabulary, as they look.
    pieces: Vec<String>,
}

/// A sentence that is read aloud.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Step {
    text: String,
}

/// What the sliders offer, and where they stand first.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Stops {
    temperature: Vec<f32>,
    top_k: Vec<usize>,
    top_p: Vec<f32>,
    min_p: Vec<f32>,
    seeds: u64,
    answers: u32,
    first: Setting,
}

/// Places of the four sliders, then seed and answer; six numbers in the file.
#[derive(Serialize, Deserialize, PartialEq, Clone, Copy, Debug)]
#[serde(from = "Places", into = "Places")]
struct Setting {
    temperature: usize,
    top_k: usize,
    top_p: usize,
    min_p: usize,
    seed: u64,
    answer: u32,
}

type Places = (usize, usize, usize, usize, u64, u32);

impl From<Places> for Setting {
    fn from((temperature, top_k, top_p, min_p, seed, answer): Places) -> Setting {
        Setting {
            temperature,
            top_k,
            top_p,
            min_p,
            seed,
            answer,
        }
    }
}

impl From<Setting> for Places {
    fn from(at: Setting) -> Places {
        (at.temperature, at.top_k, at.top_p, at.min_p, at.seed, at.answer)
    }
}

/// A text, and what the model says after it.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Context {
    prompt: String,
    /// Tokens of the text, and so the position of the one that is chosen.
    position: u64,
    logits: Vec<f32>,
}

/// What the sampler did.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Case {
    context: usize,
    setting: Setting,
    kept: usize,
    /// Sum of the ids that were kept.
    ids: u64,
    token: u32,
    /// Entropy of what was kept, in nats, to four places.
    nats: f64,
}

/// Where the first setting puts the sliders.
const FIRST: Setting = Setting {
    temperature: 8,
    top_k: 7,
    top_p: 11,
    min_p: 5,
    seed: 3,
    answer: 0,
};

/// Records the trace anew.
///
/// # Errors
/// A model that can not be opened or run; logits that can not be sampled; a first setting that lies on a border.
pub fn record() -> anyhow::Result<Trace> {
    let model = Model::open("stories")?;
    let (pool, mut state) = (Pool::new(2), State::new(&model.config, 16));
    let mut contexts = Vec::new();
    for prompt in PROMPTS {
        let tokens = model.encode_prompt(prompt)?;
        contexts.push(Context {
            prompt: prompt.to_owned(),
            position: tokens.len() as u64,
            logits: model.forward(&mut state, &pool, &tokens)?.to_vec(),
        });
    }
    let tokenizer = model.tokenizer()?;
    let all = (0..model.config.llama.vocab_size as u32).map(TokenId);
    let pieces: Vec<String> = all.map(|token| visible(tokenizer, token)).collect();
    let (cases, left_out) = cases(&contexts)?;
    Ok(Trace {
        schema: 1,
        figure: "sampling".into(),
        source: "cargo run -q -p lesson09 --example trace_sampling".into(),
        checkpoint_sha256: fixtures::sha256_of_weights(&lab::paths::data_dir().join("stories"))?,
        steps: sentences(&contexts[0], &pieces)?,
        stops: Stops {
            temperature: TEMPERATURES.to_vec(),
            top_k: TOP_KS.to_vec(),
            top_p: TOP_PS.to_vec(),
            min_p: MIN_PS.to_vec(),
            seeds: SEEDS,
            answers: ANSWERS,
            first: FIRST,
        },
        contexts,
        draws: draws(),
        cases,
        left_out,
        pieces,
    })
}

/// Numbers by address, from small seeds to the largest.
fn draws() -> Vec<(u64, u32, u64, f64)> {
    let mut draws = Vec::new();
    for seed in [0, 1, 7, 199, u64::MAX >> 12] {
        for answer in 0..3 {
            for position in [0, 1, 90, 1 << 33] {
                draws.push((seed, answer, position, uniform(seed, answer, position)));
            }
        }
    }
    draws
}

fn params(setting: Setting) -> SamplingParams {
    SamplingParams {
        temperature: TEMPERATURES[setting.temperature],
        top_k: TOP_KS[setting.top_k],
        top_p: TOP_PS[setting.top_p],
        min_p: MIN_PS[setting.min_p],
        seed: setting.seed,
        answer: setting.answer,
        ..SamplingParams::default()
    }
}

/// What may be drawn, in the order of the draw, with its shares; and what was drawn.
struct Choice {
    sampled: Sampled,
    kept: Vec<(u32, f64)>,
}

fn choose(context: &Context, params: SamplingParams) -> anyhow::Result<Choice> {
    let mut sampler = Sampler::new();
    // The draw's address counts tokens; which ones they are matters to penalties alone.
    let text = vec![TokenId(0); context.position as usize];
    let params = params.check(context.logits.len())?;
    let sampled = sampler.sample(&params, &text, &[], &mut context.logits.clone())?;
    let kept = (sampler.candidates())
        .filter(|(_, share)| *share > 0.0)
        .map(|(token, share)| (token.0, share));
    Ok(Choice {
        kept: kept.collect(),
        sampled,
    })
}

/// Each slider alone, then all of them anywhere.
fn cases(contexts: &[Context]) -> anyhow::Result<(Vec<Case>, usize)> {
    let (mut cases, mut left_out) = (Vec::new(), 0);
    for (context, of) in contexts.iter().enumerate() {
        for setting in settings(context as u64) {
            let Choice { sampled, kept } = choose(of, params(setting))?;
            ensure!(sampled.num_kept == kept.len(), "{setting:?}");
            if is_near(of, setting, &kept)? {
                left_out += 1;
                continue;
            }
            cases.push(Case {
                context,
                setting,
                kept: kept.len(),
                ids: kept.iter().map(|(id, _)| u64::from(*id)).sum(),
                token: sampled.token.0,
                nats: (1e4 * nats(&kept)).round() / 1e4,
            });
        }
    }
    Ok((cases, left_out))
}

fn settings(context: u64) -> Vec<Setting> {
    let off = Setting {
        temperature: 10,
        top_k: 0,
        top_p: TOP_PS.len() - 1,
        min_p: 0,
        seed: context,
        answer: 0,
    };
    let mut all = vec![FIRST];
    all.extend((0..TEMPERATURES.len()).map(|temperature| Setting { temperature, ..off }));
    all.extend((0..TOP_KS.len()).map(|top_k| Setting { top_k, ..off }));
    all.extend((0..TOP_PS.len()).map(|top_p| Setting { top_p, ..off }));
    all.extend((0..MIN_PS.len()).map(|min_p| Setting { min_p, ..off }));
    for case in 0..CASES {
        // Numbers with an address of their own: the sampler's, under a seed that no slider has.
        let place = |what, count: usize| (uniform(u64::MAX - context, what, case) * count as f64) as usize;
        all.push(Setting {
            temperature: place(0, TEMPERATURES.len()),
            top_k: place(1, TOP_KS.len()),
            top_p: place(2, TOP_PS.len()),
            min_p: place(3, MIN_PS.len()),
            seed: place(4, SEEDS as usize) as u64,
            answer: place(5, ANSWERS as usize) as u32,
        });
    }
    all
}

/// Whether rounding decides: the same setting with borders a little lower or higher keeps something else, or the draw lies at a token's edge.
fn is_near(context: &Context, setting: Setting, kept: &[(u32, f64)]) -> anyhow::Result<bool> {
    let params = params(setting);
    for factor in [1.0 - NEAR as f32, 1.0 + NEAR as f32] {
        let mut moved = params.clone();
        // What is off stays off.
        if moved.top_p < 1.0 {
            moved.top_p = (moved.top_p * factor).min(0.999_999);
        }
        if moved.min_p > 0.0 && moved.min_p < 1.0 {
            moved.min_p *= factor;
        }
        if choose(context, moved)?.kept.len() != kept.len() {
            return Ok(true);
        }
    }
    let point = uniform(setting.seed, setting.answer, context.position);
    let mut reached = 0.0;
    Ok(kept.iter().any(|(_, share)| {
        reached += share;
        (reached - point).abs() < NEAR
    }))
}

fn nats(kept: &[(u32, f64)]) -> f64 {
    // Nothing but one token is -0, which would be written so.
    entropy(kept.iter().map(|(_, share)| *share)) + 0.0
}

/// The six steps of the first text with the first setting; the page says the same words.
fn sentences(context: &Context, pieces: &[String]) -> anyhow::Result<Vec<Step>> {
    let first = params(FIRST);
    let stage = |temperature, top_k, top_p, min_p| {
        choose(
            context,
            SamplingParams {
                temperature,
                top_k,
                top_p,
                min_p,
                seed: first.seed,
                answer: first.answer,
                ..SamplingParams::default()
            },
        )
    };
    let vocab_size = pieces.len();
    let best = |kept: &[(u32, f64)]| {
        let share = kept.iter().map(|(_, share)| *share).fold(0.0, f64::max);
        let (id, _) = kept.iter().find(|(_, p)| *p == share).expect("one is kept");
        format!("‹{}› has {}", pieces[*id as usize], percent(share))
    };
    let own = stage(1.0, 0, 1.0, 0.0)?.kept;
    let warm = stage(first.temperature, 0, 1.0, 0.0)?.kept;
    let few = stage(first.temperature, first.top_k, 1.0, 0.0)?.kept;
    let nucleus = stage(first.temperature, first.top_k, first.top_p, 0.0)?.kept;
    let last = choose(context, first.clone())?;
    let share_of = |part: &[(u32, f64)], whole: &[(u32, f64)]| {
        let of = |id: u32| whole.iter().find(|(other, _)| *other == id).map_or(0.0, |(_, p)| *p);
        percent(part.iter().map(|(id, _)| of(*id)).sum())
    };
    let point = uniform(first.seed, first.answer, context.position);
    let drawn = last.sampled.token.0;
    let before = last.kept.iter().take_while(|(id, _)| *id != drawn);
    let from = before.fold(0.0, |sum, (_, share)| sum + share);
    let (_, share) = (last.kept.iter().find(|(id, _)| *id == drawn)).expect("drawn from these");
    let texts = [
        format!(
            "The model's own distribution: {}. Entropy {:.2} nats.",
            best(&own),
            nats(&own)
        ),
        format!(
            "Temperature {}: {}. Entropy {:.2} nats.",
            first.temperature,
            best(&warm),
            nats(&warm)
        ),
        format!(
            "Top-k {} keeps {} of {vocab_size} tokens. They had {} together.",
            first.top_k,
            few.len(),
            share_of(&few, &warm)
        ),
        format!(
            "Top-p {} keeps {} of {} tokens. They had {} together.",
            first.top_p,
            nucleus.len(),
            few.len(),
            share_of(&nucleus, &few)
        ),
        format!(
            "Min-p {} keeps {} of {} tokens. They had {} together.",
            first.min_p,
            last.kept.len(),
            nucleus.len(),
            share_of(&last.kept, &nucleus)
        ),
        format!(
            "Seed {}, answer {}, position {} give {point:.4}. That falls on ‹{}›, which has {from:.4} to {:.4}.",
            first.seed,
            first.answer,
            context.position,
            pieces[drawn as usize],
            from + share
        ),
    ];
    Ok(texts.into_iter().map(|text| Step { text }).collect())
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    // One case a line: a change of one shows as a change of one.
    let text = serde_json::to_string(&record()?)?;
    lab::outln!("{}", text.replace("{\"context\"", "\n{\"context\""));
    Ok(())
}
