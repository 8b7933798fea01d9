//! Step 5: the loss of half of the bits, and the effect of the rounding rule.

use half::{bf16, f16};
use lab::story::{Answer, Story};
use loading::rounding::{Rule, mean_ratio};
use std::collections::BTreeMap;

/// Tells the step.
pub fn rounding(story: &mut Story) {
    story.step(
        "Half the bits: which ones go, and by which rule",
        "bf16 keeps the range of f32 and loses precision; f16 keeps more precision and loses range. Both have 16 bits, and they are not \
         the same.",
    );
    let shown = |value: f32| match value.abs() {
        1e-6..1e6 => format!("{value}"),
        0.0 => "0".into(),
        _ => format!("{value:e}"),
    };
    let stored = |value| [value, f16::from_f32(value).to_f32(), bf16::from_f32(value).to_f32()].map(shown);
    let values = [0.1, 1.0 + 1.0 / 256.0, 70_000.0, 1e-8];
    story.rows(&["f32", "f16", "bf16"], values.map(stored));
    let asked = story.ask("rounding", &[]);
    let means = [1, 8, 30, 100].map(|layers| {
        let [cut, rounded] = [Rule::Truncate, Rule::NearestEven].map(|rule| mean_ratio(rule, layers, 20_000));
        (layers, (cut, rounded))
    });
    let row = |(layers, (cut, rounded)): (usize, (f64, f64))| {
        [layers.to_string(), format!("{cut:.4}"), format!("{rounded:.4}")]
    };
    story.rows(&["layers", "cut off", "to nearest even"], means.map(row));
    story.values("mean_stored_over_exact", BTreeMap::from(means));
    story.reveal(asked, Answer::Stated, &[]);
}
