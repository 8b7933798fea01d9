//! Functions in a Rust file, found by parsing it: places in bytes and lines, signatures, whether a `todo!` still stands
//! there.

use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{FnArg, Item, ItemFn};

/// A file that is no Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRust {
    /// The line of the first error, from 1.
    pub line: usize,
    /// The parser's message.
    pub message: String,
}

/// A free function of a file.
#[derive(Clone, Debug)]
pub struct Function {
    /// The function's name.
    pub name: String,
    /// Bytes of the whole item, with documentation and attributes.
    pub item: Range<usize>,
    /// Bytes between the braces of the body.
    pub body: Range<usize>,
    /// Line of the signature, from 1.
    pub line: usize,
    /// Lines of the whole item, from 1, the end included.
    pub lines: (usize, usize),
    /// Everything in front of the body, in one line, for a reader.
    pub signature: String,
    /// The part of the signature that callers see: types and generics without the parameters' names. Two functions with
    /// the same can stand for each other.
    pub types: String,
    /// The body's code: equal for bodies that differ in blanks and comments only.
    pub code: String,
    /// The texts of the `todo!("…")`s in the body.
    pub todos: Vec<String>,
    /// An expression for the emptiest value that it can return.
    pub empty: &'static str,
}

/// What stands in a file beside functions.
#[derive(Clone, Debug)]
pub struct OtherItem {
    /// The names that it defines or brings into scope, as far as they can be read off.
    pub names: Vec<String>,
    /// Bytes of the whole item.
    pub item: Range<usize>,
    /// Lines, from 1, the end included.
    pub lines: (usize, usize),
    /// Whether it is a `use`.
    pub is_use: bool,
}

/// A parsed file.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// Free functions, in order.
    pub functions: Vec<Function>,
    /// Everything else.
    pub others: Vec<OtherItem>,
}

impl Parsed {
    /// The function with this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }
}

/// Parses a file.
pub fn parse(text: &str) -> Result<Parsed, NotRust> {
    let file = syn::parse_file(text).map_err(|error| NotRust {
        line: error.span().start().line,
        message: error.to_string(),
    })?;
    // The parser leaves out a byte order mark and a `#!` line, and counts bytes from what follows.
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let skipped = mark + file.shebang.map_or(0, |line| line.len());
    let mut parsed = Parsed::default();
    for item in &file.items {
        match item {
            Item::Fn(item) => parsed.functions.push(function(item, &text[skipped..])),
            item => parsed.others.push(other(item)),
        }
    }
    let moved = |range: &mut Range<usize>| *range = range.start + skipped..range.end + skipped;
    for function in &mut parsed.functions {
        moved(&mut function.item);
        moved(&mut function.body);
    }
    parsed.others.iter_mut().for_each(|item| moved(&mut item.item));
    Ok(parsed)
}

fn function(item: &ItemFn, text: &str) -> Function {
    let span = item.span();
    let brace = item.block.brace_token.span;
    let (open, close) = (brace.open().byte_range(), brace.close().byte_range());
    let from = item.vis.span().byte_range().start;
    let signature_start = item.sig.span().byte_range().start;
    // A private function has no visibility to begin at.
    let from = if matches!(item.vis, syn::Visibility::Inherited) {
        signature_start
    } else {
        from
    };
    let mut code = TokenStream::new();
    for statement in &item.block.stmts {
        statement.to_tokens(&mut code);
    }
    let mut todos = Vec::new();
    find_todos(code.clone(), &mut todos);
    Function {
        name: item.sig.ident.to_string(),
        item: span.byte_range(),
        body: open.end..close.start,
        line: item.sig.fn_token.span.start().line,
        lines: (span.start().line, span.end().line),
        signature: one_line(&text[from..open.start]),
        types: types(item),
        code: code.to_string(),
        todos,
        empty: empty_value(&item.sig.output.to_token_stream().to_string()),
    }
}

fn empty_value(output: &str) -> &'static str {
    match output.trim_start_matches("->").trim_start() {
        "" | "()" => "()",
        output if output.starts_with("Result < ()") => "Ok(())",
        output if output.starts_with("Result") => "Ok(Default::default())",
        _ => "Default::default()",
    }
}

/// The signature without the names of its parameters.
fn types(item: &ItemFn) -> String {
    let signature = &item.sig;
    let inputs = signature.inputs.iter().map(|input| match input {
        FnArg::Typed(input) => input.ty.to_token_stream().to_string(),
        FnArg::Receiver(input) => input.to_token_stream().to_string(),
    });
    let inputs: Vec<String> = inputs.collect();
    let before = [
        signature.constness.to_token_stream().to_string(),
        signature.asyncness.to_token_stream().to_string(),
        signature.unsafety.to_token_stream().to_string(),
        item.vis.to_token_stream().to_string(),
    ];
    format!(
        "{} fn {}{} ({}) {} {}",
        before.concat(),
        signature.ident,
        signature.generics.to_token_stream(),
        inputs.join(", "),
        signature.output.to_token_stream(),
        signature.generics.where_clause.to_token_stream()
    )
    .trim()
    .to_owned()
}

/// Blanks and line ends become one blank; the comma after the last parameter goes.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .join(" ")
        .replace("( ", "(")
        .replace(", )", ")")
        .replace(",)", ")")
        .replace(" )", ")")
}

fn find_todos(tokens: TokenStream, found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let is_todo = index >= 2
            && matches!(&tokens[index - 1], TokenTree::Punct(mark) if mark.as_char() == '!')
            && matches!(&tokens[index - 2], TokenTree::Ident(name) if *name == "todo");
        if is_todo && group.delimiter() != Delimiter::None {
            if let Ok(text) = syn::parse2::<syn::LitStr>(group.stream()) {
                found.push(text.value());
            }
        } else {
            find_todos(group.stream(), found);
        }
    }
}

fn other(item: &Item) -> OtherItem {
    let mut names = Vec::new();
    let is_use = matches!(item, Item::Use(_));
    match item {
        Item::Use(item) => names_of_use(&item.tree, &mut names),
        Item::Const(item) => names.push(item.ident.to_string()),
        Item::Static(item) => names.push(item.ident.to_string()),
        Item::Struct(item) => names.push(item.ident.to_string()),
        Item::Enum(item) => names.push(item.ident.to_string()),
        Item::Type(item) => names.push(item.ident.to_string()),
        Item::Trait(item) => names.push(item.ident.to_string()),
        Item::Mod(item) => names.push(item.ident.to_string()),
        Item::Impl(item) => names.push(item.self_ty.to_token_stream().to_string()),
        Item::Macro(item) => names.extend(item.ident.as_ref().map(ToString::to_string)),
        _ => {}
    }
    let span = item.span();
    OtherItem {
        names,
        item: span.byte_range(),
        lines: (span.start().line, span.end().line),
        is_use,
    }
}

fn names_of_use(tree: &syn::UseTree, names: &mut Vec<String>) {
    match tree {
        syn::UseTree::Path(path) => names_of_use(&path.tree, names),
        syn::UseTree::Name(name) => names.push(name.ident.to_string()),
        syn::UseTree::Rename(name) => names.push(name.rename.to_string()),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| names_of_use(tree, names)),
        syn::UseTree::Glob(_) => {}
    }
}

/// The code of a module that stands in the file, without blanks and comments; documentation is part of it.
pub fn module_code(text: &str, name: &str) -> Option<String> {
    let file = syn::parse_file(text).ok()?;
    let found = file.items.iter().find_map(|item| match item {
        Item::Mod(item) if item.ident == name => Some(item),
        _ => None,
    })?;
    Some(found.to_token_stream().to_string())
}

/// Whether the code mentions a name as a word.
pub fn mentions(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(|c: char| !is_word(c)).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! 你好 🦊\nuse std::fmt::{self, Debug as D};\nconst A: &str = \"é\";\n\n/// 文\n#[inline]\npub fn f<T: Copy>(\n    x: &[T],\n    mut y: u32,\n) -> Option<T> {\n    // todo!(\"05.1 in a comment\")\n    if y > 1 { todo!(\"05.1 F\") }\n    None\n}\nfn g() {}\n";

    #[test]
    fn places_are_right_behind_wide_characters() {
        let parsed = parse(TEXT).unwrap();
        let f = parsed.function("f").unwrap();
        assert!(TEXT[f.item.clone()].starts_with("/// 文"));
        assert!(TEXT[f.item.clone()].ends_with("None\n}"));
        assert!(TEXT[f.body.clone()].trim_start().starts_with("// todo!"));
        assert!(TEXT[f.body.clone()].ends_with("None\n"));
        assert_eq!((f.line, f.lines), (7, (5, 14)));
        assert_eq!(f.signature, "pub fn f<T: Copy>(x: &[T], mut y: u32) -> Option<T>");
        assert_eq!((f.todos[0].as_str(), f.empty), ("05.1 F", "Default::default()"));
        assert_eq!(parsed.function("g").unwrap().signature, "fn g()");
        assert_eq!(parsed.others[0].names, ["self", "D"]);
        assert_eq!((parsed.others[0].is_use, parsed.others[1].lines), (true, (3, 3)));
    }

    #[test]
    fn the_emptiest_value_fits_the_type() {
        let empty = |output: &str| {
            parse(&format!("fn f(g: impl Fn() -> u8) {output} {{ loop {{}} }}"))
                .unwrap()
                .functions[0]
                .empty
        };
        assert_eq!((empty(""), empty("-> Result<(), String>")), ("()", "Ok(())"));
        assert_eq!(
            (empty("-> Vec<Vec<u8>>"), empty("-> Result<Vec<u8>, E>")),
            ("Default::default()", "Ok(Default::default())")
        );
    }

    #[test]
    fn names_of_parameters_are_no_part_of_the_type() {
        let types = |text: &str| parse(text).unwrap().functions[0].types.clone();
        assert_eq!(
            types("pub fn f(x: &[f32], out: &mut [f32]) {}"),
            types("pub fn f(\n  row : &[f32],\n  mut out: &mut [f32],\n) { todo!() }")
        );
        assert_ne!(types("fn f(x: f32) {}"), types("fn f(x: f64) {}"));
        assert_ne!(types("fn f() {}"), types("fn f() -> u8 { 1 }"));
    }

    #[test]
    fn a_file_that_is_no_rust_says_where() {
        let error = parse("fn f() {}\nfn g( {\n").unwrap_err();
        assert_eq!(error.line, 2, "{error:?}");
        assert!(mentions("a . row (b)", "row") && !mentions("rows", "row"));
    }
}
