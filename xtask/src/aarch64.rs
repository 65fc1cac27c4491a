//! Compiles the workspace for aarch64, which nobody runs here.
//!
//! The check needs the standard library of that target and a C compiler for it, since dependencies contain C code.

use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const C_COMPILER: &str = "aarch64-linux-gnu-gcc";

/// Runs `cargo check` on all packages with their default features, or prints which tool is missing.
///
/// # Errors
/// A package does not compile for aarch64.
pub fn run(root: &Path) -> Result<()> {
    if let Some(missing) = missing(&libraries()?, &env::var_os("PATH").unwrap_or_default()) {
        println!("aarch64: LEFT OUT: {missing}");
        return Ok(());
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["check", "--workspace", "--locked", "--target", TARGET])
        .current_dir(root)
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the workspace does not compile for {TARGET}; see above");
    }
    println!("aarch64: all packages compile for {TARGET}; nothing was run");
    Ok(())
}

/// Folder of the target's standard library, whether or not it is installed.
fn libraries() -> Result<PathBuf> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .context("cannot run rustc; is it on the PATH?")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// The missing tool, with the command that installs it.
fn missing(libraries: &Path, path: &OsStr) -> Option<String> {
    if !libraries.is_dir() {
        return Some(format!(
            "no standard library; try 'rustup target add {TARGET}'"
        ));
    }
    let is_there = env::split_paths(path).any(|folder| folder.join(C_COMPILER).is_file());
    (!is_there).then(|| {
        "no C compiler; try 'apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross'"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_missing_tool_is_named_with_the_command_that_installs_it() {
        let folder = env::temp_dir().join(format!("xtask-aarch64-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let none = missing(&folder.join("none"), folder.as_os_str());
        assert!(none.unwrap().contains("rustup target add"));
        let no_compiler = missing(&folder, folder.as_os_str());
        assert!(no_compiler.unwrap().contains("gcc-aarch64-linux-gnu"));
        fs::write(folder.join(C_COMPILER), "").unwrap();
        assert_eq!(missing(&folder, folder.as_os_str()), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
