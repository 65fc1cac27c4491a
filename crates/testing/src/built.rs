//! Programs and packages that a test builds: cargo, and the Python package with its environment.

use crate::skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The checkout.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Build folder of the running test: `target/debug`, or its replacement.
///
/// # Panics
/// The test is not in a target folder of cargo.
#[must_use]
pub fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a file");
    let folder = test.ancestors().nth(2).expect("cargo's folders");
    folder.to_owned()
}

/// Cargo in this checkout, with the target folder of the running test.
///
/// # Panics
/// As [`folder`].
#[must_use]
pub fn cargo(words: &str) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(words.split_whitespace()).current_dir(root());
    // The settings of this build apply to the packages of the workspace only.
    let folder = folder();
    cargo.env(
        "CARGO_TARGET_DIR",
        folder.parent().expect("cargo's folders"),
    );
    cargo.stdin(Stdio::null()).stdout(Stdio::null());
    // Cargo describes this package in the environment of a test. Build scripts that watch these variables would run again,
    // and everything above them would be compiled again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_of_the_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"];
        if is_of_the_package
            .iter()
            .any(|start| text.starts_with(start))
        {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Builds packages in the profile of the running test, and returns the folder with the results.
///
/// # Panics
/// The programs do not compile.
pub fn build(selection: &str) -> PathBuf {
    let folder = folder();
    let name = folder.file_name().and_then(|name| name.to_str());
    // The folder of a profile has the profile's name, but that of `dev` is `debug`.
    let profile = match name.expect("cargo's folders") {
        "debug" => "dev",
        name => name,
    };
    let words = format!("build --quiet --locked --profile {profile} {selection}");
    let mut cargo = cargo(&words);
    let status = cargo.status().expect("cargo has built this test");
    assert!(status.success(), "{cargo:?}: {status}");
    folder
}

/// Builds the Python package in this folder, as a wheel would install it; the result is for `PYTHONPATH`.
///
/// # Panics
/// The package does not compile, or the folder cannot be written.
#[must_use]
pub fn python_package(into: &Path) -> PathBuf {
    let built = build("-p touchline-python");
    let package = into.join("touchline");
    std::fs::create_dir_all(&package).expect("a folder of the test");
    for entry in std::fs::read_dir(root().join("crates/python/touchline")).expect("the package") {
        let source = entry.expect("the package").path();
        if let Some(name) = source.file_name().filter(|_| source.is_file()) {
            std::fs::copy(&source, package.join(name)).expect("a file of this checkout");
        }
    }
    // Another interpreter may run the module that is there: it is replaced, never written again.
    let fresh = package.join("fresh");
    std::fs::copy(built.join("libtouchline_python.so"), &fresh).expect("cargo has built it");
    std::fs::rename(fresh, package.join("_native.abi3.so")).expect("a folder of the test");
    into.to_owned()
}

/// A Python interpreter with these packages of the index, installed once for the target folder. Without an interpreter
/// it reports that the test is skipped.
///
/// # Panics
/// As [`folder`].
#[must_use]
pub fn python(environment: &str, packages: &[&str]) -> Option<PathBuf> {
    let folder = folder().with_file_name(environment);
    let python = folder.join("bin/python");
    let can = |program: &Path, words: &[&str]| {
        let output = Command::new(program).args(words).output();
        output.is_ok_and(|output| output.status.success())
    };
    let all = packages.join(", ");
    if can(&python, &["-c", &format!("import {all}")]) {
        return Some(python);
    }
    let made = can(
        Path::new("python3"),
        &["-m", "venv", "--clear", &folder.to_string_lossy()],
    );
    let install = [&["-m", "pip", "install", "--quiet"], packages].concat();
    if made && can(&python, &install) {
        return Some(python);
    }
    skip(&format!(
        "no Python environment with {all}: python3 -m venv or pip install failed"
    ));
    None
}
