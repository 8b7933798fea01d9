//! Reads the built pages back: every link has a target, every fragment an id, every id is there once, and nothing would
//! be loaded from outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::page::{self, Page};
use crate::problems::Problems;
use crate::workbook::normal;

/// Checks all pages below `out`; gives their number and that of the links.
pub fn pages(out: &Path, problems: &Problems) -> (usize, usize) {
    let out = &normal(out);
    let mut files = Vec::new();
    walk(out, &mut files);
    let of_kind = |kind: &'static str| {
        let is_kind = move |file: &&PathBuf| file.extension().is_some_and(|found| found == kind);
        files.iter().filter(is_kind)
    };
    let mut pages: BTreeMap<PathBuf, Page> = BTreeMap::new();
    for file in of_kind("html") {
        match std::fs::read_to_string(file) {
            Ok(text) => drop(pages.insert(file.clone(), page::read(&text))),
            Err(error) => problems.add(format!("{}: {error}", file.display())),
        }
    }
    let mut count = 0;
    // The print page repeats all others and the index the first one: what is wrong there is said only when nothing else
    // is.
    let repeats = |file: &Path| file.ends_with("print.html") || file == out.join("index.html");
    let mut order: Vec<(&PathBuf, &Page)> = pages.iter().collect();
    order.sort_by_key(|(file, _)| repeats(file));
    for (file, page) in order {
        if repeats(file) && !problems.is_empty() {
            continue;
        }
        let shown = file.strip_prefix(out).unwrap_or(file).display().to_string();
        let shown = shown.replace('\\', "/");
        for id in &page.twice {
            problems.add(format!("{shown}: the id {id:?} is there twice"));
        }
        for (element, target) in &page.loads {
            if is_outside(target) {
                problems.add(format!(
                    "{shown}: <{element}> would load {target:?} from outside; the book works offline"
                ));
            } else {
                count += 1;
                follow(file, target, &pages, out, &shown, problems);
            }
        }
        for (_, target) in page.links.iter().filter(|(_, target)| !is_outside(target)) {
            count += 1;
            follow(file, target, &pages, out, &shown, problems);
        }
    }
    for file in of_kind("css") {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let loads = ["url(http", "url(\"http", "url('http", "@import"];
        if loads.iter().any(|word| text.contains(word)) {
            problems.add(format!("{}: a style would load something from outside", file.display()));
        }
    }
    (pages.len(), count)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn is_outside(target: &str) -> bool {
    target.starts_with("//")
        || target
            .split_once(':')
            .is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// `target` as linked from `file`: does the file exist, and does it have the id?
fn follow(file: &Path, target: &str, pages: &BTreeMap<PathBuf, Page>, out: &Path, shown: &str, problems: &Problems) {
    let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
    let path = path.split('?').next().unwrap_or_default();
    if path.starts_with('/') {
        problems.add(format!(
            "{shown}: {target:?} begins at the root of a server; a book in a folder has none"
        ));
        return;
    }
    let to = match path {
        "" => file.to_owned(),
        path => normal(&file.parent().unwrap_or(out).join(decoded(path))),
    };
    if !to.is_file() {
        let is_page = path.ends_with(".html") || path.ends_with(".md");
        let hint = if is_page { "; is it in SUMMARY.md?" } else { "" };
        problems.add(format!("{shown}: {target:?} leads nowhere{hint}"));
    } else if !fragment.is_empty() && !pages.get(&to).is_some_and(|page| page.ids.contains(&decoded(fragment))) {
        problems.add(format!(
            "{shown}: {target:?}: the page has no heading or id {fragment:?}"
        ));
    }
}

/// `%E4%BD%A0` as 你.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| byte == b'%');
        let value = hex.and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        bytes.push(value.unwrap_or(byte));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(html: &str) -> String {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("deep")).expect("a folder");
        std::fs::write(folder.path().join("other.html"), "<h2 id=\"你\">x</h2>").expect("a page");
        std::fs::write(folder.path().join("deep/page.html"), html).expect("a page");
        let problems = Problems::default();
        pages(folder.path(), &problems);
        problems.list().join("\n")
    }

    #[track_caller]
    fn refused(html: &str, word: &str) {
        let said = said(html);
        assert!(said.starts_with("deep/page.html: ") && said.contains(word), "{said}");
    }

    #[test]
    fn what_leads_somewhere_is_right() {
        let html = "<a href=\"../other.html#%E4%BD%A0\">x</a><a href=\"#here\">y</a><p id=\"here\"></p><a href=\"https://example.org/\">z</a>";
        assert_eq!(said(html), "");
    }

    #[test]
    fn what_leads_nowhere_is_named() {
        refused("<a href=\"other.html\">x</a>", "leads nowhere");
        refused("<a href=\"../other.md\">x</a>", "is it in SUMMARY.md?");
        refused("<a href=\"../other.html#no\">x</a>", "no heading or id");
        refused("<a href=\"#no\">x</a>", "no heading or id");
        refused("<a href=\"/other.html\">x</a>", "root of a server");
        refused("<img src=\"x.png\">", "leads nowhere");
        refused("<p id=\"a\"></p><p id=\"a\"></p>", "is there twice");
    }

    #[test]
    fn nothing_is_loaded_from_outside() {
        refused("<script src=\"https://example.org/x.js\"></script>", "from outside");
        refused("<link rel=\"stylesheet\" href=\"//example.org/x.css\">", "from outside");
        refused("<img srcset=\"https://example.org/x.png 2x\">", "from outside");
        assert_eq!(said("<script>let a = '<img src=\"x.png\">';</script>"), "");
    }
}
