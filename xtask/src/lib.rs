//! The project's own chores, in Rust, so that nothing has to be installed.
//!
//! `cargo xtask NAME` reaches them through `main.rs`, which only chooses. Each chore is a module with a `run`
//! function that returns an error a person can act on.
//!
//! # Never
//! Part of what we ship: nothing below `crates/` depends on it. Never talks to the network by itself.
//!
//! # Path
//! Enters with the arguments of `main.rs`, one chore each; leaves with the exit status and, for generated code and
//! pictures, with files that are committed.
//!
//! # Tests
//! Each rule of [`tidy`] has a broken example that it must notice, and one test holds the rules against this repository.
//! [`mutants`] is tested on a miniature crate.

#![forbid(unsafe_code)]

mod changed;
pub mod codegen;
pub mod dist;
pub mod fix_interop;
pub mod fuzz;
pub mod install_check;
pub mod instructions;
mod java;
pub mod licences;
pub mod memory_model;
pub mod mutants;
pub mod picture;
pub mod sbe_oracle;
pub mod site;
pub mod soak;
pub mod tidy;

use anyhow::{Context, Result};
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The root of the repository: the folder above this package's own.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

/// An argument of cargo's `--config`: the profile of dependencies in Cargo.toml. A build of the workspace with another
/// optimisation shares them so with the tests.
pub const DEPENDENCY_PROFILE: &str = "profile.dev.package.'*'.opt-level=1";

/// Where cargo builds, and where the chores keep what they make.
pub fn target_folder(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The platform that the compiler runs on, as it names it.
///
/// # Errors
/// When rustc cannot be run.
pub fn host() -> Result<String> {
    of_rustc("host")
}

/// The version of the compiler.
///
/// # Errors
/// When rustc cannot be run.
pub fn rustc_version() -> Result<String> {
    of_rustc("release")
}

fn of_rustc(key: &str) -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("-vV")
        .output()
        .context("cannot run rustc; is it on the PATH?")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    value
        .map(str::to_owned)
        .with_context(|| format!("rustc -vV names no {key}"))
}
