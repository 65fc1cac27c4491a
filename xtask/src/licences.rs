//! Licences of all dependencies, read from cargo and compared with a list.
//!
//! The same list is in `deny.toml` for users of cargo-deny; this check needs no installation.

mod expression;

use crate::tidy::metadata;
use anyhow::{Context, Result, bail};
use expression::Expression;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Licences allowed in the product.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Additional licences allowed in tools and tests, which are not distributed.
const ALLOWED_FOR_TOOLS: &[&str] = &["MPL-2.0", "NCSA"];

/// Packages of ours that are tools.
const TOOLS: &[&str] = &["xtask", "touchline-fuzz"];

/// Workspaces with a separate lock file whose packages are linked into a build with features: the sources of Aeron.
const SOURCES: &[&str] = &["crates/aeron/source"];

/// Workspaces with a separate lock file that use crates of ours and that no check builds.
const APART: &[&str] = &["competitors"];

/// Checks the licence of every package that a lock file can bring in on this platform, and that every lock file fits the
/// manifests of our crates.
///
/// # Errors
/// Names each package whose licence is not allowed, or missing; a lock file that must be made again.
pub fn run(root: &Path) -> Result<()> {
    let host = crate::host()?;
    for place in APART {
        lock_fits(&root.join(place), &host).with_context(|| {
            format!(
                "{place}/Cargo.lock does not fit the manifests: run 'cargo metadata --manifest-path {place}/Cargo.toml' \
                 and commit it"
            )
        })?;
    }
    let mut refused = Vec::new();
    let mut packages = 0;
    for place in ["."].iter().chain(SOURCES) {
        let features = ["--all-features", "--filter-platform", &host];
        let graph = Graph::read(&metadata(&root.join(place), &features)?)?;
        refused.extend(graph.refused());
        packages += graph.packages.len();
    }
    if !refused.is_empty() {
        bail!(
            "licences that are not on the list:\n{}\nuse another package, or discuss the licence and add it to \
             xtask/src/licences.rs and deny.toml",
            refused.join("\n")
        );
    }
    println!("licences: {packages} packages allowed");
    Ok(())
}

/// A user's `cargo build --locked` of this workspace would be refused otherwise.
fn lock_fits(workspace: &Path, host: &str) -> Result<()> {
    metadata(workspace, &["--locked", "--filter-platform", host]).map(|_| ())
}

/// Packages with their licences, and whether a shipped program needs them.
#[derive(Debug, Default)]
struct Graph {
    packages: BTreeMap<String, Package>,
    /// Ids of the packages that are linked into shipped programs.
    shipped: BTreeSet<String>,
}

#[derive(Debug)]
struct Package {
    name: String,
    licence: Option<String>,
}

impl Graph {
    fn read(metadata: &Value) -> Result<Self> {
        let mut graph = Self::default();
        for package in list(&metadata["packages"])? {
            let licence = package["license"].as_str().map(str::to_owned);
            graph.packages.insert(
                text(&package["id"])?,
                Package {
                    name: text(&package["name"])?,
                    licence,
                },
            );
        }
        let mut needs = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"])? {
            needs.insert(text(&node["id"])?, dependencies(node)?);
        }
        for member in list(&metadata["workspace_members"])? {
            let id = text(member)?;
            if graph
                .packages
                .get(&id)
                .is_some_and(|package| !TOOLS.contains(&package.name.as_str()))
            {
                graph.ship(&id, &needs);
            }
        }
        Ok(graph)
    }

    fn ship(&mut self, id: &str, needs: &BTreeMap<String, Vec<String>>) {
        if self.shipped.insert(id.to_owned()) {
            for needed in needs.get(id).into_iter().flatten() {
                self.ship(needed, needs);
            }
        }
    }

    fn refused(&self) -> Vec<String> {
        let mut refused = Vec::new();
        for (id, package) in &self.packages {
            let shipped = self.shipped.contains(id);
            let allows = |licence: &str| {
                ALLOWED.contains(&licence) || (!shipped && ALLOWED_FOR_TOOLS.contains(&licence))
            };
            let text = package.licence.as_deref().unwrap_or("none stated");
            if !Expression::parse(text).is_some_and(|expression| expression.holds(&allows)) {
                let place = if shipped { "shipped" } else { "tools only" };
                refused.push(format!("  {} ({place}): {text}", package.name));
            }
        }
        refused
    }
}

/// Ids of the packages that a node needs to be built, without those that only its tests need.
fn dependencies(node: &Value) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for dependency in list(&node["deps"])? {
        if list(&dependency["dep_kinds"])?
            .iter()
            .any(|kind| kind["kind"] != "dev")
        {
            ids.push(text(&dependency["pkg"])?);
        }
    }
    Ok(ids)
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value
        .as_array()
        .context("unexpected output of cargo metadata: a list is missing")
}

fn text(value: &Value) -> Result<String> {
    value
        .as_str()
        .map(str::to_owned)
        .context("unexpected output of cargo metadata: a string is missing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use touchline_testing::Folder;

    /// A program that needs `linked`, tests itself with `tester`, and a tool that needs `tooling`.
    fn refused(linked: Option<&str>, tooling: &str) -> Vec<String> {
        let package = |name: &str, licence: Option<&str>| json!({"id": name, "name": name, "license": licence});
        let needs =
            |name: &str, kind: Option<&str>| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [
                package("touchline", Some("MIT OR Apache-2.0")),
                package("xtask", Some("MIT")),
                package("linked", linked),
                package("tester", Some("MPL-2.0")),
                package("tooling", Some(tooling)),
            ],
            "workspace_members": ["touchline", "xtask"],
            "resolve": {"nodes": [
                {"id": "touchline", "deps": [needs("linked", None), needs("tester", Some("dev"))]},
                {"id": "xtask", "deps": [needs("tooling", None)]},
            ]},
        });
        Graph::read(&metadata).unwrap().refused()
    }

    #[test]
    fn licences_on_the_list_pass() {
        assert_eq!(refused(Some("Zlib"), "MPL-2.0"), [""; 0]);
    }

    #[test]
    fn licences_off_the_list_are_named() {
        assert_eq!(
            refused(Some("MPL-2.0"), "MIT"),
            ["  linked (shipped): MPL-2.0"]
        );
        assert_eq!(
            refused(Some("MIT"), "GPL-3.0"),
            ["  tooling (tools only): GPL-3.0"]
        );
        assert_eq!(refused(None, "MIT"), ["  linked (shipped): none stated"]);
    }

    #[test]
    fn another_form_of_metadata_is_an_error() {
        assert!(Graph::read(&json!({"packages": []})).is_err());
    }

    #[test]
    fn a_lock_file_without_a_new_dependency_does_not_fit() {
        let user = Folder::new("lock");
        let write = |name: &str, text: &str| std::fs::write(user.join(name), text).unwrap();
        std::fs::create_dir_all(user.join("used")).unwrap();
        let package = "version = \"0.1.0\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n";
        write(
            "used/Cargo.toml",
            &format!("[package]\nname = \"used\"\n{package}"),
        );
        write("used/lib.rs", "");
        write("lib.rs", "");
        let needs =
            "[dependencies]\nused = { path = \"used\" }\n[workspace]\nexclude = [\"used\"]\n";
        write(
            "Cargo.toml",
            &format!("[package]\nname = \"user\"\n{package}{needs}"),
        );
        let locked = |dependencies: &str, more: &str| {
            let packages = format!(
                "version = 4\n\n[[package]]\nname = \"user\"\nversion = \"0.1.0\"\n{dependencies}{more}"
            );
            write("Cargo.lock", &packages);
            lock_fits(&user, &crate::host().unwrap())
        };
        assert!(locked("", "").is_err());
        let used = "\n[[package]]\nname = \"used\"\nversion = \"0.1.0\"\n";
        locked("dependencies = [\n \"used\",\n]\n", used).unwrap();
    }

    #[test]
    fn cargo_deny_has_the_same_list() {
        let text = std::fs::read_to_string(crate::root().join("deny.toml")).unwrap();
        let (_, rest) = text.split_once("\nallow = [").unwrap();
        let allowed: Vec<&str> = rest
            .split(']')
            .next()
            .unwrap()
            .split('"')
            .skip(1)
            .step_by(2)
            .collect();
        assert_eq!(allowed, ALLOWED);
    }
}
