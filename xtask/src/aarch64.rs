//! Compiles the workspace for aarch64, without running it.

use crate::command::{self, cargo};
use crate::cross::Cross;
use anyhow::Result;
use std::path::Path;

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
    let failed = format!("the workspace does not compile for {target}");
    let arguments = ["check", "--workspace", "--locked", "--target", target];
    command::run(cargo(root).args(arguments), &failed)?;
    println!("aarch64: all packages compile for {target}; nothing was run");
    Ok(())
}
