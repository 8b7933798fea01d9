//! `{{#figure}}`: an interactive figure is a recorded trace and two scripts that draw it. The page itself holds the
//! recorded sentences, if the trace has some, or a line that names the trace; the scripts take its place.

use serde::Deserialize;

use crate::html::escape;
use crate::workbook::Workbook;

/// The part that every trace has. All other fields belong to the figure.
#[derive(Deserialize)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// Recorded sentences; a trace whose script makes the sentences has none.
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    /// The sentence of the step, in traces that hold sentences. Other figures make theirs in the script.
    text: Option<String>,
}

/// Reads and checks `book/figures/NAME.json`.
pub fn trace(book: &Workbook, name: &str) -> Result<(Trace, String), String> {
    let shown = format!("book/figures/{name}.json");
    let text = book.text(&shown)?;
    let trace: Trace = serde_json::from_str(&text)
        .map_err(|error| format!("{shown}: {error}; book/README.md says what a trace has"))?;
    if trace.schema != 1 || trace.figure != name {
        let expected = format!("expected schema 1 and figure {name:?}");
        return Err(format!("{shown}: {expected}"));
    }
    if text.len() > 400_000 {
        let size = text.len();
        return Err(format!(
            "{shown}: {size} bytes; a page that loads should stay small: at most 400 000"
        ));
    }
    Ok((trace, text))
}

/// An interactive figure: the recorded steps as text, and the scripts that take its place.
pub fn figure(book: &Workbook, name: &str, title: &str, to_root: &str) -> Result<String, String> {
    let (trace, _) = trace(book, name)?;
    book.text(&format!("book/figures/{name}.js"))?;
    let texts = trace.steps.iter().filter_map(|step| step.text.as_deref());
    let sentences: String = texts.map(|text| format!("<li>{}</li>", escape(text))).collect();
    let source = escape(&trace.source);
    let recorded = match sentences.is_empty() {
        true => format!("<p>This figure needs scripts. It plays a recorded trace (<code>{source}</code>).</p>"),
        false => format!("<p>The recorded steps (<code>{source}</code>):</p><ol>{sentences}</ol>"),
    };
    Ok(format!(
        "<figure class=\"interactive\" id=\"figure-{name}\" data-figure=\"{name}\" aria-label=\"Interactive figure: {title}\">\
         <figcaption>{title}</figcaption><div class=\"figure-recorded\">{recorded}</div></figure>\n\
         <script defer src=\"{to_root}figures/{name}.trace.js\"></script><script defer src=\"{to_root}figures/{name}.js\"></script>\n",
        title = escape(title),
    ))
}
