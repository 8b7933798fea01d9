//! A budget for each step, drawn and priced.

use super::world::in_ms;
use continuous_batching::Delivery;
use lab::story::Story;
use lab::term::Tone;
use scheduling::policy::Fcfs;
use scheduling::simulate::{Setup, engine};
use scheduling::step_cost::StepCost;
use scheduling::trace::{self, StepTrace};
use std::time::Duration;
use training::TokenId;

const BUDGET: usize = 16;

/// A step's rows as letters: `A` a row of the first request, `·` room in the budget.
fn letters(step: &StepTrace) -> String {
    let letter = |id: u64| char::from(b'A' + id as u8);
    let rows = step
        .computed
        .iter()
        .flat_map(|share| std::iter::repeat_n(letter(share.id.0), share.rows));
    let room = std::iter::repeat_n('·', BUDGET.saturating_sub(step.num_rows()));
    let ends = step.finished.iter().map(|(id, _)| format!(" {} ends", letter(id.0)));
    format!(
        "step {:>2}  {} {}",
        step.step + 1,
        rows.chain(room).collect::<String>(),
        ends.collect::<String>()
    )
}

/// Five requests in steps of 16 rows, drawn.
pub fn drawn(story: &mut Story) -> anyhow::Result<()> {
    story.step(
        "Fill a budget",
        "A step has a budget of rows. Every stream gets one first; prompts share what is left, each at most a chunk.",
    );
    let mut engine = engine(&Setup::new(5, 128).with_budget(BUDGET, 8), Box::new(Fcfs));
    engine.scheduler.start_trace();
    for (prompt, new) in [(2, 9), (2, 9), (30, 4), (6, 6), (4, 5)] {
        engine.submit(&vec![TokenId(0); prompt], new)?;
    }
    while !engine.is_idle() {
        trace::step(&mut engine, &mut |_| Delivery::Taken)?;
    }
    story.say(format!(
        "Prompt → answer: A 2 → 9, B 2 → 9, C 30 → 4, D 6 → 6, E 4 → 5. Budget {BUDGET}, chunks of 8."
    ));
    story.say("");
    for step in engine.scheduler.trace() {
        story.say_as(Tone::Accent, format!(" {}", letters(step)));
    }
    story.values("trace", engine.scheduler.trace());
    story.say("C is read in four parts. D and E came after it and do not wait for its end, and A and B get a token in every step.");
    // What the same rows cost in more steps.
    let cost = StepCost {
        per_pair: Duration::ZERO,
        ..StepCost::default()
    };
    let (whole, chunk) = (in_ms(cost.of_counts(513, 0)), in_ms(cost.of_counts(65, 0)));
    let [whole_ms, chunks_ms, chunk_ms] = [whole, 8.0 * chunk, chunk].map(|ms| format!("{ms:.0}"));
    story.predict_with(
        "chunk-cost",
        &[
            ("whole_ms", &whole_ms),
            ("chunks_ms", &chunks_ms),
            ("chunk_ms", &chunk_ms),
        ],
    );
    story.values("whole_ms", whole);
    story.values("eight_chunks_ms", 8.0 * chunk);
    Ok(())
}
