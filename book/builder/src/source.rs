//! Lines of source files, picked by anchors: `// ANCHOR: name` to `// ANCHOR_END: name`.
//!
//! mdBook's own include prints a message for a missing file, shows nothing for a missing anchor and knows no exercises.
//! Here each of these is an error, and a region that touches the body of an exercise is one too: the book may not give
//! away what it asks for, except in a folded key.

use std::ops::Range;
use std::path::Path;

/// The lines of an anchor, without marks and without their common indentation.
pub fn region(path: &Path, shown: &str, anchor: &str) -> Result<String, String> {
    let text = read(path, shown)?;
    let lines: Vec<&str> = text.lines().collect();
    let range = find(&lines, anchor).map_err(|problem| format!("{shown}: {problem}"))?;
    let bodies = exercise_bodies(&lines);
    if let Some((name, _)) = bodies.iter().find(|(_, body)| overlap(body, &range)) {
        return Err(format!(
            "{shown}: the anchor {anchor:?} shows the body of an exercise ({name}); end it before, or use {{{{#key …}}}}"
        ));
    }
    clean(&lines[range]).ok_or_else(|| format!("{shown}: the anchor {anchor:?} is empty"))
}

/// A whole file. It may not hold exercises.
pub fn whole(path: &Path, shown: &str) -> Result<String, String> {
    let text = read(path, shown)?;
    let lines: Vec<&str> = text.lines().collect();
    if let Some((name, _)) = exercise_bodies(&lines).first() {
        return Err(format!(
            "{shown}: it holds the body of an exercise ({name}); include an anchor"
        ));
    }
    clean(&lines).ok_or_else(|| format!("{shown}: it is empty"))
}

/// The body of an exercise, for a key: right lines only, never the faulty ones of a *mend*.
pub fn body(path: &Path, shown: &str, anchor: &str) -> Result<String, String> {
    let text = read(path, shown)?;
    let lines: Vec<&str> = text.lines().collect();
    let range = find(&lines, anchor).map_err(|problem| format!("{shown}: {problem}"))?;
    clean(&lines[range]).ok_or_else(|| format!("{shown}: the anchor {anchor:?} is empty"))
}

/// The body of a *mend* as a difference: what ships (`-`) and what is right (`+`). `None` when nothing in it is faulty.
pub fn mended(path: &Path, shown: &str, anchor: &str) -> Result<Option<String>, String> {
    let text = read(path, shown)?;
    let lines: Vec<&str> = text.lines().collect();
    let range = find(&lines, anchor).map_err(|problem| format!("{shown}: {problem}"))?;
    let (mut signs, mut kept, mut in_fault) = (Vec::new(), Vec::new(), false);
    for line in &lines[range] {
        let mark = line.trim_start();
        let indent = &line[..line.len() - mark.len()];
        if mark.starts_with("//~ fault") {
            in_fault = true;
        } else if mark.starts_with("//~ end") {
            in_fault = false;
        } else if let Some(faulty) = mark.strip_prefix("//~ |") {
            signs.push('-');
            kept.push(format!("{indent}{}", faulty.strip_prefix(' ').unwrap_or(faulty)));
        } else if begin_mark(line).is_none() && end_mark(line).is_none() {
            signs.push(if in_fault { '+' } else { ' ' });
            kept.push((*line).to_owned());
        }
    }
    if !signs.contains(&'-') && !signs.contains(&'+') {
        return Ok(None);
    }
    let indent = indent_of(kept.iter().map(String::as_str));
    let rows = signs.iter().zip(&kept).map(|(sign, line)| {
        let row = format!("{sign} {}", line.get(indent..).unwrap_or(""));
        row.trim_end().to_owned()
    });
    Ok(Some(rows.collect::<Vec<_>>().join("\n")))
}

/// The indentation that all lines share which are not blank.
fn indent_of<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let texts = lines.filter(|line| !line.trim().is_empty());
    texts
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0)
}

fn read(path: &Path, shown: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))
}

/// The lines between the marks of one anchor. Exactly one pair is right.
fn find(lines: &[&str], anchor: &str) -> Result<Range<usize>, String> {
    let at = |mark: fn(&str) -> Option<&str>| -> Vec<usize> {
        let found = lines.iter().enumerate().filter(|(_, line)| mark(line) == Some(anchor));
        found.map(|(i, _)| i).collect()
    };
    match (at(begin_mark).as_slice(), at(end_mark).as_slice()) {
        ([], _) => Err(format!("there is no anchor {anchor:?}")),
        ([begin], [end]) if begin < end => Ok(begin + 1..*end),
        ([_], []) => Err(format!("the anchor {anchor:?} has no end")),
        _ => Err(format!(
            "the anchor {anchor:?} needs exactly one begin and one end after it"
        )),
    }
}

fn exercise_bodies(lines: &[&str]) -> Vec<(String, Range<usize>)> {
    let begins = lines.iter().filter_map(|line| begin_mark(line));
    let names = begins.filter(|name| name.starts_with("ex_"));
    names
        .filter_map(|name| Some((name.to_owned(), find(lines, name).ok()?)))
        .collect()
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn begin_mark(line: &str) -> Option<&str> {
    mark(line, "ANCHOR:")
}

fn end_mark(line: &str) -> Option<&str> {
    mark(line, "ANCHOR_END:")
}

/// The name after `ANCHOR:` in a line that is nothing but a comment.
fn mark<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let (before, name) = line.split_once(word)?;
    let is_comment = before.trim().chars().all(|c| !c.is_alphanumeric());
    is_comment.then(|| name.split_whitespace().next().unwrap_or_default())
}

/// Drops marks and blank borders, and the indentation that all lines share.
fn clean(lines: &[&str]) -> Option<String> {
    let is_mark = |line: &str| begin_mark(line).or(end_mark(line)).is_some() || line.trim_start().starts_with("//~");
    let kept: Vec<&str> = lines.iter().copied().filter(|line| !is_mark(line)).collect();
    let first = kept.iter().position(|line| !line.trim().is_empty())?;
    let last = kept.iter().rposition(|line| !line.trim().is_empty())?;
    let kept = &kept[first..=last];
    let indent = indent_of(kept.iter().copied());
    let cut = kept.iter().map(|line| line.get(indent..).unwrap_or("").trim_end());
    Some(cut.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
// ANCHOR: outer
fn given() {
    // ANCHOR: inner
    one();

    two();
    // ANCHOR_END: inner
}
// ANCHOR_END: outer
fn asked() {
    // ANCHOR: ex_05_1
    //~ fault 05.1
    //~ | wrong();
    right();
    //~ end
    // ANCHOR: part
    more();
    // ANCHOR_END: part
    // ANCHOR_END: ex_05_1
}
// ANCHOR: all
fn asked_too() {
    // ANCHOR: ex_05_2
    secret();
    // ANCHOR_END: ex_05_2
}
// ANCHOR_END: all
// ANCHOR: empty

// ANCHOR_END: empty
// ANCHOR: open
";

    fn with_file<T>(run: impl Fn(&Path) -> T) -> T {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.rs");
        std::fs::write(&path, FILE).expect("a small file");
        run(&path)
    }

    #[track_caller]
    fn refused(anchor: &str, word: &str) {
        let said = with_file(|path| region(path, "x.rs", anchor)).expect_err(anchor);
        assert!(said.contains(word), "{said}");
    }

    #[test]
    fn a_region_loses_marks_and_indentation() {
        let inner = with_file(|path| region(path, "x.rs", "inner"));
        assert_eq!(inner.as_deref(), Ok("one();\n\ntwo();"));
        let outer = with_file(|path| region(path, "x.rs", "outer"));
        assert_eq!(outer.as_deref(), Ok("fn given() {\n    one();\n\n    two();\n}"));
    }

    #[test]
    fn what_is_missing_or_empty_is_said() {
        refused("nowhere", "no anchor");
        refused("empty", "is empty");
        refused("open", "has no end");
    }

    #[test]
    fn no_region_touches_a_body() {
        refused("ex_05_1", "body of an exercise");
        refused("part", "body of an exercise");
        refused("all", "ex_05_2");
    }

    #[test]
    fn a_file_with_exercises_is_not_shown_whole() {
        let said = with_file(|path| whole(path, "x.rs")).expect_err("it has exercises");
        assert!(said.contains("ex_05_1"), "{said}");
    }

    #[test]
    fn a_key_shows_the_right_lines_only() {
        let key = with_file(|path| body(path, "x.rs", "ex_05_1"));
        assert_eq!(key.as_deref(), Ok("right();\nmore();"));
    }

    #[test]
    fn a_mended_body_shows_both() {
        let both = with_file(|path| mended(path, "x.rs", "ex_05_1"));
        assert_eq!(both, Ok(Some("- wrong();\n+ right();\n  more();".to_owned())));
        assert_eq!(with_file(|path| mended(path, "x.rs", "ex_05_2")), Ok(None));
    }
}
