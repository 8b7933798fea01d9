//! `{{#claims 05}}` and `{{#claims-all}}`: tables from the recorded results.

use serde::Deserialize;

use crate::html::{escape, sentence};
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
    let rows: Result<String, String> = document.claims.iter().map(|claim| row(claim, None)).collect();
    Ok(format!(
        "{}{}</tbody></table></div>\n\n{}\n",
        head(false),
        rows?,
        measured_on(&document)
    ))
}

/// The claims of all lessons that have a chapter. Each links to it.
pub fn all(book: &Workbook, to_root: &str) -> Result<String, String> {
    let (mut out, mut places, mut counts) = (head(true), Vec::new(), [0usize; 4]);
    let has_chapter = |lesson: &&Lesson| (book.root.join(format!("book/src/{}.md", lesson.folder))).exists();
    for lesson in book.lessons.values().filter(has_chapter) {
        let document = read(book, lesson)?;
        for claim in &document.claims {
            let link = format!("{to_root}{}.md", lesson.folder);
            out += &row(claim, Some((&lesson.number, &link)))?;
            counts[VERDICTS.iter().position(|(key, _)| *key == claim.verdict).unwrap_or(3)] += 1;
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
    Ok(format!(
        "{out}</tbody></table></div>\n\n{} claims: {sums}.\n\n{}\n",
        counts.iter().sum::<usize>(),
        places.join("\n\n")
    ))
}

const VERDICTS: [(&str, &str); 4] = [
    ("holds", "holds"),
    ("partly", "holds partly"),
    ("not_here", "does not hold here"),
    ("not_measured", "not measured"),
];

fn head(with_lesson: bool) -> String {
    let lesson = if with_lesson { "<th>lesson</th>" } else { "" };
    format!(
        "<div class=\"table-wrapper\"><table class=\"claims\"><thead><tr><th>claim</th>{lesson}<th>measured</th><th>verdict</th></tr></thead><tbody>"
    )
}

fn row(claim: &Claim, lesson: Option<(&str, &str)>) -> Result<String, String> {
    let found = VERDICTS.iter().find(|(key, _)| *key == claim.verdict);
    let (key, word) = found.ok_or_else(|| format!("claim {} has the unknown verdict {:?}", claim.id, claim.verdict))?;
    let note = if claim.note.is_empty() {
        String::new()
    } else {
        format!("<small>{}</small>", sentence(&claim.note))
    };
    let lesson = lesson.map_or(String::new(), |(number, link)| {
        format!("<td><a href=\"{link}\">{number}</a></td>")
    });
    Ok(format!(
        "<tr><td><strong>{}</strong> {}{note}</td>{lesson}<td>{}</td><td><span class=\"verdict verdict-{key}\">{word}</span></td></tr>",
        escape(&claim.id),
        sentence(&claim.claimed),
        escape(&figure(&claim.measured)),
    ))
}

fn measured_on(document: &Document) -> String {
    let model = document
        .model
        .as_ref()
        .map_or(String::new(), |model| format!(", model {}", escape(model)));
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
