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

/// Escaped text in which `` `code` `` becomes an element: for sentences that come from TOML and JSON.
pub fn sentence(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        let part = escape(part);
        if i % 2 == 1 {
            out += &format!("<code>{part}</code>");
        } else {
            out += &part;
        }
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
