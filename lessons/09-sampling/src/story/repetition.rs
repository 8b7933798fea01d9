//! S5: how much a text repeats itself, by how its tokens are chosen.

use super::columns::Columns;
use super::{Ask, SLOTS, Scene};
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use sampling::SamplingParams;
use sampling::measure::repeated_share;
use training::TokenId;

/// Tokens of each of eight texts, and with a large model.
const TOKENS: (usize, usize) = (256, 16);
/// Tokens of the runs that are looked for.
const RUN: usize = 4;
/// Last tokens of the texts that are shown side by side.
const SHOWN: usize = 56;
/// A text that repeats less than this does not loop.
const LOOPS: f64 = 0.1;

const GREEDY: &str = "greedy (08)";

/// The ways, the first three are those of the claim.
fn strategies(scene: &Scene) -> [(&'static str, SamplingParams); 5] {
    // The text has to go on: whatever would end it is forbidden.
    let greedy = SamplingParams {
        logit_bias: scene.without_end(),
        seed: scene.seed,
        ..SamplingParams::greedy()
    };
    let drawn = SamplingParams {
        temperature: 1.0,
        ..greedy.clone()
    };
    [
        (GREEDY, greedy.clone()),
        (
            "top-p 0.9",
            SamplingParams {
                top_p: 0.9,
                ..drawn.clone()
            },
        ),
        (
            "greedy, repetition 1.2",
            SamplingParams {
                repetition_penalty: 1.2,
                ..greedy.clone()
            },
        ),
        (
            "greedy, frequency 0.5",
            SamplingParams {
                frequency_penalty: 0.5,
                ..greedy
            },
        ),
        ("temperature 1", drawn),
    ]
}

/// Eight texts by each way.
pub fn by_strategy(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let new_tokens = if scene.model.is_large() { TOKENS.1 } else { TOKENS.0 };
    let new_tokens = scene.tokens.unwrap_or(new_tokens);
    story.step(
        "Go on and on",
        &format!(
            "Eight beginnings, {new_tokens} tokens each, and a bias of -inf on whatever would end the text. How much of it was there before, in runs of {RUN} tokens?"
        ),
    );
    let mut texts: Vec<(&str, Vec<Vec<TokenId>>)> = Vec::new();
    for (name, params) in strategies(scene) {
        let ask = |index: usize| -> anyhow::Result<Ask> {
            Ok(Ask {
                prompt: scene.beginning(index)?,
                new_tokens,
                params: params.clone(),
            })
        };
        let asks: Vec<Ask> = (0..SLOTS).map(ask).collect::<anyhow::Result<_>>()?;
        texts.push((name, scene.answer(&asks, SLOTS, &mut |_| {})?));
    }
    let mut table = Table::new(&["choice", "repeated", "worst text"]);
    let mut chart = Chart::bars("repetition", "Runs of four tokens that the text had before")
        .y_label("% of all runs")
        .note(&format!(
            "eight texts of {new_tokens} tokens, model {}",
            scene.model.name
        ));
    let mut shares = Vec::new();
    for (name, texts) in &texts {
        let of_texts: Vec<f64> = texts.iter().map(|text| repeated_share(text, RUN)).collect();
        let mean = of_texts.iter().sum::<f64>() / of_texts.len() as f64;
        let worst = of_texts.iter().copied().fold(0.0, f64::max);
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        table.row([(*name).to_owned(), percent(mean), percent(worst)]);
        chart = chart.bar(name, 100.0 * mean);
        shares.push((*name, mean));
    }
    story.table(&table);
    side_by_side(story, scene, &texts);
    story.values("repeated_share", &shares);
    claim(story, &shares);
    story.chart(&chart.less_is_better().baseline(GREEDY))?;
    Ok(())
}

/// The end of the text that greedy choice repeats most, by the first three ways.
fn side_by_side(story: &mut Story, scene: &Scene, texts: &[(&str, Vec<Vec<TokenId>>)]) {
    let by_share = |a: &usize, b: &usize| {
        let share = |index: usize| repeated_share(&texts[0].1[index], RUN);
        share(*a).total_cmp(&share(*b))
    };
    let worst = (0..SLOTS).max_by(by_share).unwrap_or(0);
    story.say("The end of one of the texts:");
    story.say("");
    let shown = &texts[..3];
    let heads: Vec<&str> = shown.iter().map(|(name, _)| *name).collect();
    let mut columns = Columns::begin(story, &heads);
    for (column, (_, texts)) in shown.iter().enumerate() {
        let text = &texts[worst];
        let end = &text[text.len().saturating_sub(SHOWN)..];
        columns.push(column, &scene.text(end));
    }
    columns.finish(story);
    story.say("");
}

fn claim(story: &mut Story, shares: &[(&str, f64)]) {
    let (greedy, nucleus, penalty) = (shares[0].1, shares[1].1, shares[2].1);
    let loops = greedy >= LOOPS;
    let helps = |share: f64| share <= greedy / 2.0;
    let verdict = match (loops, helps(nucleus), helps(penalty)) {
        (true, true, true) => Verdict::Holds,
        (true, true, false) | (true, false, true) => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let note = format!(
        "Share of runs of {RUN} tokens that the text had before: greedy {:.1} %, top-p 0.9 {:.1} %, greedy with a repetition penalty of 1.2 {:.1} %. Model and \
         beginnings are the same. A choice helps if it halves the share; greedy loops if it repeats {:.0} % or more.",
        100.0 * greedy,
        100.0 * nucleus,
        100.0 * penalty,
        100.0 * LOOPS
    );
    story.claim(Claim {
        id: "S5",
        claimed: "Repetition comes from the decoding strategy: greedy loops, nucleus sampling and a repetition penalty do not",
        value: 100.0 * greedy,
        unit: "% repeated, greedy",
        verdict,
        note: &note,
    });
}
