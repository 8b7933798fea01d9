//! What is done to the pages after mdBook has written them: figures and a font are put beside them, and the themes are
//! cut down to light, dark and automatic, and the keyboard gets a way past the table of contents.

use std::path::Path;

use crate::figures;
use crate::problems::Problems;
use crate::workbook::Workbook;

/// Writes `figures/NAME.js` and `figures/NAME.trace.js` for every figure. The trace becomes a script, because a page
/// that is opened from a folder may not read a JSON file.
pub fn figures(book: &Workbook, out: &Path, problems: &Problems) {
    for name in names(&book.root.join("book/figures")) {
        let written = figures::trace(book, &name).and_then(|(_, text)| {
            let trace = format!("window.figures.trace(\"{name}\", {});\n", text.trim());
            copy(book, &name, &trace, &out.join("figures")).map_err(|error| format!("book/figures/{name}.js: {error}"))
        });
        if let Err(said) = written {
            problems.add(said);
        }
    }
}

fn copy(book: &Workbook, name: &str, trace: &str, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(format!("{name}.trace.js")), trace)?;
    let script = book.root.join(format!("book/figures/{name}.js"));
    std::fs::copy(script, folder.join(format!("{name}.js"))).map(drop)
}

/// Copies the font of the formulas beside the style that names it, with its licence.
pub fn font(book: &Workbook, out: &Path, problems: &Problems) {
    for name in ["math.woff2", "math-OFL.txt"] {
        let to = out.join("theme").join(name);
        if let Err(error) = std::fs::copy(book.root.join("book/theme").join(name), to) {
            problems.add(format!("book/theme/{name}: {error}"));
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names = files.filter_map(|file| file.strip_suffix(".json").map(str::to_owned));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Themes of mdBook that this book does not offer.
const DROPPED: [&str; 3] = ["rust", "coal", "ayu"];

/// Changes the markup of mdBook in every page below `folder`.
pub fn markup(folder: &Path, problems: &Problems) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // toc.html is the bare table of contents, for readers without scripts.
        let is_page = path.extension().is_some_and(|ext| ext == "html") && !path.ends_with("toc.html");
        if path.is_dir() {
            markup(&path, problems)?;
        } else if is_page {
            let page = std::fs::read_to_string(&path)?;
            match three_themes(&page).map(|page| skip_link(&page)) {
                Some(Some(text)) => std::fs::write(&path, text)?,
                Some(None) => problems.add(format!("{}: body or main are not where they were", path.display())),
                None => problems.add(format!("{}: the menu of themes is not where it was", path.display())),
            }
        }
    }
    Ok(())
}

/// A link to the text is the first stop of the Tab key. `None` when body or main are not where they were in mdBook 0.5.4.
fn skip_link(page: &str) -> Option<String> {
    let is_there = page.matches("<body>").count() == 1 && page.matches("<main>").count() == 1;
    let link = "<body>\n    <a class=\"skip-link\" href=\"#text\">Skip to the text</a>";
    let page = page.replacen("<body>", link, 1);
    is_there.then(|| page.replacen("<main>", "<main id=\"text\" tabindex=\"-1\">", 1))
}

/// `None` when the menu is not where it was in mdBook 0.5.4.
fn three_themes(page: &str) -> Option<String> {
    let buttons = DROPPED.map(|name| format!("id=\"mdbook-theme-{name}\""));
    let is_dropped = |line: &&str| buttons.iter().any(|button| line.contains(button));
    let (dropped, kept): (Vec<&str>, Vec<&str>) = page.lines().partition(is_dropped);
    let kept = kept.join("\n") + "\n";
    let renamed = kept.replace("id=\"mdbook-theme-navy\">Navy<", "id=\"mdbook-theme-navy\">Dark<");
    (dropped.len() == DROPPED.len() && renamed != kept).then_some(renamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_themes_and_auto_are_left() {
        let button = |id: &str, name: &str| format!("<li><button id=\"mdbook-theme-{id}\">{name}</button></li>\n");
        let names = ["Light", "Rust", "Coal", "Navy", "Ayu"];
        let menu: String = names.map(|name| button(&name.to_lowercase(), name)).concat();
        let expected = button("light", "Light") + &button("navy", "Dark");
        assert_eq!(three_themes(&menu), Some(expected));
        assert_eq!(three_themes("<p>no menu</p>\n"), None);
    }

    #[test]
    fn the_first_link_leads_to_the_text() {
        let page = skip_link("<body>\n<nav></nav><main><p>x</p></main></body>").expect("body and main are there");
        let (link, main) = (
            page.find("href=\"#text\""),
            page.find("<main id=\"text\" tabindex=\"-1\">"),
        );
        assert!(link < page.find("<nav>") && link < main && main.is_some(), "{page}");
        assert_eq!(skip_link("<body></body>"), None);
    }
}
