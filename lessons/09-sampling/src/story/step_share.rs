//! What choosing takes of a step: the engine of lesson 08 with each request's own parameters, against the same engine with greedy choice.

use super::{SLOTS, Scene};
use continuous_batching::Delivery;
use continuous_batching::engine::Choice;
use generation::generate::greedy;
use lab::chart::Chart;
use lab::race::Race;
use lab::story::Story;
use lab::table::Table;
use sampling::choice::ParamsOfRequests;
use sampling::{CheckedParams, SamplingParams};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Tokens of each of eight answers, and with a large model.
const TOKENS: (usize, usize) = (48, 8);
const GREEDY: &str = "greedy (08)";

fn settings(scene: &Scene) -> Vec<(&'static str, SamplingParams)> {
    let drawn = SamplingParams {
        seed: scene.seed,
        ..SamplingParams::default()
    };
    let nucleus = SamplingParams {
        top_p: 0.9,
        ..drawn.clone()
    };
    vec![
        ("nothing cut", drawn),
        (
            "top-k 50, top-p 0.9",
            SamplingParams {
                top_k: 50,
                ..nucleus.clone()
            },
        ),
        ("top-p 0.9", nucleus.clone()),
        (
            "penalties, top-p 0.9",
            SamplingParams {
                repetition_penalty: 1.1,
                frequency_penalty: 0.1,
                ..nucleus
            },
        ),
    ]
}

/// A choice, and the nanoseconds that it took so far.
fn timed(mut choice: Choice) -> (Choice, Arc<AtomicU64>) {
    let nanos: Arc<AtomicU64> = Arc::default();
    let spent = nanos.clone();
    let timed: Choice = Box::new(move |request, logits| {
        let begun = Instant::now();
        let token = choice(request, logits);
        spent.fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        token
    });
    (timed, nanos)
}

/// Eight requests to the end; returns how many tokens came.
fn run(scene: &Scene, params: Option<&CheckedParams>, spent: &mut (f64, f64)) -> anyhow::Result<usize> {
    let new_tokens = if scene.model.is_large() { TOKENS.1 } else { TOKENS.0 };
    let of_requests = ParamsOfRequests::new();
    let choice: Choice = match params {
        Some(_) => of_requests.choice(),
        None => Box::new(|_, logits| greedy(logits)),
    };
    let (choice, nanos) = timed(choice);
    let mut engine = scene.engine(SLOTS, new_tokens + 32).with_choice(choice);
    engine.limits.end_of_text.clear();
    for index in 0..SLOTS {
        let id = engine.submit(&scene.beginning(index)?, new_tokens)?;
        if let Some(params) = params {
            of_requests.set(id, params.clone());
        }
    }
    let (begun, mut tokens) = (Instant::now(), 0);
    engine.run(&mut |event| {
        tokens += usize::from(matches!(event, continuous_batching::Event::Token { .. }));
        Delivery::Taken
    })?;
    *spent = (
        nanos.load(Relaxed) as f64 / tokens as f64,
        nanos.load(Relaxed) as f64 / begun.elapsed().as_nanos() as f64,
    );
    Ok(tokens)
}

/// The race, and the share of each setting.
pub fn of_a_step(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Ask what it costs in a step",
        "Eight requests through lesson 08's engine, and only the choice differs.",
    );
    let vocab_size = scene.model.config.llama.vocab_size;
    let settings = settings(scene);
    let checked: Vec<(&str, CheckedParams)> = (settings.into_iter())
        .map(|(name, params)| Ok((name, params.check(vocab_size)?)))
        .collect::<anyhow::Result<_>>()?;
    let new_tokens = if scene.model.is_large() { TOKENS.1 } else { TOKENS.0 };
    let names: Vec<&str> = std::iter::once(GREEDY)
        .chain(checked.iter().map(|(name, _)| *name))
        .collect();
    let mut race = Race::new("step", "Eight requests, by how tokens are chosen")
        .unit("tokens/s")
        .work((SLOTS * new_tokens) as f64)
        .rounds(if scene.model.is_large() { 1 } else { 5 })
        .entry(GREEDY, None, || run(scene, None, &mut (0.0, 0.0)).is_ok());
    for (name, params) in &checked {
        race = race.entry(name, None, || run(scene, Some(params), &mut (0.0, 0.0)).is_ok());
    }
    let race = race.baseline(GREEDY).check(|a, b| match *a && *b {
        true => Ok(()),
        false => Err("a step failed".into()),
    });
    let race = story.race(race)?;
    let mut table = Table::new(&["choice", "µs a token", "share of a step"]);
    let mut shares = Vec::new();
    let all = std::iter::once((GREEDY, None)).chain(checked.iter().map(|(name, params)| (*name, Some(params))));
    for (name, params) in all {
        let mut spent = (0.0, 0.0);
        run(scene, params, &mut spent)?;
        table.row([
            name.to_owned(),
            format!("{:.1}", spent.0 / 1e3),
            format!("{:.1} %", 100.0 * spent.1),
        ]);
        shares.push((name, spent.1));
    }
    story.table(&table);
    story.values("share_of_a_step", &shares);
    story.say(format!(
        "A vocabulary of {vocab_size}. Each row of a step is chosen from by itself, so eight requests pay eight times. What a real vocabulary costs is in \
         the race before: hold it against some milliseconds that a step of a larger model takes. Top-p alone is dear where the model is sure of nothing, as \
         random weights are: nearly all tokens stay, and have to be put in order. Top-k before it avoids that."
    ));
    let mut chart = Chart::bars("step", "What choosing costs")
        .y_label("tokens a second, eight requests")
        .note(&format!("model {}, vocabulary {vocab_size}", scene.model.name));
    for name in names {
        chart = chart.bar(name, race.entry(name).map_or(f64::NAN, |entry| entry.median));
    }
    story.chart(&chart.baseline(GREEDY))?;
    Ok(())
}
