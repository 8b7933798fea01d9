//! Before the first step: the whole lesson as one table.

use super::{Bench, same_bits};
use lab::race::Race;
use lab::story::{Choice, Prediction, Story};
use layout::ladder::{Ladder, Rung};

const ROWS: usize = 32;
const SIDE: usize = 1024;

pub(super) fn tell(story: &mut Story, bench: &Bench) -> anyhow::Result<()> {
    let (a, b) = (bench.random(ROWS * SIDE, 1), bench.random(SIDE * SIDE, 2));
    let ladder = Ladder::new(&b, SIDE, SIDE, &bench.pool);
    story.say(format!(
        "Five ways to multiply [{ROWS}, {SIDE}] by [{SIDE}, {SIDE}]: each does the same {:.1} million multiply-adds, in the same order \
         for each output, and gives the same bits.",
        (ROWS * SIDE * SIDE) as f64 / 1e6
    ));
    let mut race = Race::new("opening", "One product, five ways")
        .unit("ms")
        .rounds(3)
        .baseline(Rung::Naive.name())
        .check(|expected: &Vec<f32>, found| same_bits(expected, found));
    for rung in Rung::ALL {
        let (ladder, a) = (&ladder, &a);
        let mut c = vec![0.0; ROWS * SIDE];
        race = race.entry(rung.name(), None, move || {
            ladder.run(rung, a, ROWS, &mut c);
            c.clone()
        });
    }
    let result = story.race(race)?;
    let best = result.ratio(Rung::Packed.name(), Rung::Naive.name());
    story.say(format!(
        "On one thread, the best way is {best:.0} times as fast as the textbook's. Nothing was computed less. This lesson finds out where the time goes."
    ));
    recall(story);
    Ok(())
}

/// Two questions on lesson 01.
fn recall(story: &mut Story) {
    story.predict(Prediction {
        id: "recall-accumulate",
        question: "From lesson 01: b = a + a, c = b + b. What is the gradient of c with respect to a?",
        options: &[
            Choice {
                text: "1",
                answer_to_wrong: Some("That overwrites: only one of the four paths from a to c is counted."),
            },
            Choice {
                text: "4",
                answer_to_wrong: None,
            },
            Choice {
                text: "6",
                answer_to_wrong: Some("That sends b's gradient twice: once half finished, once whole."),
            },
        ],
        answer: 1,
        because: "Four paths lead from a to c; their gradients accumulate.",
    });
    story.predict(Prediction {
        id: "recall-tape",
        question: "From lesson 01: what does the tape keep of y = x W for the backward pass?",
        options: &[
            Choice { text: "x and W", answer_to_wrong: None },
            Choice { text: "y", answer_to_wrong: Some("The gradients are dy Wᵀ and xᵀ dy: y is in neither.") },
            Choice { text: "nothing", answer_to_wrong: Some("Then it would have to compute x again; the tape keeps instead.") },
        ],
        answer: 0,
        because: "The gradients are dy Wᵀ and xᵀ dy: two more matrix products, both with a transposed factor. Today's subject.",
    });
}
