//! Tools of the project, in Rust, so that they need no installation.
//!
//! `cargo xtask NAME` reaches them through `main.rs`, which only dispatches. Each tool is a module with a `run`
//! function, whose errors state the fix.
//!
//! # Never
//! Part of the product: nothing below `crates/` depends on it. Never uses the network itself.
//!
//! # Path
//! Enters with the arguments of `main.rs`, one tool each; leaves with the exit status and, for generated code and
//! pictures, with files that are committed.
//!
//! # Tests
//! Each rule of [`tidy`] has a broken example that it must report, and one test applies the rules to this repository.
//! [`mutants`] is tested on a small crate.

#![forbid(unsafe_code)]

pub mod aarch64;
pub mod aeron_interop;
pub mod changed;
pub mod codegen;
mod command;
mod cross;
pub mod dist;
pub mod fix_interop;
pub mod fuzz;
pub mod install_check;
pub mod instructions;
mod java;
pub mod licences;
mod lines;
pub mod memory_model;
pub mod mutants;
pub mod pgo;
pub mod picture;
pub mod plot;
pub mod public_api;
pub mod sbe_oracle;
pub mod simulate;
pub mod site;
pub mod size;
pub mod soak;
pub mod tidy;

use anyhow::{Context, Result};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Root of the repository: the parent folder of this package.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

/// A program of the registry that a chore runs.
struct Tool {
    name: &'static str,
    version: &'static str,
    /// Further options of `cargo install`.
    options: &'static [&'static str],
}

/// Path of a tool, installed below the target folder unless this version is there already.
fn tool(root: &Path, tool: &Tool) -> Result<PathBuf> {
    let Tool {
        name,
        version,
        options,
    } = tool;
    let tools = target_folder(root).join("tools");
    let program = tools.join("bin").join(name);
    let there = command::must(Command::new(&program).arg("--version"));
    let is_there = |said: String| {
        let last = said.split_whitespace().last().unwrap_or_default();
        last.trim_start_matches('v') == *version
    };
    if there.is_ok_and(is_there) {
        return Ok(program);
    }
    let mut install = command::cargo(root);
    install
        .args(["install", name, "--version", version, "--locked"])
        .args(*options)
        .arg("--root")
        .arg(&tools);
    let failed = format!("cargo install {name} {version} failed: it needs the registry, once");
    command::run(&mut install, &failed)?;
    Ok(program)
}

/// Arguments of cargo that build the packages of the workspace with another optimisation. Dependencies, with their build scripts
/// and macros, keep the profile of Cargo.toml, so that they are shared with the tests.
///
/// # Errors
/// The folder of the crates cannot be read.
pub fn optimised(root: &Path, level: u8) -> Result<Vec<String>> {
    let mut packages = vec!["xtask".to_owned(), "touchline-fuzz".to_owned()];
    let crates = root.join("crates");
    let entries = fs::read_dir(&crates);
    for entry in entries.with_context(|| format!("cannot list {}", crates.display()))? {
        match entry?.file_name().to_string_lossy().as_ref() {
            "touchline" => packages.push("touchline".to_owned()),
            name => packages.push(format!("touchline-{name}")),
        }
    }
    let config = |package| format!("--config=profile.dev.package.{package}.opt-level={level}");
    Ok(packages.into_iter().map(config).collect())
}

/// Target folder of cargo, also used by the tools.
pub fn target_folder(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Platform of the compiler, as rustc names it.
///
/// # Errors
/// rustc cannot be run.
pub fn host() -> Result<String> {
    of_rustc("host")
}

/// Version of the compiler.
///
/// # Errors
/// rustc cannot be run.
pub fn rustc_version() -> Result<String> {
    of_rustc("release")
}

fn of_rustc(key: &str) -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let text = command::must(Command::new(rustc).arg("-vV"))?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    value
        .map(str::to_owned)
        .with_context(|| format!("rustc -vV names no {key}"))
}
