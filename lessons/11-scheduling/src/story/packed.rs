//! A budget for each step, drawn and priced.

use super::world::in_ms;
use continuous_batching::Delivery;
use lab::story::Story;
use lab::term::Tone;
use scheduling::policy::Fcfs;
use scheduling::simulate::{Setup, engine};
use scheduling::step_cost::StepCost;
use scheduling::trace::{self, StepTrace};
use std::fmt::Display;
use std::time::Duration;
use training::TokenId;

/// A step's rows as letters: `A` a row of the first request, `·` room in the budget.
fn letters(step: &StepTrace, budget: usize) -> String {
    let mut line: String = (step.computed.iter())
        .flat_map(|share| {
            let letter = char::from(b'A' + share.id.0 as u8);
            std::iter::repeat_n(letter, share.rows)
        })
        .collect();
    line.extend(std::iter::repeat_n('·', budget.saturating_sub(step.num_rows())));
    line
}

/// Five requests in steps of 16 rows, drawn.
pub fn drawn(story: &mut Story) -> anyhow::Result<()> {
    const BUDGET: usize = 16;
    story.step(
        "Fill a budget",
        "A step has a budget of rows. Every stream gets one first; prompts share what is left, each at most a chunk.",
    );
    let setup = Setup::new(5, 128).with_budget(BUDGET, 8);
    let mut engine = engine(&setup, Box::new(Fcfs));
    engine.scheduler.start_trace();
    let requests = [("A", 2, 9), ("B", 2, 9), ("C", 30, 4), ("D", 6, 6), ("E", 4, 5)];
    for (_, prompt, new) in requests {
        engine.submit(&vec![TokenId(0); prompt], new)?;
    }
    while !engine.is_idle() {
        trace::step(&mut engine, &mut |_| Delivery::Taken)?;
    }
    let list: Vec<String> = (requests.iter())
        .map(|(name, prompt, new)| format!("{name} {prompt} → {new}"))
        .collect();
    story.say(format!(
        "Prompt → answer: {}. Budget {BUDGET}, chunks of 8.",
        list.join(", ")
    ));
    story.say("");
    for step in engine.scheduler.trace() {
        let line = story.paint(Tone::Accent, &letters(step, BUDGET));
        let ends: String = (step.finished.iter())
            .map(|(id, _)| format!(" {} ends", char::from(b'A' + id.0 as u8)))
            .collect();
        story.print(format!("   step {:>2}  {line} {ends}\n", step.step + 1));
    }
    story.values("trace", engine.scheduler.trace());
    story.say("C is read in four parts. D and E came after it and do not wait for its end, and A and B get a token in every step.");
    priced(story);
    Ok(())
}

/// What the same rows cost in more steps.
fn priced(story: &mut Story) {
    let cost = StepCost {
        per_pair: Duration::ZERO,
        ..StepCost::default()
    };
    let (whole, chunk) = (cost.of_counts(513, 0), cost.of_counts(65, 0));
    let ms = |time: f64| format!("{time:.0}");
    let (whole_ms, chunks_ms, chunk_ms) = (ms(in_ms(whole)), ms(8.0 * in_ms(chunk)), ms(in_ms(chunk)));
    let values: [(&str, &dyn Display); 3] = [
        ("whole_ms", &whole_ms),
        ("chunks_ms", &chunks_ms),
        ("chunk_ms", &chunk_ms),
    ];
    story.predict_with("chunk-cost", &values);
    story.values("whole_ms", in_ms(whole));
    story.values("eight_chunks_ms", 8.0 * in_ms(chunk));
}
