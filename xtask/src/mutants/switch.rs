//! Many mutants in one build: each function that mutants change holds its broken bodies beside its own, and a variable
//! of the environment chooses which one runs.
//!
//! Building a crate again is most of the time that trying a mutant takes. A function cannot be switched where Rust
//! needs one body: a `const fn`, one that returns an `impl Trait`; code outside functions cannot be switched either. Those mutants
//! are tried one by one.

use super::{
    Mutant,
    place::{NoPlace, Place, Sources},
};
use anyhow::{Context, Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
};
use syn::{Block, Signature, spanned::Spanned, visit::Visit};

/// The variable that holds the number of the mutant that runs.
pub const VARIABLE: &str = "TOUCHLINE_MUTANT";

/// The package that asks for it; it exists in the copy alone.
const PACKAGE: &str = "mutant_switch";
const PACKAGE_MANIFEST: &str =
    "[package]\nname = \"mutant_switch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
const PACKAGE_SOURCE: &str = "\
use std::sync::OnceLock;

/// Whether the mutant of this number is the one that runs.
#[inline]
pub fn is(number: u32) -> bool {
    static CHOSEN: OnceLock<u32> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let chosen = std::env::var(\"TOUCHLINE_MUTANT\").ok();
        chosen.map_or(u32::MAX, |number| number.parse().unwrap())
    }) == number
}
";

/// Which mutants share one build, and which need one of their own.
#[derive(Debug, Default)]
pub struct Plan<'a> {
    /// By the function that they change.
    bodies: BTreeMap<(PathBuf, BodyAt), Vec<Switched<'a>>>,
    /// Mutants that are tried one by one.
    pub alone: Vec<(&'a Mutant, Place)>,
    /// Mutants whose places do not exist.
    pub without_place: Vec<(&'a Mutant, NoPlace)>,
}

/// Body of a function, without its braces: the first byte, and the one behind the last.
type BodyAt = (usize, usize);

#[derive(Debug)]
struct Switched<'a> {
    mutant: &'a Mutant,
    number: usize,
    bytes: Range<usize>,
}

impl<'a> Plan<'a> {
    /// Divides `mutants`, whose numbers are the first places of their names in this list.
    ///
    /// # Errors
    /// A file with a mutant is not valid Rust, or a mutant has several places, one of which cannot be switched.
    pub fn new(sources: &Sources, mutants: &[&'a Mutant]) -> Result<Plan<'a>> {
        let mut plan = Plan::default();
        let mut bodies: BTreeMap<PathBuf, Vec<Range<usize>>> = BTreeMap::new();
        for &mutant in mutants {
            let of_name = |other: &&Mutant| other.name == mutant.name;
            let number = mutants.iter().position(of_name).unwrap_or(0);
            let place = match sources.place(mutant) {
                Ok(place) => place,
                Err(reason) => {
                    plan.without_place.push((mutant, reason));
                    continue;
                }
            };
            let Place { file, bytes } = &place;
            if !bodies.contains_key(file) {
                let found = bodies_that_can_be_switched(sources.text(file))
                    .with_context(|| format!("cannot read {} as Rust", file.display()))?;
                bodies.insert(file.clone(), found);
            }
            let around = |body: &&Range<usize>| body.start <= bytes.start && bytes.end <= body.end;
            // The outermost, so that no body holds another one that is switched.
            match bodies[file].iter().find(around) {
                Some(body) => {
                    let key = (file.clone(), (body.start, body.end));
                    let switched = Switched {
                        mutant,
                        number,
                        bytes: bytes.clone(),
                    };
                    plan.bodies.entry(key).or_default().push(switched);
                }
                None if mutants.iter().copied().filter(of_name).count() > 1 => bail!(
                    "mutant '{}' has several places, and the one in {} cannot be switched",
                    mutant.name,
                    file.display()
                ),
                None => plan.alone.push((mutant, place)),
            }
        }
        Ok(plan)
    }

    /// The mutants that share a build, each with its number.
    pub fn switched(&self) -> Vec<(usize, &'a Mutant)> {
        let switched = self.bodies.values().flatten();
        let mut switched: Vec<_> = switched.map(|one| (one.number, one.mutant)).collect();
        switched.sort_unstable_by_key(|(number, _)| *number);
        switched.dedup_by_key(|(number, _)| *number);
        switched
    }

    /// The files that a copy of the sources below `root` needs for the switches, in place of those there.
    ///
    /// # Errors
    /// A manifest cannot be read.
    pub fn files(&self, root: &Path, sources: &Sources) -> Result<BTreeMap<PathBuf, String>> {
        let mut files = BTreeMap::from([
            (
                Path::new(PACKAGE).join("Cargo.toml"),
                PACKAGE_MANIFEST.to_owned(),
            ),
            (
                Path::new(PACKAGE).join("src/lib.rs"),
                PACKAGE_SOURCE.to_owned(),
            ),
        ]);
        let switched: BTreeSet<&PathBuf> = self.bodies.keys().map(|(file, _)| file).collect();
        for file in switched {
            files.insert(file.clone(), self.text_of(file, sources, None));
            let folders = file.ancestors().skip(1);
            let mut manifests = folders.map(|folder| folder.join("Cargo.toml"));
            if let Some(manifest) = manifests.find(|manifest| root.join(manifest).exists())
                && !files.contains_key(&manifest)
            {
                let text = fs::read_to_string(root.join(&manifest))?;
                let up = "../".repeat(manifest.components().count() - 1);
                let needs = format!("{text}\n[dependencies.{PACKAGE}]\npath = \"{up}{PACKAGE}\"\n");
                files.insert(manifest, needs);
            }
        }
        Ok(files)
    }

    /// A file with its switches, and with the permanent change of one mutant that is in none of their functions.
    pub fn text_of(
        &self,
        file: &Path,
        sources: &Sources,
        broken: Option<(&Place, &str)>,
    ) -> String {
        let text = sources.text(file);
        let of_file = self.bodies.iter().filter(|((of, _), _)| of == file);
        let mut changes: Vec<(Range<usize>, String)> = of_file
            .map(|((_, (begin, end)), mutants)| (*begin..*end, switch(text, *begin..*end, mutants)))
            .chain(broken.map(|(place, with)| (place.bytes.clone(), with.to_owned())))
            .collect();
        // From the end, so that earlier places stay valid.
        changes.sort_unstable_by_key(|(bytes, _)| std::cmp::Reverse(bytes.start));
        let mut out = text.to_owned();
        for (bytes, with) in changes {
            out.replace_range(bytes, &with);
        }
        out
    }
}

/// The body at `body` with the broken ones before it.
fn switch(text: &str, body: Range<usize>, mutants: &[Switched<'_>]) -> String {
    let mut out = String::new();
    let numbers: BTreeSet<usize> = mutants.iter().map(|one| one.number).collect();
    for number in numbers {
        let mut changes: Vec<&Switched> =
            mutants.iter().filter(|one| one.number == number).collect();
        changes.sort_unstable_by_key(|one| std::cmp::Reverse(one.bytes.start));
        let mut broken = text[body.clone()].to_owned();
        for one in changes {
            let bytes = one.bytes.start - body.start..one.bytes.end - body.start;
            broken.replace_range(bytes, one.mutant.replace);
        }
        out.push_str(&format!("if {PACKAGE}::is({number}) {{{broken}}} else "));
    }
    format!("{out}{{{}}} ", &text[body])
}

/// The bodies of functions, without their braces, in order; of one within another the outer one comes first.
fn bodies_that_can_be_switched(text: &str) -> Result<Vec<Range<usize>>> {
    let mut bodies = Bodies::default();
    bodies.visit_file(&syn::parse_file(text)?);
    Ok(bodies.0)
}

#[derive(Default)]
struct Bodies(Vec<Range<usize>>);

impl Bodies {
    fn add(&mut self, signature: &Signature, block: &Block) {
        let mut gives = HasImplTrait(false);
        gives.visit_return_type(&signature.output);
        if signature.constness.is_none() && !gives.0 {
            let bytes = block.span().byte_range();
            self.0.push(bytes.start + 1..bytes.end - 1);
        }
    }
}

impl<'ast> Visit<'ast> for Bodies {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

struct HasImplTrait(bool);

impl<'ast> Visit<'ast> for HasImplTrait {
    fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
        self.0 = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Vec<&str> {
        let bodies = bodies_that_can_be_switched(text).unwrap();
        bodies.into_iter().map(|body| &text[body]).collect()
    }

    #[test]
    fn functions_with_one_type_of_body_can_be_switched() {
        assert_eq!(body("fn f() { a }"), [" a "]);
        assert_eq!(body("impl A { fn f(&self) -> B<C> {a} }"), ["a"]);
        assert_eq!(body("trait A { fn f() {a} fn g(); }"), ["a"]);
        assert_eq!(body("fn f() { fn g() {a} }"), [" fn g() {a} ", "a"]);
        assert_eq!(body("fn f(_: impl A) {a}"), ["a"]);
        assert_eq!(body("const fn f() {a}"), [""; 0]);
        assert_eq!(body("fn f() -> Option<impl A> {a}"), [""; 0]);
        assert!(bodies_that_can_be_switched("fn f( {").is_err());
    }

    #[test]
    fn the_original_body_follows_its_mutants() {
        let mutant = |find, replace| Mutant {
            name: "m",
            find,
            replace,
            test: "",
        };
        let text = "fn f() { a + b }";
        let mutants = [
            mutant("a", "c"),
            mutant("b", ""),
            mutant("a", "d"),
            mutant("b", "e"),
        ];
        let switched: Vec<Switched<'_>> = [(3, 9..10), (5, 13..14), (7, 9..10), (7, 13..14)]
            .into_iter()
            .zip(&mutants)
            .map(|((number, bytes), mutant)| Switched {
                mutant,
                number,
                bytes,
            })
            .collect();
        assert_eq!(
            switch(text, 8..15, &switched),
            "if mutant_switch::is(3) { c + b } else if mutant_switch::is(5) { a +  } else if mutant_switch::is(7) { d + e } else { a + b } "
        );
    }
}
