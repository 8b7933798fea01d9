//! `{{#exercises}}`, `{{#exercise}}` and `{{#key}}`.

use crate::html::{escape, sentence};
use crate::source;
use crate::workbook::{Exercise, Workbook};

/// The table of a lesson's exercises and how they are checked.
pub fn table(book: &Workbook, number: &str) -> Result<String, String> {
    let lesson = book.lesson(number)?;
    if lesson.course.exercises.is_empty() {
        return Err(format!("lessons/{}/course.toml has no exercises", lesson.folder));
    }
    let mut out = "<div class=\"table-wrapper\"><table class=\"exercises\"><thead><tr><th>no.</th><th>exercise</th><th>kind</th><th>minutes</th><th>difficulty</th><th>command</th></tr></thead><tbody>"
        .to_owned();
    for exercise in &lesson.course.exercises {
        let place = match exercise.kind.as_str() {
            "predict" => String::new(),
            _ => format!(
                "<br><code>{}</code> <code>{}</code>",
                escape(&lesson.file_of(&book.root, exercise)?),
                escape(exercise.function_name())
            ),
        };
        let extra = if exercise.core { "" } else { " <small>(extra)</small>" };
        out += &format!(
            "<tr><td><a href=\"#{}\">{}</a></td><td>{}{extra}{place}</td><td>{}</td><td>{}</td><td>{}</td><td><code>cargo course check {}</code></td></tr>",
            exercise.fragment(),
            exercise.id,
            sentence(&exercise.title),
            exercise.kind,
            exercise.minutes,
            exercise.difficulty,
            exercise.id,
        );
    }
    out += "</tbody></table></div>\n";
    Ok(out)
}

/// The heading of one exercise, with its anchor, and the line of facts.
pub fn heading(book: &Workbook, id: &str) -> Result<String, String> {
    let (lesson, exercise) = book.exercise(id)?;
    let word = match exercise.kind.as_str() {
        "write" => "write a body",
        "mend" => "mend a fault",
        "catch" => "catch the faults with a test",
        "predict" => "predict",
        other => return Err(format!("exercise {id} is of the unknown kind {other:?}")),
    };
    let level = match exercise.difficulty {
        1 => "difficulty 1 of 3",
        2 => "difficulty 2 of 3",
        3 => "difficulty 3 of 3",
        other => {
            return Err(format!("exercise {id} has difficulty {other}; there are 1, 2 and 3"));
        }
    };
    let extra = if exercise.core { "" } else { "<span>extra</span>" };
    let mut facts = format!(
        "<span>{word}</span><span>{} minutes</span><span>{level}</span>{extra}",
        exercise.minutes
    );
    if exercise.kind != "predict" {
        facts += &format!(
            "<span><span class=\"word\">file</span> <code>work/lesson{}/{}</code></span><span><span class=\"word\">function</span> <code>{}</code></span>",
            lesson.number,
            escape(&lesson.file_of(&book.root, exercise)?),
            escape(exercise.function_name())
        );
    }
    facts += &format!("<span><span class=\"word\">check</span> <code>cargo course check {id}</code></span>");
    let mut out = format!(
        "### {} · {} {{#{}}}\n\n<div class=\"exercise-facts\">{facts}</div>\n\n",
        exercise.id,
        sentence(&exercise.title),
        exercise.fragment()
    );
    if exercise.kind == "predict" {
        out += &question(exercise)?;
    }
    Ok(out)
}

fn question(exercise: &Exercise) -> Result<String, String> {
    let count = exercise.options.len();
    if exercise.question.is_empty() || count < 2 || exercise.answer >= count {
        return Err(format!(
            "exercise {} needs a question, at least two options and an answer among them",
            exercise.id
        ));
    }
    let mut out = format!(
        "<p>{}</p>\n<ol class=\"options\" type=\"a\">",
        sentence(&exercise.question)
    );
    for option in &exercise.options {
        out += &format!("<li>{}</li>", sentence(option));
    }
    Ok(out + "</ol>\n\n")
}

/// The folded answer.
pub fn key(book: &Workbook, id: &str) -> Result<String, String> {
    let (lesson, exercise) = book.exercise(id)?;
    if exercise.kind == "predict" {
        return predict_key(exercise);
    }
    let file = lesson.file_of(&book.root, exercise)?;
    let path = book.root.join("lessons").join(&lesson.folder).join(&file);
    let shown = format!("lessons/{}/{file}", lesson.folder);
    let place = format!(
        "<code>{}</code> in <code>{}</code>",
        escape(exercise.function_name()),
        escape(&shown)
    );
    let (lead, language, code) = match source::mended(&path, &shown, &exercise.anchor())? {
        Some(both) => (
            format!("What ships in {place} (<code>-</code>), and what is right (<code>+</code>):"),
            "diff",
            both,
        ),
        None => (
            format!("The body of {place}:"),
            "rust",
            source::body(&path, &shown, &exercise.anchor())?,
        ),
    };
    Ok(format!(
        "<details class=\"key\"><summary>Answer to {id}: {}</summary>\n\n{lead}\n\n```{language}\n{code}\n```\n\n</details>\n",
        sentence(&exercise.title),
    ))
}

fn predict_key(exercise: &Exercise) -> Result<String, String> {
    question(exercise)?;
    let letter = |i: usize| char::from(b'a' + u8::try_from(i).unwrap_or(25).min(25));
    let mut out = format!(
        "<details class=\"key\"><summary>Answer to {}</summary><p><strong>{}: {}.</strong> {}</p>",
        exercise.id,
        letter(exercise.answer),
        sentence(&exercise.options[exercise.answer]),
        sentence(&exercise.because)
    );
    let wrong = exercise
        .answers
        .iter()
        .enumerate()
        .filter(|(i, text)| *i != exercise.answer && !text.is_empty());
    for (i, text) in wrong {
        let option = exercise.options.get(i).map_or("", String::as_str);
        out += &format!(
            "<p>{}, <em>{}</em>: {}</p>",
            letter(i),
            sentence(option),
            sentence(text)
        );
    }
    Ok(out + "</details>\n")
}
