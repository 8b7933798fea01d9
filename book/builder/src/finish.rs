//! What is done to the pages after mdBook has written them: figures and a font are put beside them, and the themes are
//! cut down to light, dark and automatic.

use std::path::Path;

use crate::figures;
use crate::problems::Problems;
use crate::workbook::Workbook;

/// Writes `figures/NAME.js` and `figures/NAME.trace.js` for every figure. The trace becomes a script, because a page that
/// is opened from a folder may not read a JSON file.
pub fn figures(book: &Workbook, out: &Path, problems: &Problems) {
    let folder = out.join("figures");
    for name in names(&book.root.join("book/figures")) {
        let written = figures::trace(book, &name).and_then(|(_, text)| {
            let trace = format!("window.figures.trace(\"{name}\", {});\n", text.trim());
            let copy = || -> std::io::Result<()> {
                std::fs::create_dir_all(&folder)?;
                std::fs::write(folder.join(format!("{name}.trace.js")), trace)?;
                std::fs::copy(
                    book.root.join(format!("book/figures/{name}.js")),
                    folder.join(format!("{name}.js")),
                )?;
                Ok(())
            };
            copy().map_err(|error| format!("book/figures/{name}.js: {error}"))
        });
        if let Err(said) = written {
            problems.add(said);
        }
    }
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
    let mut names: Vec<String> = files
        .filter_map(|file| file.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Themes of mdBook that this book does not offer.
const DROPPED: [&str; 3] = ["rust", "coal", "ayu"];

/// A page with the themes Auto, Light and Dark only; `None` when the menu is not where it was in mdBook 0.5.4.
pub fn themes(page: &str) -> Option<String> {
    let dropped = |line: &str| {
        DROPPED
            .iter()
            .any(|name| line.contains(&format!("id=\"mdbook-theme-{name}\"")))
    };
    let kept: Vec<&str> = page.lines().filter(|line| !dropped(line)).collect();
    let found = page.lines().count() - kept.len();
    let kept = kept.join("\n") + "\n";
    let renamed = kept.replace("id=\"mdbook-theme-navy\">Navy<", "id=\"mdbook-theme-navy\">Dark<");
    (found == DROPPED.len() && renamed != kept).then_some(renamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_themes_and_auto_are_left() {
        let button = |id: &str, name: &str| format!("<li><button id=\"mdbook-theme-{id}\">{name}</button></li>\n");
        let menu: String = [
            ("default_theme", "Auto"),
            ("light", "Light"),
            ("rust", "Rust"),
            ("coal", "Coal"),
            ("navy", "Navy"),
            ("ayu", "Ayu"),
        ]
        .map(|(id, name)| button(id, name))
        .concat();
        let expected = button("default_theme", "Auto") + &button("light", "Light") + &button("navy", "Dark");
        assert_eq!(themes(&menu), Some(expected));
        assert_eq!(themes("<p>no menu</p>\n"), None);
    }
}
