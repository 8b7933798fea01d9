//! Who sat in which slot at which step, drawn with letters: a line a slot, a column a step.

use continuous_batching::SlotId;
use continuous_batching::trace::StepTrace;
use lab::story::Story;
use lab::term::{self, Tone};
use static_batching::plan::Plan;

/// What a slot did in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nobody sat there.
    Empty,
    /// A request that is done sat there and waited for others.
    Waits,
    /// This request moved on: its index, counted from 0.
    Works(usize),
}

impl Cell {
    /// One character: `A` for the first request, `·` for a wait.
    fn letter(self) -> char {
        match self {
            Cell::Empty => ' ',
            Cell::Waits => '·',
            Cell::Works(index) => char::from(b'A' + (index % 26) as u8),
        }
    }
}

/// Lesson 07's plan: `[slots][steps]`, a slot for each row of a batch.
pub fn of_plan(plan: &Plan, num_slots: usize) -> Vec<Vec<Cell>> {
    let mut slots = vec![Vec::new(); num_slots];
    for batch in &plan.batches {
        for (slot, cells) in slots.iter_mut().enumerate() {
            let request = batch.requests.get(slot).copied();
            let finished = request.map_or(0, |request| plan.outcomes[request].finished);
            cells.extend((batch.start..batch.start + batch.steps).map(|step| match request {
                Some(request) if step < finished => Cell::Works(request),
                Some(_) => Cell::Waits,
                None => Cell::Empty,
            }));
        }
    }
    slots
}

/// What an engine did: `[slots][steps]`.
pub fn of_trace(trace: &[StepTrace], num_slots: usize) -> Vec<Vec<Cell>> {
    let cell = |step: &StepTrace, slot: usize| {
        let seat = step.computed.iter().find(|seat| seat.slot == SlotId(slot));
        seat.map_or(Cell::Empty, |seat| Cell::Works(seat.id.0 as usize))
    };
    let cells = |slot: usize| trace.iter().map(|step| cell(step, slot)).collect();
    (0..num_slots).map(cells).collect()
}

/// Slots that worked in each step.
pub fn running(slots: &[Vec<Cell>]) -> Vec<usize> {
    let steps = slots.iter().map(Vec::len).max().unwrap_or(0);
    let works = |step: usize| {
        let cells = slots.iter().filter_map(|cells| cells.get(step));
        cells.filter(|cell| matches!(cell, Cell::Works(_))).count()
    };
    (0..steps).map(works).collect()
}

/// Draws two schedules below each other on one scale, so that the shorter one is seen to be shorter.
pub fn draw(story: &mut Story, schedules: &[(&str, &[Vec<Cell>])]) {
    let names = schedules.iter().map(|(name, _)| term::width(name));
    let name_columns = names.max().unwrap_or(0) + 2;
    for (name, slots) in schedules {
        story.say("");
        let steps = slots.iter().map(Vec::len).max().unwrap_or(0);
        for (slot, cells) in slots.iter().enumerate() {
            let label = if slot == 0 { name } else { "" };
            let line: String = cells
                .iter()
                .flat_map(|cell| [cell.letter(), cell.letter(), ' '])
                .collect();
            let total = match slot == 0 {
                true => story.paint(Tone::Strong, &format!("{steps} steps")),
                false => String::new(),
            };
            story.print(format!(
                "   {} slot {slot}  {} {total}\n",
                term::pad(label, name_columns),
                story.paint(Tone::Accent, &term::pad(&line, 36)),
            ));
        }
    }
}

/// Draws how many moved over time: a column for a few steps, its height the mean of them.
pub fn bars(story: &mut Story, schedules: &[(&str, Vec<usize>)]) {
    const COLUMNS: usize = 48;
    const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let longest = schedules.iter().map(|(_, running)| running.len()).max();
    let steps_a_column = longest.unwrap_or(1).div_ceil(COLUMNS).max(1);
    let most = schedules.iter().flat_map(|(_, running)| running).max();
    let most = most.copied().unwrap_or(1).max(1);
    story.say("");
    for (name, running) in schedules {
        let column = |steps: &[usize]| {
            let mean = steps.iter().sum::<usize>() as f64 / steps_a_column as f64;
            HEIGHTS[(8.0 * mean / most as f64).round() as usize]
        };
        let line: String = running.chunks(steps_a_column).map(column).collect();
        let line = story.paint(Tone::Accent, &line);
        story.print(format!("   {} {line}\n", term::pad(name, 22)));
    }
    story.say_as(
        Tone::Dim,
        format!("Each column is {steps_a_column} steps; its height says how many of {most} moved."),
    );
}
