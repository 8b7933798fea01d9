//! Step: the smallest tape that tells a right walk from a wrong one.

use autograd::trace::Trace;
use autograd::wrong::{Visits, Walk, backward_by};
use autograd::{Result, Tensor};
use lab::number::grouped;
use lab::race::Race;
use lab::story::{Answer, Story};
use ndarray::{IxDyn, arr0};

/// The leaf and the result of `x = a; x = x + x`, a number of times.
fn tape(doublings: usize) -> Result<(Tensor<f64>, Tensor<f64>)> {
    let a = Tensor::parameter(arr0(1.0).into_dyn());
    let x = (0..doublings).try_fold(a.clone(), |x, _| x.add(&x))?;
    Ok((a, x))
}

/// The gradient and the visits of one walk over some doublings.
fn walked(walk: Walk, doublings: usize) -> Result<(f64, Visits)> {
    let (a, x) = tape(doublings)?;
    let visits = backward_by(walk, &x)?;
    let gradient = a.take_grad().map_or(0.0, |gradient| gradient[IxDyn(&[])]);
    Ok((gradient, visits))
}

/// Two doublings by every walk, then sixteen, then a race.
pub fn doublings(story: &mut Story) -> anyhow::Result<()> {
    story.step(
        "One value, used twice",
        "b = a + a and c = b + b, so c = 4a and its gradient is 4. Three other ways to walk back look right too.",
    );
    let trace = Trace::of(&tape(2)?.1).to_string();
    story.say("The tape, inputs first:");
    trace.lines().for_each(|line| story.say(format!(" {line}")));
    story.values("tape", trace.lines().collect::<Vec<_>>());
    story.predict("resend");
    story.values("resend_gradient", walked(Walk::Resend, 2)?.0);

    let mut rows = Vec::new();
    for walk in Walk::ALL {
        let ((gradient, few), (_, many)) = (walked(walk, 2)?, walked(walk, 16)?);
        let (few, many) = (few.visits, many.visits);
        rows.push([walk.name().into(), gradient.to_string(), few.to_string(), grouped(many)]);
        story.values(walk.name(), (gradient, few, many));
        if walk == Walk::PerPath {
            story.predict_measured("visits", Answer::Number(many as f64), &[]);
        }
    }
    story.rows(&["walk", "dc/da", "visits, 2 doublings", "visits, 16 doublings"], rows);

    let gradient = |walk| move || walked(walk, 12).map(|(gradient, _)| gradient);
    let race = Race::new("walks", "Backward over 12 doublings, 13 nodes")
        .unit("us")
        .entry("recursion, per path", None, gradient(Walk::PerPath))
        .entry("topological order", None, gradient(Walk::Correct))
        .check(|a, b| (a == b).then_some(()).ok_or_else(|| format!("{a:?} against {b:?}")));
    story.race(race)?;
    Ok(())
}
