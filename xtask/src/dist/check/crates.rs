//! The crates that a user's program depends on: their public items are those of the list, and they compile as packages.

use crate::command::{cargo, is_there, must};
use crate::dist::report::Report;
use crate::public_api;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Checks the list, packages the crates, and compiles each from its package.
pub fn run(root: &Path, report: &mut Report) -> Result<()> {
    if is_there(Command::new("rustup").args(["run", "nightly", "rustc", "--version"])) {
        public_api::run(root, false)?;
        report.seen("the public items of the client are those of the list");
    } else {
        report.left_out("public items of the client: no nightly toolchain");
    }
    let crates = published(root)?;
    let mut cargo = cargo(root);
    cargo.args(["package", "--quiet", "--locked", "--allow-dirty"]);
    for name in &crates {
        cargo.args(["--package", name]);
    }
    must(&mut cargo)?;
    report.seen(&format!("packages that compile: {}", crates.join(", ")));
    Ok(())
}

/// Names of the packages that may be published: the client and all its dependencies.
fn published(root: &Path) -> Result<Vec<String>> {
    let metadata = crate::tidy::metadata(root, &["--no-deps", "--locked"])?;
    let packages = metadata["packages"].as_array().context("cargo metadata")?;
    // `null` means every registry, an empty list none.
    let may = packages
        .iter()
        .filter(|package| package["publish"].is_null());
    let names: Vec<String> = may
        .filter_map(|package| package["name"].as_str().map(str::to_owned))
        .collect();
    ensure!(
        names.iter().any(|name| name == "touchline-client"),
        "touchline-client may not be published: remove 'publish' from its manifest"
    );
    Ok(names)
}
