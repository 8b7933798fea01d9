//! SVG that stands in Markdown: it has no line breaks, and ids that no other picture of the page has.

use std::collections::BTreeSet;

use crate::html::escape;

/// What stands between two texts.
pub fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let start = text.find(from)? + from.len();
    let end = text[start..].find(to)? + start;
    Some(&text[start..end])
}

/// One line, without prolog and comments, with its own ids and the given label.
pub fn inline(svg: &str, name: &str, label: &str, shown: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = svg;
    while let Some(at) = rest.find("<!--") {
        text += &rest[..at];
        rest = rest[at..].split_once("-->").map_or("", |(_, after)| after);
    }
    text += rest;
    let start = text.find("<svg").ok_or_else(|| format!("{shown}: there is no <svg>"))?;
    let mut text = text[start..].split_whitespace().collect::<Vec<_>>().join(" ");
    if !text.contains("viewBox=") || !text.contains("role=\"img\"") || !text.contains("<title>") {
        return Err(format!("{shown}: it needs viewBox, role=\"img\" and <title>"));
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

/// The colours that are named by their digits.
pub fn colours(svg: &str) -> BTreeSet<&str> {
    let parts = svg.match_indices("\"#").map(|(at, _)| &svg[at + 1..]);
    parts.filter_map(|part| part.split('"').next()).collect()
}

/// What makes a drawing readable in both themes; gives the width of its viewBox.
pub fn drawing_rules(svg: &str) -> Result<f64, String> {
    let view = between(svg, "viewBox=\"", "\"").ok_or("it has no viewBox")?;
    let numbers: Vec<f64> = view.split_whitespace().filter_map(|word| word.parse().ok()).collect();
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
        return Err("the <svg> has a width or height; only viewBox, so that it fits the page".to_owned());
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
        assert!(out.starts_with("<svg aria-label=\"b &quot;c&quot;\" viewBox"), "{out}");
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
        refused("fill=\"none\"", "fill=\"#fff\"", "does not follow the theme");
        refused(
            "stroke=\"var(--d-ink,#1f2933)\"",
            "stroke=\"black\"",
            "does not follow the theme",
        );
        refused("0 0 700 90", "0 0 800 90", "under 12 px");
        refused("font-size=\"12\"", "font-size=\"11\"", "under 12 px");
        refused("role=\"img\"", "role=\"img\" width=\"700\"", "width or height");
    }
}
