//! Which request held which slot at which step, drawn with letters: a line for each slot, a column for each step.
//!
//! A slot in a step is one character: `A` for the first request, `·` for a request that is done and waits for others, a
//! blank for no request.

use super::trace::StepTrace;
use lab::story::Story;
use lab::term::{self, Tone};
use static_batching::plan::Plan;

fn letter(request: usize) -> char {
    char::from(b'A' + (request % 26) as u8)
}

/// Lesson 07's plan: `[slots][steps]`, a slot for each row of a batch.
pub fn of_plan(plan: &Plan, num_slots: usize) -> Vec<Vec<char>> {
    let mut slots = vec![Vec::new(); num_slots];
    for batch in &plan.batches {
        for (slot, cells) in slots.iter_mut().enumerate() {
            let request = batch.requests.get(slot).copied();
            cells.extend((batch.start..batch.start + batch.steps).map(|step| match request {
                Some(request) if step < plan.outcomes[request].finished => letter(request),
                Some(_) => '·',
                None => ' ',
            }));
        }
    }
    slots
}

/// Steps of an engine: `[slots][steps]`.
pub fn of_trace(steps: &[StepTrace], num_slots: usize) -> Vec<Vec<char>> {
    let cell = |step: &StepTrace, slot: usize| {
        let seat = step.computed.iter().find(|seat| seat.slot.0 == slot);
        seat.map_or(' ', |seat| letter(seat.id.0 as usize))
    };
    let cells = |slot: usize| steps.iter().map(|step| cell(step, slot)).collect();
    (0..num_slots).map(cells).collect()
}

/// Number of slots that moved a request in each step.
pub fn running(slots: &[Vec<char>]) -> Vec<usize> {
    let steps = slots.iter().map(Vec::len).max().unwrap_or(0);
    let moves = |step: usize| slots.iter().filter(|cells| cells[step].is_ascii_uppercase()).count();
    (0..steps).map(moves).collect()
}

/// Draws schedules below each other on one scale, so that the shorter one is seen to be shorter.
pub fn draw(story: &mut Story, schedules: &[(&str, Vec<Vec<char>>)]) {
    let names = schedules.iter().map(|(name, _)| term::width(name));
    let columns = names.max().unwrap_or(0) + 2;
    for (name, slots) in schedules {
        story.say("");
        for (slot, cells) in slots.iter().enumerate() {
            let (label, total) = match slot {
                0 => (*name, story.paint(Tone::Strong, &format!("{} steps", cells.len()))),
                _ => ("", String::new()),
            };
            let line: String = cells.iter().flat_map(|cell| [*cell, *cell, ' ']).collect();
            let line = story.paint(Tone::Accent, &term::pad(&line, 36));
            story.print(format!(
                "   {} slot {slot}  {line} {total}\n",
                term::pad(label, columns)
            ));
        }
    }
}
