//! The whole way: read the workbook, let mdBook render with our preprocessor, finish the pages, check them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;
use mdbook_driver::config::Config;
use tracing_subscriber::layer::SubscriberExt;

use crate::fill::Filler;
use crate::problems::Problems;
use crate::workbook::Workbook;
use crate::{check, finish};

/// What was made.
#[derive(Debug)]
pub struct Made {
    /// HTML files.
    pub pages: usize,
    /// Links and loads that lead somewhere.
    pub links: usize,
}

/// Builds the book of the workbook at `root` into `out`, or says everything that is wrong with it.
pub fn book(root: &Path, out: &Path) -> Result<Made, Vec<String>> {
    let problems = Problems::default();
    let subscriber = tracing_subscriber::registry().with(problems.clone());
    let built = tracing::subscriber::with_default(subscriber, || build(root, out, &problems));
    if let Err(error) = built {
        problems.add(format!("{error:#}"));
        return Err(problems.list());
    }
    let (pages, links) = check::pages(out, &problems);
    if problems.is_empty() {
        Ok(Made { pages, links })
    } else {
        Err(problems.list())
    }
}

fn build(root: &Path, out: &Path, problems: &Problems) -> anyhow::Result<()> {
    let folder = root.join("book");
    let workbook = Arc::new(Workbook::read(root, problems));
    let mut config = Config::from_disk(folder.join("book.toml"))?;
    config.build.build_dir = out.to_owned();
    let mut book = MDBook::load_with_config(&folder, config)?;
    every_page_is_listed(&book, &folder.join("src"), problems);
    book.with_preprocessor(Filler {
        workbook: workbook.clone(),
        problems: problems.clone(),
    });
    book.build()?;
    finish::figures(&workbook, out, problems);
    finish::font(&workbook, out, problems);
    finish::markup(out, problems)
}

/// A page that SUMMARY.md does not list would not be built: it was forgotten.
fn every_page_is_listed(book: &MDBook, src: &Path, problems: &Problems) {
    let chapters = book.iter().filter_map(|item| match item {
        BookItem::Chapter(chapter) => chapter.source_path.clone(),
        _ => None,
    });
    let listed: BTreeSet<PathBuf> = chapters.collect();
    for folder in [src.to_owned(), src.join("teaching")] {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(src).unwrap_or(&path).to_owned();
            let is_page = path.extension().is_some_and(|ext| ext == "md") && name != Path::new("SUMMARY.md");
            if is_page && !listed.contains(&name) {
                problems.add(format!("book/src/{}: SUMMARY.md does not list it", name.display()));
            }
        }
    }
}
