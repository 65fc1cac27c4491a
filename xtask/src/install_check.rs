//! Checks the two ways of `cargo install` in docs/install.md, each with a new build: in one target directory cargo would take the
//! build of the first way for the second.

use crate::command;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Installs from the folder and from the git repository, starts the installed command, and removes it.
///
/// # Errors
/// cargo cannot install it, or the installed command does not start.
pub fn run(root: &Path) -> Result<()> {
    let folder = crate::target_folder(root).join("install-check");
    let clone = format!("file://{}", root.display());
    let path = root.join("crates/touchline").display().to_string();
    for from in [&["--path", &path][..], &["--git", &clone, "touchline"]] {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let into = folder.display().to_string();
        let build = folder.join("build").display().to_string();
        let install = ["install", "--locked", "--root", &into];
        cargo(
            root,
            &[&install[..], &["--target-dir", &build]].concat(),
            from,
        )?;
        let said = version(&folder.join("bin/touchline"))?;
        println!("install-check: cargo install {}: {said}", from.join(" "));
        ensure!(
            from[0] == "--path" || !said.contains("-modified"),
            "the command installed from git has changes that are not committed"
        );
        cargo(root, &["uninstall", "--root", &into], &["touchline"])?;
        ensure!(
            !folder.join("bin/touchline").exists(),
            "cargo uninstall leaves the command"
        );
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}

fn cargo(root: &Path, arguments: &[&str], more: &[&str]) -> Result<()> {
    let mut cargo = command::cargo(root);
    let failed = format!("cargo {} {} failed", arguments.join(" "), more.join(" "));
    command::run(cargo.args(arguments).args(more), &failed)
}

fn version(program: &Path) -> Result<String> {
    let output = Command::new(program).arg("--version").output();
    let output = output.with_context(|| format!("{} does not start", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let number = env!("CARGO_PKG_VERSION");
    ensure!(
        output.status.success() && said.starts_with(&format!("touchline {number}")),
        "--version of the installed command: {said}"
    );
    Ok(said)
}
