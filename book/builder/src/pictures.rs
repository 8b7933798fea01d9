//! `{{#here}}`, `{{#drawing}}`, `{{#figure}}` and `{{#chart}}`.
//!
//! Drawings and charts are put into the page itself, because only there the theme's colours reach them. An SVG that stands
//! in Markdown has no line breaks, and ids that no other picture of the page has.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::html::escape;
use crate::workbook::Workbook;

/// The colours of recorded charts that follow the theme, and their variables in `book.css`. A colour that a chart has
/// besides these stays as it is.
const CHART_COLOURS: [(&str, &str); 16] = [
    ("#FAF8F4", "paper"),
    ("#D9D4C9", "frame"),
    ("#222428", "ink"),
    ("#5C5F66", "soft"),
    ("#8B8D92", "axis"),
    ("#E6E2D9", "grid"),
    ("#1B6CA8", "blue"),
    ("#5E96BF", "blue-pale"),
    ("#D95F1E", "orange"),
    ("#E38D5E", "orange-pale"),
    ("#1E8F62", "green"),
    ("#60AF8E", "green-pale"),
    ("#8D4BA0", "purple"),
    ("#AE7FB9", "purple-pale"),
    ("#C0920C", "ochre"),
    ("#9A9CA1", "grey"),
];

/// The way of a request. Stages of lesson `number` are marked; with no number none is.
pub fn here(book: &Workbook, number: Option<&str>) -> Result<String, String> {
    let lesson = number.map(|number| book.lesson(number)).transpose()?;
    let svg = read(book, "book/drawings/here.svg")?;
    let mut parts = svg.split("data-lessons=\"");
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut names = Vec::new();
    for part in parts {
        let (lessons, rest) = part
            .split_once('"')
            .ok_or("book/drawings/here.svg: data-lessons is not closed")?;
        let of_stage: Vec<&str> = lessons.split_whitespace().collect();
        let is_now = number.is_some_and(|number| of_stage.contains(&number));
        let is_built = of_stage
            .iter()
            .any(|number| book.lessons.contains_key(*number));
        let word = if is_now {
            "now"
        } else if is_built || of_stage.is_empty() {
            "built"
        } else {
            "later"
        };
        if is_now && let Some(name) = between(rest, "<text", "</text>") {
            names.push(
                name.rsplit('>')
                    .next()
                    .unwrap_or_default()
                    .trim()
                    .to_owned(),
            );
        }
        out += &format!("class=\"stage {word}\"{rest}");
    }
    let label = match lesson {
        None => "The way of a request, from text to text".to_owned(),
        Some(_) if names.is_empty() => {
            return Err(format!(
                "book/drawings/here.svg has no stage of lesson {}",
                number.unwrap_or_default()
            ));
        }
        Some(lesson) => format!(
            "The way of a request. You are here: {} (lesson {})",
            names.join(", "),
            lesson.number
        ),
    };
    let caption = lesson.map_or(String::new(), |lesson| {
        format!(
            "<figcaption>You are here: <strong>{}</strong>, lesson {}.</figcaption>",
            names.join(", "),
            lesson.number
        )
    });
    let svg = inline(&out, "here", &label, "book/drawings/here.svg")?;
    Ok(format!(
        "<figure class=\"drawing here\"><div>{svg}</div>{caption}</figure>\n"
    ))
}

/// A drawing made for the book.
pub fn drawing(book: &Workbook, name: &str, alt: &str) -> Result<String, String> {
    let shown = format!("book/drawings/{name}.svg");
    let svg = read(book, &shown)?;
    let width = drawing_rules(&svg).map_err(|said| format!("{shown}: {said}"))?;
    let narrow = if width <= 420.0 { " narrow" } else { "" };
    let svg = inline(&svg, name, alt, &shown)?;
    Ok(format!(
        "<figure class=\"drawing{narrow}\"><div>{svg}</div></figure>\n"
    ))
}

/// A recorded chart, in the colours of the theme when it has few colours, on its own paper when it is a picture.
pub fn chart(book: &Workbook, number: &str, name: &str, alt: &str) -> Result<String, String> {
    let lesson = book.lesson(number)?;
    let shown = format!("lessons/{}/results/{name}.svg", lesson.folder);
    let mut svg = read(book, &shown)?;
    if colours(&svg).len() <= 24 {
        for (colour, variable) in CHART_COLOURS {
            svg = svg.replace(
                &format!("\"{colour}\""),
                &format!("\"var(--c-{variable},{colour})\""),
            );
        }
    }
    let svg = inline(&svg, &format!("chart-{name}"), alt, &shown)?;
    Ok(format!(
        "<figure class=\"chart\"><div>{svg}</div><figcaption>Recorded: <code>{shown}</code></figcaption></figure>\n"
    ))
}

/// What every trace has; the rest is the figure's own.
#[derive(Deserialize)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    text: String,
}

/// Reads and checks `book/figures/NAME.json`.
pub fn trace(book: &Workbook, name: &str) -> Result<(Trace, String), String> {
    let shown = format!("book/figures/{name}.json");
    let text = read(book, &shown)?;
    let trace: Trace = serde_json::from_str(&text)
        .map_err(|error| format!("{shown}: {error}; book/README.md says what a trace has"))?;
    if trace.schema != 1 || trace.figure != name || trace.steps.is_empty() {
        return Err(format!(
            "{shown}: expected schema 1, figure {name:?} and at least one step"
        ));
    }
    if text.len() > 400_000 {
        return Err(format!(
            "{shown}: {} bytes; a page that loads should stay small: at most 400 000",
            text.len()
        ));
    }
    Ok((trace, text))
}

/// An interactive figure: the recorded steps as text, and the scripts that take its place.
pub fn figure(book: &Workbook, name: &str, title: &str, to_root: &str) -> Result<String, String> {
    let (trace, _) = trace(book, name)?;
    read(book, &format!("book/figures/{name}.js"))?;
    let steps: String = trace
        .steps
        .iter()
        .map(|step| format!("<li>{}</li>", escape(&step.text)))
        .collect();
    Ok(format!(
        "<figure class=\"interactive\" id=\"figure-{name}\" data-figure=\"{name}\" aria-label=\"Interactive figure: {title}\">\
         <figcaption>{title}</figcaption><div class=\"figure-recorded\"><p>The recorded steps (<code>{source}</code>):</p><ol>{steps}</ol></div></figure>\n\
         <script defer src=\"{to_root}figures/{name}.trace.js\"></script><script defer src=\"{to_root}figures/{name}.js\"></script>\n",
        title = escape(title),
        source = escape(&trace.source),
    ))
}

fn read(book: &Workbook, shown: &str) -> Result<String, String> {
    std::fs::read_to_string(book.root.join(shown)).map_err(|error| format!("{shown}: {error}"))
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let start = text.find(from)? + from.len();
    let end = text[start..].find(to)? + start;
    Some(&text[start..end])
}

/// One line, without prolog and comments, with its own ids and the given label.
fn inline(svg: &str, name: &str, label: &str, shown: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = svg;
    while let Some(at) = rest.find("<!--") {
        text += &rest[..at];
        rest = rest[at..].split_once("-->").map_or("", |(_, after)| after);
    }
    text += rest;
    let start = text
        .find("<svg")
        .ok_or_else(|| format!("{shown}: there is no <svg>"))?;
    let mut text = text[start..]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if !text.contains("viewBox=") || !text.contains("role=\"img\"") || !text.contains("<title>") {
        return Err(format!(
            "{shown}: it needs viewBox, role=\"img\" and <title>"
        ));
    }
    for id in ids(&text) {
        for (from, to) in [
            (format!(" id=\"{id}\""), format!(" id=\"{name}-{id}\"")),
            (format!("url(#{id})"), format!("url(#{name}-{id})")),
            (format!("href=\"#{id}\""), format!("href=\"#{name}-{id}\"")),
        ] {
            text = text.replace(&from, &to);
        }
    }
    let text = text.replace('$', "&#36;");
    Ok(text.replacen("<svg", &format!("<svg aria-label=\"{}\"", escape(label)), 1))
}

fn ids(svg: &str) -> BTreeSet<String> {
    let parts = svg.split(" id=\"").skip(1);
    parts
        .filter_map(|part| part.split_once('"'))
        .map(|(id, _)| id.to_owned())
        .collect()
}

fn colours(svg: &str) -> BTreeSet<&str> {
    let parts = svg.match_indices("\"#").map(|(at, _)| &svg[at + 1..]);
    parts.filter_map(|part| part.split('"').next()).collect()
}

/// What makes a drawing readable in both themes; gives the width of its viewBox.
fn drawing_rules(svg: &str) -> Result<f64, String> {
    let view = between(svg, "viewBox=\"", "\"").ok_or("it has no viewBox")?;
    let numbers: Vec<f64> = view
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [_, _, width, _] = numbers.as_slice() else {
        return Err(format!("viewBox {view:?} is not four numbers"));
    };
    for name in ["fill", "stroke", "color", "stop-color"] {
        for part in svg.split(&format!(" {name}=\"")).skip(1) {
            let value = part.split('"').next().unwrap_or_default();
            let is_free = matches!(value, "none" | "currentColor" | "inherit" | "transparent");
            if !is_free && !value.starts_with("var(--d-") && !value.starts_with("url(#") {
                return Err(format!(
                    "{name}=\"{value}\" does not follow the theme; use var(--d-…,#……)"
                ));
            }
        }
    }
    for part in svg.split("font-size=\"").skip(1) {
        let value = part.split('"').next().unwrap_or_default();
        let size: f64 = value
            .trim_end_matches("px")
            .parse()
            .map_err(|_| format!("font-size {value:?} is not a number"))?;
        if size * (700.0 / width).min(1.0) < 11.99 {
            return Err(format!(
                "font-size {value} is under 12 px when the drawing is 700 px wide"
            ));
        }
    }
    let opening = svg
        .split("<svg")
        .nth(1)
        .and_then(|part| part.split('>').next())
        .unwrap_or_default();
    if opening.contains(" width=") || opening.contains(" height=") {
        return Err(
            "the <svg> has a width or height; only viewBox, so that it fits the page".to_owned(),
        );
    }
    Ok(*width)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "<?xml version=\"1.0\"?>\n<!-- by hand -->\n<svg viewBox=\"0 0 700 90\" role=\"img\">\n<title>A</title>\n\n\
        <marker id=\"arrow\"/><path stroke=\"var(--d-ink,#1f2933)\" fill=\"none\" marker-end=\"url(#arrow)\"/>\n<text font-size=\"12\">x</text></svg>\n";

    #[test]
    fn an_inline_picture_is_one_line_with_ids_of_its_own() {
        let out = inline(GOOD, "a", "b \"c\"", "x.svg").expect("it is well formed");
        assert!(
            out.starts_with("<svg aria-label=\"b &quot;c&quot;\" viewBox"),
            "{out}"
        );
        assert!(
            !out.contains('\n') && out.contains(" id=\"a-arrow\"") && out.contains("url(#a-arrow)"),
            "{out}"
        );
    }

    #[track_caller]
    fn refused(from: &str, to: &str, word: &str) {
        let said = drawing_rules(&GOOD.replacen(from, to, 1)).expect_err(to);
        assert!(said.contains(word), "{said}");
    }

    #[test]
    fn drawings_follow_the_theme_and_can_be_read() {
        assert_eq!(drawing_rules(GOOD), Ok(700.0));
        refused(
            "fill=\"none\"",
            "fill=\"#fff\"",
            "does not follow the theme",
        );
        refused(
            "stroke=\"var(--d-ink,#1f2933)\"",
            "stroke=\"black\"",
            "does not follow the theme",
        );
        refused("0 0 700 90", "0 0 800 90", "under 12 px");
        refused("font-size=\"12\"", "font-size=\"11\"", "under 12 px");
        refused(
            "role=\"img\"",
            "role=\"img\" width=\"700\"",
            "width or height",
        );
    }
}
