//! Files of a library, and of the command, use each other in one direction only.
//!
//! A file uses another if it names an item of it, in a `use` or in a path that starts with `crate`, `super` or a child
//! module. The file that defines the item counts: a name that a module only passes on leads to the file behind it,
//! and passing a name on is not a use. Declarations of modules, and tests, do not count.
//!
//! One pair is not a circle: a module and a child that no other file uses, the child's own children apart. The child is
//! a part of its parent, in a file of its own because of its size, and may use the items of its parent.

use super::test_items::is_of_tests;
use super::{Finding, Repository};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use syn::visit::{self, Visit};

/// Circles that are left: library, and a file of the circle. This list may only become shorter.
const LEFT: &[(&str, &str)] = &[
    ("fx", "orders/store"),
    ("fx", "plan"),
    ("fx", "trading"),
    // The layouts and the list of them, which their test compares with the schema.
    ("types", "native/layout"),
    // A ring in shared memory: its parts are proved together.
    ("shm", "broadcast/format"),
    // The steps of joining are those of a subscriber.
    ("transport", "market/subscriber"),
];

/// Path of a module, without the crate.
pub type Module = Vec<String>;

/// Modules that each module of a crate uses.
pub type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// No file uses a file that uses it, directly or indirectly.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut left: BTreeSet<(&str, &str)> = LEFT.iter().copied().collect();
    for sources in libraries(repository) {
        let uses = uses_in(repository, &sources);
        for group in groups_of(&uses) {
            let known = |(library, file): &(&str, &str)| {
                sources == format!("crates/{library}/src/") && group.contains(&(*file).to_owned())
            };
            match LEFT.iter().find(|entry| known(entry)) {
                Some(entry) => {
                    left.remove(entry);
                }
                None => findings.push(circle_of(&sources, &uses, &group)),
            }
        }
    }
    // Without the crates the repository is an example of a test.
    let is_whole = repository.files.contains_key("xtask/src/tidy/circles.rs");
    let opened = left.iter().filter(|_| is_whole);
    findings.extend(opened.map(|(library, file)| {
        let what = format!("no circle goes through {file} of {library}");
        Finding::new(
            "xtask/src/tidy/circles.rs",
            1,
            what,
            "delete its line of LEFT",
        )
    }));
    findings
}

/// The source folders of libraries and of the command.
pub fn libraries(repository: &Repository) -> BTreeSet<String> {
    let files = repository.rust().map(|(path, _)| path);
    let roots = files.filter_map(|path| {
        let library = path.strip_suffix("lib.rs");
        library.or_else(|| path.strip_suffix("main.rs"))
    });
    let roots =
        roots.filter(|sources| sources.starts_with("crates/") && sources.ends_with("/src/"));
    roots.map(str::to_owned).collect()
}

/// The files of each circle of a crate: all that use each other, directly or indirectly. Largest first.
pub fn groups(repository: &Repository, sources: &str) -> Vec<Vec<String>> {
    groups_of(&uses_in(repository, sources))
}

fn groups_of(uses: &Uses) -> Vec<Vec<String>> {
    let reached: BTreeMap<&Module, BTreeSet<Module>> = uses
        .keys()
        .map(|module| (module, all_below(uses, module)))
        .collect();
    let mut groups = BTreeSet::new();
    for (module, below) in &reached {
        if below.contains(*module) {
            let is_back = |other: &&Module| reached[*other].contains(*module);
            let group = below.iter().filter(is_back).map(|other| other.join("/"));
            groups.insert(group.collect::<Vec<_>>());
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

/// Everything that a file uses, directly or indirectly.
fn all_below(uses: &Uses, start: &Module) -> BTreeSet<Module> {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![start];
    while let Some(module) = waiting.pop() {
        for used in &uses[module] {
            if seen.insert(used.clone()) {
                waiting.push(used);
            }
        }
    }
    seen
}

/// The shortest way around a circle.
fn circle_of(sources: &str, uses: &Uses, group: &[String]) -> Finding {
    let ways = group.iter().filter_map(|file| {
        let start: Module = file.split('/').map(str::to_owned).collect();
        way_back(uses, &start)
    });
    let circle = ways
        .min_by_key(Vec::len)
        .expect("each file of a circle has a way back");
    let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
    Finding::new(
        &format!("{sources}{}.rs", names[0]),
        1,
        format!("files use each other in a circle: {}", names.join(" -> ")),
        "move what both need into a file below them",
    )
}

/// The shortest path from a module back to itself.
fn way_back(uses: &Uses, start: &Module) -> Option<Vec<Module>> {
    let mut ways = VecDeque::from([vec![start.clone()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way.last().expect("a way has a beginning");
        for next in uses.get(last).into_iter().flatten() {
            let longer: Vec<Module> = way.iter().chain([next]).cloned().collect();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}

/// The files that each file of a crate uses, its tests left out.
pub fn uses_in(repository: &Repository, sources: &str) -> Uses {
    let mut files: BTreeMap<Module, File> = BTreeMap::new();
    for (path, text) in repository.rust() {
        let Some(name) = path.strip_prefix(sources) else {
            continue;
        };
        let name = name.trim_end_matches(".rs");
        let mut module: Module = name.split('/').map(str::to_owned).collect();
        if module == ["lib"] || module == ["main"] {
            module.clear();
        }
        // Tests use all files, and no file uses them. A file that is not Rust is a finding of the compiler.
        if !module.contains(&"tests".to_owned())
            && let Ok(parsed) = syn::parse_file(text)
        {
            files.insert(module.clone(), File::of(&module, &parsed));
        }
    }
    let tests: BTreeSet<Module> = files.values().flat_map(|file| file.tests.clone()).collect();
    files.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    let used_by = |(module, file): (&Module, &File)| {
        let used = file.named().filter_map(|path| definition(&files, path, 0));
        let used = used.filter(|used| used != module && !used.is_empty());
        (module.clone(), used.collect())
    };
    let of_crate = |(module, _): &(&Module, &File)| !module.is_empty();
    let uses = files.iter().filter(of_crate).map(used_by).collect();
    without_parts(uses)
}

/// The uses, without those of a parent by a child that is a part of it.
fn without_parts(mut uses: Uses) -> Uses {
    let is_part = |module: &Module| {
        let parent = &module[..module.len() - 1];
        let mut users = uses.iter().filter(|(_, used)| used.contains(module));
        users.all(|(user, _)| user == parent || user.starts_with(module))
    };
    let parts: BTreeSet<Module> = uses.keys().filter(|one| is_part(one)).cloned().collect();
    for part in &parts {
        let used = uses.get_mut(part).expect("a part is a file");
        // A part of a part is one of the whole, too.
        for length in (1..part.len()).rev() {
            used.remove(&part[..length]);
            if !parts.contains(&part[..length]) {
                break;
            }
        }
    }
    uses
}

/// The file that defines the item of a path, if it is one of these.
fn definition(files: &BTreeMap<Module, File>, path: &[String], depth: usize) -> Option<Module> {
    let inside = (0..=path.len())
        .rev()
        .find(|end| files.contains_key(&path[..*end]))?;
    let (module, rest) = path.split_at(inside);
    let passed_on = rest
        .first()
        .and_then(|name| files[module].imports.get(name));
    match passed_on {
        // A circle of names is an error of the compiler.
        Some(import) if depth < 8 => {
            let behind = [&import.path[..], &rest[1..]].concat();
            definition(files, &behind, depth + 1).filter(|found| !found.is_empty())
        }
        _ => Some(module.to_owned()),
    }
}

/// The names in a file, its tests left out.
#[derive(Debug, Default)]
struct File {
    /// By the name that they have here.
    imports: BTreeMap<String, Import>,
    /// Paths in the code that start in this crate, from its root.
    paths: Vec<Module>,
    /// Every name in the code, imports left out.
    names: BTreeSet<String>,
    /// Module of the place that is visited.
    place: Module,
    children: BTreeSet<String>,
    /// Children that only tests have.
    tests: Vec<Module>,
}

#[derive(Debug)]
struct Import {
    /// From the root of this crate.
    path: Module,
    is_public: bool,
}

impl File {
    fn of(module: &Module, parsed: &syn::File) -> File {
        let mut file = File {
            place: module.clone(),
            ..File::default()
        };
        for item in &parsed.items {
            if let syn::Item::Mod(child) = item
                && child.content.is_none()
            {
                let name = child.ident.to_string();
                if is_of_tests(item) {
                    file.tests
                        .push([&module[..], std::slice::from_ref(&name)].concat());
                }
                file.children.insert(name);
            }
        }
        file.visit_file(parsed);
        file
    }

    /// Paths of the items that its code uses.
    fn named(&self) -> impl Iterator<Item = &Module> {
        let used =
            |(name, import): &(&String, &Import)| !import.is_public || self.names.contains(*name);
        let imports = self.imports.iter().filter(used);
        imports.map(|(_, import)| &import.path).chain(&self.paths)
    }

    /// A path from the root of this crate, if it starts in it.
    fn absolute(&self, path: &[String]) -> Option<Module> {
        let mut place = self.place.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                place.clear();
                rest = &rest[1..];
            }
            "super" | "self" => {
                while let Some((first, behind)) = rest.split_first()
                    && ["super", "self"].contains(&first.as_str())
                {
                    if first == "super" {
                        place.pop();
                    }
                    rest = behind;
                }
            }
            first if self.children.contains(first) => {}
            _ => return None,
        }
        Some([&place[..], rest].concat())
    }

    fn import(&mut self, before: &[String], tree: &syn::UseTree, is_public: bool) {
        let mut add = |name: &syn::Ident, here: &syn::Ident| {
            let mut path = before.to_vec();
            if name != "self" {
                path.push(name.to_string());
            }
            let here = match here == "self" {
                true => before.last().cloned().unwrap_or_default(),
                false => here.to_string(),
            };
            if let Some(path) = self.absolute(&path) {
                self.imports.insert(here, Import { path, is_public });
            }
        };
        match tree {
            syn::UseTree::Path(path) => {
                let before = [before, &[path.ident.to_string()]].concat();
                self.import(&before, &path.tree, is_public);
            }
            syn::UseTree::Name(name) => add(&name.ident, &name.ident),
            syn::UseTree::Rename(name) => add(&name.ident, &name.rename),
            syn::UseTree::Glob(_) if is_public => {}
            syn::UseTree::Glob(_) => self.paths.extend(self.absolute(before)),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(before, tree, is_public);
                }
            }
        }
    }

    fn path(&mut self, path: &[String]) {
        self.names.extend(path.first().cloned());
        if path.len() > 1 {
            self.paths.extend(self.absolute(path));
        }
    }

    /// Paths in the arguments of a macro, which are not parsed.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.path(&std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => self.tokens(group.stream()),
                _ => self.path(&std::mem::take(&mut path)),
            }
        }
        self.path(&path);
    }
}

impl<'ast> Visit<'ast> for File {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_of_tests(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.ident != "tests" && item.content.is_some() {
            self.place.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.place.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_public = !matches!(item.vis, syn::Visibility::Inherited);
        self.import(&[], &item.tree, is_public);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|name| name.ident.to_string());
        self.path(&names.collect::<Vec<_>>());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.path(
            &item
                .path
                .segments
                .iter()
                .map(|name| name.ident.to_string())
                .collect::<Vec<_>>(),
        );
        self.tokens(item.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Repository {
        let named: Vec<(String, &str)> = files
            .iter()
            .map(|(name, text)| (format!("crates/feed/src/{name}.rs"), *text))
            .collect();
        let named: Vec<(&str, &str)> = named.iter().map(|(p, t)| (p.as_str(), *t)).collect();
        Repository::of(&named)
    }

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let findings = check(&of(&[files, &[("lib", "mod venue;")]].concat()));
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_cycle_is_found_in_every_form_of_import() {
        let circle = [
            ("venue", "mod a;\nmod b;\n"),
            (
                "venue/a",
                "use super::b::{\n    One,\n    deep::{Two, Three},\n};\n",
            ),
            ("venue/b", "fn b() { crate::venue::c::c(); }\n"),
            (
                "venue/c",
                "use std::fmt;\nfn c() { assert!(super::d::five() == 5); }\nuse super::{d::Five, a::Four};\n",
            ),
        ];
        let what = "files use each other in a circle: venue/a -> venue/b -> venue/c -> venue/a";
        assert_eq!(found(&circle), [what]);
        let in_a_macro = [
            ("venue/a", "use super::b::*;\n"),
            ("venue/b", "fn b() { assert!(1 == super::a::ONE); }\n"),
        ];
        let what = "files use each other in a circle: venue/a -> venue/b -> venue/a";
        assert_eq!(found(&in_a_macro), [what]);
    }

    /// Uses lead to the file that defines a name; the module that passes it on is not part of a circle.
    #[test]
    fn a_name_that_is_passed_on_is_of_the_file_behind() {
        let tree = [
            (
                "venue",
                "mod a;\nmod b;\npub use a::One;\npub use b::Two;\n",
            ),
            ("venue/a", "use super::Two;\n"),
            ("venue/b", ""),
        ];
        assert_eq!(found(&tree), [""; 0]);
        let circle = [tree[0], tree[1], ("venue/b", "use crate::venue::One;\n")];
        let what = "files use each other in a circle: venue/a -> venue/b -> venue/a";
        assert_eq!(found(&circle), [what]);
        let used = "mod a;\npub use a::One;\nfn one() -> One { One }\n";
        let circle = [
            ("venue", used),
            ("venue/a", "use crate::other;"),
            ("other", "use crate::venue;"),
        ];
        let what = "files use each other in a circle: other -> venue -> venue/a -> other";
        assert_eq!(found(&circle), [what]);
    }

    #[test]
    fn a_child_of_one_parent_alone_is_a_part_of_it() {
        let parent = ("venue", "mod a;\nuse a::One;\n");
        let child = ("venue/a", "use super::Two;\n");
        assert_eq!(found(&[parent, child]), [""; 0]);
        let grandchild = ("venue/a/b", "use super::Three;\nuse crate::venue::Two;\n");
        let child_of_both = ("venue/a", "mod b;\nuse super::Two;\nuse b::Four;\n");
        assert_eq!(found(&[parent, child_of_both, grandchild]), [""; 0]);
        let other = ("other", "use crate::venue::a::One;\n");
        let what = "files use each other in a circle: venue -> venue/a -> venue";
        assert_eq!(found(&[parent, child, other]), [what]);
    }

    #[test]
    fn a_group_has_all_files_that_use_each_other() {
        let repository = of(&[
            ("a", "use crate::b::B;\n"),
            ("b", "use crate::c::C;\n"),
            ("c", "use crate::a::A;\nuse crate::d::D;\n"),
            ("d", "use crate::e::E;\n"),
            ("e", "use crate::d::D;\n"),
            ("f", "use crate::a::A;\n"),
        ]);
        let found = groups(&repository, "crates/feed/src/");
        assert_eq!(found, [vec!["a", "b", "c"], vec!["d", "e"]]);
    }

    #[test]
    fn module_declarations_and_tests_are_not_imports() {
        let tree = [
            ("venue", "mod a;\nmod b;\npub use a::One;\n"),
            ("venue/a", "use super::b::Two;\nuse crate::Output;\n"),
            (
                "venue/b",
                "#[cfg(test)]\nmod tests {\n    use super::super::a::One;\n}\n",
            ),
            ("venue/a/tests", "use super::*;\nuse crate::venue::b;\n"),
            ("rig", "#[cfg(test)]\nmod wire;\nuse wire::Three;\n"),
            ("rig/wire", "use super::other::Four;\n"),
            ("rig/other", "use super::wire::Five;\n"),
        ];
        assert_eq!(found(&tree), [""; 0]);
    }
}
