//! All faults of a file in one text: the switch between the bodies of a function.
//!
//! ```text
//! fn head(row: usize) -> usize {          fn head(row: usize) -> usize { if crate::course_switch("one-too-far") {
//!     row - 1                         ->      row } else {
//! }                                           row - 1 } }
//! ```

use std::ops::Range;

use quote::ToTokens;
use syn::{Block, ImplItem, Item, Signature, TraitItem};

use super::plan::Fault;

/// Stands at the end of the copy's `lib.rs`.
pub const SWITCH: &str = r#"
pub(crate) fn course_switch(id: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("COURSE_SWITCH").unwrap_or_default()) == id
}
"#;

/// Whether the fault lies inside the body of one function that can have a switch.
pub fn can_switch(text: &str, fault: &Fault) -> bool {
    body_of(&bodies(text), text, fault).is_some()
}

/// The text with a body for each of these faults, all of which [`can_switch`] in it.
pub fn switched(text: &str, faults: &[&Fault]) -> String {
    let mut out = text.to_owned();
    let bodies = bodies(text);
    // From the last body to the first: what stands before a body keeps its place.
    for body in bodies.iter().rev() {
        let own = &text[body.clone()];
        let inside = faults
            .iter()
            .filter(|fault| body_of(&bodies, text, fault) == Some(body));
        let branches: String = inside
            .map(|fault| {
                let planted = own.replacen(&fault.find, &fault.replace, 1);
                format!("if crate::course_switch(\"{}\") {planted} else ", fault.id)
            })
            .collect();
        if !branches.is_empty() {
            out.replace_range(body.clone(), &format!("{{ {branches}{own} }}"));
        }
    }
    out
}

fn body_of<'a>(bodies: &'a [Range<usize>], text: &str, fault: &Fault) -> Option<&'a Range<usize>> {
    let start = text.find(&fault.find)?;
    let end = start + fault.find.len();
    bodies.iter().find(|body| body.start < start && end < body.end)
}

/// The bodies that can have a switch, with their braces, in order. A `const fn` can not ask for one, and with `impl` in
/// the return type each body would have a type of its own. Macros are not looked into.
fn bodies(text: &str) -> Vec<Range<usize>> {
    let mut bodies = Vec::new();
    if let Ok(file) = syn::parse_file(text) {
        file.items.iter().for_each(|item| add(item, &mut bodies));
    }
    bodies
}

/// The bodies of an item. A function inside a function belongs to the outer body.
fn add(item: &Item, bodies: &mut Vec<Range<usize>>) {
    let mut one = |signature: &Signature, block: &Block| {
        let output = signature.output.to_token_stream().to_string();
        if signature.constness.is_none() && !output.contains("impl ") {
            let braces = block.brace_token.span;
            bodies.push(braces.open().byte_range().start..braces.close().byte_range().end);
        }
    };
    match item {
        Item::Fn(item) => one(&item.sig, &item.block),
        Item::Impl(block) => block.items.iter().for_each(|item| {
            if let ImplItem::Fn(item) = item {
                one(&item.sig, &item.block);
            }
        }),
        Item::Trait(block) => block.items.iter().for_each(|item| {
            if let TraitItem::Fn(item) = item {
                item.default.iter().for_each(|block| one(&item.sig, block));
            }
        }),
        Item::Mod(module) => {
            let items = module.content.iter().flat_map(|(_, items)| items);
            items.for_each(|item| add(item, bodies));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! é\nconst N: u8 = 7;\nconst fn c() -> u8 {\n    8\n}\nfn one(a: u8) -> u8 {\n    fn inner(b: u8) -> u8 { b + 2 }\n    inner(a) + 1\n}\n\
        impl X {\n    fn two(&self) -> u8 { self.0 + 3 }\n    fn many(&self) -> impl Iterator<Item = u8> { 4..5 }\n}\n";

    fn fault(id: &str, find: &str, replace: &str) -> Fault {
        let text =
            format!("id = '{id}'\nwhat = 'x'\nfile = 'a.rs'\nfind = '{find}'\nreplace = '{replace}'\ntest = 'lib'\n");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn a_function_gets_a_body_for_each_fault_in_it() {
        let faults = [
            fault("a", "inner(a) + 1", "9"),
            fault("b", "b + 2", "b"),
            fault("c", "self.0 + 3", "0"),
        ];
        let text = switched(TEXT, &faults.iter().collect::<Vec<_>>());
        let one = "fn one(a: u8) -> u8 { if crate::course_switch(\"a\") {\n    fn inner(b: u8) -> u8 { b + 2 }\n    9\n} else \
            if crate::course_switch(\"b\") {\n    fn inner(b: u8) -> u8 { b }\n    inner(a) + 1\n} else \
            {\n    fn inner(b: u8) -> u8 { b + 2 }\n    inner(a) + 1\n} }\n";
        assert!(text.contains(one), "{text}");
        let two = "fn two(&self) -> u8 { if crate::course_switch(\"c\") { 0 } else { self.0 + 3 } }\n";
        assert!(text.contains(two), "{text}");
        assert!(syn::parse_file(&text).is_ok(), "{text}");
    }

    #[test]
    fn a_fault_outside_of_an_ordinary_body_has_no_switch() {
        for (find, expected) in [
            ("= 7", false),
            ("8", false),
            ("4..5", false),
            ("(a: u8)", false),
            ("self.0", true),
        ] {
            assert_eq!(can_switch(TEXT, &fault("a", find, "")), expected, "{find}");
        }
        assert!(!can_switch("no Rust (", &fault("a", "no", "")));
    }
}
