//! Formulas: `$…$` and `$$…$$` become MathML, which browsers draw by themselves. No script, no font, no network.
//!
//! The formulas are found by the same Markdown parser that mdBook uses, so a dollar sign in code is never one. What
//! stands between the tags is written with entities wherever Markdown would see a mark.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use pulldown_latex::config::DisplayMode;
use pulldown_latex::{Parser as LatexParser, RenderConfig, Storage, push_mathml};

use crate::problems::Problems;

/// The text with its formulas rendered.
pub fn render(text: &str, page: &str, problems: &Problems) -> String {
    if !text.contains('$') {
        return text.to_owned();
    }
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    let mut in_code = false;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        let (formula, mode) = match event {
            Event::InlineMath(formula) => (formula, DisplayMode::Inline),
            Event::DisplayMath(formula) => (formula, DisplayMode::Block),
            Event::Html(html) | Event::InlineHtml(html) if html.matches('$').count() > 1 => {
                let html = html.trim();
                problems.add(format!("{page}: a formula inside HTML is not rendered: {html}"));
                continue;
            }
            Event::Start(Tag::CodeBlock(_)) | Event::End(TagEnd::CodeBlock) => {
                in_code = !in_code;
                continue;
            }
            Event::Text(words) if !in_code && words.contains('$') && !text[..range.start].ends_with('\\') => {
                problems.add(format!(
                    "{page}: a dollar sign that is no formula: {:?}; write \\$",
                    &*words
                ));
                continue;
            }
            _ => continue,
        };
        match mathml(&formula, mode) {
            Ok(html) => found.push((range, html)),
            Err(said) => problems.add(format!("{page}: the formula {:?}: {said}", &*formula)),
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, html) in found {
        out += &text[at..range.start];
        out += &html;
        at = range.end;
    }
    out + &text[at..]
}

/// mdBook's options, and formulas.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH
}

fn mathml(formula: &str, display_mode: DisplayMode) -> Result<String, String> {
    let storage = Storage::new();
    let events: Result<Vec<_>, _> = LatexParser::new(formula, &storage).collect();
    let events = events.map_err(|error| error.to_string().replace('\n', " "))?;
    let config = RenderConfig {
        display_mode,
        ..RenderConfig::default()
    };
    let mut html = String::new();
    let sure = events.into_iter().map(Ok::<_, std::convert::Infallible>);
    push_mathml(&mut html, sure, config).map_err(|error| error.to_string())?;
    Ok(protect(&html))
}

/// Entities for whatever Markdown could read as a mark; tags and entities that are there already stay.
fn protect(html: &str) -> String {
    let mut out = String::with_capacity(html.len() * 2);
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '<' => rest.find('>').map(|i| i + 1),
            '&' => rest.find(';').map(|i| i + 1),
            _ => None,
        };
        if let Some(end) = end {
            out += &rest[..end];
            rest = &rest[end..];
            continue;
        }
        match c {
            '\n' => out.push(' '),
            c if c.is_ascii_punctuation() => out += &format!("&#{};", c as u32),
            c => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str) -> String {
        let problems = Problems::default();
        let out = render(text, "x.md", &problems);
        assert!(problems.is_empty(), "{:?}", problems.list());
        out
    }

    #[test]
    fn code_keeps_its_dollars() {
        for text in [
            "`$HOME` and `$x$`\n",
            "```sh\necho $A $B\n```\n",
            "costs \\$5 and \\$6\n",
        ] {
            assert_eq!(rendered(text), text);
        }
    }

    #[test]
    fn formulas_are_markup_that_markdown_leaves_alone() {
        let out = rendered("a $x_i * y_{i+1}$ b\n");
        assert!(out.starts_with("a <math") && out.ends_with("</math> b\n"), "{out}");
        let text: String = out
            .split('<')
            .filter_map(|part| part.split_once('>'))
            .map(|(_, text)| text)
            .collect();
        assert!(
            !text.contains(['*', '_', '\n'].as_slice()) || text.ends_with(" b\n"),
            "{text}"
        );
        assert!(!text.trim_end().contains('*'), "{text}");
    }

    #[test]
    fn a_display_formula_is_a_block() {
        assert!(rendered("$$\n\\sum_{k=1}^{n} k\n$$\n").contains("display=\"block\""));
    }

    #[test]
    fn a_wrong_formula_is_a_problem() {
        let problems = Problems::default();
        render("$\\frac{1}{$\n", "x.md", &problems);
        assert!(problems.list()[0].contains("is no formula"), "{:?}", problems.list());
        render("$\\nosuchcommand$\n", "x.md", &problems);
        assert_eq!(problems.list().len(), 2, "{:?}", problems.list());
    }

    #[test]
    fn a_formula_inside_html_is_a_problem() {
        let problems = Problems::default();
        render(
            "<details><summary>$x$?</summary>\n\n$x$\n\n</details>\n",
            "x.md",
            &problems,
        );
        assert!(problems.list()[0].contains("inside HTML"), "{:?}", problems.list());
    }
}
