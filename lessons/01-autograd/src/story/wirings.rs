//! Step: a plain network hides every wrong walk; a residual shows it.

use autograd::fit::Variant;
use autograd::network::Wiring;
use autograd::wrong::Walk;
use lab::chart::Chart;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;

use super::opening::Runs;

pub fn tell(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "Where a wrong walk hides",
        "Two hidden layers, every walk, checked against finite differences. Then one addition more: the first layer's output is added to the second's.",
    );
    story.predict(Prediction {
        id: "plain",
        question: "On the plain network (no addition), how wrong are the gradients of the three wrong walks?",
        options: &[
            Choice { text: "All wrong, each by its own amount", answer_to_wrong: Some("A wrong walk needs a value that is used twice. Here is none.") },
            Choice { text: "Not at all: the same bits as the right walk", answer_to_wrong: None },
            Choice { text: "Right for the last layer, worse for earlier ones", answer_to_wrong: Some("Errors do grow backwards, but here is none to begin with.") },
        ],
        answer: 1,
        because: "Every value has one consumer, so there is one share to store, one path to walk, nothing to send twice. A test on such a network proves nothing about the tape.",
    });
    let mut table = Table::new(&["backward pass", "plain", "residual"]);
    let mut chart = Chart::bars("gradient-error", "How wrong is the first layer's gradient?")
        .y_label("distance from finite differences, share of the gradient's norm")
        .note("f64, at the initial weights; the lowest bars are the finite differences' own error")
        .log_y();
    for variant in Variant::ALL {
        let errors = [Wiring::Plain, Wiring::Residual].map(|wiring| runs.get(wiring, variant).error);
        table.row([
            variant.name().to_string(),
            format!("{:.1e}", errors[0]),
            format!("{:.1e}", errors[1]),
        ]);
        chart = chart.group(variant.name(), &[("plain", errors[0]), ("residual", errors[1])]);
        story.values(variant.name(), errors);
    }
    story.table(&table);
    story.say("\"Changed in place\" is no walk and has its own step below: there both networks are wrong.");
    story.chart(&chart)?;

    let error = |walk| runs.get(Wiring::Residual, Variant::Walk(walk)).error;
    story.claim(Claim {
        id: "T4",
        claimed: "Gradients must be accumulated, not overwritten, when a value is used twice",
        value: error(Walk::Overwrite),
        unit: "of the gradient's norm, error of overwriting",
        verdict: holds(error(Walk::Overwrite) > 0.1 && error(Walk::Correct) < 1e-6),
        note: "b = a + a; c = b + b: 1 instead of 4. With no value used twice, overwriting gives the right bits.",
    });
    let resend_is_wrong = error(Walk::Resend) > 0.1;
    let path_is_right = error(Walk::PerPath) < 1e-6;
    story.claim(Claim {
        id: "T5",
        claimed: "The backward pass must run in reverse topological order; plain recursion is wrong when a node is reused",
        value: error(Walk::Resend),
        unit: "of the gradient's norm, error of the recursion that re-sends its sum",
        verdict: if resend_is_wrong && path_is_right { Verdict::Partly } else { holds(resend_is_wrong) },
        note: "Re-sending the sum is wrong (6 instead of 4). Sending each share along its path is right, and takes 131 071 visits for 17 nodes: there the order is needed for time, not for truth.",
    });
    Ok(())
}

/// The verdict of a claim that is either so or not.
pub fn holds(so: bool) -> Verdict {
    if so { Verdict::Holds } else { Verdict::NotHere }
}
