//! The same by the clock: lesson 07's batches and the engine race on four kinds of traffic.

use super::gain::{harmonic, steps_of};
use super::load::{Job, Mix, longest, new_tokens, static_steps};
use super::{SLOTS, Scene, SlotEngine};
use anyhow::Context;
use continuous_batching::{Delivery, Event};
use lab::chart::Chart;
use lab::race::{Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use static_batching::{BatchState, Pad, generate_batch};
use training::TokenId;

/// The gains that C1 claims, from the usual one to the largest; a tenth less is the same finding.
const CLAIMED: (f64, f64) = (2.3, 5.0);
/// Rounds of each race, and those with a large model.
const ROUNDS: (usize, usize) = (3, 1);

/// Answers, in the order of the requests.
pub type Answers = Vec<Vec<TokenId>>;

/// All jobs in lesson 07's batches.
fn run_static(scene: &Scene, state: &mut BatchState, jobs: &[Job]) -> anyhow::Result<Answers> {
    let mut answers = Vec::with_capacity(jobs.len());
    for batch in jobs.chunks(SLOTS) {
        let prompts: Vec<&[TokenId]> = batch.iter().map(|job| job.prompt.as_slice()).collect();
        let lengths: Vec<usize> = batch.iter().map(|job| job.new_tokens).collect();
        let (model, pool) = (&scene.model, &scene.pool);
        let run = generate_batch(model, state, pool, &prompts, &lengths, Pad::default(), &mut |_, _| {})?;
        answers.extend(run.generations.into_iter().map(|generation| generation.tokens));
    }
    Ok(answers)
}

/// All jobs through the engine.
pub fn run_continuous(engine: &mut SlotEngine<'_>, jobs: &[Job]) -> anyhow::Result<Answers> {
    let mut first = None;
    for job in jobs {
        let id = engine.submit(&job.prompt, job.new_tokens)?;
        first.get_or_insert(id.0);
    }
    let first = first.unwrap_or(0);
    let mut answers = vec![Vec::new(); jobs.len()];
    engine.run(&mut |event| {
        if let Event::Finished { id, output, .. } = event {
            answers[(id.0 - first) as usize] = output.to_vec();
        }
        Delivery::Taken
    })?;
    Ok(answers)
}

/// C1 and C3: tokens a second, static against continuous, on each mix. Returns requests a second of the static batches on the mix of three kinds.
pub fn raced(story: &mut Story, scene: &Scene, mixes: &[Mix]) -> anyhow::Result<f64> {
    story.step(
        "Race on four kinds of traffic",
        "The same requests, all there at the start, through lesson 07's batches and through the engine. Answers must be equal, token for token.",
    );
    let mut races = Vec::new();
    for mix in mixes {
        let mut state = BatchState::new(&scene.model.config);
        let mut engine = scene.engine(SLOTS, longest(&mix.jobs));
        let title = format!("{}: {} requests", mix.name, mix.jobs.len());
        let race = Race::new(&format!("throughput-{}", mix.id), &title)
            .unit("tokens/s")
            .work(new_tokens(&mix.jobs) as f64)
            .rounds(if scene.model.is_large() { ROUNDS.1 } else { ROUNDS.0 })
            .entry("static batches", None, || run_static(scene, &mut state, &mix.jobs))
            .entry("continuous", None, || run_continuous(&mut engine, &mix.jobs))
            .baseline("static batches")
            .check(|a, b| match (a, b) {
                (Ok(a), Ok(b)) if a == b => Ok(()),
                (Ok(_), Ok(_)) => Err("an answer differs".into()),
                (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
            });
        races.push((mix, story.race(race)?));
    }
    let gain = |race: &RaceResult| race.ratio("continuous", "static batches");
    let mut table = Table::new(&["lengths", "mean", "longest", "fewer steps", "faster"]);
    let mut chart = Chart::bars("mixes", "Joining and leaving at every step")
        .y_label("tokens a second")
        .note(&format!("batch {SLOTS}, model {}", scene.model.name));
    for (mix, race) in &races {
        let lengths = mix.jobs.iter().map(|job| (job.prompt.len(), job.new_tokens));
        let batches = static_steps(lengths, SLOTS).steps();
        let (_, steps) = steps_of(&mix.lengths, mix.jobs.len(), scene.seed, SLOTS);
        let mean = new_tokens(&mix.jobs) as f64 / mix.jobs.len() as f64;
        let most = mix.jobs.iter().map(|job| job.new_tokens).max();
        table.row([
            mix.name.to_owned(),
            format!("{mean:.1}"),
            most.unwrap_or(0).to_string(),
            format!("{:.2}", batches as f64 / steps as f64),
            format!("{:.2}", gain(race)),
        ]);
        let median = |name: &str| race.entry(name).map_or(f64::NAN, |entry| entry.median);
        chart = chart.group(
            mix.name,
            &[
                ("static batches (07)", median("static batches")),
                ("continuous (08)", median("continuous")),
            ],
        );
    }
    story.table(&table);
    let gains: Vec<(&str, f64)> = races.iter().map(|(mix, race)| (mix.id, gain(race))).collect();
    story.values("gains", &gains);
    claims(story, &gains)?;
    story.chart(&chart.baseline("static batches (07)"))?;
    let (mix, race) = races
        .iter()
        .find(|(mix, _)| mix.id == "mix")
        .context("the mix of three kinds")?;
    let tokens_per_second = race.entry("static batches").context("a race with entries")?.median;
    Ok(tokens_per_second * mix.jobs.len() as f64 / new_tokens(&mix.jobs) as f64)
}

fn claims(story: &mut Story, gains: &[(&str, f64)]) -> anyhow::Result<()> {
    let of = |wanted: &str| {
        let found = gains.iter().find(|(id, _)| *id == wanted).map(|(_, gain)| *gain);
        found.with_context(|| format!("a race on the mix {wanted}"))
    };
    let (equal, mix, exponential, conversation) = (of("equal")?, of("mix")?, of("exponential")?, of("conversation")?);
    let verdict = match mix {
        gain if (0.9 * CLAIMED.0..=CLAIMED.1).contains(&gain) => Verdict::Holds,
        gain if gain >= 1.2 => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let note = format!(
        "On the mix of three kinds at batch {SLOTS}; exponential lengths {exponential:.1} times, conversation {conversation:.1}. Fewer steps are counted \
         above; time gains less where a joining prompt makes a step longer. A larger batch gains more: by count {:.1} times at 32.",
        harmonic(32)
    );
    story.claim(Claim {
        id: "C1",
        claimed: "Continuous batching gives 2.3 times (up to 3 to 5 times) the throughput of static batching on mixed lengths",
        value: mix,
        unit: "times the tokens a second",
        verdict,
        note: &note,
    });
    let least = mix.min(exponential).min(conversation);
    // A loss on equal answers would be no small gain either.
    let verdict = match (least >= 1.5, (0.87..=1.15).contains(&equal)) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = format!(
        "Equal short answers: {equal:.2} times. Mixed ones: {least:.1} to {:.1} times. The gain is the mean longest of a batch over the mean, and that \
         is 1 where all are equal.",
        mix.max(exponential).max(conversation)
    );
    story.claim(Claim {
        id: "C3",
        claimed: "Its gain is large for long or mixed outputs and small for short equal ones",
        value: equal,
        unit: "times, equal short answers",
        verdict,
        note: &note,
    });
    Ok(())
}
