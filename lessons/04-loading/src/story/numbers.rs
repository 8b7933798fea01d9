//! Step 5: what is lost with half of the bits, and what the rounding rule decides.

use half::{bf16, f16};
use lab::story::{Choice, Prediction, Story};
use lab::table::Table;
use loading::rounding::{Rule, mean_ratio};
use std::collections::BTreeMap;

/// Tells the step.
pub fn rounding(story: &mut Story) {
    story.step(
        "Half the bits: which ones go, and by which rule",
        "bf16 keeps the range of f32 and loses precision; f16 keeps more precision and loses range. Both have 16 bits, and they are not \
         the same.",
    );
    let mut table = Table::new(&["f32", "f16", "bf16"]);
    for value in [0.1, 1.0 + 1.0 / 256.0, 70_000.0, 1e-8] {
        let (half, brain) = (f16::from_f32(value), bf16::from_f32(value));
        let shown = |value: f32| match value.abs() {
            1e-6..1e6 => format!("{value}"),
            0.0 => "0".into(),
            _ => format!("{value:e}"),
        };
        table.row([value, half.to_f32(), brain.to_f32()].map(shown));
    }
    story.table(&table);
    let guess = Prediction {
        id: "rounding",
        question: "A value goes through 30 layers and is stored in bf16 after each. Cutting the lower 16 bits off instead of rounding: what is \
                   the mean of stored / exact after them?",
        options: &[
            Choice {
                text: "1: the errors cancel",
                answer_to_wrong: Some("Cutting off always errs towards zero: nothing is there to cancel it."),
            },
            Choice {
                text: "about 0.9",
                answer_to_wrong: None,
            },
            Choice {
                text: "about 0.0001: each layer loses half",
                answer_to_wrong: Some("A step loses at most 1/128 of a value, in the mean about a third of a percent."),
            },
        ],
        answer: 1,
        because: "Each cut loses 0.3 % in the mean, always in one direction: 31 of them multiply to almost a tenth. Rounding to nearest even stays at 1.",
    };
    let answer = story.ask_old(&guess);
    let mut table = Table::new(&["layers", "cut off", "to nearest even"]);
    let mut recorded = BTreeMap::new();
    for layers in [1, 8, 30, 100] {
        let [cut, rounded] = [Rule::Truncate, Rule::NearestEven].map(|rule| mean_ratio(rule, layers, 20_000));
        table.row([layers.to_string(), format!("{cut:.4}"), format!("{rounded:.4}")]);
        recorded.insert(layers, (cut, rounded));
    }
    story.table(&table);
    story.values("mean_stored_over_exact", recorded);
    story.reveal_old(&guess, answer);
}
