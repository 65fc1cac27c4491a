//! Items that only tests have, in files of code.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// First and last lines of items that only tests have.
#[derive(Default)]
pub struct TestItems {
    spans: Vec<(usize, usize)>,
    /// Modules in files of their own.
    modules: Vec<String>,
}

impl TestItems {
    /// The items of a file of Rust.
    pub fn of(text: &str) -> TestItems {
        let mut found = TestItems::default();
        // A file that is not Rust is a finding of the compiler.
        if let Ok(file) = syn::parse_file(text) {
            found.visit_file(&file);
        }
        found
    }

    /// Paths of its modules of tests, without `.rs`.
    pub fn files_from(self, path: &str) -> impl Iterator<Item = String> {
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

    /// Whether a line, from 1, is of such an item.
    pub fn has_line(&self, number: usize) -> bool {
        let is_inside = |span: &(usize, usize)| (span.0..=span.1).contains(&number);
        self.spans.iter().any(is_inside)
    }

    fn note(&mut self, item: &impl Spanned) {
        let span = item.span();
        self.spans.push((span.start().line, span.end().line));
    }
}

/// Whether an item has `#[test]` or `#[cfg(test)]`.
pub fn is_of_tests(item: &syn::Item) -> bool {
    are_of_tests(match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    })
}

fn are_of_tests(attributes: &[syn::Attribute]) -> bool {
    let is_test = |condition: syn::Path| condition.is_ident("test");
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && attribute.parse_args().is_ok_and(is_test)
    })
}

impl<'ast> Visit<'ast> for TestItems {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_of_tests(item) {
            return visit::visit_item(self, item);
        }
        self.note(item);
        if let syn::Item::Mod(module) = item
            && module.content.is_none()
        {
            self.modules.push(module.ident.to_string());
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        match are_of_tests(&item.attrs) {
            true => self.note(item),
            false => visit::visit_impl_item_fn(self, item),
        }
    }
}
