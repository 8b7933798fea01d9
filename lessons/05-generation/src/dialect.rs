//! Jinja as chat templates write it: the environment that `transformers` gives them.
//!
//! `minijinja` runs the templates. It differs from Python's Jinja in what is below, and templates of real models use
//! all of it.
//!
//! | template | what `minijinja` alone does | here |
//! |---|---|---|
//! | `tools is none` | false: the name is undefined | `tools` and `documents` are none, as in `transformers` |
//! | `x \| tojson` | escapes `<>&'`, sorts nothing | as Python's `json.dumps` ([`tojson`]) |
//! | `{% generation %}` | unknown tag | a block that changes nothing |
//! | `"%s" % x`, `-7 % 3` | an error; 2 | formats; 2, and -1 for `7 % -2 - 2` as in Python |
//! | `strftime_now(…)`, `raise_exception(…)` | unknown | the date; an error in the template's own words |
//!
//! Two of these are syntax. [`translated`] rewrites them in the source before it is parsed: `generation` becomes
//! `with`, and `a % b` becomes `(a)|python_mod(b)`.

use jiff::civil::DateTime;
use minijinja::machinery::{Token, WhitespaceConfig, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// Instructions that a template may run: some seconds. An endless template is an error.
const MOST_INSTRUCTIONS: u64 = 20_000_000;

/// The environment of chat templates. `now` is the local time that `strftime_now` writes.
pub(crate) fn environment<'a>(now: DateTime) -> Environment<'a> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_fuel(Some(MOST_INSTRUCTIONS));
    environment.set_unknown_method_callback(method);
    environment.add_filter("tojson", tojson);
    environment.add_filter("python_mod", python_mod);
    environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment.add_function("strftime_now", move |format: String| {
        let written = jiff::fmt::strtime::format(&format, now);
        written.map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
    });
    environment
}

/// Python's methods of strings, lists and maps.
fn method(state: &State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let text = value.as_str().zip(args.first().and_then(Value::as_str));
    match (name, text) {
        ("removeprefix", Some((text, prefix))) => Ok(text.strip_prefix(prefix).unwrap_or(text).into()),
        ("removesuffix", Some((text, suffix))) => Ok(text.strip_suffix(suffix).unwrap_or(text).into()),
        _ => minijinja_contrib::pycompat::unknown_method_callback(state, value, name, args),
    }
}

/// Python's `left % right`: formats a string, or gives a remainder with the sign of `right`.
fn python_mod(state: &State, left: Value, right: Value) -> Result<Value, Error> {
    let bad = |what: &str| Error::new(ErrorKind::InvalidOperation, what.to_owned());
    if left.as_str().is_some() {
        let mut args = vec![left];
        match right.kind() {
            // A tuple holds one value for each mark.
            ValueKind::Seq => args.extend(right.try_iter()?),
            _ => args.push(right),
        }
        return state.apply_filter("format", &args);
    }
    if let (Some(a), Some(b)) = (left.as_i64(), right.as_i64()) {
        let rest = a.checked_rem(b).ok_or_else(|| bad("integer modulo by zero"))?;
        let turns = rest != 0 && (rest < 0) != (b < 0);
        return Ok((if turns { rest + b } else { rest }).into());
    }
    match (f64::try_from(left), f64::try_from(right)) {
        (Ok(_), Ok(0.0)) => Err(bad("float modulo by zero")),
        (Ok(a), Ok(b)) => Ok((a - b * (a / b).floor()).into()),
        _ => Err(bad("% needs two numbers, or a string on its left")),
    }
}

/// Python's `json.dumps(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
fn tojson(value: &Value, options: Kwargs) -> Result<String, Error> {
    let bad = |error: &dyn std::fmt::Display| {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("cannot serialize to JSON: {error}"),
        )
    };
    if value.is_undefined() {
        return Err(bad(&"the value is undefined"));
    }
    let indent = match options.get::<Option<Value>>("indent")? {
        None => None,
        Some(indent) if indent.is_none() => None,
        Some(indent) => Some(match indent.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(indent.as_usize().ok_or_else(|| bad(&"indent is no number"))?.min(64)),
        }),
    };
    let between = if indent.is_some() { "," } else { ", " };
    let (between, after_key) = match options.get::<Option<Value>>("separators")? {
        Some(pair) if !pair.is_none() => {
            let part = |at: usize| pair.get_item_by_index(at).map(|text| text.to_string());
            (part(0)?, part(1)?)
        }
        _ => (between.to_owned(), ": ".to_owned()),
    };
    let ensure_ascii: Option<bool> = options.get("ensure_ascii")?;
    let sort_keys: Option<bool> = options.get("sort_keys")?;
    options.assert_all_used()?;

    let mut out = Vec::new();
    let style = PythonStyle {
        indent,
        between,
        after_key,
        depth: 0,
        has_value: false,
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, style);
    let written = match sort_keys {
        // A map of `serde_json` is sorted.
        Some(true) => serde_json::to_value(value).and_then(|sorted| sorted.serialize(&mut serializer)),
        _ => value.serialize(&mut serializer),
    };
    written.map_err(|error| bad(&error))?;
    let text = String::from_utf8(out).map_err(|error| bad(&error))?;
    Ok(match ensure_ascii {
        Some(true) => ascii(&text),
        _ => text,
    })
}

/// JSON in which characters beyond ASCII are escaped. They stand in strings only.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            ' '..='~' | '\n' | '\t' => out.push(c),
            c => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out += &format!("\\u{unit:04x}")),
        }
    }
    out
}

/// The layout of Python's `json.dumps`.
struct PythonStyle {
    /// Blanks of one level; `None` writes one line.
    indent: Option<String>,
    between: String,
    after_key: String,
    depth: usize,
    /// Whether the open list or map has an entry. An empty one has no line of its own.
    has_value: bool,
}

impl PythonStyle {
    fn line<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        match &self.indent {
            Some(indent) => write!(out, "\n{}", indent.repeat(self.depth)),
            None => Ok(()),
        }
    }

    fn open<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &str) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        out.write_all(bracket.as_bytes())
    }

    fn entry<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        if !is_first {
            out.write_all(self.between.as_bytes())?;
        }
        self.line(out)
    }

    fn close<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &str) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.line(out)?;
        }
        self.has_value = true;
        out.write_all(bracket.as_bytes())
    }
}

impl Formatter for PythonStyle {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, "[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, "]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.entry(out, is_first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, "{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, "}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.entry(out, is_first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(self.after_key.as_bytes())
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

/// Rewrites the syntax that `minijinja` does not have; see the module. Texts, comments and raw blocks stay.
///
/// # Errors
/// The source can not be cut into tokens.
pub(crate) fn translated(source: &str) -> Result<String, Error> {
    let tokens = tokenize(source, false, SyntaxConfig, WhitespaceConfig::default());
    let tokens = tokens.collect::<Result<Vec<_>, Error>>()?;
    let kinds: Vec<&Token<'_>> = tokens.iter().map(|(token, _)| token).collect();
    // What replaces the bytes from `begin` to `end`, in the order in which it is found.
    let mut edits: Vec<(usize, usize, &str)> = Vec::new();
    for (at, (token, span)) in tokens.iter().enumerate() {
        let (begin, end) = (span.start_offset as usize, span.end_offset as usize);
        let is_tag = at > 0 && matches!(kinds[at - 1], Token::BlockStart);
        match token {
            Token::Ident("generation") if is_tag => edits.push((begin, end, "with")),
            Token::Ident("endgeneration") if is_tag => edits.push((begin, end, "endwith")),
            Token::Mod => {
                let (left, right) = (left_of(&kinds, at), right_of(&kinds, at));
                let (left, right) = (
                    tokens[left].1.start_offset as usize,
                    tokens[right].1.end_offset as usize,
                );
                edits.push((left, left, "("));
                edits.push((begin, end, ")|python_mod("));
                edits.push((right, right, ")"));
            }
            _ => {}
        }
    }
    // Stable: what is found first stands first, so `a % b % c` becomes `((a)|…(b))|…(c)`.
    edits.sort_by_key(|(begin, ..)| *begin);
    let (mut out, mut copied) = (String::with_capacity(source.len()), 0);
    for (begin, end, text) in edits {
        out += &source[copied..begin];
        out += text;
        copied = end;
    }
    Ok(out + &source[copied..])
}

/// Index of the first token of the left operand of the `%` at index `at`: `%` binds as `*` and `/` do, from the left.
fn left_of(tokens: &[&Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens[..at].iter().enumerate().rev() {
        let ends = match token {
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                depth += 1;
                false
            }
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => {
                let is_outside = depth == 0;
                depth = depth.saturating_sub(1);
                is_outside
            }
            // A minus behind an operand subtracts; elsewhere it is a sign and belongs to the operand.
            Token::Minus => depth == 0 && index > 0 && is_operand_end(tokens[index - 1]),
            Token::Plus | Token::Tilde | Token::Comma | Token::Colon | Token::Assign => depth == 0,
            Token::Eq | Token::Ne | Token::Lt | Token::Lte | Token::Gt | Token::Gte => depth == 0,
            Token::VariableStart | Token::BlockStart => true,
            Token::Ident(word) => depth == 0 && is_keyword(word),
            _ => false,
        };
        if ends {
            return index + 1;
        }
    }
    0
}

/// Index of the last token of the right operand of the `%` at index `at`: one operand with its signs, attributes, items,
/// calls, filters and powers.
fn right_of(tokens: &[&Token<'_>], at: usize) -> usize {
    let kind = |index: usize| tokens.get(index).copied();
    let mut index = at + 1;
    loop {
        while matches!(kind(index), Some(Token::Minus | Token::Plus)) {
            index += 1;
        }
        index = closing(tokens, index);
        loop {
            match (kind(index + 1), kind(index + 2)) {
                (Some(Token::Dot | Token::Pipe), Some(Token::Ident(_))) => index += 2,
                (Some(Token::ParenOpen | Token::BracketOpen), _) => index = closing(tokens, index + 1),
                (Some(Token::Str(_) | Token::String(_)), _) => index += 1,
                _ => break,
            }
        }
        match kind(index + 1) {
            Some(Token::Pow) => index += 2,
            _ => return index.min(tokens.len() - 1),
        }
    }
}

/// Index of the bracket that closes the one at `index`; `index` itself where no bracket opens.
fn closing(tokens: &[&Token<'_>], index: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(index) {
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth += 1,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

fn is_operand_end(token: &Token<'_>) -> bool {
    match token {
        Token::Ident(word) => !is_keyword(word),
        Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) => true,
        Token::ParenClose | Token::BracketClose | Token::BraceClose => true,
        _ => false,
    }
}

/// Words that can not be part of an operand.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "and" | "or" | "not" | "in" | "is" | "if" | "else" | "elif" | "set" | "for" | "with" | "do" | "call" | "filter"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(source: &str, expected: &str) {
        assert_eq!(translated(source).unwrap(), expected);
    }

    #[test]
    fn a_remainder_binds_as_in_jinja() {
        becomes("{{ 1 + a % b }}", "{{ 1 + (a )|python_mod( b) }}");
        becomes(
            "{{ 2 * a.b[0] % -c.d(1) ~ e }}",
            "{{ (2 * a.b[0] )|python_mod( -c.d(1)) ~ e }}",
        );
        becomes("{{ a % b % c }}", "{{ ((a )|python_mod( b) )|python_mod( c) }}");
        becomes(
            "{% if x and (a | f % 2) == -y % 3 %}",
            "{% if x and ((a | f )|python_mod( 2)) == (-y )|python_mod( 3) %}",
        );
        becomes("{{ a - b % c ** 2 }}", "{{ a - (b )|python_mod( c ** 2) }}");
        becomes("{{ f(a, b % [1, 2][0]) }}", "{{ f(a, (b )|python_mod( [1, 2][0])) }}");
    }

    #[test]
    fn texts_comments_and_raw_blocks_stay() {
        for source in [
            "100 % {# a % b #} {{ 'a % b' }}",
            "{% raw %}{{ a % b }}{% generation %}{% endraw %}",
        ] {
            becomes(source, source);
        }
        becomes(
            "{%- generation -%}{{ generation }}{%+ endgeneration %}",
            "{%- with -%}{{ generation }}{%+ endwith %}",
        );
    }

    /// Broken sources are refused by the parser, not here by an index.
    #[test]
    fn any_source_is_translated_or_refused() {
        for source in [
            "{{ % }}",
            "{{ a % }}",
            "{{ a %",
            "{{ % b",
            "{% % %}",
            "{{ ( % ) }}",
            "{{ a % (b }}",
            "{%",
            "{{ 'a",
        ] {
            drop(translated(source));
        }
    }
}
