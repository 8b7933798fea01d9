//! Small helpers for HTML that stands inside Markdown.

/// Text for an element or a quoted attribute. What Markdown or the formula pass would read as a mark is written as an
/// entity too, so that the same text is safe inside a paragraph and inside a table.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '*' | '_' | '`' | '|' | '~' | '[' | ']' | '\\' | '$' | '\'' | '{' | '}' => {
                out.push_str(&format!("&#{};", c as u32));
            }
            '\n' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

/// Text as code.
pub fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// The beginning of a table, up to its first row. It scrolls in its own frame on a narrow screen.
pub fn table_head(class: &str, names: &[&str]) -> String {
    let names: String = names.iter().map(|name| format!("<th>{name}</th>")).collect();
    format!("<div class=\"table-wrapper\"><table class=\"{class}\"><thead><tr>{names}</tr></thead><tbody>")
}

/// A row of a table, from the HTML of its cells.
pub fn row(cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{cells}</tr>")
}

/// The end of a table.
pub const TABLE_END: &str = "</tbody></table></div>\n";

/// Escaped text in which `` `code` `` becomes an element: for sentences that come from TOML and JSON.
pub fn sentence(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        out += &if i % 2 == 1 { code(part) } else { escape(part) };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_markdown_do_not_survive() {
        assert_eq!(escape("a_b|c & <d>"), "a&#95;b&#124;c &amp; &lt;d&gt;");
        assert_eq!(sentence("use `x_y` now"), "use <code>x&#95;y</code> now");
    }
}
