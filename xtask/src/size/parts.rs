//! The parts of the code: product, tests, workshop and generated, in lines and bytes.

use crate::tidy::Repository;
use crate::tidy::functions::is_test;
use std::fmt;
use std::ops::AddAssign;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Folders needed to develop and to measure, and never deployed.
pub const WORKSHOP: &[&str] = &[
    "crates/chart/",
    "crates/lab/",
    "crates/load/",
    "crates/testing/",
    "crates/touchline/src/bench",
    "crates/touchline/src/demo",
    "crates/touchline/src/load",
    "crates/touchline/src/sim",
    "competitors/",
    "fuzz/",
    "xtask/",
];

/// Lines and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub lines: usize,
    pub bytes: usize,
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.lines += other.lines;
        self.bytes += other.bytes;
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lines, megabytes) = (self.lines as f64 / 1e3, self.bytes as f64 / 1e6);
        write!(f, "{lines:.1} k lines, {megabytes:.2} MB")
    }
}

/// The parts of a checkout. A line is of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub product: Amount,
    /// Files of tests, and items under `#[cfg(test)]`, wherever they are.
    pub tests: Amount,
    pub workshop: Amount,
    pub generated: Amount,
}

impl Parts {
    pub fn of(repository: &Repository) -> Parts {
        let mut parts = Parts::default();
        let modules: Vec<String> = repository
            .with_extension("rs")
            .flat_map(|(path, text)| Tests::of(text).files_from(path))
            .collect();
        for (path, text) in repository.with_extension("rs") {
            let is_module = |start: &String| {
                let rest = path.strip_prefix(start.as_str());
                rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            };
            let all = Amount {
                lines: text.lines().count(),
                bytes: text.len(),
            };
            if text.starts_with("// @generated") {
                parts.generated += all;
                continue;
            }
            if is_test(path) || modules.iter().any(is_module) {
                parts.tests += all;
                continue;
            }
            let tests = inline_tests(text);
            parts.tests += tests;
            let is_workshop = WORKSHOP.iter().any(|start| path.starts_with(start));
            let rest = match is_workshop || path.contains("/benches/") {
                true => &mut parts.workshop,
                false => &mut parts.product,
            };
            *rest += Amount {
                lines: all.lines - tests.lines,
                bytes: all.bytes - tests.bytes,
            };
        }
        parts
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts {
            product,
            tests,
            workshop,
            generated,
        } = self;
        let ratio = tests.lines as f64 / product.lines.max(1) as f64;
        write!(
            f,
            "product {product}; tests {tests} ({ratio:.2} of the product's lines); workshop {workshop}; generated {generated}"
        )
    }
}

/// Items under `#[cfg(test)]` and functions under `#[test]` in a file of code.
fn inline_tests(text: &str) -> Amount {
    let found = Tests::of(text);
    let mut amount = Amount::default();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let is_inside = |span: &(usize, usize)| (span.0..=span.1).contains(&number);
        if found.spans.iter().any(is_inside) {
            amount += Amount {
                lines: 1,
                bytes: line.len(),
            };
        }
    }
    amount
}

/// First and last lines of items that only tests have.
#[derive(Default)]
struct Tests {
    spans: Vec<(usize, usize)>,
    /// Modules in files of their own.
    modules: Vec<String>,
}

impl Tests {
    fn of(text: &str) -> Tests {
        let mut found = Tests::default();
        // A file that is not Rust is a finding of the compiler.
        if let Ok(file) = syn::parse_file(text) {
            found.visit_file(&file);
        }
        found
    }

    /// Paths of its modules of tests, without `.rs`.
    fn files_from(self, path: &str) -> impl Iterator<Item = String> {
        let stem = path.strip_suffix(".rs").unwrap_or(path);
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let folder = match name {
            "lib" | "main" | "mod" => folder,
            _ => stem,
        };
        let folder = folder.to_owned();
        let modules = self.modules.into_iter();
        modules.map(move |module| format!("{folder}/{module}"))
    }

    /// Notes an item of tests; whether it is one.
    fn note(&mut self, attributes: &[syn::Attribute], item: &impl Spanned) -> bool {
        let is_of_tests = attributes.iter().any(|attribute| {
            let is_cfg = attribute.path().is_ident("cfg");
            attribute.path().is_ident("test")
                || is_cfg
                    && attribute
                        .parse_args::<syn::Path>()
                        .is_ok_and(|condition| condition.is_ident("test"))
        });
        if is_of_tests {
            let span = item.span();
            self.spans.push((span.start().line, span.end().line));
        }
        is_of_tests
    }
}

impl<'ast> Visit<'ast> for Tests {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !self.note(attributes, item) {
            visit::visit_item(self, item);
        } else if let syn::Item::Mod(module) = item
            && module.content.is_none()
        {
            self.modules.push(module.ident.to_string());
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !self.note(&item.attrs, item) {
            visit::visit_impl_item_fn(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_of_one_part() {
        let code = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";
        let method = "struct A;\nimpl A {\n    #[cfg(test)]\n    fn b() {}\n}\n";
        let repository = Repository::of(&[
            ("crates/a/src/lib.rs", code),
            ("crates/a/src/b.rs", method),
            ("crates/a/src/c.rs", "#[cfg(test)]\nmod world;\n"),
            ("crates/a/src/c/world.rs", "fn e() {}\n"),
            ("crates/a/src/c/world/d.rs", "fn e() {}\n"),
            ("crates/a/tests/a/main.rs", "fn b() {}\n"),
            ("crates/a/benches/a.rs", "fn c() {}\n"),
            ("crates/lab/src/lib.rs", code),
            (
                "crates/a/src/tables.rs",
                "// @generated by a chore\nfn d() {}\n",
            ),
        ]);
        let parts = Parts::of(&repository);
        let lines =
            [parts.product, parts.tests, parts.workshop, parts.generated].map(|of| of.lines);
        assert_eq!(lines, [2 + 3, 4 + 2 + 2 + 2 + 1 + 4, 1 + 2, 2]);
        let bytes =
            [parts.product, parts.tests, parts.workshop, parts.generated].map(|of| of.bytes);
        assert_eq!(
            bytes.iter().sum::<usize>(),
            2 * code.len() + method.len() + 24 + 4 * 10 + 35
        );
    }
}
