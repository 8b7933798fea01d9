//! The builder on a small book: what is right passes, and each thing that readers would stumble over is an error.

use std::path::Path;

use crate::make::{Made, book};

const COURSE: &str = "title = \"Small\"\n[minutes]\nread = 5\nrun = 1\ncore = 3\n[[exercises]]\nid = \"01.1\"\nkind = \"predict\"\ntitle = \"One\"\n\
    minutes = 3\ndifficulty = 1\nquestion = \"`a_b`?\"\noptions = [\"1\", \"2\"]\nanswer = 1\nbecause = \"so\"\nanswers = [\"no\", \"\"]\n";

/// A workbook with one lesson and a book of two pages, built with the real settings and theme.
fn built(page: &str) -> (Result<Made, Vec<String>>, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (root, real) = (folder.path(), Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let put = |name: &str, text: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
        std::fs::write(path, text).expect("a small file");
    };
    let real_text = |name: &str| std::fs::read_to_string(real.join(name)).expect("a file of the book");
    for name in ["math.woff2", "math-OFL.txt"] {
        put(&format!("book/theme/{name}"), "");
    }
    for name in [
        "book.toml",
        "theme/book.css",
        "theme/figures.css",
        "theme/figures.js",
        "theme/page.js",
        "figures/demo.js",
        "figures/demo.json",
        "drawings/here.svg",
    ] {
        put(&format!("book/{name}"), &real_text(name));
    }
    put("lessons/01-small/course.toml", COURSE);
    put(
        "book/src/SUMMARY.md",
        "# Summary\n\n- [One](one.md)\n- [Two](teaching/two.md)\n",
    );
    put("book/src/one.md", page);
    put("book/src/teaching/two.md", "# Two\n\nBack to [one](../one.md).\n");
    let out = root.join("out");
    let made = book(root, &out);
    (made, std::fs::read_to_string(out.join("one.html")).unwrap_or_default())
}

#[test]
fn a_whole_page_has_no_problem() {
    let (made, html) = built(
        "# One\n\n{{#here 01}}\n\nIt takes {{#minutes 01}}: $x_i$. See [two](teaching/two.md#two).\n\n{{#exercises 01}}\n\n{{#exercise 01.1}}\n\n{{#key 01.1}}\n\n{{#figure demo \"A mean\"}}\n",
    );
    let made = made.expect("nothing is wrong");
    assert!(made.pages >= 4 && made.links > 20, "{made:?}");
    for part in [
        "<summary>You are here: <strong>",
        "5 minutes to read, 1 to run, 3 for the core exercises",
        "<math",
        "id=\"01-1\"",
        "<code>a&#95;b</code>",
        "data-figure=\"demo\"",
        "src=\"figures/demo.trace.js\"",
        ">Dark<",
    ] {
        assert!(
            html.contains(part) || html.contains(&part.replace("&#95;", "_")),
            "{part} in {html}"
        );
    }
    assert!(!html.contains("mdbook-theme-rust"));
}

#[track_caller]
fn refused(page: &str, word: &str) {
    let said = built(page).0.expect_err(page).join("\n");
    assert!(said.contains(word), "{said}");
}

#[test]
fn what_readers_would_stumble_over_is_an_error() {
    refused("# One\n\n[gone](three.md)\n", "leads nowhere; is it in SUMMARY.md?");
    refused("# One\n\n[part](teaching/two.md#three)\n", "no heading or id");
    refused("# One\n\n![picture](https://example.org/x.png)\n", "from outside");
    refused("# One\n\n<div>\n\nnever closed\n", "mdbook: unclosed HTML tag");
    refused("# One\n\n{{#exercises 01}}\n", "#01-1");
    refused("# One\n\n{{#figure nothing \"x\"}}\n", "book/figures/nothing.json");
}
