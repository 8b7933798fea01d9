//! `cargo course claims`: every claim, what was claimed, what was measured, and the verdict.

use std::collections::BTreeSet;

use lab::number;
use lab::record::{Measured, Verdict};
use lab::term::Tone;
use serde::Serialize;

use crate::error::CourseError;
use crate::lessons;
use crate::page::Page;
use crate::results::{self, Origin};
use crate::tools::Course;

/// A claim of one lesson. The key is (id, lesson): a claim may be measured in several lessons.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `G1`.
    pub id: String,
    /// `05`.
    pub lesson: String,
    /// The claim in words.
    pub claimed: String,
    /// The figure.
    pub measured: Measured,
    /// The verdict.
    pub verdict: Verdict,
    /// Condition or reason; may be empty.
    pub note: String,
    /// The model that it was measured on.
    pub model: Option<String>,
    /// The processor that it was measured on.
    pub cpu: String,
}

/// All claims, by lesson and in the lesson's order. When two documents of one lesson have the same claim, the later
/// file's stands.
///
/// # Errors
/// When a result can not be read.
pub fn collect(course: &Course, origin: Origin) -> Result<Vec<Row>, CourseError> {
    let mut rows: Vec<Row> = Vec::new();
    for folder in lessons::folders(course)? {
        let lesson = lessons::number_of(&folder).unwrap_or_default();
        for document in results::documents(course, &folder, origin)? {
            for claim in document.claims {
                let row = Row {
                    id: claim.id,
                    lesson: lesson.clone(),
                    claimed: claim.claimed,
                    measured: claim.measured,
                    verdict: claim.verdict,
                    note: claim.note,
                    model: document.model.clone(),
                    cpu: document.machine.cpu.clone(),
                };
                let is_same = |known: &&mut Row| known.id == row.id && known.lesson == row.lesson;
                match rows.iter_mut().find(is_same) {
                    Some(known) => *known = row,
                    None => rows.push(row),
                }
            }
        }
    }
    Ok(rows)
}

/// The table.
pub fn render(rows: &[Row], origin: Origin, page: &Page) -> String {
    if rows.is_empty() {
        return page.text(match origin {
            Origin::Recorded => {
                "No results are recorded. A lesson records its own:\n  cargo course run 05 --no-pause --record"
            }
            Origin::Latest => "No lesson has run here yet. Run one:\n  cargo course run 05 --no-pause",
        });
    }
    const WIDTHS: [usize; 4] = [3, 6, 12, 14];
    const AT: usize = 43;
    let mut out = page.paint(
        Tone::Dim,
        &page.columns(&["id", "lesson", "verdict", "measured"], &WIDTHS, "claim", AT),
    );
    for row in rows {
        let (word, tone) = verdict_word(row.verdict);
        let measured = measured_text(&row.measured);
        let is_short = measured.chars().count() <= WIDTHS[3];
        let mut text = row.claimed.clone();
        // A long figure takes a line of its own rather than push the claim aside.
        if !is_short {
            text += &format!("\nmeasured: {measured}");
        }
        if !row.note.is_empty() {
            text += &format!("\nnote: {}", row.note);
        }
        let short = if is_short { measured.as_str() } else { "below" };
        let lines = page.columns(&[&row.id, &row.lesson, word, short], &WIDTHS, &text, AT);
        out += &lines.replacen(word, &page.paint(tone, word), 1);
    }
    out + "\n" + &page.text(&summary(rows, origin))
}

fn summary(rows: &[Row], origin: Origin) -> String {
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let machines: BTreeSet<&str> = rows
        .iter()
        .map(|row| row.cpu.as_str())
        .filter(|cpu| !cpu.is_empty())
        .collect();
    let machines: Vec<&str> = machines.into_iter().collect();
    let on = match machines.is_empty() {
        true => String::new(),
        false => format!(" Measured on: {}.", machines.join("; ")),
    };
    let more = match origin {
        Origin::Recorded => "\nYour own, once you have run lessons: cargo course claims --latest",
        Origin::Latest => "",
    };
    format!(
        "{} claims: holds {}, partly {}, not here {}, not measured {}.{on}{more}",
        rows.len(),
        count(Verdict::Holds),
        count(Verdict::Partly),
        count(Verdict::NotHere),
        count(Verdict::NotMeasured),
    )
}

fn verdict_word(verdict: Verdict) -> (&'static str, Tone) {
    match verdict {
        Verdict::Holds => ("holds", Tone::Good),
        Verdict::Partly => ("partly", Tone::Warn),
        Verdict::NotHere => ("not here", Tone::Bad),
        Verdict::NotMeasured => ("not measured", Tone::Dim),
    }
}

/// Three significant digits and the unit; a dash where nothing was measured.
fn measured_text(measured: &Measured) -> String {
    let text = |value| format!("{} {}", number::short(value), measured.unit);
    measured
        .value
        .map_or("-".to_owned(), |value| text(value).trim_end().to_owned())
}
