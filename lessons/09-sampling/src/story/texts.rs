//! Whole texts: a seed gives the same answer in every batch, and repetition by the way of choosing (S5).

use super::columns::Columns;
use super::{SLOTS, Scene};
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use sampling::SamplingParams;
use sampling::measure::repeated_share;
use training::TokenId;

/// Number of requests that are answered together and alone.
const REQUESTS: usize = 16;
/// Length in tokens of the runs that are counted as repeated.
const RUN: usize = 4;
/// A greedy text that repeats a smaller share of its runs does not loop.
const LOOPS: f64 = 0.1;

/// Answers requests together and alone.
pub fn company(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Draw twice with one seed",
        "The number that decides is a function of seed, answer and position: its address. No state runs on from draw \
         to draw.",
    );
    story.predict("seeds");
    let new_tokens = scene.size(24, 6);
    let settings = [(1.0, 0, 1.0), (0.8, 50, 0.9), (1.5, 0, 0.8), (0.0, 0, 1.0)];
    let mut asks = Vec::with_capacity(REQUESTS);
    for index in 0..REQUESTS {
        let params = scene.params(|p| {
            (p.temperature, p.top_k, p.top_p) = settings[index % settings.len()];
            p.repetition_penalty = if index.is_multiple_of(3) { 1.2 } else { 1.0 };
            p.seed += index as u64;
        });
        asks.push(scene.ask(index, new_tokens - index % 5, params)?);
    }
    let mut equal = 0;
    for (ask, together) in asks.iter().zip(scene.answer(&asks, SLOTS, &mut |_| {})?) {
        let alone = scene.answer(std::slice::from_ref(ask), 1, &mut |_| {})?;
        equal += usize::from(alone[0] == together);
    }
    let what = format!("{REQUESTS} on {SLOTS} slots, each against its run alone");
    story.rows(&["requests", "equal, token for token"], [[what, equal.to_string()]]);
    story.values("equal", equal);
    anyhow::ensure!(
        equal == REQUESTS,
        "an answer depends on the other requests: a draw is broken"
    );

    story.say(
        "Several answers to one prompt have the same seed and different numbers, so all of them can be produced again.",
    );
    Ok(())
}

/// The ways of choosing; the claim is about the first three. The end of the text is forbidden.
fn ways(scene: &Scene) -> [(&'static str, SamplingParams); 5] {
    let drawn = scene.params(|p| p.logit_bias = scene.without_end());
    let greedy = drawn.clone().with(|p| p.temperature = 0.0);
    [
        ("greedy (08)", greedy.clone()),
        ("top-p 0.9", drawn.clone().with(|p| p.top_p = 0.9)),
        (
            "greedy, repetition 1.2",
            greedy.clone().with(|p| p.repetition_penalty = 1.2),
        ),
        ("greedy, frequency 0.5", greedy.with(|p| p.frequency_penalty = 0.5)),
        ("temperature 1", drawn),
    ]
}

/// Eight texts by each way of choosing.
pub fn repetition(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let new_tokens = scene.args.tokens.unwrap_or(scene.size(256, 16));
    story.step(
        "Go on and on",
        &format!(
            "Eight beginnings, {new_tokens} tokens each; a bias of -inf forbids the end of the text. How many \
             runs of {RUN} tokens came before in the same text?"
        ),
    );
    let repeated = |text: &Vec<TokenId>| repeated_share(text, RUN);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut chart = Chart::bars("repetition", "Runs of four tokens that the text had before")
        .y_label("% of all runs")
        .note(&format!(
            "eight texts of {new_tokens} tokens, model {}",
            scene.model.name
        ));
    let (mut of_ways, mut shares, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (name, params) in ways(scene) {
        let asks = (0..SLOTS).map(|index| scene.ask(index, new_tokens, params.clone()));
        let asks = asks.collect::<anyhow::Result<Vec<_>>>()?;
        let texts = scene.answer(&asks, SLOTS, &mut |_| {})?;
        let mean = texts.iter().map(repeated).sum::<f64>() / texts.len() as f64;
        let worst = texts.iter().map(repeated).fold(0.0, f64::max);
        rows.push([name.to_owned(), percent(mean), percent(worst)]);
        chart = chart.bar(name, 100.0 * mean);
        shares.push((name, mean));
        of_ways.push((name, texts));
    }
    story.rows(&["choice", "repeated", "worst text"], rows);

    // The end of the text that greedy choice repeats most, by the first three ways.
    let greedy_texts = &of_ways[0].1;
    let worst = (0..SLOTS).max_by(|a, b| repeated(&greedy_texts[*a]).total_cmp(&repeated(&greedy_texts[*b])));
    story.say("The end of one of the texts:");
    story.say("");
    let mut columns = Columns::begin(story, &[of_ways[0].0, of_ways[1].0, of_ways[2].0]);
    for (column, (_, texts)) in of_ways[..3].iter().enumerate() {
        let text = &texts[worst.unwrap_or(0)];
        columns.push(column, &scene.text(&text[text.len().saturating_sub(56)..]));
    }
    columns.finish(story);
    story.say("");
    story.values("repeated_share", &shares);

    let [greedy, nucleus, penalty] = [0, 1, 2].map(|way: usize| shares[way].1);
    let (loops, helps) = (greedy >= LOOPS, |share: f64| share <= greedy / 2.0);
    let note = format!(
        "Share of runs of {RUN} tokens that the text had before: greedy {}, top-p 0.9 {}, greedy with a repetition \
         penalty of 1.2 {}. Model and beginnings are the same. A choice helps if it halves the share; greedy loops \
         if it repeats {:.0} % or more.",
        percent(greedy),
        percent(nucleus),
        percent(penalty),
        100.0 * LOOPS
    );
    story.claim(Claim {
        id: "S5",
        claimed: "Repetition comes from the decoding strategy: greedy loops, nucleus sampling and a repetition \
             penalty do not",
        value: 100.0 * greedy,
        unit: "% repeated, greedy",
        verdict: Verdict::of(
            loops && helps(nucleus) && helps(penalty),
            loops && (helps(nucleus) || helps(penalty)),
        ),
        note: &note,
    });
    story.chart(&chart.less_is_better().baseline("greedy (08)"))?;
    Ok(())
}
