//! Numbers become shares: temperature, and the overflow (S1).

use super::Scene;
use super::rows::Row;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use sampling::measure::entropy;
use sampling::select::top_k;
use sampling::softmax::softmax;
use training::TokenId;

/// Tokens that a table shows.
const SHOWN: usize = 6;
/// Temperatures at which both forms of softmax are tried.
const TEMPERATURES: [f32; 9] = [1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001];

/// What a temperature does to one row.
pub fn temperature(story: &mut Story, scene: &Scene, rows: &[Row]) -> anyhow::Result<()> {
    story.step(
        "Turn numbers into shares",
        "Softmax: e to the power of each logit, divided by the sum of all. The temperature divides the logits first.",
    );
    // Neither sure nor lost: the row in the middle.
    let own_entropy = |row: &Row| {
        let mut shares = vec![0.0; row.logits.len()];
        softmax(&row.logits, 1.0, &mut shares);
        entropy(shares.into_iter().map(f64::from))
    };
    let mut by_entropy: Vec<&Row> = rows.iter().collect();
    by_entropy.sort_by(|a, b| own_entropy(a).total_cmp(&own_entropy(b)));
    let middle = by_entropy[by_entropy.len() / 2];
    let row = &middle.logits;
    let at = |temperature: f32| {
        let mut shares = vec![0.0; row.len()];
        softmax(row, temperature, &mut shares);
        shares
    };
    let temperatures = [0.5, 1.0, 2.0];
    let shares = temperatures.map(at);
    let mut likeliest = Vec::new();
    top_k(row, SHOWN, &mut likeliest);
    story.predict(Prediction {
        id: "temperature",
        question: "At temperature 2 the model is asked the same question. What has it to draw from that it had not at temperature 1?",
        options: &[
            Choice { text: "nothing", answer_to_wrong: None },
            Choice {
                text: "better ideas, which it held back",
                answer_to_wrong: Some("Temperature adds no knowledge. The same numbers come out of the same pass, and their order stays. Unlikely tokens become likelier, wrong ones and good ones alike."),
            },
            Choice {
                text: "tokens that had a share of 0",
                answer_to_wrong: Some("No share was 0: e to any power is above it. Each token could be drawn before, only more rarely."),
            },
        ],
        answer: 0,
        because: "All logits are divided by one number, so the order stays. The shares move: towards equal above 1, towards the first below 1.",
    });
    story.say(format!("What follows “{} …”?", scene.text(&middle.text).trim()));
    let mut table = Table::new(&["token", "logit", "T 0.5", "T 1", "T 2"]);
    let percent = |share: f32| format!("{:.2} %", 100.0 * share);
    for id in &likeliest {
        let index = *id as usize;
        let mut cells = vec![scene.piece(TokenId(*id)), format!("{:.2}", row[index])];
        cells.extend(shares.iter().map(|shares| percent(shares[index])));
        table.row(cells);
    }
    let rest = |shares: &Vec<f32>| {
        let shown: f32 = likeliest.iter().map(|id| shares[*id as usize]).sum();
        percent((1.0 - shown).max(0.0))
    };
    let mut cells = vec![format!("{} others", row.len() - likeliest.len()), String::new()];
    cells.extend(shares.iter().map(rest));
    table.row(cells);
    story.table(&table);
    let first: Vec<f32> = shares.iter().map(|shares| shares[likeliest[0] as usize]).collect();
    story.values("share_of_the_likeliest", &first);
    Ok(())
}

/// Softmax as the formula stands, in f32.
pub fn without_subtraction(logits: &[f32], temperature: f32) -> Vec<f32> {
    let powers: Vec<f32> = logits.iter().map(|l| (l / temperature).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// Whether these are shares: no number is missing, and they add up to 1.
pub fn are_shares(shares: &[f32]) -> bool {
    let sum: f64 = shares.iter().map(|share| f64::from(*share)).sum();
    (sum - 1.0).abs() < 1e-3
}

/// S1: a small temperature asks for powers that no f32 holds.
pub fn overflow(story: &mut Story, rows: &[Row]) {
    story.step(
        "Divide by a small temperature",
        "The largest f32 is 3.4e38, which is e^88.7. One row, by the formula as it stands, and with the largest logit subtracted from all.",
    );
    // The row with the largest logit overflows first.
    let largest_of = |row: &[f32]| row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let all = rows.iter().map(|row| row.logits.as_slice());
    let Some(row) = all.max_by(|a, b| largest_of(a).total_cmp(&largest_of(b))) else {
        return;
    };
    let (largest, mut safe) = (largest_of(row), vec![0.0; row.len()]);
    let mut table = Table::new(&[
        "temperature",
        "largest power",
        "as f32",
        "share, plain",
        "share, subtracted",
    ]);
    let (mut fails_from, mut holds) = (None, true);
    for temperature in TEMPERATURES {
        let plain = without_subtraction(row, temperature);
        softmax(row, temperature, &mut safe);
        let likeliest = row.iter().position(|logit| *logit == largest).unwrap_or(0);
        let power = largest / temperature;
        table.row([
            temperature.to_string(),
            format!("e^{power:.1}"),
            format!("{:.1e}", power.exp()),
            plain[likeliest].to_string(),
            format!("{:.4}", safe[likeliest]),
        ]);
        if !are_shares(&plain) {
            fails_from.get_or_insert(temperature);
        }
        holds &= are_shares(&safe);
    }
    story.table(&table);
    story.say(
        "inf divided by inf is no number, and a draw from shares that are no numbers takes some token or none. Less the largest, every power is e^0 \
         or below; what is too small becomes 0, which is right.",
    );
    story.values("largest_logit", largest);
    let verdict = match (fails_from, holds) {
        (Some(_), true) => Verdict::Holds,
        (None, true) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = match fails_from {
        Some(from) => format!(
            "Largest logit {largest:.1}: the formula as it stands fails at a temperature of {from} and all that were tried below."
        ),
        None => format!("Largest logit {largest:.1}: nothing overflowed."),
    };
    story.claim(Claim {
        id: "S1",
        claimed: "Dividing by a small temperature overflows softmax unless the maximum is subtracted first",
        value: fails_from.map_or(f64::NAN, |from| f64::from((from * 1000.0).round()) / 1000.0),
        unit: "temperature at which it fails",
        verdict,
        note: &note,
    });
}
