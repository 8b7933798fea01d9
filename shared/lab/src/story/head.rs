//! How the parts of a story look: its head, a step's title, a value, a claim.

use crate::record::{ClaimRecord, Verdict};
use crate::term::{self, Tone, WIDTH};

use super::LessonInfo;
use super::questions::Texts;
use super::screen::Screen;

/// Columns before everything that stands inside a step.
pub(super) const INDENT: &str = "   ";

/// Columns that a key takes, so that the values of a step stand in one column.
const KEY_COLUMNS: usize = 26;

/// The head: two lines and a rule, short enough to leave the first screen to the lesson.
pub(super) fn head(screen: &mut Screen, info: &LessonInfo, texts: &Texts) {
    let title = format!("{} · {}", info.number(), texts.title);
    let place = format!("lessons/{}", info.folder);
    let gap = " ".repeat(WIDTH.saturating_sub(term::width(&title) + term::width(&place)).max(1));
    let line = format!(
        "{}{gap}{}",
        screen.paint(Tone::Strong, &title),
        screen.paint(Tone::Dim, &place)
    );
    screen.line(&line);
    for line in term::wrap(&texts.question, WIDTH) {
        let line = screen.paint(Tone::Accent, &line);
        screen.line(&line);
    }
    rule(screen, "━");
}

/// A line across the screen.
pub(super) fn rule(screen: &mut Screen, stroke: &str) {
    let line = screen.paint(Tone::Dim, &stroke.repeat(WIDTH));
    screen.line(&line);
}

/// A step's number, title and sentence of why.
pub(super) fn step(screen: &mut Screen, number: usize, title: &str, why: &str) {
    screen.line("");
    let rest = WIDTH.saturating_sub(term::width(title) + 5);
    let line = format!(
        "{}  {} {}",
        screen.paint(Tone::Accent, &format!("{number:>2}")),
        screen.paint(Tone::Strong, title),
        screen.paint(Tone::Dim, &"─".repeat(rest)),
    );
    screen.line(&line);
    if !why.is_empty() {
        paragraph(screen, why, Tone::Dim);
    }
}

/// Text inside a step, wrapped and indented.
pub(super) fn paragraph(screen: &mut Screen, text: &str, tone: Tone) {
    for line in term::wrap(text, WIDTH - INDENT.len()) {
        let line = if line.is_empty() {
            line
        } else {
            format!("{INDENT}{}", screen.paint(tone, &line))
        };
        screen.line(&line);
    }
}

/// `key: value`, the values of a step in one column; a long value continues below itself.
pub(super) fn value(screen: &mut Screen, key: &str, text: &str) {
    let label = term::pad(&format!("{key}:"), KEY_COLUMNS);
    let column = INDENT.len() + term::width(&label) + 1;
    let room = WIDTH.saturating_sub(column).max(24);
    let lines: Vec<String> = if text.contains('\n') {
        text.lines().map(str::to_string).collect()
    } else {
        term::wrap(text, room)
    };
    for (index, part) in lines.iter().enumerate() {
        let line = match index {
            0 => format!(
                "{INDENT}{} {}",
                screen.paint(Tone::Dim, &label),
                screen.paint(Tone::Strong, part)
            ),
            _ => format!("{}{}", " ".repeat(column), screen.paint(Tone::Strong, part)),
        };
        screen.line(&line);
    }
}

/// How a verdict is said, and its tone.
pub(super) fn verdict(verdict: Verdict) -> (&'static str, Tone) {
    match verdict {
        Verdict::Holds => ("holds", Tone::Good),
        Verdict::Partly => ("holds partly", Tone::Warn),
        Verdict::NotHere => ("does not hold here", Tone::Bad),
        Verdict::NotMeasured => ("not measured", Tone::Dim),
    }
}

/// A claim: id and verdict, the claim, what was found.
pub(super) fn claim(screen: &mut Screen, claim: &ClaimRecord) {
    let (words, tone) = verdict(claim.verdict);
    let line = format!(
        "{INDENT}{} {}",
        screen.paint(Tone::Strong, &format!("Claim {}:", claim.id)),
        screen.paint(tone, words)
    );
    screen.line(&line);
    let inner = |screen: &mut Screen, label: &str, text: &str| {
        for (index, line) in term::wrap(text, WIDTH - INDENT.len() - 11).into_iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let line = format!("{INDENT}  {} {line}", screen.paint(Tone::Dim, &term::pad(label, 8)));
            screen.line(&line);
        }
    };
    inner(screen, "claimed", &claim.claimed);
    if let Some(value) = claim.measured.value {
        inner(
            screen,
            "measured",
            &format!("{} {}", crate::number::short(value), claim.measured.unit),
        );
    }
    if !claim.note.is_empty() {
        inner(screen, "because", &claim.note);
    }
}
