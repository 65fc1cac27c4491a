//! `cargo xtask size [FOLDER]`: the size of a checkout, in the figures that a redesign is judged by; the first line is the sum.

mod parts;

use crate::tidy::functions::{LINES_MAX, functions, is_test};
use crate::tidy::{Edge, Repository, circles};
use anyhow::Result;
use parts::{Parts, WORKSHOP};
use std::collections::BTreeSet;
use std::path::Path;
use syn::visit::{self, Visit};

/// Most fields of a type that has methods.
const FIELDS_MAX: usize = 20;
/// Fewest files of a circle that is counted.
const CIRCLE_MIN: usize = 5;

/// Prints the figures of the checkout in `folder`, those of its parts first, in one line.
///
/// # Errors
/// The checkout cannot be read.
pub fn run(folder: &Path) -> Result<()> {
    let repository = Repository::load(folder)?;
    println!("{}", Parts::of(&repository));
    for (what, figure) in figures(&repository) {
        println!("{what:<58} {figure}");
    }
    Ok(())
}

fn figures(repository: &Repository) -> Vec<(String, String)> {
    let all = || repository.with_extension("rs");
    let lines = |is_counted: &dyn Fn(&str) -> bool| -> usize {
        let counted = all().filter(|(path, _)| is_counted(path));
        counted.map(|(_, text)| text.lines().count()).sum()
    };
    let is_workshop = |path: &str| WORKSHOP.iter().any(|start| path.starts_with(start));
    let deployed = deployed(repository);
    let has_lab = deployed.contains("touchline-lab");
    let is_deployed = |path: &str| {
        if is_test(path) {
            return false;
        }
        let source = path.strip_prefix("crates/");
        let source = source.and_then(|rest| rest.split_once("/src/"));
        let is_linked = |(name, _): (&str, &str)| {
            deployed.contains(name) || deployed.contains(&format!("touchline-{name}"))
        };
        source.is_some_and(is_linked) && (has_lab || !is_workshop(path))
    };
    let words = repository.with_extension("md");
    let words: usize = words.map(|(_, text)| text.split_whitespace().count()).sum();
    let code = Code::of(repository);
    let p95 = code.functions.len() * 95 / 100;
    let p95 = code.functions.get(p95).copied().unwrap_or_default();
    let is_long = |lines: &&usize| **lines > LINES_MAX;
    let long = code.functions.iter().filter(is_long).count();
    let wide = code.wide();
    let circles = libraries(repository)
        .into_iter()
        .flat_map(|sources| circles::groups(repository, &sources))
        .filter(|group| group.len() >= CIRCLE_MIN)
        .count();
    [
        (
            "lines of our code linked into the deployed program",
            lines(&is_deployed).to_string(),
        ),
        ("words of Markdown", words.to_string()),
        (
            "types with methods and more than 20 fields",
            format!("{} {}", wide.len(), wide.join(" ")),
        ),
        ("circles of five files or more", circles.to_string()),
        (
            "95th percentile of the lines of a function",
            p95.to_string(),
        ),
        (
            "functions of more than 70 lines",
            format!("{long} of {}", code.functions.len()),
        ),
    ]
    .map(|(what, figure)| (what.to_owned(), figure.trim().to_owned()))
    .into()
}

/// Our packages that the program links without the features that are on by default.
fn deployed(repository: &Repository) -> BTreeSet<String> {
    let manifest = repository.files.get("crates/touchline/Cargo.toml");
    let is_optional = |edge: &Edge| {
        let start = format!("{} = ", edge.to);
        let mut lines = manifest.iter().flat_map(|text| text.lines());
        edge.from == "touchline"
            && lines.any(|line| line.starts_with(&start) && line.contains("optional = true"))
    };
    let mut linked = BTreeSet::from(["touchline".to_owned()]);
    let mut waiting = vec!["touchline".to_owned()];
    while let Some(package) = waiting.pop() {
        for edge in &repository.edges {
            let is_linked = edge.from == package && !edge.dev && !is_optional(edge);
            if is_linked && linked.insert(edge.to.clone()) {
                waiting.push(edge.to.clone());
            }
        }
    }
    linked
}

/// The source folder of each crate.
fn libraries(repository: &Repository) -> BTreeSet<String> {
    let crates = repository.crate_roots();
    let sources = crates.filter_map(|(path, _)| path.rsplit_once('/'));
    sources.map(|(sources, _)| format!("{sources}/")).collect()
}

/// Functions and types.
#[derive(Debug, Default)]
struct Code {
    /// Lines of each function, from its signature to its end.
    functions: Vec<usize>,
    structs: Vec<(Name, usize)>,
    with_methods: BTreeSet<Name>,
    /// Folder of the library that is visited.
    library: String,
}

/// A type by its library and its name: types of several libraries have the same name.
type Name = (String, String);

impl Code {
    /// Code of all hand-written files that are not tests alone.
    fn of(repository: &Repository) -> Code {
        let mut code = Code::default();
        for (path, text) in repository.rust().filter(|(path, _)| !is_test(path)) {
            // A file that is not Rust is a finding of the compiler.
            if let Ok(file) = syn::parse_file(text) {
                code.library = path.split("/src/").next().unwrap_or_default().to_owned();
                code.visit_file(&file);
                let lines = functions(&file).into_iter().map(|one| one.lines);
                code.functions.extend(lines);
            }
        }
        code.functions.sort_unstable();
        code
    }

    fn wide(&self) -> Vec<&str> {
        let wide = self
            .structs
            .iter()
            .filter(|(name, fields)| *fields > FIELDS_MAX && self.with_methods.contains(name));
        wide.map(|((_, name), _)| name.as_str()).collect()
    }
}

/// Whether a function is a method that changes its value.
fn changes(item: &syn::ImplItem) -> bool {
    let syn::ImplItem::Fn(method) = item else {
        return false;
    };
    let kind = method.sig.receiver().map(|receiver| &receiver.kind);
    matches!(kind, Some(syn::ReceiverKind::Reference(_, _, Some(_))))
}

impl<'ast> Visit<'ast> for Code {
    /// Without the tests.
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let name = (self.library.clone(), item.ident.to_string());
        self.structs.push((name, item.fields.len()));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let has_methods = item.trait_.is_none() && item.items.iter().any(changes);
        if has_methods
            && let syn::Type::Path(path) = &*item.self_ty
            && let Some(name) = path.path.segments.last()
        {
            let name = (self.library.clone(), name.ident.to_string());
            self.with_methods.insert(name);
        }
        visit::visit_item_impl(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_change_are_counted() {
        let fields: String = (0..21).map(|n| format!("a{n}: u8,\n")).collect();
        let text = format!(
            "struct Wide {{ {fields} }}\nimpl Wide {{\n fn change(&mut self) {{\n }}\n}}\n\
             struct Plain {{ {fields} }}\nimpl Plain {{ fn read(&self) {{}} }}\n"
        );
        let mut code = Code::default();
        code.visit_file(&syn::parse_file(&text).expect("Rust"));
        assert_eq!(code.wide(), ["Wide"]);
    }

    #[test]
    fn what_is_optional_is_not_deployed() {
        let edge = |to: &str| Edge {
            from: "touchline".to_owned(),
            to: to.to_owned(),
            dev: false,
        };
        let mut repository = Repository::of(&[(
            "crates/touchline/Cargo.toml",
            "touchline-lab = { workspace = true, optional = true }\ntouchline-fx.workspace = true\n",
        )]);
        repository.edges = BTreeSet::from([edge("touchline-lab"), edge("touchline-fx")]);
        let expected = ["touchline", "touchline-fx"].map(str::to_owned);
        assert_eq!(deployed(&repository), BTreeSet::from(expected));
    }
}
