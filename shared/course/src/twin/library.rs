//! The twin's `lib.rs`: the lesson's, line for line, with a path in front of each module and a `todo!` that fills what
//! is not written.
//!
//! A module that holds exercises is found where it always is, so that it is the learner's file. Every other module has
//! the path of the lesson's file. A module on the way to a deeper exercise (`exercises/mod.rs`) is generated like
//! `lib.rs`.

use std::path::Path;

use syn::Item;
use syn::spanned::Spanned;

use super::{Owner, Twin, path_from};
use crate::error::CourseError;
use crate::exercise::{Exercise, Kind};
use crate::source::{self, functions, marks};

/// Writes `src/lib.rs`, the modules on the way to exercises, and the bodies that stand in for unwritten ones.
pub fn write(twin: &Twin) -> Result<(), CourseError> {
    for exercise in twin.coded() {
        let marked = twin.file(exercise).marked(exercise)?;
        let body = match twin.owner {
            Owner::Learner => format!("{{\n{}}}\n", marked.right),
            Owner::Verify => switched(twin, exercise, &marked)?,
        };
        super::write(&twin.folder.join(format!(".fill/{}.rs", exercise.id)), &body)?;
    }
    let text = generated(twin, Path::new("lib.rs"), &[])?;
    let file = parsed(&text, &twin.shown(&twin.lesson.join("src/lib.rs")))?;
    let first = file
        .items
        .first()
        .map_or(text.len(), |item| item.span().byte_range().start);
    let text = format!("{}{}{}", &text[..first], macros(twin), &text[first..]);
    super::write(&twin.folder.join("src/lib.rs"), &text)
}

/// The lesson's file `relative` with a path for each of its modules. `above` are the names of the modules down to this
/// one.
fn generated(twin: &Twin, relative: &Path, above: &[String]) -> Result<String, CourseError> {
    let path = twin.lesson.join("src").join(relative);
    let mut text = source::read(&path)?;
    let here = twin.folder.join("src").join(relative);
    let here = here.parent().unwrap_or(&twin.folder).to_path_buf();
    let mut attributes: Vec<(usize, String)> = Vec::new();
    for (name, at) in modules(&text, &twin.shown(&path))? {
        let mut names = above.to_vec();
        names.push(name);
        let parts: Vec<&str> = names.iter().map(String::as_str).collect();
        let file = source::module_file(&twin.lesson.join("src"), &parts).map_err(|problem| CourseError::Marks {
            path: twin.shown(&path),
            problem,
        })?;
        let tracked = twin.lesson.join("src").join(&file);
        if twin.coded().any(|exercise| exercise.modules() == parts) {
            let stand_in = twin.folder.join(".fallback").join(&file);
            let stand_in = path_from(&here, &stand_in, &twin.root);
            attributes.push((
                at,
                format!("#[cfg_attr(feature = \"fallback\", path = \"{stand_in}\")] "),
            ));
        } else if is_on_the_way(twin, &names) || has_modules_aside(&file, &tracked, twin)? {
            let text = generated(twin, &file, &names)?;
            super::write(&twin.folder.join("src").join(&file), &text)?;
        } else {
            let tracked = path_from(&here, &tracked, &twin.root);
            attributes.push((at, format!("#[path = \"{tracked}\"] ")));
        }
    }
    for (at, attribute) in attributes.into_iter().rev() {
        text.insert_str(at, &attribute);
    }
    Ok(text)
}

fn is_on_the_way(twin: &Twin, names: &[String]) -> bool {
    twin.coded().any(|exercise| {
        let modules = exercise.modules();
        modules.len() > names.len() && modules.iter().zip(names).all(|(a, b)| a == b)
    })
}

/// `x.rs` with modules in a folder `x/`: a path would make them look elsewhere.
fn has_modules_aside(file: &Path, tracked: &Path, twin: &Twin) -> Result<bool, CourseError> {
    if file.ends_with("mod.rs") {
        return Ok(false);
    }
    Ok(!modules(&source::read(tracked)?, &twin.shown(tracked))?.is_empty())
}

/// The modules that a file declares and does not contain: name and the byte in front of `pub mod`.
fn modules(text: &str, shown: &str) -> Result<Vec<(String, usize)>, CourseError> {
    let mut found = Vec::new();
    for item in &parsed(text, shown)?.items {
        let Item::Mod(item) = item else { continue };
        let has_path = item.attrs.iter().any(|attribute| attribute.path().is_ident("path"));
        if item.content.is_some() || has_path {
            continue;
        }
        let span = match item.vis {
            syn::Visibility::Inherited => item.mod_token.span,
            _ => item.vis.span(),
        };
        found.push((item.ident.to_string(), span.byte_range().start));
    }
    Ok(found)
}

fn parsed(text: &str, shown: &str) -> Result<syn::File, CourseError> {
    syn::parse_file(text).map_err(|error| CourseError::Marks {
        path: format!("{shown}:{}", error.span().start().line),
        problem: format!("this is no Rust: {error}"),
    })
}

/// The `todo!` of the twin, on one line.
fn macros(twin: &Twin) -> String {
    let mut arms = String::new();
    for exercise in twin.coded() {
        for literal in literals(twin, exercise) {
            arms += &format!(
                "({literal:?}) => {{ return include!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/.fill/{}.rs\")) }}; ",
                exercise.id
            );
        }
    }
    let todo = format!(
        "#[allow(unused_macros)] macro_rules! todo {{ {arms}($($other:tt)*) => {{ ::core::todo!($($other)*) }}; }} "
    );
    // A reference body that ends in a loop stands behind a `return` here.
    let allowed = "#![allow(unreachable_code)] ";
    match twin.owner {
        Owner::Learner => format!("{allowed}{todo}"),
        Owner::Verify => format!("{allowed}{todo}{SWITCH} "),
    }
}

/// Which body is switched to what: read once from the environment.
const SWITCH: &str = "#[doc(hidden)] pub mod course_switch { \
    static MODE: std::sync::OnceLock<String> = std::sync::OnceLock::new(); \
    #[doc(hidden)] pub fn is(mode: &str) -> bool { *MODE.get_or_init(|| std::env::var(\"COURSE_SWITCH\").unwrap_or_default()) == *mode } }";

/// The texts of `todo!` that mean this exercise: today's, and the one in the learner's file, which may be from before a
/// title changed.
fn literals(twin: &Twin, exercise: &Exercise) -> Vec<String> {
    let text = source::read(&twin.file(exercise).learners).unwrap_or_default();
    let parsed = functions::parse(&text).unwrap_or_default();
    let function = parsed.function(exercise.function_name());
    let mut found = vec![exercise.literal()];
    let start = format!("{} ", exercise.id);
    for text in function.into_iter().flat_map(|function| &function.todos) {
        if text.starts_with(&start) && !found.contains(text) {
            found.push(text.clone());
        }
    }
    found
}

/// The body that `verify` builds: the reference's, unless the environment asks for another one.
///
/// | `COURSE_SWITCH` | the body |
/// |---|---|
/// | not set | the reference's |
/// | `stub 05.1` | panics, as the learner's file does before it is written |
/// | `fault 05.5` | the faulty one, as it ships (mend) |
/// | `empty 04.5` | returns the emptiest value of its type (catch) |
/// | `idea 05.1 0` | the reference's with the fault of its first wrong idea |
/// | `other 05.1 0` | the reference's with its first other fault |
fn switched(twin: &Twin, exercise: &Exercise, marked: &marks::Marked) -> Result<String, CourseError> {
    let id = &exercise.id;
    let mut out = "{\n".to_owned();
    let mut add = |switch: &str, body: &str| {
        out += &format!(
            "    if crate::course_switch::is({switch:?}) {{ return {{\n{}\n    }} }}\n",
            body.trim_end()
        );
    };
    add(
        &format!("stub {id}"),
        &format!("::core::panic!(\"not yet implemented: {id}\")"),
    );
    if let Some(faulty) = &marked.faulty {
        add(&format!("fault {id}"), faulty);
    }
    if exercise.kind == Kind::Catch {
        let file = twin.file(exercise);
        let parsed = source::parse(&file.tracked_text()?, &file.tracked_shown)?;
        let function = parsed.function(exercise.function_name());
        add(&format!("empty {id}"), function.map_or("()", |function| function.empty));
    }
    // A fault that can not be planted is a problem of its own, see `verify`.
    for (index, idea) in exercise
        .ideas
        .iter()
        .enumerate()
        .filter(|(_, idea)| !idea.fault.is_empty())
    {
        if let Ok(body) = idea.fault.planted(&marked.right) {
            add(&format!("idea {id} {index}"), &body);
        }
    }
    for (index, other) in exercise.others.iter().enumerate() {
        if let Ok(body) = other.fault.planted(&marked.right) {
            add(&format!("other {id} {index}"), &body);
        }
    }
    Ok(out + &marked.right + "}\n")
}
