//! `{{#here}}`, `{{#drawing}}` and `{{#chart}}`.
//!
//! Drawings and charts are put into the page itself, because only there the theme's colours reach them.

use crate::svg::{between, colours, drawing_rules, inline};
use crate::workbook::{Lesson, Workbook};

/// The colours of recorded charts that follow the theme, and their variables in `book.css`. A colour that a chart has
/// besides these stays as it is.
const CHART_COLOURS: [(&str, &str); 23] = [
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
    ("#FFFFFF", "label"),
    // The thin lines from the end of a line to its name.
    ("#8BB2CE", "blue-pale"),
    ("#EAAC89", "orange-pale"),
    ("#8CC4AB", "green-pale"),
    ("#C4A2CA", "purple-pale"),
    ("#DDC580", "ochre"),
    ("#ABACAD", "grey"),
];

/// The way of a request. With a number it is folded under one line that names the stages of that lesson.
pub fn here(book: &Workbook, number: Option<&str>) -> Result<String, String> {
    let lesson = number.map(|number| book.lesson(number)).transpose()?;
    let svg = book.text("book/drawings/here.svg")?;
    let mut parts = svg.split("data-lessons=\"");
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut names = Vec::new();
    for part in parts {
        let (lessons, rest) = part
            .split_once('"')
            .ok_or("book/drawings/here.svg: data-lessons is not closed")?;
        let of_stage: Vec<&str> = lessons.split_whitespace().collect();
        let is_now = number.is_some_and(|number| of_stage.contains(&number));
        let is_built = of_stage.is_empty() || of_stage.iter().any(|number| book.lessons.contains_key(*number));
        let word = match (is_now, is_built) {
            (true, _) => "now",
            (false, true) => "built",
            (false, false) => "later",
        };
        if is_now && let Some(name) = between(rest, "<text", "</text>") {
            names.push(name.rsplit('>').next().unwrap_or_default().trim().to_owned());
        }
        out += &format!("class=\"stage {word}\"{rest}");
    }
    let names = names.join(", ");
    let shown = "book/drawings/here.svg";
    let Some(Lesson { number, .. }) = lesson else {
        let svg = inline(&out, "here", "The way of a request, from text to text", shown)?;
        return Ok(format!("<figure class=\"drawing here\"><div>{svg}</div></figure>\n"));
    };
    if names.is_empty() {
        return Err(format!("{shown} has no stage of lesson {number}"));
    }
    let label = format!("The way of a request. You are here: {names} (lesson {number})");
    let svg = inline(&out, "here", &label, shown)?;
    Ok(format!(
        "<details class=\"breadcrumb\"><summary>You are here: <strong>{names}</strong> · the whole way</summary>\
         <figure class=\"drawing here\"><div>{svg}</div></figure></details>\n"
    ))
}

/// A drawing made for the book.
pub fn drawing(book: &Workbook, name: &str, alt: &str) -> Result<String, String> {
    let shown = format!("book/drawings/{name}.svg");
    let svg = book.text(&shown)?;
    let width = drawing_rules(&svg).map_err(|said| format!("{shown}: {said}"))?;
    let narrow = if width <= 420.0 { " narrow" } else { "" };
    let svg = inline(&svg, name, alt, &shown)?;
    Ok(format!("<figure class=\"drawing{narrow}\"><div>{svg}</div></figure>\n"))
}

/// Most colours besides [`CHART_COLOURS`] of a chart that follows the theme. A field of shades has more: with the
/// theme's light ink its line could not be seen on pale shades.
const MOST_OWN_COLOURS: usize = 4;

/// A recorded chart, in the colours of the theme when it has few of its own, on its own paper when it is a picture.
pub fn chart(book: &Workbook, number: &str, name: &str, alt: &str) -> Result<String, String> {
    let lesson = book.lesson(number)?;
    let shown = format!("lessons/{}/results/{name}.svg", lesson.folder);
    let mut svg = book.text(&shown)?;
    let is_known = |colour: &str| CHART_COLOURS.iter().any(|(known, _)| *known == colour);
    let num_own = colours(&svg).iter().filter(|colour| !is_known(colour)).count();
    if num_own <= MOST_OWN_COLOURS {
        for (colour, variable) in CHART_COLOURS {
            svg = svg.replace(&format!("\"{colour}\""), &format!("\"var(--c-{variable},{colour})\""));
        }
    }
    let svg = inline(&svg, &format!("chart-{name}"), alt, &shown)?;
    Ok(format!(
        "<figure class=\"chart\"><div>{svg}</div><figcaption>Recorded: <code>{shown}</code></figcaption></figure>\n"
    ))
}
