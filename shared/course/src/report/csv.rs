//! A report for a spreadsheet: one line for each learner and exercise.

use super::{Learner, Row};

const HEADER: [&str; 14] = [
    "learner",
    "id",
    "title",
    "kind",
    "core",
    "status",
    "attempts",
    "hints",
    "gave_up",
    "first_answer",
    "first_right",
    "started_at",
    "passed_at",
    "problem",
];

/// The table, with its header. A learner whose state is missing or damaged has one line, with only the problem.
pub fn csv(learners: &[Learner]) -> String {
    let mut out = line(&HEADER.map(str::to_owned));
    for learner in learners {
        if let Some(problem) = &learner.problem {
            let mut cells = [const { String::new() }; HEADER.len()];
            cells[0] = learner.learner.clone();
            cells[HEADER.len() - 1] = problem.clone();
            out += &line(&cells);
        }
        for row in &learner.exercises {
            out += &line(&cells(&learner.learner, row));
        }
    }
    out
}

fn cells(learner: &str, row: &Row) -> [String; HEADER.len()] {
    let word = |value: bool| if value { "yes" } else { "no" }.to_owned();
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    [
        learner.to_owned(),
        row.id.clone(),
        row.title.clone(),
        row.kind.to_owned(),
        word(row.core),
        row.status.to_owned(),
        row.attempts.to_string(),
        row.hints.to_string(),
        word(row.gave_up),
        text(&row.first_answer),
        row.first_right.map(word).unwrap_or_default(),
        text(&row.started_at),
        text(&row.passed_at),
        String::new(),
    ]
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    cells.join(",") + "\n"
}

/// A cell with commas, quotes or line ends stands in quotes. One that a spreadsheet would take for a formula gets an
/// apostrophe: the text comes from other people's folders.
fn quoted(cell: &str) -> String {
    let safe = if cell.starts_with(['=', '+', '-', '@']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if safe.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", safe.replace('"', "\"\""));
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_a_spreadsheet_would_stumble() {
        for (cell, expected) in [
            ("plain", "plain"),
            ("a, b", "\"a, b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            ("", ""),
        ] {
            assert_eq!(quoted(cell), expected);
        }
    }
}
