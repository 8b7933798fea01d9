//! Logits become shares: temperature, the overflow (S1), and the row without a share (S3).

use super::{Row, Scene};
use generation::generate::greedy;
use generation::terminal::piece;
use lab::story::{Claim, Story, Verdict};
use sampling::exercises::{softmax, top_k};
use sampling::measure::entropy;
use training::TokenId;

/// Number of tokens that the table shows.
const SHOWN: usize = 6;
/// Temperatures at which both forms of softmax are tried.
const TEMPERATURES: [f32; 9] = [1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001];

fn percent(share: f32) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// The shares of a row at a temperature.
pub fn shares_at(logits: &[f32], temperature: f32) -> Vec<f32> {
    let mut shares = vec![0.0; logits.len()];
    softmax(logits, temperature, &mut shares);
    shares
}

/// The formula of softmax as it stands, in f32.
fn plain_softmax(logits: &[f32], temperature: f32) -> Vec<f32> {
    let powers: Vec<f32> = logits.iter().map(|l| (l / temperature).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// Whether the numbers add up to 1; with a NaN they do not.
fn are_shares(shares: &[f32]) -> bool {
    let sum: f64 = shares.iter().map(|share| f64::from(*share)).sum();
    (sum - 1.0).abs() < 1e-3
}

/// What a temperature does to one row.
pub fn temperature(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Turn numbers into shares",
        "Softmax: e to the power of each logit, divided by the sum of all powers. The temperature divides the logits \
         first.",
    );
    story.predict("temperature");
    // The row in the middle by entropy: the model is neither sure nor lost.
    let own_entropy = |row: &&Row| entropy(shares_at(&row.logits, 1.0).into_iter().map(f64::from));
    let mut by_entropy: Vec<&Row> = scene.rows.iter().collect();
    by_entropy.sort_by(|a, b| own_entropy(a).total_cmp(&own_entropy(b)));
    let Row { logits, text } = by_entropy[by_entropy.len() / 2];
    story.say(format!("What follows “{} …”?", scene.text(text).trim()));
    let shares = [0.5, 1.0, 2.0].map(|temperature| shares_at(logits, temperature));
    let mut likeliest = Vec::new();
    top_k(logits, SHOWN, &mut likeliest);
    let row = |token: String, logit: String, shares: [f32; 3]| {
        let [half, one, two] = shares.map(percent);
        [token, logit, half, one, two]
    };
    let mut rows = Vec::new();
    let mut others = [1.0; 3];
    for id in &likeliest {
        let of_token = shares.each_ref().map(|shares| shares[*id as usize]);
        others = std::array::from_fn(|at| f32::max(0.0, others[at] - of_token[at]));
        let logit = format!("{:.2}", logits[*id as usize]);
        rows.push(row(piece(&scene.model, TokenId(*id)), logit, of_token));
    }
    rows.push(row(
        format!("{} others", logits.len() - likeliest.len()),
        String::new(),
        others,
    ));
    story.rows(&["token", "logit", "T 0.5", "T 1", "T 2"], rows);
    let first = shares.each_ref().map(|shares| shares[likeliest[0] as usize]);
    story.values("share_of_the_likeliest", first);
    Ok(())
}

/// S1: a small temperature asks for powers that are larger than any f32.
pub fn overflow(story: &mut Story, scene: &Scene) {
    story.step(
        "Divide by a small temperature",
        "The largest f32 is 3.4e38, which is e^88.7. One row, by the formula as it stands, and with the largest \
         logit subtracted from all.",
    );
    // The row with the largest logit overflows first.
    let largest_of = |row: &&Row| row.logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let row = scene.rows.iter().max_by(|a, b| largest_of(a).total_cmp(&largest_of(b)));
    let row = row.expect("the model gave rows");
    let (largest, logits) = (largest_of(&row), &row.logits);
    let likeliest = logits.iter().position(|logit| *logit == largest).unwrap_or(0);
    let (mut fails_from, mut holds) = (None, true);
    let rows = TEMPERATURES.map(|temperature| {
        let (plain, safe) = (plain_softmax(logits, temperature), shares_at(logits, temperature));
        if !are_shares(&plain) {
            fails_from.get_or_insert(temperature);
        }
        holds &= are_shares(&safe);
        let power = largest / temperature;
        [
            temperature.to_string(),
            format!("e^{power:.1}"),
            format!("{:.1e}", power.exp()),
            plain[likeliest].to_string(),
            format!("{:.4}", safe[likeliest]),
        ]
    });
    let head = ["temperature", "largest power", "as f32", "plain share", "subtracted"];
    story.rows(&head, rows);
    story.say(
        "inf divided by inf is NaN, and a draw from NaN takes some token or none. With the largest logit subtracted, \
         every power is e^0 or below. A power that is too small becomes 0, which is right.",
    );
    story.values("largest_logit", largest);
    let note = match fails_from {
        Some(from) => format!(
            "Largest logit {largest:.1}: the plain formula fails at a temperature of {from} and at all lower ones \
             that were tried."
        ),
        None => format!("Largest logit {largest:.1}: nothing overflowed."),
    };
    story.claim(Claim {
        id: "S1",
        claimed: "Dividing by a small temperature overflows softmax unless the maximum is subtracted first",
        value: fails_from.map_or(f64::NAN, |from| f64::from((from * 1000.0).round()) / 1000.0),
        unit: "temperature at which it fails",
        verdict: Verdict::of(fails_from.is_some() && holds, fails_from.is_some() || !holds),
        note: &note,
    });
}

/// S3: every token is forbidden.
pub fn all_forbidden(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Forbid everything",
        "A bias of -inf forbids a token. Masks come from grammars and filters, and a mask may forbid every token. \
         What is chosen then?",
    );
    let all = (0..scene.vocab_size() as u32).map(|id| (TokenId(id), f32::NEG_INFINITY));
    let params = scene.params(|p| p.logit_bias = all.collect());
    let masked = vec![f32::NEG_INFINITY; scene.vocab_size()];
    let plain_fails = !are_shares(&plain_softmax(&masked, 1.0));
    let (num_rows, mut fell_back) = (scene.rows.len(), 0);
    scene.each_row(&scene.rows, params, |row, _, sampled| {
        let own = greedy(&row.logits).ok();
        fell_back += usize::from(sampled.fell_back && Some(sampled.token) == own);
    })?;
    story.show("rows with everything forbidden", num_rows);
    story.show("softmax gives NaN", if plain_fails { num_rows } else { 0 });
    story.show("the model's own likeliest token is taken", fell_back);
    story.say(
        "The result says that the sampler fell back, so a caller can report the fault of the mask. The text goes on, \
         and so do the other seven requests of the batch.",
    );
    let all_fell_back = fell_back == num_rows;
    story.claim(Claim {
        id: "S3",
        claimed: "If every token is masked, sampling must fall back to greedy instead of failing",
        value: 100.0 * fell_back as f64 / num_rows as f64,
        unit: "% of masked rows answered greedily",
        verdict: Verdict::of(all_fell_back && plain_fails, all_fell_back || plain_fails),
        note: "Without the fallback each of them is 0 divided by 0.",
    });
    Ok(())
}
