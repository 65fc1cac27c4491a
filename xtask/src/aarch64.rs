//! Compiles the workspace for aarch64, without running it.

use crate::cross::Cross;
use anyhow::{Context, Result, bail};
use std::env;
use std::path::Path;
use std::process::Command;

const AARCH64: Cross = Cross {
    target: "aarch64-unknown-linux-gnu",
    c_compiler: "aarch64-linux-gnu-gcc",
    packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
};

/// Runs `cargo check` on all packages with their default features, or prints which tool is missing.
///
/// # Errors
/// A package does not compile for aarch64.
pub fn run(root: &Path) -> Result<()> {
    if let Some(missing) = AARCH64.missing()? {
        println!("aarch64: LEFT OUT: {missing}");
        return Ok(());
    }
    let target = AARCH64.target;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["check", "--workspace", "--locked", "--target", target])
        .current_dir(root)
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the workspace does not compile for {target}; see above");
    }
    println!("aarch64: all packages compile for {target}; nothing was run");
    Ok(())
}
