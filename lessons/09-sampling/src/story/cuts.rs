//! The cuts: how many tokens top-p leaves, and how temperature and top-p act together (S4).

use super::{Row, Scene};
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use sampling::SamplingParams;
use sampling::measure::entropy;

/// The values of top-p in the table.
const TOP_P: [f32; 4] = [0.5, 0.9, 0.99, 1.0];
/// Number of values on each side of the grid: temperatures 0.1 to 2, top-p 0.05 to 1.
const STEPS: usize = 20;

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
    story.say(
        "The token that crosses the border stays. So at least one token stays, and the kept tokens together have p or a \
         little more.",
    );
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
    let left_by = |change: &dyn Fn(&mut SamplingParams)| left(scene, rows, scene.params(change));
    let left_at = |temperature: f32, top_p: f32| left_by(&|p| (p.temperature, p.top_p) = (temperature, top_p));
    let mut table = Vec::new();
    for temperature in [0.5, 1.0, 1.5, 2.0] {
        let mut cells = vec![temperature.to_string()];
        for (top_k, top_p, min_p) in [
            (0, 1.0, 0.0),
            (5, 1.0, 0.0),
            (0, 0.9, 0.0),
            (0, 0.5, 0.0),
            (0, 1.0, 0.1),
        ] {
            let left = left_by(&|p| (p.temperature, p.top_k, p.top_p, p.min_p) = (temperature, top_k, top_p, min_p))?;
            cells.push(format!("{:.1} of {:.0}", left.entropy.exp(), left.kept));
        }
        table.push(cells);
    }
    let head = ["temperature", "all", "top-k 5", "top-p 0.9", "top-p 0.5", "min-p 0.1"];
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

    let field = |id: &str, title: &str, note: &str, value: &dyn Fn(&Left) -> f64| {
        let values = grid.iter().map(|left| value(left) as f32).collect();
        let half = 1.0 / (2 * STEPS) as f64;
        let (x_range, y_range) = ((0.1 - 2.0 * half, 2.0 + 2.0 * half), (0.05 - half, 1.0 + half));
        let chart = Chart::field(id, title, x_range, y_range, STEPS, values)
            .note(&format!("{note}. Model {}", scene.model.name))
            .x_label("temperature")
            .y_label("top-p")
            .points("the model itself", vec![(1.0, 1.0)])
            .points("temperature 0.5", vec![(0.5, 1.0)]);
        match as_stable {
            Some((top_p, _)) => chart.points("as stable, temperature 1", vec![(1.0, f64::from(top_p))]),
            None => chart,
        }
    };
    let own_nats = own.entropy;
    let note = format!("blue: less than the model itself, {own_nats:.2} nats; red: more, up to twice that");
    let free = |left: &Left| left.entropy / (2.0 * own_nats).max(1e-9);
    story.chart(&field("entropy", "How free the choice is", &note, &free))?;
    let vocab_size = scene.vocab_size() as f64;
    let note = format!("1 to {vocab_size}, by factors; {:.0} at the line", vocab_size.sqrt());
    let many = |left: &Left| left.kept.ln() / vocab_size.ln();
    story.chart(&field("kept", "How many tokens are left", &note, &many))?;

    // The same top-p leaves more at a higher temperature, so neither knob means anything without the other.
    let (low, high) = (left_at(0.5, 0.9)?.kept, left_at(2.0, 0.9)?.kept);
    story.values("kept_by_temperature", [low, high]);
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
