//! maturin and zig, from Python's registry into an environment of their own: maturin packs the sources for pip, and zig
//! links with an older glibc than that of this host.

use crate::command::must;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages that pip installs. Updated by hand: a release is built with exactly these versions.
const PACKAGES: [&str; 2] = ["maturin==1.16.0", "ziglang==0.17.1"];

/// The oldest glibc that Rust's own library supports, <https://doc.rust-lang.org/rustc/platform-support.html>: every Linux
/// with Python 3.10 has a later one.
const GLIBC: &str = "2.17";

/// An environment of Python with the tools.
#[derive(Debug)]
pub struct Tools {
    bin: PathBuf,
}

impl Tools {
    /// Installs them into `target/dist-tools`, unless they are there.
    ///
    /// # Errors
    /// Python has no venv, or pip cannot install them.
    pub fn install(root: &Path) -> Result<Tools> {
        let folder = crate::target_folder(root).join("dist-tools");
        let bin = folder.join("bin");
        if !bin.join("pip").exists() {
            must(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        }
        let mut pip = Command::new(bin.join("pip"));
        must(pip.args(["install", "--quiet"]).args(PACKAGES))?;
        Ok(Tools { bin })
    }

    /// A linker for a target of Rust, as a script: maturin removes the options of rustc that zig does not know.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn linker(&self, target: &str) -> Result<PathBuf> {
        let path = self.bin.join("link-with-zig");
        let target = target.replace("-unknown", "");
        let bin = self.bin.display();
        let script = format!(
            "#!/bin/sh\nPATH='{bin}':$PATH exec maturin zig cc -- -target {target}.{GLIBC} \"$@\"\n"
        );
        fs::write(&path, script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    /// Packs the sources of the Python package and of every crate that it needs.
    ///
    /// # Errors
    /// maturin fails, or makes no archive.
    pub fn sources(&self, root: &Path, folder: &Path) -> Result<PathBuf> {
        let mut maturin = Command::new(self.bin.join("maturin"));
        maturin.args(["sdist", "--manifest-path", "crates/python/Cargo.toml"]);
        must(maturin.arg("--out").arg(folder).current_dir(root))?;
        let version = env!("CARGO_PKG_VERSION");
        let path = folder.join(format!("touchline-{version}.tar.gz"));
        path.exists()
            .then_some(())
            .context("maturin packed no sources")?;
        println!("dist: {}", path.display());
        Ok(path)
    }
}
