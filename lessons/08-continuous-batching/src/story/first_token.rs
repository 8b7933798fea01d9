//! What company adds to the time to first token.

use super::Scene;
use super::serve::Times;
use super::waiting::{ALONE, CONTINUOUS, Round, SHORT, STATIC, race_of};
use generation::State;
use kv_cache::session::{cache_for, generate};
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};

/// Requests that are measured alone in each round.
const TRIES: usize = 15;

/// C4: the time to first token of short requests, against that of one that is alone.
pub fn added(story: &mut Story, scene: &Scene, rounds: &[Round]) -> anyhow::Result<()> {
    story.step(
        "Wait for the first token",
        "Whoever comes while others run waits for the end of the step that runs, and then shares its first step with them. What does that add?",
    );
    let title = "First token of short requests, x: percentile";
    let names = [STATIC, CONTINUOUS, ALONE];
    let race = race_of(("first-token", title), &names, rounds, Times::ttft);
    story.race_result(&race);
    let median = |name: &str, percent: f64| race.entry_at(name, percent).map_or(f64::NAN, |entry| entry.median);
    let alone = median(ALONE, 50.0);
    let added = |percent: f64| median(CONTINUOUS, percent) - alone;
    let (usual, tail) = (added(50.0), added(99.0));
    let verdict = match (usual < 20.0, tail < 20.0) {
        (true, true) => Verdict::Holds,
        (true, false) => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let note = format!(
        "P50 {usual:.1} ms, P99 {tail:.1} ms more than the {:.1} ms of a request that is alone. In steps: at most one until it joins, as long as a slot is \
         free. The static batches add {:.0} ms at P50: there it waits for a batch that runs.",
        alone,
        median(STATIC, 50.0) - alone
    );
    story.claim(Claim {
        id: "C4",
        claimed: "It adds less than 20 ms to the time to first token",
        value: tail,
        unit: "ms at P99",
        verdict,
        note: &note,
    });
    let chart = [50.0, 99.0].into_iter().fold(
        Chart::bars("first-token", "The first token of short requests")
            .y_label("ms from arrival to first token")
            .note(&format!("prompt of {} tokens, model {}", SHORT.0, scene.model.name)),
        |chart, percent| {
            let parts = [
                ("static batches (07)", median(STATIC, percent)),
                ("continuous (08)", median(CONTINUOUS, percent)),
                ("alone (06)", median(ALONE, percent)),
            ];
            chart.group(&format!("P{percent}"), &parts)
        },
    );
    story.chart(&chart.less_is_better().baseline("static batches (07)"))?;
    Ok(())
}

/// First tokens in lesson 06's loop, one request after the other.
pub fn alone(scene: &Scene) -> anyhow::Result<Vec<Times>> {
    let prompt_tokens = SHORT.0;
    let mut cache = cache_for(&scene.model, prompt_tokens, 1);
    let mut state = State::new(&scene.model.config, prompt_tokens);
    let mut times = Vec::with_capacity(TRIES);
    for index in 0..TRIES {
        let prompt = scene.model.made_up_tokens(index, prompt_tokens);
        let (model, pool) = (&scene.model, &scene.pool);
        let timed = generate(model, &mut state, &mut cache, pool, &prompt, 1, &mut |_| {})?;
        times.push(Times {
            first: timed.timings.ttft.unwrap_or_default(),
            ..Times::default()
        });
    }
    Ok(times)
}
