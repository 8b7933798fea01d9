//! The cuts: how many tokens top-p leaves, and how temperature and top-p act together (S4).

use super::shares::shares_at;
use super::{Row, Scene};
use generation::State;
use generation::terminal::piece;
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use sampling::SamplingParams;
use sampling::measure::entropy;
use serde::Serialize;
use training::TokenId;

/// The texts of the book's figure: after these the model finds one token likely, a few, ten equally, or hundreds.
const TEXTS: [&str; 5] = [
    "Once upon a time there was a brave little fox named Tom",
    "Mia the mouse wanted to",
    "Once upon a time there was a",
    "Every morning the bear",
    "She looked for her",
];
/// The values of top-p in the table.
const TOP_P: [f32; 4] = [0.5, 0.9, 0.99, 1.0];
/// Number of values on each side of the grid: temperatures 0.1 to 2, top-p 0.05 to 1.
const STEPS: usize = 20;
/// The cuts of the second table: name, top-k, top-p, min-p.
const CUTS: [(&str, usize, f32, f32); 5] = [
    ("all", 0, 1.0, 0.0),
    ("top-k 5", 5, 1.0, 0.0),
    ("top-p 0.9", 0, 0.9, 0.0),
    ("top-p 0.5", 0, 0.5, 0.0),
    ("min-p 0.1", 0, 1.0, 0.1),
];
/// Settings that are recommended for kinds of texts, with temperature and top-p.
pub const TASKS: [(&str, f32, f32); 3] = [
    ("too rigid: 0.1", 0.1, 1.0),
    ("answers: 0.5, top-p 0.85", 0.5, 0.85),
    ("writing: 0.8, top-p 0.9", 0.8, 0.9),
];

/// Top-p keeps a share of the mass, not of the tokens.
pub fn by_top_p(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Cut off the tail",
        "Thousands of tokens have a share of nearly nothing each, and a good share together. Top-p keeps the \
         likeliest tokens that together have the share p.",
    );
    // For each top-p: the fewest tokens that a row keeps, the number in the middle, and the most.
    let mut kept = Vec::new();
    for top_p in TOP_P {
        let mut of_rows = Vec::new();
        let params = scene.params(|p| p.top_p = top_p);
        scene.each_row(&scene.rows, params, |_, _, sampled| of_rows.push(sampled.num_kept))?;
        of_rows.sort_unstable();
        kept.push([of_rows[0], of_rows[of_rows.len() / 2], of_rows[of_rows.len() - 1]]);
    }
    let [fewest, middle, most] = kept[1];
    let vocab_size = scene.vocab_size();
    story.predict_with(
        "top-p",
        &[
            ("share", &(0.9 * vocab_size as f64).round()),
            ("vocab_size", &vocab_size),
            ("fewest", &fewest),
            ("middle", &middle),
            ("most", &most),
            ("rows", &scene.rows.len()),
        ],
    );
    let cells = |(top_p, kept): (&f32, &[usize; 3])| {
        let kept = kept.map(|count| count.to_string());
        [top_p.to_string()].into_iter().chain(kept)
    };
    let head = ["top-p", "fewest kept", "half keep up to", "most kept"];
    story.rows(&head, TOP_P.iter().zip(&kept).map(cells));
    story.values("kept_at_nine_tenths", kept[1]);
    story.say("The token that crosses the border stays, so at least one token stays.");
    after_texts(story, scene)
}

/// What the cuts leave after one text. Shares are of all tokens, at temperature 1.
#[derive(Serialize)]
struct After {
    /// The four likeliest tokens.
    words: String,
    /// Share of the likeliest token, and of the ten and the fifty likeliest together.
    one: f64,
    ten: f64,
    fifty: f64,
    /// Number of tokens that top-p 0.9 keeps at temperatures 1, 0.5 and 2, and that min-p 0.05 keeps at 1.
    top_p: usize,
    top_p_cold: usize,
    top_p_hot: usize,
    min_p: usize,
}

/// The same cuts after five texts.
fn after_texts(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    if scene.model.tokenizer.is_none() {
        return Ok(());
    }
    let mut state = State::new(&scene.model.config, 64);
    let (mut afters, mut rows) = (Vec::new(), Vec::new());
    for prompt in TEXTS {
        let text = scene.model.encode_prompt(prompt)?;
        let logits = scene.model.forward(&mut state, &scene.pool, &text)?.to_vec();
        let shares = shares_at(&logits, 1.0);
        let mut ids: Vec<usize> = (0..shares.len()).collect();
        ids.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]).then(a.cmp(b)));
        let together = |count: usize| ids.iter().take(count).map(|id| f64::from(shares[*id])).sum::<f64>();
        let word = |id: &usize| piece(&scene.model, TokenId(*id as u32)).replace('·', "");
        let words: Vec<String> = ids.iter().take(4).map(word).collect();
        let row = [Row { logits, text }];
        let kept = |temperature: f32, top_p: f32, min_p: f32| -> anyhow::Result<usize> {
            let mut kept = 0;
            let params = scene.params(|p| (p.temperature, p.top_p, p.min_p) = (temperature, top_p, min_p));
            scene.each_row(&row, params, |_, _, sampled| kept = sampled.num_kept)?;
            Ok(kept)
        };
        let after = After {
            words: words.join(", "),
            one: together(1),
            ten: together(10),
            fifty: together(50),
            top_p: kept(1.0, 0.9, 0.0)?,
            top_p_cold: kept(0.5, 0.9, 0.0)?,
            top_p_hot: kept(2.0, 0.9, 0.0)?,
            min_p: kept(1.0, 1.0, 0.05)?,
        };
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let words: Vec<&str> = prompt.split(' ').collect();
        rows.push([
            format!("… {}", words[words.len() - 3..].join(" ")),
            percent(after.one),
            percent(after.fifty),
            after.top_p.to_string(),
            after.min_p.to_string(),
        ]);
        afters.push(after);
    }
    let head = ["after", "the likeliest", "the 50", "top-p 0.9 keeps", "min-p 0.05"];
    story.rows(&head, rows);
    story.values("after", &afters);
    Ok(())
}

/// What a setting leaves, over all rows.
#[derive(Clone, Copy)]
struct Left {
    /// Mean entropy, in nats.
    entropy: f64,
    /// Geometric mean of the number of tokens.
    kept: f64,
}

fn left(scene: &Scene, rows: &[Row], params: SamplingParams) -> anyhow::Result<Left> {
    let (mut nats, mut logarithms) = (0.0, 0.0);
    scene.each_row(rows, params, |_, sampler, sampled| {
        nats += entropy(sampler.candidates().map(|(_, share)| share));
        logarithms += (sampled.num_kept as f64).ln();
    })?;
    let count = rows.len() as f64;
    Ok(Left {
        entropy: nats / count,
        kept: (logarithms / count).exp(),
    })
}

/// A table of settings, the grid as two charts, and S4.
pub fn grid(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Turn all knobs",
        "Entropy says how free a choice is: e to its power is the number of equally likely tokens that would be as \
         hard to guess. Each cell: that number, and the number of tokens that are left.",
    );
    let rows = &scene.rows[..scene.size(scene.rows.len(), 16.min(scene.rows.len()))];
    let left_at = |temperature: f32, top_p: f32| {
        left(
            scene,
            rows,
            scene.params(|p| (p.temperature, p.top_p) = (temperature, top_p)),
        )
    };
    let mut table = Vec::new();
    for temperature in [0.5, 1.0, 1.5, 2.0] {
        let mut cells = vec![temperature.to_string()];
        for (_, top_k, top_p, min_p) in CUTS {
            let change = |p: &mut SamplingParams| {
                (p.temperature, p.top_k, p.top_p, p.min_p) = (temperature, top_k, top_p, min_p);
            };
            let left = left(scene, rows, scene.params(change))?;
            cells.push(format!("{:.1} of {:.0}", left.entropy.exp(), left.kept));
        }
        table.push(cells);
    }
    let head: Vec<&str> = ["temperature"].into_iter().chain(CUTS.map(|cut| cut.0)).collect();
    story.rows(&head, table);
    let value = |step: usize, of: f32| (step + 1) as f32 * of / STEPS as f32;
    let mut grid = Vec::with_capacity(STEPS * STEPS);
    let bar = story.progress((STEPS * STEPS) as u64, "the grid");
    for row in 0..STEPS {
        for column in 0..STEPS {
            grid.push(left_at(value(column, 2.0), value(row, 1.0))?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let (own, cold) = (left_at(1.0, 1.0)?, left_at(0.5, 1.0)?);
    // The largest top-p at which temperature 1 is as stable as temperature 0.5.
    let mut at_one = (0..STEPS)
        .rev()
        .map(|row| (value(row, 1.0), grid[row * STEPS + STEPS / 2 - 1]));
    let as_stable = at_one.find(|(_, left)| left.entropy <= cold.entropy);

    let field = |id: &str, title: &str, key: [&str; 3], value: &dyn Fn(&Left) -> f64| {
        let values = grid.iter().map(|left| value(left) as f32).collect();
        let half = 1.0 / (2 * STEPS) as f64;
        let (x_range, y_range) = ((0.1 - 2.0 * half, 2.0 + 2.0 * half), (0.05 - half, 1.0 + half));
        let mut chart = Chart::field(id, title, x_range, y_range, STEPS, values)
            .note(&format!(
                "the black line lies at: {}; model {}",
                key[1], scene.model.name
            ))
            .x_label("temperature")
            .y_label("top-p")
            .shade(key[0], 0.0)
            .shade(key[1], 0.5)
            .shade(key[2], 1.0)
            .points("the model itself", vec![(1.0, 1.0)])
            .points("temperature 0.5, no cut", vec![(0.5, 1.0)]);
        if let Some((top_p, _)) = as_stable {
            chart = chart.points("as stable: temperature 1", vec![(1.0, f64::from(top_p))]);
        }
        TASKS.iter().fold(chart, |chart, (name, temperature, top_p)| {
            // f32 to f64 by its decimal digits: 0.1 stays 0.1.
            let exact = |value: &f32| value.to_string().parse().unwrap_or(f64::NAN);
            chart.points(name, vec![(exact(temperature), exact(top_p))])
        })
    };
    let free = |left: &Left| left.entropy / (2.0 * own.entropy).max(1e-9);
    let [half, twice] = [own.entropy, 2.0 * own.entropy].map(|nats| format!("{nats:.2} nats"));
    let title = "A small top-p frees as little as a low temperature";
    let own_nats = format!("{half}, the model itself");
    story.chart(&field("entropy", title, ["0 nats", &own_nats, &twice], &free))?;
    let vocab_size = scene.vocab_size();
    let [middle, most] = [(vocab_size as f64).sqrt(), vocab_size as f64].map(|count| format!("{count:.0} tokens"));
    let title = "The same top-p leaves more tokens at a higher temperature";
    let many = |left: &Left| left.kept.ln() / (vocab_size as f64).ln();
    story.chart(&field("kept", title, ["1 token", &middle, &most], &many))?;

    // The same top-p leaves more at a higher temperature, so neither knob means anything without the other.
    let (low, high) = (left_at(0.5, 0.9)?.kept, left_at(2.0, 0.9)?.kept);
    story.values("kept_by_temperature", [low, high]);
    story.values("line_of_kept", (vocab_size as f64).sqrt());
    let other = match as_stable {
        Some((top_p, left)) => format!(
            "Temperature 1 with top-p {top_p:.2} has an entropy of {:.2} nats, temperature 0.5 alone {:.2}.",
            left.entropy, cold.entropy
        ),
        None => "No top-p at temperature 1 is as stable as temperature 0.5.".to_owned(),
    };
    let (acts, other_way) = (high / low > 1.5, as_stable.is_some());
    story.claim(Claim {
        id: "S4",
        claimed: "Temperature, top-k and top-p interact; low temperature is not the only way to be stable",
        value: high / low,
        unit: "times the tokens that top-p 0.9 leaves, temperature 2 against 0.5",
        verdict: Verdict::of(acts && other_way, acts || other_way),
        note: &format!("Top-p 0.9 leaves {low:.1} tokens at temperature 0.5 and {high:.1} at 2. {other}"),
    });
    Ok(())
}
