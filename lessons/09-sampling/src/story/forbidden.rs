//! S3: the row where nothing may be drawn.

use super::Scene;
use super::rows::Row;
use super::shares::{are_shares, without_subtraction};
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use sampling::{Sampler, SamplingParams};
use training::TokenId;

/// S3: every token is forbidden.
pub fn all_forbidden(story: &mut Story, scene: &Scene, rows: &[Row]) -> anyhow::Result<()> {
    story.step(
        "Forbid everything",
        "A bias of -inf forbids a token. Masks come from grammars and filters, and one day they forbid all of them. What then?",
    );
    let vocab_size = scene.model.config.llama.vocab_size;
    let all = (0..vocab_size as u32).map(|id| (TokenId(id), f32::NEG_INFINITY));
    let params = SamplingParams {
        logit_bias: all.collect(),
        seed: scene.seed,
        ..SamplingParams::default()
    };
    let params = params.check(vocab_size)?;
    let (mut sampler, mut logits) = (Sampler::new(), Vec::new());
    let (mut plain_fails, mut fell_back) = (0, 0);
    for row in rows {
        plain_fails += usize::from(!are_shares(&without_subtraction(
            &vec![f32::NEG_INFINITY; row.logits.len()],
            1.0,
        )));
        logits.clone_from(&row.logits);
        let sampled = sampler.sample(&params, &[], &[], &mut logits)?;
        let own = generation::generate::greedy(&row.logits)?;
        fell_back += usize::from(sampled.fell_back && sampled.token == own);
    }
    let mut table = Table::new(&["rows with everything forbidden", "rows", "share"]);
    let share = |count: usize| format!("{:.0} %", 100.0 * count as f64 / rows.len() as f64);
    for (what, count) in [
        ("all", rows.len()),
        ("softmax gives no numbers", plain_fails),
        ("the sampler takes the model's own likeliest token", fell_back),
    ] {
        table.row([what.to_owned(), count.to_string(), share(count)]);
    }
    story.table(&table);
    story.say(
        "The sampler says that it fell back, so that a caller can treat it as the fault of the mask that it is. The text goes on, and seven other \
         requests of the batch with it.",
    );
    let all_fell_back = fell_back == rows.len();
    let verdict = match (all_fell_back, plain_fails > 0) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    story.claim(Claim {
        id: "S3",
        claimed: "If every token is masked, sampling must fall back to greedy instead of failing",
        value: 100.0 * fell_back as f64 / rows.len() as f64,
        unit: "% of masked rows answered greedily",
        verdict,
        note: "Without the fallback each of them is 0 divided by 0.",
    });
    Ok(())
}
