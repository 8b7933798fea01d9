//! Minutes, which all come from `course.toml`, and the workshop plans of `book/workshops.toml`, which are checked
//! against them.

use serde::Deserialize;

use crate::html::{TABLE_END, sentence, table_head};
use crate::workbook::Workbook;

#[derive(Deserialize)]
struct File {
    plan: Vec<Plan>,
}

#[derive(Deserialize)]
struct Plan {
    id: String,
    session: Vec<Session>,
}

#[derive(Deserialize)]
struct Session {
    title: String,
    minutes: u32,
    part: Vec<Part>,
}

/// A part takes stated minutes, or those of exercises, or those of a lesson's reading or running, or a sum of these.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    what: String,
    #[serde(default)]
    minutes: u32,
    #[serde(default)]
    exercises: Vec<String>,
    #[serde(default)]
    run: Vec<String>,
    #[serde(default)]
    read: Vec<String>,
}

/// "25 minutes to read, 5 to run, 90 for the core exercises, 40 for the extra ones".
pub fn minutes(book: &Workbook, number: &str) -> Result<String, String> {
    let of = |kind| minutes_of_kind(book, number, kind);
    let (read, run, core, extra) = (of("read")?, of("run")?, of("core")?, of("extra")?);
    let mut out = format!("{read} minutes to read, {run} to run, {core} for the core exercises");
    if extra > 0 {
        out += &format!(", {extra} for the extra ones");
    }
    Ok(out)
}

/// One of `read`, `run`, `core`, `extra`, `main` (without extra), `all`.
pub fn minutes_of_kind(book: &Workbook, number: &str, kind: &str) -> Result<u32, String> {
    let lesson = book.lesson(number)?;
    let stated = lesson.course.minutes;
    let (core, extra) = (lesson.exercise_minutes(true), lesson.exercise_minutes(false));
    match kind {
        "read" => Ok(stated.read),
        "run" => Ok(stated.run),
        "core" => Ok(core),
        "extra" => Ok(extra),
        "main" => Ok(stated.read + stated.run + core),
        "all" => Ok(stated.read + stated.run + core + extra),
        _ => Err(format!(
            "minutes of {kind:?}? There are read, run, core, extra, main and all"
        )),
    }
}

/// Sum of exercises' minutes; `+15` adds.
pub fn minutes_of(book: &Workbook, parts: &[&str]) -> Result<u32, String> {
    let wrong = |part: &str| format!("{part:?} is not a number of minutes");
    let each = parts.iter().map(|part| match part.strip_prefix('+') {
        Some(number) => number.parse().map_err(|_| wrong(part)),
        None => book.exercise(part).map(|(_, exercise)| exercise.minutes),
    });
    each.sum()
}

/// A plan as a table: parts, their minutes, the sum of each session and of the day.
pub fn plan(book: &Workbook, id: &str) -> Result<String, String> {
    let shown = "book/workshops.toml";
    let file: File = toml::from_str(&book.text(shown)?).map_err(|error| format!("{shown}: {}", error.message()))?;
    let plan = file.plan.iter().find(|plan| plan.id == id);
    let plan = plan.ok_or_else(|| format!("{shown} has no plan {id:?}"))?;
    let mut out = table_head("workshop", &["session", "what", "minutes"]);
    let mut total = 0;
    for (i, session) in plan.session.iter().enumerate() {
        out += &rows(book, i + 1, session).map_err(|said| format!("{shown}, plan {id}, {}: {said}", session.title))?;
        total += session.minutes;
    }
    let (hours, rest) = (total / 60, total % 60);
    Ok(format!(
        "{out}<tr><td colspan=\"2\"><strong>Together</strong>, without breaks ({hours} h {rest:02})</td><td><strong>{total}</strong></td></tr>{TABLE_END}"
    ))
}

fn rows(book: &Workbook, number: usize, session: &Session) -> Result<String, String> {
    let mut used = 0;
    let mut parts = Vec::new();
    for part in &session.part {
        let minutes = part_minutes(book, part)?;
        used += minutes;
        let links: Result<Vec<String>, String> = part.exercises.iter().map(|id| exercise_link(book, id)).collect();
        let links = links?.join(", ");
        let links = if links.is_empty() { links } else { format!(" ({links})") };
        parts.push((sentence(&part.what) + &links, minutes));
    }
    if used > session.minutes {
        let given = session.minutes;
        return Err(format!(
            "its parts take {used} minutes, it has {given}; take something out"
        ));
    }
    if used < session.minutes {
        parts.push(("questions, and time to look around".to_owned(), session.minutes - used));
    }
    let mut out = format!(
        "<tr><th scope=\"rowgroup\" rowspan=\"{}\">{number}. {}<br><small>{} minutes</small></th>",
        parts.len(),
        sentence(&session.title),
        session.minutes
    );
    let cells = parts
        .iter()
        .map(|(what, minutes)| format!("<td>{what}</td><td>{minutes}</td></tr>"));
    out += &cells.collect::<Vec<_>>().join("<tr>");
    Ok(out)
}

fn part_minutes(book: &Workbook, part: &Part) -> Result<u32, String> {
    let ids: Vec<&str> = part.exercises.iter().map(String::as_str).collect();
    let mut sum = part.minutes + minutes_of(book, &ids)?;
    for number in &part.run {
        sum += minutes_of_kind(book, number, "run")?;
    }
    for number in &part.read {
        sum += minutes_of_kind(book, number, "read")?;
    }
    if sum == 0 {
        return Err(format!("{:?} takes no minutes", part.what));
    }
    Ok(sum)
}

fn exercise_link(book: &Workbook, id: &str) -> Result<String, String> {
    let (lesson, exercise) = book.exercise(id)?;
    let (page, fragment) = (&lesson.folder, exercise.fragment());
    Ok(format!("<a href=\"../{page}.md#{fragment}\">{id}</a>"))
}
