//! A seed gives the same answer in any company.

use super::{Ask, SLOTS, Scene};
use lab::story::{Choice, Prediction, Story};
use lab::table::Table;
use sampling::SamplingParams;

/// Requests of the comparison.
const REQUESTS: usize = 16;
/// Tokens of each answer, and with a large model.
const TOKENS: (usize, usize) = (24, 6);
/// Tokens of the answers that are shown.
const SHOWN: usize = 12;

/// Together and alone.
pub fn company(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Draw twice with one seed",
        "The number that decides is a function of seed, answer and position. It has an address; no state runs on from draw to draw.",
    );
    story.predict(Prediction {
        id: "seeds",
        question: "A request with seed 7 is answered alone, and once more among seven strangers that join and leave. What do the two answers have in common?",
        options: &[
            Choice {
                text: "the beginning, until the first stranger draws",
                answer_to_wrong: Some("That is so where all draw from one running generator: every draw of a stranger moves it on. Here none is shared."),
            },
            Choice { text: "every token", answer_to_wrong: None },
            Choice {
                text: "nothing but the shares that they are drawn from",
                answer_to_wrong: Some("That would be without a seed. With it the number of each position is fixed before the request begins."),
            },
        ],
        answer: 1,
        because: "Neither the logits (lesson 08) nor the number depends on company, so the token does not.",
    });
    let new_tokens = if scene.model.is_large() { TOKENS.1 } else { TOKENS.0 };
    let settings = [(1.0, 0, 1.0), (0.8, 50, 0.9), (1.5, 0, 0.8), (0.0, 0, 1.0)];
    let ask = |index: usize| -> anyhow::Result<Ask> {
        let (temperature, top_k, top_p) = settings[index % settings.len()];
        Ok(Ask {
            prompt: scene.beginning(index)?,
            new_tokens: new_tokens - index % 5,
            params: SamplingParams {
                temperature,
                top_k,
                top_p,
                repetition_penalty: if index.is_multiple_of(3) { 1.2 } else { 1.0 },
                seed: scene.seed + index as u64,
                ..SamplingParams::default()
            },
        })
    };
    let asks: Vec<Ask> = (0..REQUESTS).map(ask).collect::<anyhow::Result<_>>()?;
    let together = scene.answer(&asks, SLOTS, &mut |_| {})?;
    let mut equal = 0;
    for (ask, together) in asks.iter().zip(&together) {
        let alone = scene.answer(std::slice::from_ref(ask), 1, &mut |_| {})?;
        equal += usize::from(alone[0] == *together);
    }
    let mut table = Table::new(&["requests", "equal, token for token"]);
    table.row([
        format!("{REQUESTS} on {SLOTS} slots, each against its run alone"),
        equal.to_string(),
    ]);
    story.table(&table);
    story.values("equal", equal);
    anyhow::ensure!(equal == REQUESTS, "an answer depends on its company: a draw is broken");
    answers(story, scene)
}

/// Some answers to one prompt: what they differ in is their number.
fn answers(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let prompt = scene.beginning(0)?;
    let ask = |answer: u32, seed: u64| Ask {
        prompt: prompt.clone(),
        new_tokens: SHOWN,
        params: SamplingParams {
            temperature: 0.8,
            answer,
            seed,
            ..SamplingParams::default()
        },
    };
    let of = [(scene.seed, 0), (scene.seed, 1), (scene.seed + 1, 0), (scene.seed, 0)];
    let asks = of.map(|(seed, answer)| ask(answer, seed));
    let texts = scene.answer(&asks, of.len(), &mut |_| {})?;
    let mut table = Table::new(&["seed", "answer", "text"]);
    for ((seed, answer), tokens) in of.iter().zip(&texts) {
        let text = lab::term::cut(scene.text(tokens).trim_start(), 50).replace('\n', "↵");
        table.row([seed.to_string(), answer.to_string(), text]);
    }
    story.table(&table);
    story.say("Several answers to one prompt share their seed and differ in their number: together they can be asked for again.");
    Ok(())
}
