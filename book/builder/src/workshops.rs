//! Minutes, which all come from `course.toml`, and the workshop plans of `book/workshops.toml`, which are checked against them.

use serde::Deserialize;

use crate::html::sentence;
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
    let lesson = book.lesson(number)?;
    let (stated, core, extra) = (
        lesson.course.minutes,
        lesson.exercise_minutes(true),
        lesson.exercise_minutes(false),
    );
    let mut out = format!(
        "{} minutes to read, {} to run, {core} for the core exercises",
        stated.read, stated.run
    );
    if extra > 0 {
        out += &format!(", {extra} for the extra ones");
    }
    Ok(out)
}

/// One of `read`, `run`, `core`, `extra`, `main` (without extra), `all`.
pub fn minutes_of_kind(book: &Workbook, number: &str, kind: &str) -> Result<u32, String> {
    let lesson = book.lesson(number)?;
    let (stated, core, extra) = (
        lesson.course.minutes,
        lesson.exercise_minutes(true),
        lesson.exercise_minutes(false),
    );
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
    let each = parts.iter().map(|part| match part.strip_prefix('+') {
        Some(number) => number
            .parse()
            .map_err(|_| format!("{part:?} is not a number of minutes")),
        None => book.exercise(part).map(|(_, exercise)| exercise.minutes),
    });
    each.sum()
}

/// A plan as a table: parts, their minutes, the sum of each session and of the day.
pub fn plan(book: &Workbook, id: &str) -> Result<String, String> {
    let shown = "book/workshops.toml";
    let file: File = toml::from_str(&book.text(shown)?).map_err(|error| format!("{shown}: {}", error.message()))?;
    let plan = file
        .plan
        .iter()
        .find(|plan| plan.id == id)
        .ok_or_else(|| format!("{shown} has no plan {id:?}"))?;
    let mut out = "<div class=\"table-wrapper\"><table class=\"workshop\"><thead><tr><th>session</th><th>what</th><th>minutes</th></tr></thead><tbody>".to_owned();
    let mut total = 0;
    for (i, session) in plan.session.iter().enumerate() {
        out += &rows(book, i + 1, session).map_err(|said| format!("{shown}, plan {id}, {}: {said}", session.title))?;
        total += session.minutes;
    }
    let (hours, rest) = (total / 60, total % 60);
    Ok(format!(
        "{out}<tr><td colspan=\"2\"><strong>Together</strong>, without breaks ({hours} h {rest:02})</td><td><strong>{total}</strong></td></tr></tbody></table></div>\n"
    ))
}

fn rows(book: &Workbook, number: usize, session: &Session) -> Result<String, String> {
    let mut used = 0;
    let mut parts = Vec::new();
    for part in &session.part {
        let minutes = part_minutes(book, part)?;
        used += minutes;
        let links: Vec<String> = part
            .exercises
            .iter()
            .map(|id| exercise_link(book, id))
            .collect::<Result<_, _>>()?;
        let links = if links.is_empty() {
            String::new()
        } else {
            format!(" ({})", links.join(", "))
        };
        parts.push((format!("{}{links}", sentence(&part.what)), minutes));
    }
    if used > session.minutes {
        return Err(format!(
            "its parts take {used} minutes, it has {}; take something out",
            session.minutes
        ));
    }
    if used < session.minutes {
        parts.push(("questions, and time to look around".to_owned(), session.minutes - used));
    }
    let mut out = String::new();
    for (i, (what, minutes)) in parts.iter().enumerate() {
        if i == 0 {
            out += &format!(
                "<tr><th scope=\"rowgroup\" rowspan=\"{}\">{number}. {}<br><small>{} minutes</small></th>",
                parts.len(),
                sentence(&session.title),
                session.minutes
            );
        } else {
            out += "<tr>";
        }
        out += &format!("<td>{what}</td><td>{minutes}</td></tr>");
    }
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
    Ok(format!(
        "<a href=\"../{}.md#{}\">{id}</a>",
        lesson.folder,
        exercise.fragment()
    ))
}
