//! `{{#exercises}}`, `{{#exercise}}` and `{{#key}}`.

use crate::html::{TABLE_END, code, row, sentence, table_head};
use crate::source;
use crate::workbook::{Exercise, Workbook};

/// The table of a lesson's exercises and how they are checked.
pub fn table(book: &Workbook, number: &str) -> Result<String, String> {
    const NAMES: [&str; 6] = ["no.", "exercise", "kind", "minutes", "difficulty", "command"];
    let lesson = book.lesson(number)?;
    if lesson.course.exercises.is_empty() {
        return Err(format!("lessons/{}/course.toml has no exercises", lesson.folder));
    }
    let mut out = table_head("exercises", &NAMES);
    for exercise in &lesson.course.exercises {
        let place = match exercise.kind.as_str() {
            "predict" => String::new(),
            _ => {
                let file = lesson.file_of(&book.root, exercise)?;
                format!("<br>{} {}", code(&file), code(exercise.function_name()))
            }
        };
        let extra = if exercise.core { "" } else { " <small>(extra)</small>" };
        out += &row(&[
            format!("<a href=\"#{}\">{}</a>", exercise.fragment(), exercise.id),
            format!("{}{extra}{place}", sentence(&exercise.title)),
            exercise.kind.clone(),
            exercise.minutes.to_string(),
            exercise.difficulty.to_string(),
            code(&format!("cargo course check {}", exercise.id)),
        ]);
    }
    Ok(out + TABLE_END)
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
    let level = exercise.difficulty;
    if !(1..=3).contains(&level) {
        return Err(format!("exercise {id} has difficulty {level}; there are 1, 2 and 3"));
    }
    let named = |name: &str, value: &str| format!("<span class=\"word\">{name}</span> {}", code(value));
    let mut facts = vec![
        word.to_owned(),
        format!("{} minutes", exercise.minutes),
        format!("difficulty {level} of 3"),
    ];
    if !exercise.core {
        facts.push("extra".to_owned());
    }
    if exercise.kind != "predict" {
        let file = lesson.file_of(&book.root, exercise)?;
        facts.push(named("file", &format!("work/lesson{}/{file}", lesson.number)));
        facts.push(named("function", exercise.function_name()));
    }
    facts.push(named("check", &format!("cargo course check {id}")));
    let facts: String = facts.iter().map(|fact| format!("<span>{fact}</span>")).collect();
    let (title, fragment) = (sentence(&exercise.title), exercise.fragment());
    let question = match exercise.kind.as_str() {
        "predict" => question(exercise)?,
        _ => String::new(),
    };
    Ok(format!(
        "### {id} · {title} {{#{fragment}}}\n\n<div class=\"exercise-facts\">{facts}</div>\n\n{question}"
    ))
}

fn question(exercise: &Exercise) -> Result<String, String> {
    let count = exercise.options.len();
    if exercise.question.is_empty() || count < 2 || exercise.answer >= count {
        return Err(format!(
            "exercise {} needs a question, at least two options and an answer among them",
            exercise.id
        ));
    }
    let options = exercise
        .options
        .iter()
        .map(|option| format!("<li>{}</li>", sentence(option)));
    let options: String = options.collect();
    let question = sentence(&exercise.question);
    Ok(format!(
        "<p>{question}</p>\n<ol class=\"options\" type=\"a\">{options}</ol>\n\n"
    ))
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
    let place = format!("{} in {}", code(exercise.function_name()), code(&shown));
    let (lead, language, body) = match source::mended(&path, &shown, &exercise.anchor())? {
        Some(both) => {
            let lead = format!("What ships in {place} (<code>-</code>), and what is right (<code>+</code>):");
            (lead, "diff", both)
        }
        None => {
            let body = source::body(&path, &shown, &exercise.anchor())?;
            (format!("The body of {place}:"), "rust", body)
        }
    };
    let title = sentence(&exercise.title);
    Ok(format!(
        "<details class=\"key\"><summary>Answer to {id}: {title}</summary>\n\n{lead}\n\n```{language}\n{body}\n```\n\n</details>\n"
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
    for (i, text) in exercise.answers.iter().enumerate() {
        if i != exercise.answer && !text.is_empty() {
            let option = exercise.options.get(i).map_or("", String::as_str);
            let (letter, option, text) = (letter(i), sentence(option), sentence(text));
            out += &format!("<p>{letter}, <em>{option}</em>: {text}</p>");
        }
    }
    Ok(out + "</details>\n")
}
