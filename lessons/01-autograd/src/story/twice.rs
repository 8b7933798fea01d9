//! Step: the smallest tape that tells a right walk from a wrong one.

use autograd::trace::Trace;
use autograd::wrong::{Visits, Walk, backward_by};
use autograd::{Result, Tensor};
use lab::number::grouped;
use lab::race::Race;
use lab::story::{Choice, NumberPrediction, Prediction, Story};
use lab::table::Table;
use ndarray::{IxDyn, arr0};

/// `x = a; x = x + x` a number of times.
fn doublings(count: usize) -> Result<(Tensor<f64>, Tensor<f64>)> {
    let a = Tensor::parameter(arr0(1.0).into_dyn());
    let mut x = a.clone();
    for _ in 0..count {
        x = x.add(&x)?;
    }
    Ok((a, x))
}

/// The gradient and the visits of one walk over some doublings.
fn walk_doublings(walk: Walk, count: usize) -> Result<(f64, Visits)> {
    let (a, x) = doublings(count)?;
    let visits = backward_by(walk, &x)?;
    let gradient = a.take_grad().map_or(0.0, |gradient| gradient[IxDyn(&[])]);
    Ok((gradient, visits))
}

pub fn tell(story: &mut Story) -> anyhow::Result<()> {
    story.step(
        "One value, used twice",
        "b = a + a and c = b + b, so c = 4a and its gradient is 4. Three ways to walk back look right and are not.",
    );
    let (_, c) = doublings(2)?;
    let trace = Trace::of(&c).to_string();
    story.say("The tape, inputs first:");
    for line in trace.lines() {
        story.say(format!(" {line}"));
    }
    story.values("tape", trace.lines().collect::<Vec<_>>());

    let resent = walk_doublings(Walk::Resend, 2)?.0;
    let guess = Prediction {
        id: "resend",
        question: "\"Add what arrives to my gradient, then send my gradient to my inputs\", as a recursion from c. What is a's gradient?",
        options: &[
            Choice {
                text: "4: it adds, so nothing is lost",
                answer_to_wrong: Some("Nothing is lost, but something is sent twice."),
            },
            Choice {
                text: "6",
                answer_to_wrong: None,
            },
            Choice {
                text: "1: only the last share stays",
                answer_to_wrong: Some("That is overwriting, `=` where `+=` belongs."),
            },
        ],
        answer: 1,
        because: "c sends 1 to b, and b sends 1 and 1 to a: 2. c sends 1 to b again; b now holds 2 and sends 2 and 2: 6. The first share went out twice, because b was visited before its gradient was complete.",
    };
    story.predict(guess);
    story.values("resend_gradient", resent);

    let mut table = Table::new(&["walk", "dc/da", "visits, 2 doublings", "visits, 16 doublings"]);
    let mut by_path = Visits { nodes: 0, visits: 0 };
    for walk in Walk::ALL {
        let (gradient, small) = walk_doublings(walk, 2)?;
        let (_, large) = walk_doublings(walk, 16)?;
        if walk == Walk::PerPath {
            by_path = large;
        }
        table.row([
            walk.name().to_string(),
            gradient.to_string(),
            small.visits.to_string(),
            grouped(large.visits),
        ]);
        story.values(walk.name(), (gradient, small.visits, large.visits));
    }
    story.predict_number(NumberPrediction {
        id: "visits",
        question: "The other recursion sends on only the share that just arrived. That is right, once per path. 16 doublings are 17 nodes: how many visits?",
        answer: by_path.visits as f64,
        unit: "visits",
        within: 1.01,
        because: "Each doubling doubles the paths: 1 + 2 + 4 + … + 65 536 = 2¹⁷ - 1. In reverse topological order each node waits for all its shares and is visited once: 17.",
    });
    story.table(&table);

    let count = 12;
    let race = Race::new("walks", "Backward over 12 doublings, 13 nodes")
        .unit("us")
        .baseline("recursion, per path")
        .entry("recursion, per path", None, || {
            walk_doublings(Walk::PerPath, count).map(|(gradient, _)| gradient)
        })
        .entry("topological order", None, || {
            walk_doublings(Walk::Correct, count).map(|(gradient, _)| gradient)
        })
        .check(|a, b| {
            if a == b {
                Ok(())
            } else {
                Err(format!("{a:?} against {b:?}"))
            }
        });
    story.race(race)?;
    Ok(())
}
