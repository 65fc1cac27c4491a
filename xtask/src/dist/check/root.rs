//! Roots: folders that programs see as their whole file system.

use crate::command::{must, said};
use crate::dist::report::Report;
use anyhow::Result;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// In namespaces of its own, so that the mounts disappear with the process: the host's devices, and shared memory of the
/// root alone.
const ENTER: &str = "mkdir -p dev proc && mount --rbind /dev dev && mount -t tmpfs tmpfs dev/shm \
                     && mount -t proc proc proc && exec chroot . \"$@\"";

/// A root.
pub struct Root(PathBuf);

impl Root {
    /// An empty root; `None` without the rights to change to it.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn empty(path: &Path, report: &mut Report) -> Result<Option<Root>> {
        if fs::metadata("/proc/self")?.uid() != 0 {
            report
                .left_out("roots: only root can change to one; run this as root or in a container");
            return Ok(None);
        }
        fs::create_dir_all(path)?;
        Ok(Some(Root(path.to_owned())))
    }

    /// A minimal installation of a Debian release with further packages.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn debian(
        path: &Path,
        release: &str,
        packages: &str,
        report: &mut Report,
    ) -> Result<Option<Root>> {
        let Some(root) = Root::empty(path, report)? else {
            return Ok(None);
        };
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.arg("--variant=minbase");
        if !packages.is_empty() {
            debootstrap.arg(format!("--include={packages}"));
        }
        match said(debootstrap.arg(release).arg(path)) {
            Ok(Some(_)) => return Ok(Some(root)),
            Ok(None) => report.left_out(format!("{release}: no debootstrap here")),
            Err(error) => {
                let error = format!("{error:#}");
                let last = error.lines().last().unwrap_or_default();
                report.left_out(format!("{release} cannot be installed: {last}"));
            }
        }
        Ok(None)
    }

    /// Path on the host.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// Standard output of a command of the root.
    ///
    /// # Errors
    /// It fails.
    pub fn run(&self, words: &[&str]) -> Result<String> {
        let mut unshare = Command::new("unshare");
        unshare
            .args(["--mount", "--pid", "--fork", "--kill-child", "/bin/sh"])
            .args(["-c", ENTER, "enter"])
            .args(words)
            // An empty root has no other place for temporary files.
            .env("TMPDIR", "/dev/shm")
            .current_dir(&self.0);
        must(&mut unshare)
    }
}
