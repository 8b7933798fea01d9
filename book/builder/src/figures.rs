//! `{{#figure}}`: an interactive figure is its recorded steps as text, and two scripts that take the text's place.

use serde::Deserialize;

use crate::html::escape;
use crate::workbook::Workbook;

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
    let text = book.text(&shown)?;
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
    book.text(&format!("book/figures/{name}.js"))?;
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
