//! Packages linked into the command, with licences, licence texts and dependencies.

use super::release::Release;
use super::sbom;
use crate::command::{cargo, must};
use crate::tidy::metadata;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Build of a release: a package of the workspace, with options of cargo for its features.
#[derive(Clone, Copy, Debug)]
pub struct Built {
    /// Its name in cargo.
    pub package: &'static str,
    /// Options of cargo.
    pub features: &'static [&'static str],
}

/// The licences of everything that is linked, and the bill of materials.
///
/// # Errors
/// Those of [`packages`] and of [`licence_texts`].
pub fn documents(root: &Path, of: Built, release: &Release) -> Result<(String, String)> {
    let packages = packages(root, of, &release.target)?;
    let rustc = crate::rustc_version()?;
    let sbom = sbom::document(
        &packages,
        of.package,
        &release.version,
        &rustc,
        &release.time(),
    );
    Ok((licence_texts(&packages)?, format!("{sbom:#}\n")))
}

/// A package, from cargo and its own files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// Its name at the registry.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Licence expression (SPDX).
    pub licence: String,
    /// URL of its repository, if stated.
    pub repository: Option<String>,
    /// SHA-256 of its archive at the registry; `None` for our own packages.
    pub checksum: Option<String>,
    /// Linked packages that it depends on: name and version.
    pub needs: Vec<(String, String)>,
    /// Its licence files.
    pub files: Vec<PathBuf>,
}

impl Package {
    /// Whether the package belongs to this repository.
    pub fn is_ours(&self) -> bool {
        self.checksum.is_none()
    }
}

/// Packages linked for a platform, sorted by name, without those used only for building: procedural macros and
/// build scripts.
///
/// # Errors
/// cargo fails, or a package states no licence or has no file with its text.
fn packages(root: &Path, of: Built, target: &str) -> Result<Vec<Package>> {
    let linked = tree(root, of, target)?;
    let metadata = metadata(root, &["--locked", "--filter-platform", target])?;
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock cannot be read")?;
    let mut packages = read(&metadata, &linked, &checksums(&lock))?;
    for package in packages.iter_mut().filter(|package| !package.is_ours()) {
        if package.files.is_empty() {
            bail!(
                "{} {} has no file with its licence; add the text to what `cargo xtask dist` collects",
                package.name,
                package.version
            );
        }
    }
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(packages)
}

/// Names and versions of linked packages: only `cargo tree` knows the enabled features.
fn tree(root: &Path, of: Built, target: &str) -> Result<BTreeSet<(String, String)>> {
    let mut tree = cargo(root);
    tree.args(["tree", "--locked", "--package", of.package])
        .args(of.features)
        .args(["--edges", "normal,no-proc-macro", "--target", target])
        .args(["--prefix", "none", "--format", "{p}"]);
    let text = must(&mut tree)?;
    Ok(text.lines().filter_map(name_and_version).collect())
}

/// Parses `clap v4.6.7 (…)`.
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    Some((name.to_owned(), version.to_owned()))
}

fn read(
    metadata: &Value,
    linked: &BTreeSet<(String, String)>,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Vec<Package>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut keys = BTreeMap::new();
    for package in list(&metadata["packages"]) {
        let key = text(&package["name"]).zip(text(&package["version"]));
        let key = key.context("cargo metadata has a package without a name")?;
        if linked.contains(&key) {
            keys.insert(
                text(&package["id"]).context("a package without an id")?,
                key,
            );
        }
    }
    let mut needs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let deps = list(&node["deps"]).into_iter().filter(|dependency| {
            list(&dependency["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"].is_null())
        });
        let deps = deps.filter_map(|dependency| keys.get(dependency["pkg"].as_str()?).cloned());
        needs.insert(text(&node["id"]), deps.collect());
    }
    let mut packages = Vec::new();
    for package in list(&metadata["packages"]) {
        let id = text(&package["id"]);
        let Some(key) = id.as_ref().and_then(|id| keys.get(id)) else {
            continue;
        };
        let manifest = PathBuf::from(text(&package["manifest_path"]).unwrap_or_default());
        let licence = text(&package["license"])
            .with_context(|| format!("{} {} states no licence", key.0, key.1))?;
        packages.push(Package {
            name: key.0.clone(),
            version: key.1.clone(),
            // Old syntax.
            licence: licence.replace('/', " OR "),
            repository: text(&package["repository"]),
            checksum: checksums.get(key).cloned(),
            needs: needs.remove(&id).unwrap_or_default(),
            files: manifest.parent().map(licence_files).unwrap_or_default(),
        });
    }
    if packages.len() != linked.len() {
        bail!(
            "cargo tree names {} packages and cargo metadata {} of them",
            linked.len(),
            packages.len()
        );
    }
    Ok(packages)
}

/// Licence files in a package's folder, and in the folders of C sources directly below it.
fn licence_files(folder: &Path) -> Vec<PathBuf> {
    const NAMES: [&str; 5] = ["LICEN", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_uppercase();
        path.is_file() && NAMES.iter().any(|start| name.starts_with(start))
    };
    let mut paths: Vec<_> = entries(folder).map(|entry| entry.path()).collect();
    let below: Vec<_> = paths.iter().filter(|path| path.is_dir()).cloned().collect();
    paths.extend(
        below
            .iter()
            .flat_map(|folder| entries(folder))
            .map(|entry| entry.path()),
    );
    paths.retain(is_licence);
    paths.sort();
    paths
}

/// Checksums of a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let line = package
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line.map(|line| line.trim_end_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(checksum)) =
            (value("name"), value("version"), value("checksum"))
        {
            found.insert((name, version), checksum);
        }
    }
    found
}

/// Text with the licences of all linked packages, each licence text once.
///
/// # Errors
/// A file cannot be read.
fn licence_texts(packages: &[Package]) -> Result<String> {
    let mut text = String::from(
        "Touchline is licensed under MIT or Apache-2.0, at your choice. It is linked with these packages:\n\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages.iter().filter(|package| !package.is_ours()) {
        let name = format!("{} {}", package.name, package.version);
        let repository = package.repository.as_deref().unwrap_or_default();
        text += &format!("{name}: {} {repository}\n", package.licence);
        for file in &package.files {
            let bytes = fs::read(file).with_context(|| format!("{}", file.display()))?;
            let content = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            let of = texts.entry(content.trim().to_owned()).or_default();
            if of.last() != Some(&name) {
                of.push(name.clone());
            }
        }
    }
    text += "\nand with the standard library of Rust: MIT OR Apache-2.0 https://github.com/rust-lang/rust\n";
    for (content, of) in texts {
        let rule = "-".repeat(80);
        text += &format!("\n{rule}\n{}\n{rule}\n\n{content}\n", of.join(", "));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(name: &str) -> (String, String) {
        (name.to_owned(), "1.0.0".to_owned())
    }

    #[test]
    fn linked_packages_are_read_with_their_dependencies() {
        let package = |name: &str, licence: &str| {
            json!({"id": format!("id of {name}"), "name": name, "version": "1.0.0", "license": licence,
                "manifest_path": "/nowhere/Cargo.toml"})
        };
        let needs = |name: &str, kind: Option<&str>| json!({"pkg": format!("id of {name}"), "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [package("touchline", "MIT"), package("linked", "MIT/Zlib"), package("tester", "MIT")],
            "resolve": {"nodes": [
                {"id": "id of touchline", "deps": [needs("linked", None), needs("tester", Some("dev"))]},
                {"id": "id of linked", "deps": []},
            ]},
        });
        let lock = "[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n";
        let linked = BTreeSet::from([key("touchline"), key("linked")]);
        let packages = read(&metadata, &linked, &checksums(lock)).unwrap();
        let [ours, theirs] = &packages[..] else {
            panic!("{packages:?}")
        };
        assert!(ours.is_ours() && !theirs.is_ours());
        assert_eq!(ours.needs, [key("linked")]);
        assert_eq!(theirs.licence, "MIT OR Zlib");
        assert_eq!(theirs.checksum.as_deref(), Some("00ff"));
        let more = BTreeSet::from([key("touchline"), key("elsewhere")]);
        assert!(read(&metadata, &more, &checksums(lock)).is_err());
    }

    #[test]
    fn lines_of_cargo_tree_are_read() {
        assert_eq!(
            name_and_version("linked v1.0.0 (/somewhere) (*)"),
            Some(key("linked"))
        );
        assert_eq!(name_and_version(""), None);
    }

    #[test]
    fn each_licence_text_is_written_once() {
        let package = Package {
            name: "linked".to_owned(),
            version: "1.0.0".to_owned(),
            licence: "MIT".to_owned(),
            checksum: Some("00".to_owned()),
            files: vec![crate::root().join("LICENSE-MIT")],
            ..Package::default()
        };
        let other = Package {
            name: "other".to_owned(),
            ..package.clone()
        };
        let text = licence_texts(&[package, other]).unwrap();
        assert!(text.contains("\nlinked 1.0.0, other 1.0.0\n"), "{text}");
        assert_eq!(text.matches("Permission is hereby granted").count(), 1);
    }
}
