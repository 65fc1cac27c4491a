//! Files of a crate use each other in one direction only.

use super::{Finding, Repository};
use std::collections::{BTreeMap, BTreeSet};

/// Crates with this rule.
const CRATES: &[&str] = &["crates/feed/src/"];

/// Path of a module, without the crate.
type Module = Vec<String>;

/// No file uses a file that uses it, directly or indirectly. A declaration of a child module is not a use; a `use` of
/// its items is.
pub fn check(repository: &Repository) -> Vec<Finding> {
    CRATES
        .iter()
        .filter_map(|sources| circle_in(repository, sources))
        .collect()
}

/// What each file of a crate uses of the others.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

fn uses_in(repository: &Repository, sources: &str) -> Uses {
    let mut files: BTreeMap<Module, &str> = BTreeMap::new();
    for (path, text) in repository.rust() {
        let Some(name) = path.strip_prefix(sources) else {
            continue;
        };
        let module: Module = name
            .trim_end_matches(".rs")
            .split('/')
            .map(str::to_owned)
            .collect();
        // Tests use all files, and no file uses them.
        if !module.contains(&"tests".to_owned()) && module != ["lib"] {
            files.insert(module, text);
        }
    }
    let uses = files.iter().map(|(module, text)| {
        let used = used_by(module, text, |module| files.contains_key(module));
        (module.clone(), used)
    });
    uses.collect()
}

/// The files of each circle of a crate: all that use each other, directly or indirectly. Largest first.
pub fn groups(repository: &Repository, sources: &str) -> Vec<Vec<String>> {
    let uses = uses_in(repository, sources);
    let reached: BTreeMap<&Module, BTreeSet<Module>> = uses
        .keys()
        .map(|module| (module, all_below(&uses, module)))
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

fn circle_in(repository: &Repository, sources: &str) -> Option<Finding> {
    let uses = uses_in(repository, sources);
    let circle = uses.keys().find_map(|module| way_back(&uses, module))?;
    let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
    Some(Finding::new(
        &format!("{sources}{}.rs", circle[0].join("/")),
        1,
        format!("files use each other in a circle: {}", names.join(" -> ")),
        "move what both need into a file below them",
    ))
}

/// The shortest path from a module back to itself.
fn way_back(uses: &Uses, start: &Module) -> Option<Vec<Module>> {
    let mut ways = std::collections::VecDeque::from([vec![start.clone()]]);
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

/// The files whose items a file names in its `use` declarations outside of tests.
fn used_by(module: &Module, text: &str, is_file: impl Fn(&Module) -> bool) -> BTreeSet<Module> {
    let mut used = BTreeSet::new();
    for declaration in declarations(text) {
        for path in leaves(&declaration) {
            let (mut place, mut rest): (Module, &[&str]) = (module.clone(), &path);
            match rest.first() {
                Some(&"crate") => {
                    place.clear();
                    rest = &rest[1..];
                }
                Some(&("super" | "self")) => {
                    while let Some((first @ (&"super" | &"self"), behind)) = rest.split_first() {
                        if *first == "super" {
                            place.pop();
                        }
                        rest = behind;
                    }
                }
                // A child, or another crate.
                Some(first) if is_file(&[&place[..], &[(*first).to_owned()]].concat()) => {}
                _ => continue,
            }
            for name in rest {
                let deeper = [&place[..], &[(*name).to_owned()]].concat();
                if !is_file(&deeper) && !place.is_empty() {
                    break;
                }
                place = deeper;
            }
            if is_file(&place) && place != *module {
                used.insert(place);
            }
        }
    }
    used
}

/// The text between `use` and `;` at the beginning of a line, which test modules do not have.
fn declarations(text: &str) -> Vec<String> {
    let starts = text.match_indices("use ").filter(|(at, _)| {
        let line = &text[text[..*at].rfind('\n').map_or(0, |end| end + 1)..*at];
        ["", "pub ", "pub(super) ", "pub(crate) "].contains(&line)
    });
    let body = |(at, start): (usize, &str)| text[at + start.len()..].split(';').next();
    starts.filter_map(body).map(str::to_owned).collect()
}

/// Paths of a declaration, one for each name.
fn leaves(declaration: &str) -> Vec<Vec<&str>> {
    fn walk<'a>(before: &[&'a str], text: &'a str, found: &mut Vec<Vec<&'a str>>) {
        let (mut depth, mut start) = (0, 0);
        for (at, letter) in text.char_indices().chain([(text.len(), ',')]) {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    let item = text[start..at].trim();
                    start = at + 1;
                    let (names, group) = match item.split_once('{') {
                        Some((names, group)) => (names, group.strip_suffix('}')),
                        None => (item, None),
                    };
                    let names = names.split("::").map(str::trim);
                    let names = names.filter(|name| !name.is_empty());
                    let path: Vec<&str> = before.iter().copied().chain(names).collect();
                    match group {
                        Some(group) => walk(&path, group, found),
                        None if item.is_empty() => {}
                        None => found.push(path),
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(&[], declaration, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let named: Vec<(String, &str)> = files
            .iter()
            .map(|(name, text)| (format!("crates/feed/src/{name}.rs"), *text))
            .collect();
        let named: Vec<(&str, &str)> = named.iter().map(|(p, t)| (p.as_str(), *t)).collect();
        let findings = check(&Repository::of(&named));
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
            ("venue/b", "pub use crate::venue::c;\n"),
            ("venue/c", "use std::fmt;\nuse super::{d::Five, a::Four};\n"),
        ];
        let what = "files use each other in a circle: venue/a -> venue/b -> venue/c -> venue/a";
        assert_eq!(found(&circle), [what]);
        let parent = [
            ("venue", "mod a;\nuse a::One;\n"),
            ("venue/a", "use super::Two;\n"),
        ];
        let what = "files use each other in a circle: venue -> venue/a -> venue";
        assert_eq!(found(&parent), [what]);
    }

    #[test]
    fn a_group_has_all_files_that_use_each_other() {
        let repository = Repository::of(&[
            ("crates/feed/src/a.rs", "use crate::b::One;\n"),
            ("crates/feed/src/b.rs", "use crate::c::One;\n"),
            (
                "crates/feed/src/c.rs",
                "use crate::a::One;\nuse crate::d::One;\n",
            ),
            ("crates/feed/src/d.rs", "use crate::e::One;\n"),
            ("crates/feed/src/e.rs", "use crate::d::Two;\n"),
            ("crates/feed/src/f.rs", "use crate::a::Two;\n"),
        ]);
        let found = groups(&repository, "crates/feed/src/");
        assert_eq!(found, [vec!["a", "b", "c"], vec!["d", "e"]]);
    }

    #[test]
    fn module_declarations_and_tests_are_not_imports() {
        let tree = [
            ("lib", "mod venue;\npub use venue::One;\n"),
            ("venue", "mod a;\nmod b;\npub use a::One;\n"),
            ("venue/a", "use super::b::Two;\nuse crate::Output;\n"),
            (
                "venue/b",
                "#[cfg(test)]\nmod tests {\n    use super::super::a::One;\n}\n",
            ),
            ("venue/a/tests", "use super::*;\nuse crate::venue::b;\n"),
        ];
        assert_eq!(found(&tree), [""; 0]);
    }
}
