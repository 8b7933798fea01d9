//! Numbers of the text that come from recorded files, so that no sentence is older than its measurement:
//! `{{#evaluation KEY}}`, `{{#training KEY}}`, `{{#recorded 05 KEY}}`, `{{#rows 8}}` and `{{#evaluation-table}}`.
//!
//! A key is a path with dots; in a list a part is an index, or the `id`, `title` or `name` of an element. After a colon
//! stands the form: `.3` decimals, `%` or `%0` a share in per cent with one decimal or none, `,` thousands apart.

use serde_json::Value;

use crate::html::escape;
use crate::workbook::Workbook;

const EVALUATION: &str = "data/stories/evaluation.json";
const TRAINING: &str = "data/stories/training.json";

/// From the evaluation of the default model.
pub fn evaluation(book: &Workbook, key: &str) -> Result<String, String> {
    look_up(&read(book, EVALUATION)?, key).map_err(|said| format!("{EVALUATION}: {said}"))
}

/// From the record of its training.
pub fn training(book: &Workbook, key: &str) -> Result<String, String> {
    look_up(&read(book, TRAINING)?, key).map_err(|said| format!("{TRAINING}: {said}"))
}

/// From the recorded results of a lesson.
pub fn lesson(book: &Workbook, number: &str, key: &str) -> Result<String, String> {
    let lesson = book.lesson(number)?;
    let shown = format!("lessons/{}/results/lesson{number}.json", lesson.folder);
    look_up(&read(book, &shown)?, key).map_err(|said| format!("{shown}: {said}"))
}

/// The cost of one product over some rows of f32, in times of one row: the race `rows` of lesson 02. Between two
/// recorded numbers of rows it lies on the straight line. With `gain`: how many times the rows a second that is.
pub fn rows(book: &Workbook, asked: &str, form: &str) -> Result<String, String> {
    const SHOWN: &str = "lessons/02-layout/results/lesson02.json";
    let said = |said: &str| format!("{SHOWN}: {said}");
    let num_rows: f64 = asked
        .parse()
        .map_err(|_| format!("expected a number of rows, found {asked:?}"))?;
    let costs = costs_of_rows(&read(book, SHOWN)?).ok_or_else(|| said("no race \"rows\" with entries \"f32\""))?;
    let cost = on_the_line(&costs, num_rows).ok_or_else(|| said(&format!("no cost for {asked} rows")))?;
    match form {
        "cost" => Ok(format!("{cost:.1}")),
        "gain" => Ok(format!("{:.1}", num_rows / cost)),
        _ => Err(format!("expected gain or nothing after {asked:?}, found {form:?}")),
    }
}

/// Numbers of rows, ascending, with their costs in times of one row.
fn costs_of_rows(record: &Value) -> Option<Vec<(f64, f64)>> {
    let mut in_steps = record["steps"].as_array()?.iter().map(|step| &step["values"]["rows"]);
    let race = in_steps.find(|race| race["entries"].is_array());
    let race = race.or_else(|| step(&record["races"], "rows"))?;
    let entries = race["entries"]
        .as_array()?
        .iter()
        .filter(|entry| entry["name"] == "f32");
    let mut times: Vec<(f64, f64)> = entries
        .filter_map(|entry| Some((entry["x"].as_f64()?, entry["median"].as_f64()?)))
        .collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let one = times.first().filter(|(rows, _)| *rows == 1.0)?.1;
    Some(times.into_iter().map(|(rows, time)| (rows, time / one)).collect())
}

fn on_the_line(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let around = points.windows(2).find(|w| (w[0].0..=w[1].0).contains(&x))?;
    let ((x0, y0), (x1, y1)) = (around[0], around[1]);
    Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
}

/// The model beside the n-gram baselines and the bound.
pub fn evaluation_table(book: &Workbook) -> Result<String, String> {
    let json = read(book, EVALUATION)?;
    let cell = |key: &str| look_up(&json, key).map_err(|said| format!("{EVALUATION}: {said}"));
    let mut out = "| held-out nats per token | stories | literature |\n|---|---|---|\n".to_owned();
    for (name, key, mark) in [
        ("unigram", "baselines.unigram", ""),
        ("bigram", "baselines.bigram", ""),
        ("trigram", "baselines.trigram", ""),
        ("model", "nats_per_token", "**"),
        ("entropy bound", "", ""),
        ("model, perplexity", "perplexity", ""),
        ("model, bits per byte", "bits_per_byte", ""),
    ] {
        let (stories, literature) = match key {
            "" => (cell("entropy_bound:.3")?, "unknown".to_owned()),
            key => (
                cell(&format!("{key}.stories:.3"))?,
                cell(&format!("{key}.literature:.3"))?,
            ),
        };
        out += &format!("| {mark}{name}{mark} | {mark}{stories}{mark} | {mark}{literature}{mark} |\n");
    }
    Ok(out)
}

fn read(book: &Workbook, shown: &str) -> Result<Value, String> {
    serde_json::from_str(&book.text(shown)?).map_err(|error| format!("{shown}: {error}"))
}

fn look_up(json: &Value, asked: &str) -> Result<String, String> {
    let (key, form) = match asked.rsplit_once(':') {
        Some((key, form)) if is_form(form) => (key, form),
        _ => (asked, ""),
    };
    let mut at = json;
    for part in key.split('.') {
        at = step(at, part).ok_or_else(|| format!("there is no {part:?} in {key:?}; there is {}", known(at)))?;
    }
    match at {
        Value::Number(number) => shown(number.as_f64().unwrap_or(f64::NAN), &number.to_string(), form),
        Value::String(text) if form.is_empty() => Ok(escape(text)),
        _ => Err(format!("{key:?} is not a number; there is {}", known(at))),
    }
}

fn is_form(form: &str) -> bool {
    matches!(form, "%" | "%0" | ",")
        || form
            .strip_prefix('.')
            .is_some_and(|digits| digits.parse::<usize>().is_ok())
}

fn step<'a>(at: &'a Value, part: &str) -> Option<&'a Value> {
    match at {
        Value::Object(map) => map.get(part),
        Value::Array(list) => {
            let is_named = |item: &&Value| ["id", "title", "name"].iter().any(|key| item[key] == part);
            let index: Option<usize> = part.parse().ok();
            index
                .and_then(|index| list.get(index))
                .or_else(|| list.iter().find(is_named))
        }
        _ => None,
    }
}

fn known(at: &Value) -> String {
    match at {
        Value::Object(map) => map.keys().cloned().collect::<Vec<_>>().join(", "),
        Value::Array(list) => format!("a list of {}", list.len()),
        other => other.to_string(),
    }
}

fn shown(value: f64, exact: &str, form: &str) -> Result<String, String> {
    let out = match form {
        "" => exact.to_owned(),
        "%" => format!("{:.1} %", 100.0 * value),
        "%0" => format!("{:.0} %", 100.0 * value),
        "," => thousands(value),
        form => {
            let decimals: usize = form[1..].parse().map_err(|_| format!("{form:?} is not a form"))?;
            format!("{value:.decimals$}")
        }
    };
    Ok(out)
}

/// `12 001 280`, with spaces that do not break.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && out != "-" {
            out.push('\u{a0}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(key: &str) -> Result<String, String> {
        let text = r#"{"a": {"b": 0.47411, "n": 12001280, "w": "x_y"}, "claims": [{"id": "G1", "measured": {"value": 34.6}}]}"#;
        look_up(&serde_json::from_str(text).expect("it is JSON"), key)
    }

    #[test]
    fn figures_take_the_asked_form() {
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(found("a.b"), ok("0.47411"));
        assert_eq!(found("a.b:.2"), ok("0.47"));
        assert_eq!(found("a.b:%"), ok("47.4 %"));
        assert_eq!(found("a.b:%0"), ok("47 %"));
        assert_eq!(found("a.n:,"), ok("12\u{a0}001\u{a0}280"));
        assert_eq!(found("a.w"), ok("x&#95;y"));
        assert_eq!(found("claims.G1.measured.value:.1"), ok("34.6"));
        assert_eq!(found("claims.0.measured.value"), ok("34.6"));
    }

    #[test]
    fn rows_cost_what_lesson_02_recorded() {
        let text = r#"{"steps": [{"values": {}}, {"values": {"rows": {"entries": [
            {"name": "bf16", "x": 1, "median": 0.5}, {"name": "f32", "x": 32, "median": 4.0},
            {"name": "f32", "x": 8, "median": 2.0}, {"name": "f32", "x": 1, "median": 2.0}]}}}]}"#;
        let costs = costs_of_rows(&serde_json::from_str(text).expect("it is JSON")).expect("a race");
        assert_eq!(costs, [(1.0, 1.0), (8.0, 1.0), (32.0, 2.0)]);
        assert_eq!(on_the_line(&costs, 20.0), Some(1.5));
        assert_eq!(on_the_line(&costs, 33.0), None);
    }

    #[test]
    fn a_wrong_key_says_what_there_is() {
        assert_eq!(
            found("a.c"),
            Err("there is no \"c\" in \"a.c\"; there is b, n, w".to_owned())
        );
        assert!(found("a").is_err() && found("claims.G2.measured").is_err() && found("a.w:.2").is_err());
    }
}
