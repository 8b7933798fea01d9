//! `{{#claims 05}}` and `{{#claims-all}}`: tables from the recorded results; `{{#verdict 05 G1}}`: one verdict in words.

use serde::Deserialize;

use crate::html::{TABLE_END, escape, row, sentence, table_head};
use crate::workbook::{Lesson, Workbook};

#[derive(Deserialize)]
struct Document {
    model: Option<String>,
    machine: Machine,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Machine {
    cpu: String,
    cores: u32,
    rustc: String,
    revision: String,
}

#[derive(Deserialize)]
struct Claim {
    id: String,
    claimed: String,
    measured: Measured,
    verdict: String,
    #[serde(default)]
    note: String,
}

#[derive(Deserialize)]
struct Measured {
    value: Option<f64>,
    unit: String,
}

/// The claims of one lesson, and the machine that they were measured on.
pub fn of_lesson(book: &Workbook, number: &str) -> Result<String, String> {
    let lesson = book.lesson(number)?;
    let document = read(book, lesson)?;
    let mut out = table_head("claims", &["claim", "measured", "verdict"]);
    for claim in &document.claims {
        let [what, measured, verdict] = cells(claim)?;
        out += &row(&[what, measured, verdict]);
    }
    Ok(format!("{out}{TABLE_END}\n{}\n", measured_on(&document)))
}

/// The verdict of one claim in words, as recorded.
pub fn verdict(book: &Workbook, number: &str, id: &str) -> Result<String, String> {
    let lesson = book.lesson(number)?;
    let document = read(book, lesson)?;
    let found = document.claims.iter().find(|claim| claim.id == id);
    let known = || {
        let ids = document.claims.iter().map(|claim| claim.id.as_str());
        ids.collect::<Vec<_>>().join(", ")
    };
    let claim = found.ok_or_else(|| {
        format!(
            "lesson {number} has no claim {id:?} in its results; there is {}",
            known()
        )
    })?;
    Ok(VERDICTS[index(claim)?].1.to_owned())
}

/// The claims of all lessons that have a chapter. Each links to it.
pub fn all(book: &Workbook, to_root: &str) -> Result<String, String> {
    let mut out = table_head("claims", &["claim", "lesson", "measured", "verdict"]);
    let (mut places, mut counts) = (Vec::new(), [0; VERDICTS.len()]);
    let has_chapter = |lesson: &&Lesson| (book.root.join(format!("book/src/{}.md", lesson.folder))).exists();
    for lesson in book.lessons.values().filter(has_chapter) {
        let document = read(book, lesson)?;
        let link = format!("<a href=\"{to_root}{}.md\">{}</a>", lesson.folder, lesson.number);
        for claim in &document.claims {
            let [what, measured, verdict] = cells(claim)?;
            out += &row(&[what, link.clone(), measured, verdict]);
            counts[index(claim)?] += 1;
        }
        let place = measured_on(&document);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let sums = VERDICTS
        .iter()
        .zip(counts)
        .map(|((_, word), count)| format!("{word} {count}"));
    let sums = sums.collect::<Vec<_>>().join(", ");
    let (total, places) = (counts.iter().sum::<usize>(), places.join("\n\n"));
    Ok(format!("{out}{TABLE_END}\n{total} claims: {sums}.\n\n{places}\n"))
}

const VERDICTS: [(&str, &str); 4] = [
    ("holds", "holds"),
    ("partly", "holds partly"),
    ("not_here", "does not hold here"),
    ("not_measured", "not measured"),
];

fn index(claim: &Claim) -> Result<usize, String> {
    let found = VERDICTS.iter().position(|(key, _)| *key == claim.verdict);
    found.ok_or_else(|| format!("claim {} has the unknown verdict {:?}", claim.id, claim.verdict))
}

/// The claim, what was measured, and the verdict.
fn cells(claim: &Claim) -> Result<[String; 3], String> {
    let (key, word) = VERDICTS[index(claim)?];
    let note = match claim.note.as_str() {
        "" => String::new(),
        note => format!("<small>{}</small>", sentence(note)),
    };
    Ok([
        format!(
            "<strong>{}</strong> {}{note}",
            escape(&claim.id),
            sentence(&claim.claimed)
        ),
        escape(&figure(&claim.measured)),
        format!("<span class=\"verdict verdict-{key}\">{word}</span>"),
    ])
}

fn measured_on(document: &Document) -> String {
    let model = document.model.as_ref();
    let model = model.map_or(String::new(), |model| format!(", model {}", escape(model)));
    let machine = &document.machine;
    format!(
        "<p><small>Measured on {}, {} cores, {}, revision <code>{}</code>{model}.</small></p>",
        escape(&machine.cpu),
        machine.cores,
        escape(machine.rustc.split(" (").next().unwrap_or_default()),
        escape(&machine.revision)
    )
}

fn read(book: &Workbook, lesson: &Lesson) -> Result<Document, String> {
    let shown = format!("lessons/{}/results/lesson{}.json", lesson.folder, lesson.number);
    serde_json::from_str(&book.text(&shown)?).map_err(|error| format!("{shown}: {error}"))
}

/// Three digits and the unit, as `cargo course claims` prints it.
fn figure(measured: &Measured) -> String {
    let Some(value) = measured.value else {
        return "–".to_owned();
    };
    let number = if value == value.trunc() && value.abs() < 1e6 {
        format!("{value:.0}")
    } else if (1e-3..1e6).contains(&value.abs()) {
        let decimals = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.2e}")
    };
    format!("{number} {}", measured.unit).trim_end().to_owned()
}
