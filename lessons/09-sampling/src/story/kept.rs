//! How many tokens top-p leaves.

use super::Scene;
use super::rows::Row;
use lab::story::{Choice, Prediction, Story};
use lab::table::Table;
use sampling::{Sampler, SamplingParams};

/// The shares that are asked for.
const TOP_P: [f32; 4] = [0.5, 0.9, 0.99, 1.0];

/// Tokens that each row keeps under these parameters, the fewest first.
pub fn num_kept(scene: &Scene, rows: &[Row], params: SamplingParams) -> anyhow::Result<Vec<usize>> {
    let params = params.check(scene.model.config.llama.vocab_size)?;
    let (mut sampler, mut logits) = (Sampler::new(), Vec::new());
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        logits.clone_from(&row.logits);
        kept.push(sampler.sample(&params, &[], &[], &mut logits)?.num_kept);
    }
    kept.sort_unstable();
    Ok(kept)
}

/// Top-p keeps a share of the mass, not of the tokens.
pub fn by_top_p(story: &mut Story, scene: &Scene, rows: &[Row]) -> anyhow::Result<()> {
    story.step(
        "Cut off the tail",
        "Thousands of tokens with a share of nearly nothing have a good share together. Top-p keeps the likeliest that together have the share p.",
    );
    let vocab_size = scene.model.config.llama.vocab_size;
    let mut table = Table::new(&["top-p", "fewest kept", "half keep up to", "most kept"]);
    let mut of_ninety = (0, 0, 0);
    for top_p in TOP_P {
        let params = SamplingParams {
            top_p,
            ..SamplingParams::default()
        };
        let kept = num_kept(scene, rows, params)?;
        let (fewest, middle, most) = (kept[0], kept[kept.len() / 2], kept[kept.len() - 1]);
        if top_p == 0.9 {
            of_ninety = (fewest, middle, most);
        }
        table.row([
            top_p.to_string(),
            fewest.to_string(),
            middle.to_string(),
            most.to_string(),
        ]);
    }
    let (fewest, middle, most) = of_ninety;
    let share = (0.9 * vocab_size as f64).round();
    let right = format!("from {fewest} to {most}, by what the row is sure of");
    let ninety = format!("{share}: nine tenths of {vocab_size}");
    let because = format!(
        "The shares are added up, the likeliest first, until 0.9 is reached. Half of these {} rows need {middle} tokens or fewer.",
        rows.len()
    );
    story.predict(Prediction {
        id: "top-p",
        question: "How many tokens does top-p 0.9 keep?",
        options: &[
            Choice {
                text: &ninety,
                answer_to_wrong: Some(
                    "That is 90 % of the tokens. Top-p is 90 % of the mass, and few tokens have most of it.",
                ),
            },
            Choice {
                text: "always the same number, to be found out once",
                answer_to_wrong: Some(
                    "That is top-k. Top-p keeps few where the model is sure and many where it is not.",
                ),
            },
            Choice {
                text: &right,
                answer_to_wrong: None,
            },
        ],
        answer: 2,
        because: &because,
    });
    story.table(&table);
    story.values("kept_at_nine_tenths", [fewest, middle, most]);
    story.say("The token that crosses the border is kept: so at least one always is, and together they have p or a little more.");
    Ok(())
}
