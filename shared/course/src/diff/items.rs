//! Items of a Rust file: their names, their documentation, and their code without it.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::{Attribute, Expr, ImplItem, ImplItemFn, Item, ItemImpl, Lit, Meta, Type, UseTree};

use crate::source::marks::{dedented, is_anchor};

/// What a file's imports bring into scope, with whole paths.
pub type Names = BTreeMap<String, Vec<String>>;

/// The name of an item that can be documented; none for an `impl` and the like.
pub fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Fn(item) => &item.sig.ident,
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Const(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// The attributes of such an item.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        _ => &[],
    }
}

/// The functions of an `impl`.
pub fn methods(block: &ItemImpl) -> impl Iterator<Item = &ImplItemFn> {
    block.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method),
        _ => None,
    })
}

/// The name of the type that an `impl` is for.
pub fn of_type(block: &ItemImpl) -> String {
    match &*block.self_ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map_or_else(String::new, |segment| segment.ident.to_string()),
        _ => String::new(),
    }
}

/// Documentation as running text.
pub fn prose(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// What the imports of a file bring into scope.
pub fn names(items: &[Item]) -> Names {
    fn walk(tree: &UseTree, path: &[String], names: &mut Names) {
        let joined = |last: String| [path, &[last]].concat();
        match tree {
            UseTree::Path(part) => walk(&part.tree, &joined(part.ident.to_string()), names),
            UseTree::Name(part) => {
                let name = part.ident.to_string();
                names.insert(name.clone(), joined(name));
            }
            UseTree::Rename(part) => {
                let full = joined(part.ident.to_string());
                names.insert(part.rename.to_string(), full);
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, path, names)),
            UseTree::Glob(_) => {}
        }
    }
    let mut names = Names::new();
    for item in items {
        if let Item::Use(item) = item {
            walk(&item.tree, &[], &mut names);
        }
    }
    names
}

/// The code of an item, `["forward"]` or `["Model", "generate"]`; a type comes with its `impl`s in this file. `None` where it is not.
pub fn find(text: &str, names: &[String]) -> Option<String> {
    let file = syn::parse_file(text).ok()?;
    let mut parts = Vec::new();
    for item in &file.items {
        match (item, names) {
            (Item::Impl(block), [of, method]) if of_type(block) == *of => {
                let method = methods(block).find(|one| one.sig.ident == method);
                parts.extend(method.map(|one| slice(text, one)));
            }
            (Item::Impl(block), [of]) if of_type(block) == *of && !parts.is_empty() => {
                parts.push(slice(text, item));
            }
            (item, [wanted]) if name(item).as_ref() == Some(wanted) => {
                parts.push(slice(text, item));
            }
            _ => {}
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// The code of a whole file: no imports, no documentation, no tests.
pub fn whole(text: &str) -> String {
    let Ok(file) = syn::parse_file(text) else {
        return text.to_owned();
    };
    let is_code = |item: &&Item| match item {
        Item::Use(_) => false,
        Item::Mod(module) => module.content.is_none() || module.ident != "tests",
        _ => true,
    };
    let parts = file.items.iter().filter(is_code);
    let parts: Vec<String> = parts.map(|item| slice(text, item)).collect();
    parts.join("\n")
}

/// The text of an item from its first column on, without documentation and marks.
fn slice(text: &str, item: &impl Spanned) -> String {
    let range = item.span().byte_range();
    let line = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
    let is_code = |line: &&str| {
        let start = line.trim_start();
        let is_mark = is_anchor(line) || start.starts_with("//~");
        !is_mark && !start.starts_with("///") && !start.starts_with("//!")
    };
    let lines: Vec<&str> = text[line..range.end].lines().filter(is_code).collect();
    dedented(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! Doc.\n\nuse a::{b, c as d};\n\n/// A type.\npub struct Model {\n    /// Doc.\n    pub x: u8,\n}\n\nimpl Model {\n    /// Doc.\n    pub fn generate(&self) -> u8 {\n        // ANCHOR: loop\n        self.x // why\n        // ANCHOR_END: loop\n    }\n}\n\n/// Doc.\nfn one() {}\n\n#[cfg(test)]\nmod tests {\n    fn two() {}\n}\n";

    fn named(names: &[&str]) -> Option<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        find(TEXT, &names)
    }

    #[test]
    fn an_item_comes_without_its_documentation() {
        assert_eq!(named(&["one"]).unwrap(), "fn one() {}\n");
        assert_eq!(
            named(&["Model", "generate"]).unwrap(),
            "pub fn generate(&self) -> u8 {\n    self.x // why\n}\n"
        );
        let model = named(&["Model"]).unwrap();
        assert!(model.contains("pub x: u8") && model.contains("impl Model"), "{model}");
        assert_eq!(named(&["two"]), None);
    }

    #[test]
    fn a_file_comes_without_imports_and_tests() {
        let code = whole(TEXT);
        assert!(code.contains("fn one()") && code.contains("impl Model"), "{code}");
        assert!(
            !code.contains("use a::") && !code.contains("two") && !code.contains("Doc"),
            "{code}"
        );
    }

    #[test]
    fn imports_give_names_their_paths() {
        let names = names(&syn::parse_file(TEXT).unwrap().items);
        assert_eq!(names["b"], ["a", "b"]);
        assert_eq!(names["d"], ["a", "c"]);
    }
}
