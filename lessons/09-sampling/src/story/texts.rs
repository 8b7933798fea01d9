//! Whole texts: a seed gives the same answer in every batch, and each way of choosing is scored (S5).

use super::columns::Columns;
use super::cuts::TASKS;
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
            p.seed = p.seed.wrapping_add(index as u64);
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
    story.say("Several answers to one prompt have one seed and different numbers, so all can be produced again.");
    Ok(())
}

/// The ways of choosing. The claim is about the first three; the recommendations for kinds of texts come last. The end
/// of the text is forbidden.
fn ways(scene: &Scene) -> Vec<(&'static str, SamplingParams)> {
    let drawn = scene.params(|p| p.logit_bias = scene.without_end());
    let greedy = drawn.clone().with(|p| p.temperature = 0.0);
    let mut ways = vec![
        ("greedy (08)", greedy.clone()),
        ("top-p 0.9", drawn.clone().with(|p| p.top_p = 0.9)),
        (
            "greedy, repetition 1.2",
            greedy.clone().with(|p| p.repetition_penalty = 1.2),
        ),
        ("greedy, frequency 0.5", greedy.with(|p| p.frequency_penalty = 0.5)),
        ("temperature 1", drawn.clone()),
    ];
    ways.extend(TASKS.map(|(name, temperature, top_p)| {
        let params = drawn.clone().with(|p| (p.temperature, p.top_p) = (temperature, top_p));
        (name, params)
    }));
    ways
}

/// Eight texts by each way of choosing, and eight answers to one prompt.
pub fn repetition(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    // The reader's own beginning may be so long that the context ends its text.
    let room = scene.model.room_behind(&scene.beginning(0)?, 1)?;
    let new_tokens = scene.args.tokens.unwrap_or(scene.size(256, 16)).min(room);
    story.step(
        "Go on and on",
        &format!(
            "Eight beginnings, {new_tokens} tokens each; a bias of -inf forbids the end of the text. How many runs of \
             {RUN} tokens came before in the same text? And of eight answers to one prompt, a quarter as long: how many \
             runs does another answer have too?"
        ),
    );
    let repeated = |text: &Vec<TokenId>| repeated_share(text, RUN);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let (mut of_ways, mut scores, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (name, params) in ways(scene) {
        let asks = (0..SLOTS).map(|index| scene.ask(index, new_tokens, params.clone()));
        let asks = asks.collect::<anyhow::Result<Vec<_>>>()?;
        let texts = scene.answer(&asks, SLOTS, &mut |_| {})?;
        let mean = texts.iter().map(repeated).sum::<f64>() / texts.len() as f64;
        let worst = texts.iter().map(repeated).fold(0.0, f64::max);
        let of_one = |answer| scene.ask(0, new_tokens / 4, params.clone().with(|p| p.answer = answer as u32));
        let asks = (0..SLOTS).map(of_one).collect::<anyhow::Result<Vec<_>>>()?;
        let answers = scene.answer(&asks, SLOTS, &mut |_| {})?;
        let alike = shared_runs(&answers);
        rows.push([name.to_owned(), percent(mean), percent(worst), percent(alike)]);
        scores.push((name, mean, alike));
        of_ways.push((name, texts));
    }
    story.rows(&["choice", "repeated", "worst text", "in another answer"], rows);
    story.say("In the last column 100 % means that all eight answers are one text.");

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
    story.values("new_tokens", new_tokens);
    story.values("scores", &scores);

    let [greedy, nucleus, penalty] = [0, 1, 2].map(|way: usize| scores[way].1);
    let (loops, helps) = (greedy >= LOOPS, |share: f64| share <= greedy / 2.0);
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
        note: &format!(
            "Share of runs of {RUN} tokens that the text had before: greedy {}, top-p 0.9 {}, greedy with a repetition \
             penalty of 1.2 {}. Model, beginnings and length are the same, and no text may end. A choice helps if it \
             halves the share; greedy loops if it repeats {:.0} % or more.",
            percent(greedy),
            percent(nucleus),
            percent(penalty),
            100.0 * LOOPS
        ),
    });
    let title = format!(
        "Greedy choice repeats {} of its runs, a draw with top-p 0.9 {}",
        percent(greedy),
        percent(nucleus)
    );
    let chart = Chart::bars("repetition", &title)
        .y_label("% of all runs of four tokens that the text had before")
        .note(&format!(
            "eight texts of {new_tokens} tokens, model {}",
            scene.model.name
        ));
    let chart = scores
        .iter()
        .fold(chart, |chart, (name, mean, _)| chart.bar(name, 100.0 * mean));
    story.chart(&chart)?;
    Ok(())
}

/// Share of the runs of an answer that another answer has too: mean over the answers. 1 if all answers are equal.
fn shared_runs(answers: &[Vec<TokenId>]) -> f64 {
    let has = |text: &Vec<TokenId>, run: &[TokenId]| text.windows(RUN).any(|other| other == run);
    let (mut shared, mut all) = (0, 0);
    for (index, answer) in answers.iter().enumerate() {
        for run in answer.windows(RUN) {
            let mut others = answers.iter().enumerate().filter(|(other, _)| *other != index);
            shared += usize::from(others.any(|(_, text)| has(text, run)));
            all += 1;
        }
    }
    shared as f64 / all.max(1) as f64
}
