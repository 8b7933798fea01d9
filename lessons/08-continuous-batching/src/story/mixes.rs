//! The gain by the clock: lesson 07's batches and the engine race on the lesson's model.

use super::Scene;
use super::gain::{Both, Gain, LARGE};
use super::load::{Mix, in_batches, longest, new_tokens, run, submit};
use super::prices::Prices;
use super::{SLOTS, gain, prices};
use lab::chart::Chart;
use lab::race::{Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use static_batching::BatchState;
use training::TokenId;

/// The mixes that are raced at a batch of 8; that of three kinds at 32 too.
const RACED: [&str; 4] = ["equal", "mixed-short", "mix", "conversation"];

/// C1 and C3: priced on a model that fits in no cache, and raced on the lesson's model.
pub fn raced(story: &mut Story, scene: &Scene, mixes: &[Mix]) -> anyhow::Result<Prices> {
    story.step(
        "Put a price on each step",
        "A step costs by its rows. The schedules of both ways are counted, and each step gets the time that a step of \
         so many rows took:",
    );
    let prices = Prices::measure(story, scene)?;
    let gains = gain::priced(story, scene, mixes, &prices)?;
    story.step(
        "Race on four kinds of traffic",
        "The same requests, all there at the start, through lesson 07's batches and through the engine. Answers must \
         be equal, token for token.",
    );
    let raced = mixes
        .iter()
        .filter(|mix| RACED.contains(&mix.id))
        .map(|mix| (mix, SLOTS));
    let large = mixes.iter().filter(|mix| mix.id == "mix").map(|mix| (mix, LARGE));
    let mut races = Vec::new();
    for (mix, slots) in raced.chain(large) {
        races.push((mix, slots, race(story, scene, mix, slots)?));
    }
    let gain = |race: &RaceResult| race.ratio("continuous", "static batches");
    let mut rows = Vec::new();
    for (mix, slots, race) in &races {
        let both = Both::of(&prices.steps, &mix.arrivals, *slots, prices::Prompts::Padded)?;
        let mean = new_tokens(&mix.jobs) as f64 / mix.jobs.len() as f64;
        let most = mix.jobs.iter().map(|job| job.new_tokens).max().unwrap_or(0);
        rows.push([
            mix.name.to_owned(),
            slots.to_string(),
            format!("{mean:.1}"),
            most.to_string(),
            format!("{:.2}", both.in_steps()),
            format!("{:.2}", gain(race)),
        ]);
    }
    story.rows(&["lengths", "batch", "mean", "longest", "fewer steps", "faster"], rows);
    let raced: Vec<(&str, usize, f64)> = races
        .iter()
        .map(|(mix, slots, race)| (mix.id, *slots, gain(race)))
        .collect();
    story.values("gains", raced);
    claims(story, &gains, &races, &prices);
    let chart = Chart::bars("mixes", "The gain follows the spread of the lengths")
        .y_label("tokens a second")
        .note(&format!("model {}, all requests there at the start", scene.model.name));
    let chart = races.iter().fold(chart, |chart, (mix, slots, race)| {
        let parts = [
            ("static batches (07)", race.median("static batches")),
            ("continuous (08)", race.median("continuous")),
        ];
        chart.group(&format!("{}, {slots}", mix.name), &parts)
    });
    story.chart(&chart.baseline("static batches (07)"))?;
    Ok(prices)
}

/// One mix through both, on the clock.
fn race(story: &mut Story, scene: &Scene, mix: &Mix, slots: usize) -> anyhow::Result<RaceResult> {
    let mut state = BatchState::new(&scene.model.config);
    let mut engine = scene.engine(slots, longest(&mix.jobs));
    let id = match slots {
        SLOTS => format!("throughput-{}", mix.id),
        _ => format!("throughput-{}-{slots}", mix.id),
    };
    let title = format!("{}: {} requests, batch {slots}", mix.name, mix.jobs.len());
    let race = Race::new(&id, &title)
        .unit("tokens/s")
        .work(new_tokens(&mix.jobs) as f64)
        .rounds(if scene.model.is_large() { 1 } else { 3 })
        .entry("static batches", None, || {
            anyhow::Ok(in_batches(scene, &mut state, &mix.jobs, slots)?.0)
        })
        .entry("continuous", None, || {
            submit(&mut engine, &mix.jobs)?;
            let answers = run(&mut engine)?.into_values().map(|(tokens, _)| tokens);
            Ok(answers.collect::<Vec<Vec<TokenId>>>())
        })
        .baseline("static batches")
        .check(|a, b| match (a, b) {
            (Ok(a), Ok(b)) if a == b => Ok(()),
            (Ok(_), Ok(_)) => Err("an answer differs".into()),
            (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        });
    story.race(race)
}

fn claims(story: &mut Story, gains: &[Gain], races: &[(&Mix, usize, RaceResult)], prices: &Prices) {
    let of = |id: &str| *gains.iter().find(|gain| gain.id == id).expect("a mix of the story");
    let mix = of("mix");
    let by_clock = |slots: usize| {
        let race = races.iter().find(|(mix, with, _)| mix.id == "mix" && *with == slots);
        race.map_or(f64::NAN, |(_, _, race)| race.ratio("continuous", "static batches"))
    };
    let note = format!(
        "The mix of three kinds with the step prices of {}; at batch 32 {:.1} times. In steps {:.1} and {:.1}; by the \
         clock, on the story's model and with fewer requests, {:.1} and {:.1}. If prompts cost the static batches no \
         padding, {:.1} at batch 8. The 2.3 was told for equal answers, for which lengths alone give 1.",
        prices.model,
        mix.time_32,
        mix.steps_8,
        mix.steps_32,
        by_clock(SLOTS),
        by_clock(LARGE),
        mix.unpadded_8,
    );
    let claim = Claim {
        id: "C1",
        claimed: "Continuous batching gives 2.3 times (up to 3 to 5 times) the throughput of static batching on mixed lengths",
        value: mix.time_8,
        unit: "times the tokens a second, batch 8",
        // A gain of up to a tenth less than claimed still counts as that finding.
        verdict: Verdict::of(
            (0.9 * 2.3..=5.0).contains(&mix.time_8) && (0.9 * 3.0..=5.0).contains(&mix.time_32),
            mix.time_8 >= 1.2,
        ),
        note: &note,
    };
    story.claim_if_quiet(claim, prices.disturbances());
    let [equal, equal_long, short] = ["equal", "equal-long", "mixed-short"].map(|id| of(id).time_8);
    let least = ["mix", "exponential", "conversation"]
        .map(|id| of(id).time_8)
        .into_iter()
        .fold(short, f64::min);
    // A clear loss on equal answers does not count as a small gain either.
    let (is_large, is_small) = (least >= 1.4, (0.87..=1.15).contains(&equal));
    let note = format!(
        "Batch 8, step prices of {}. Equal answers: {equal:.2} times for 8 tokens, {equal_long:.2} for 64. Mixed \
         answers: {short:.2} times for a mean of 8 tokens, at least {least:.2} for every mix. So the spread decides, \
         and not the length: to join and to leave costs a few writes, and long equal answers gain nothing either.",
        prices.model
    );
    let claim = Claim {
        id: "C3",
        claimed: "Its gain is large for long or mixed outputs and small for short equal ones",
        value: short,
        unit: "times, short mixed answers",
        verdict: Verdict::of(is_large && is_small && equal_long >= 1.4, is_large || is_small),
        note: &note,
    };
    story.claim_if_quiet(claim, prices.disturbances());
}
