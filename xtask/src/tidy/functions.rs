//! Functions fit on a screen.

use super::{Finding, Repository};
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Most lines of a function, from its signature to its end.
pub const LINES_MAX: usize = 70;

/// Functions that are longer: file, and name of the function. This list may only become shorter.
///
/// It is on a path that was measured in one piece: its values stay in registers during its loop.
const LEFT: &[(&str, &str)] = &[("crates/wire/src/fix/market_data.rs", "read")];

/// A function of hand-written code.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Line of its signature, from 1.
    pub line: usize,
    pub lines: usize,
}

/// Functions outside tests are short. A test may be a table of cases.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut left: BTreeSet<_> = LEFT.iter().collect();
    for (path, text) in repository.rust().filter(|(path, _)| !is_test(path)) {
        // A file that is not Rust is a finding of the compiler.
        let functions = syn::parse_file(text).map_or(Vec::new(), |file| functions(&file));
        for function in functions {
            if function.lines <= LINES_MAX {
                continue;
            }
            let entry = LEFT
                .iter()
                .find(|entry| **entry == (path, function.name.as_str()));
            if let Some(entry) = entry {
                left.remove(entry);
                continue;
            }
            let Function { name, line, lines } = function;
            let what = format!("`{name}` has {lines} lines, more than {LINES_MAX}");
            findings.push(Finding::new(path, line, what, "split it by idea"));
        }
    }
    // An example of a test has none of these files.
    let shorter = left
        .iter()
        .filter(|(path, _)| repository.files.contains_key(*path));
    findings.extend(shorter.map(|(path, name)| {
        let what = format!("`{name}` has at most {LINES_MAX} lines");
        Finding::new(
            path,
            1,
            what,
            "delete its line of LEFT in xtask/src/tidy/functions.rs",
        )
    }));
    findings
}

/// Whether a file has tests alone.
pub fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// The functions of a file, its tests left out.
pub fn functions(file: &syn::File) -> Vec<Function> {
    let mut found = Found::default();
    found.visit_file(file);
    found.functions
}

#[derive(Default)]
struct Found {
    functions: Vec<Function>,
}

impl Found {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let line = signature.span().start().line;
        self.functions.push(Function {
            name: signature.ident.to_string(),
            line,
            lines: block.span().end().line + 1 - line,
        });
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let is_test = |attribute: &syn::Attribute| attribute.path().is_ident("test");
        if !item.attrs.iter().any(is_test) {
            self.add(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(head: &str, lines: usize) -> String {
        format!("{head} {{\n{}}}\n", "    call();\n".repeat(lines - 2))
    }

    #[test]
    fn a_long_function_is_found_and_a_long_test_is_not() {
        let text = format!(
            "{}{}#[test]\n{}mod tests {{\n{}}}\n",
            long("fn short()", LINES_MAX),
            long("fn long()", LINES_MAX + 1),
            long("fn table()", 2 * LINES_MAX),
            long("fn rig()", 2 * LINES_MAX),
        );
        let files = [
            ("crates/a/src/a.rs", text.as_str()),
            ("crates/a/tests/a.rs", text.as_str()),
        ];
        let findings = check(&Repository::of(&files));
        let what: Vec<_> = findings
            .iter()
            .map(|one| (one.line, one.what.as_str()))
            .collect();
        assert_eq!(what, [(71, "`long` has 71 lines, more than 70")]);
    }

    #[test]
    fn one_that_contains_another_counts_it() {
        let file = syn::parse_file("fn one() {\n fn two() {}\n}\n").expect("Rust");
        let lines = functions(&file).into_iter().map(|one| one.lines);
        assert_eq!(lines.collect::<Vec<_>>(), [3, 1]);
    }

    #[test]
    fn a_function_that_became_short_leaves_the_list() {
        let (path, name) = LEFT[0];
        let short = check(&Repository::of(&[(path, &format!("fn {name}() {{}}\n"))]));
        assert_eq!(short.len(), 1, "{short:?}");
        let text = long(&format!("fn {name}()"), LINES_MAX + 1);
        assert_eq!(check(&Repository::of(&[(path, &text)])), []);
    }
}
