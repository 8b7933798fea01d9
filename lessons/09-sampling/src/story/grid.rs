//! S4: temperature and top-p over a grid, on the model's own rows: how many tokens are left, and how free the choice among them is.

use super::Scene;
use super::rows::Row;
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use sampling::measure::entropy;
use sampling::{Sampler, SamplingParams};

/// Steps of the grid, both ways: temperatures 0.1 to 2, top-p 0.05 to 1.
const STEPS: usize = 20;

/// What a setting leaves, over all rows.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    /// Mean entropy, in nats.
    entropy: f64,
    /// Geometric mean of the number of tokens.
    kept: f64,
}

fn left(scene: &Scene, rows: &[Row], params: SamplingParams) -> anyhow::Result<Left> {
    let params = params.check(scene.model.config.llama.vocab_size)?;
    let (mut sampler, mut logits) = (Sampler::new(), Vec::new());
    let (mut nats, mut logarithms) = (0.0, 0.0);
    for row in rows {
        logits.clone_from(&row.logits);
        let sampled = sampler.sample(&params, &[], &[], &mut logits)?;
        nats += entropy(sampler.candidates().map(|(_, share)| share));
        logarithms += (sampled.num_kept as f64).ln();
    }
    let count = rows.len() as f64;
    Ok(Left {
        entropy: nats / count,
        kept: (logarithms / count).exp(),
    })
}

fn at(temperature: f32, top_p: f32) -> SamplingParams {
    SamplingParams {
        temperature,
        top_p,
        ..SamplingParams::default()
    }
}

/// The settings of a table, and the grid as two pictures.
pub fn settings(story: &mut Story, scene: &Scene, rows: &[Row]) -> anyhow::Result<()> {
    story.step(
        "Turn all knobs",
        "Entropy says how free a choice is: e to its power is the number of equally likely tokens that are as hard to guess. Each cell: that number, and the tokens that are left.",
    );
    let rows = if scene.model.is_large() {
        &rows[..rows.len().min(16)]
    } else {
        rows
    };
    table(story, scene, rows)?;
    let value = |step: usize, of: f32| (step + 1) as f32 * of / STEPS as f32;
    let mut grid = Vec::with_capacity(STEPS * STEPS);
    let bar = story.progress((STEPS * STEPS) as u64, "the grid");
    for row in 0..STEPS {
        for column in 0..STEPS {
            grid.push(left(scene, rows, at(value(column, 2.0), value(row, 1.0)))?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let own = left(scene, rows, at(1.0, 1.0))?;
    let cold = left(scene, rows, at(0.5, 1.0))?;
    // The largest top-p at which temperature 1 is as stable as temperature 0.5.
    let at_one = STEPS / 2 - 1;
    let as_stable = (0..STEPS)
        .rev()
        .map(|row| (value(row, 1.0), grid[row * STEPS + at_one]))
        .find(|(_, left)| left.entropy <= cold.entropy);
    charts(story, scene, &grid, own, as_stable.map(|(top_p, _)| top_p))?;
    claim(story, scene, rows, cold, as_stable)
}

fn table(story: &mut Story, scene: &Scene, rows: &[Row]) -> anyhow::Result<()> {
    let mut table = Table::new(&["temperature", "all", "top-k 5", "top-p 0.9", "top-p 0.5", "min-p 0.1"]);
    for temperature in [0.5, 1.0, 1.5, 2.0] {
        let base = at(temperature, 1.0);
        let cuts = [
            base.clone(),
            SamplingParams {
                top_k: 5,
                ..base.clone()
            },
            SamplingParams {
                top_p: 0.9,
                ..base.clone()
            },
            SamplingParams {
                top_p: 0.5,
                ..base.clone()
            },
            SamplingParams { min_p: 0.1, ..base },
        ];
        let mut cells = vec![temperature.to_string()];
        for params in cuts {
            let left = left(scene, rows, params)?;
            cells.push(format!("{:.1} of {:.0}", left.entropy.exp(), left.kept));
        }
        table.row(cells);
    }
    story.table(&table);
    Ok(())
}

fn charts(story: &mut Story, scene: &Scene, grid: &[Left], own: Left, as_stable: Option<f32>) -> anyhow::Result<()> {
    let half = 1.0 / (2 * STEPS) as f64;
    let (x_range, y_range) = ((0.1 - 2.0 * half, 2.0 + 2.0 * half), (0.05 - half, 1.0 + half));
    let vocab_size = scene.model.config.llama.vocab_size as f64;
    let marked = |chart: Chart| {
        let chart = chart
            .x_label("temperature")
            .y_label("top-p")
            .points("the model itself", vec![(1.0, 1.0)])
            .points("temperature 0.5", vec![(0.5, 1.0)]);
        match as_stable {
            Some(top_p) => chart.points("as stable, temperature 1", vec![(1.0, f64::from(top_p))]),
            None => chart,
        }
    };
    let free = |left: &Left| (left.entropy / (2.0 * own.entropy).max(1e-9)) as f32;
    let chart = Chart::field(
        "entropy",
        "How free the choice is",
        x_range,
        y_range,
        STEPS,
        grid.iter().map(free).collect(),
    );
    story.chart(&marked(chart.note(&format!(
        "blue: less than the model itself, {:.2} nats; red: more, up to twice that. Model {}",
        own.entropy, scene.model.name
    ))))?;
    let many = |left: &Left| (left.kept.ln() / vocab_size.ln()) as f32;
    let chart = Chart::field(
        "kept",
        "How many tokens are left",
        x_range,
        y_range,
        STEPS,
        grid.iter().map(many).collect(),
    );
    story.chart(&marked(chart.note(&format!(
        "1 to {vocab_size}, by factors; {:.0} at the line. Model {}",
        vocab_size.sqrt(),
        scene.model.name
    ))))?;
    Ok(())
}

fn claim(
    story: &mut Story,
    scene: &Scene,
    rows: &[Row],
    cold: Left,
    as_stable: Option<(f32, Left)>,
) -> anyhow::Result<()> {
    // The same top-p leaves more at a higher temperature: neither knob means anything without the other.
    let (low, high) = (left(scene, rows, at(0.5, 0.9))?, left(scene, rows, at(2.0, 0.9))?);
    let times = high.kept / low.kept;
    story.values("kept_by_temperature", [low.kept, high.kept]);
    let verdict = match (times > 1.5, as_stable.is_some()) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let other = match as_stable {
        Some((top_p, left)) => format!(
            "Temperature 1 with top-p {top_p:.2} has an entropy of {:.2} nats, temperature 0.5 alone {:.2}.",
            left.entropy, cold.entropy
        ),
        None => "No top-p at temperature 1 is as stable as temperature 0.5.".to_owned(),
    };
    let note = format!(
        "Top-p 0.9 leaves {:.1} tokens at temperature 0.5 and {:.1} at 2. {other}",
        low.kept, high.kept
    );
    story.claim(Claim {
        id: "S4",
        claimed: "Temperature, top-k and top-p interact; low temperature is not the only way to be stable",
        value: times,
        unit: "times the tokens that top-p 0.9 leaves, temperature 2 against 0.5",
        verdict,
        note: &note,
    });
    Ok(())
}
